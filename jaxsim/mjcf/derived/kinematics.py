"""Poses, inertia matrix and motion directions at one configuration, in float64 numpy.

This is what the compiler needs of the physics (MuJoCo: mj_kinematics, mj_comPos, mj_crb); the engine proper
has its own, differentiable versions of the same stages.

Several worlds can be computed at once: every array may have a world axis after its first one, xpos
[nbody, 3] or [nbody, world, 3], if the real-valued arrays of the model have an axis of length 1 there
(see `with_worlds`).
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from jaxsim.core.enums import MINVAL, JointType
from jaxsim.mjcf.algebra.quaternion import cross, quat_mul, quat_normalize, quat_to_mat, rotate, times
from jaxsim.mjcf.language.enums import SameFrame

Array = np.ndarray


@dataclass(frozen=True)
class Tree:
    """What the kinematic tree looks like.

    levels: bodies by depth below the world; moves [nbody, nv]: whether a dof moves a body;
    below [nv, nv]: whether dof j is dof i or an ancestor of it.
    """

    levels: list[Array]
    moves: Array
    below: Array


def tree(m: Any) -> Tree:
    """The tree of a model (any object with MjModel's fields)."""
    depth = np.zeros(m.nbody, int)
    moves = np.zeros((m.nbody, m.nv), bool)
    for body in range(1, m.nbody):
        parent = m.body_parentid[body]
        depth[body] = depth[parent] + 1
        moves[body] = moves[parent]
        adr = m.body_dofadr[body]
        moves[body, adr : adr + m.body_dofnum[body]] = True
    levels = [np.flatnonzero(depth == k) for k in range(1, depth.max(initial=0) + 1)]
    before = np.arange(m.nv)[None] <= np.arange(m.nv)[:, None]
    return Tree(levels, moves, moves[m.dof_bodyid] & before)


@dataclass(frozen=True)
class State:
    """Configuration-dependent quantities, named and shaped as in MjData (matrices as [..., 3, 3])."""

    qpos: Array
    xpos: Array
    xquat: Array
    xmat: Array
    xipos: Array
    ximat: Array
    xanchor: Array
    xaxis: Array
    geom_xpos: Array
    geom_xmat: Array
    site_xpos: Array
    site_xquat: Array
    site_xmat: Array
    subtree_com: Array
    cdof: Array


_REAL = """
    qpos0 body_pos body_quat body_ipos body_iquat body_mass body_inertia jnt_pos jnt_axis
    geom_pos geom_quat site_pos site_quat
""".split()  # noqa: SIM905


def with_worlds(m: Any) -> SimpleNamespace:
    """The model's fields, the real-valued ones that `state` reads with a world axis of length 1."""
    fields = dict(vars(m)) if hasattr(m, "__dict__") else {}
    return SimpleNamespace(**fields | {name: getattr(m, name)[:, None] for name in _REAL})


def state(m: Any, t: Tree, qpos: Array) -> State:
    """Kinematics, centres of mass and motion directions at qpos [nq] (mj_kinematics, mj_comPos)."""
    s = SimpleNamespace(qpos=qpos)
    _poses(m, t, s)
    sameframe = np.where(
        np.isin(m.body_sameframe, (SameFrame.BODY, SameFrame.BODYROT)), m.body_sameframe, SameFrame.NONE
    )
    s.xipos, s.xiquat = _attached(s, np.arange(m.nbody), m.body_ipos, m.body_iquat, sameframe)
    s.ximat = quat_to_mat(s.xiquat)
    s.geom_xpos, quat = _attached(s, m.geom_bodyid, m.geom_pos, m.geom_quat, m.geom_sameframe)
    s.geom_xmat = quat_to_mat(quat)
    s.site_xpos, s.site_xquat = _attached(s, m.site_bodyid, m.site_pos, m.site_quat, m.site_sameframe)
    s.site_xmat = quat_to_mat(s.site_xquat)
    s.subtree_com = _subtree_com(m, t, s.xipos)
    s.cdof = _cdof(m, s)
    del s.xiquat
    return State(**vars(s))


def _poses(m: Any, t: Tree, s: SimpleNamespace) -> None:
    """Body poses, joint anchors and joint axes in the world frame, one level of the tree at a time."""
    worlds = s.qpos.shape[1:]
    s.xpos, s.xquat = np.zeros((m.nbody, *worlds, 3)), np.zeros((m.nbody, *worlds, 4))
    s.xquat[..., 0] = 1
    s.xmat = quat_to_mat(s.xquat)
    s.xanchor, s.xaxis = np.zeros((m.njnt, *worlds, 3)), np.zeros((m.njnt, *worlds, 3))
    local = m.body_quat.copy()
    mocap = m.body_mocapid >= 0
    local[mocap] = quat_normalize(local[mocap])
    for bodies in t.levels:
        parent = m.body_parentid[bodies]
        s.xpos[bodies] = s.xpos[parent] + times(s.xmat[parent], m.body_pos[bodies])
        s.xquat[bodies] = quat_mul(s.xquat[parent], local[bodies])
        for k in range(m.body_jntnum[bodies].max(initial=0)):
            joints = m.body_jntadr[bodies[m.body_jntnum[bodies] > k]] + k
            free = m.jnt_type[joints] == JointType.FREE
            _apply_free(m, s, joints[free])
            _apply_joints(m, s, joints[~free])
        s.xquat[bodies] = quat_normalize(s.xquat[bodies])
        s.xmat[bodies] = quat_to_mat(s.xquat[bodies])


def _coordinates(qpos: Array, adr: Array, first: int, last: int) -> Array:
    """Coordinates [n, ..., last - first] of joints that have several, from their addresses [n]."""
    return np.moveaxis(qpos[adr[:, None] + np.arange(first, last)], 1, -1)


def _apply_free(m: Any, s: SimpleNamespace, joints: Array) -> None:
    if not len(joints):
        return
    bodies, adr = m.jnt_bodyid[joints], m.jnt_qposadr[joints]
    s.xpos[bodies] = _coordinates(s.qpos, adr, 0, 3)
    s.xquat[bodies] = quat_normalize(_coordinates(s.qpos, adr, 3, 7))
    s.xanchor[joints] = s.xpos[bodies]
    s.xaxis[joints] = m.jnt_axis[joints]


def _apply_joints(m: Any, s: SimpleNamespace, joints: Array) -> None:
    """Move bodies by one slide, hinge or ball joint each."""
    if not len(joints):
        return
    body, kind, adr = m.jnt_bodyid[joints], m.jnt_type[joints], m.jnt_qposadr[joints]
    axis, offset = m.jnt_axis[joints], m.jnt_pos[joints]
    mat = quat_to_mat(s.xquat[body])
    s.xaxis[joints] = times(mat, axis)
    s.xanchor[joints] = s.xpos[body] + times(mat, offset)

    travel = (s.qpos[adr] - m.qpos0[adr])[..., None]
    slide = kind == JointType.SLIDE
    s.xpos[body[slide]] += travel[slide] * s.xaxis[joints[slide]]
    if slide.all():
        return
    turn = np.concatenate([np.cos(travel / 2), np.sin(travel / 2) * axis], -1)
    ball = kind == JointType.BALL
    if ball.any():
        turn[ball] = quat_normalize(_coordinates(s.qpos, adr[ball], 0, 4))
    turning = ~slide
    body = body[turning]
    s.xquat[body] = quat_mul(s.xquat[body], turn[turning])
    s.xpos[body] = s.xanchor[joints[turning]] - rotate(s.xquat[body], offset[turning])


def _attached(s: SimpleNamespace, body: Array, pos: Array, quat: Array, sameframe: Array) -> tuple[Array, Array]:
    """World positions and orientations of frames fixed to bodies (mj_local2Global)."""
    xpos = s.xpos[body] + times(s.xmat[body], pos)
    xquat = quat_mul(s.xquat[body], quat)
    at_body, at_inertia = sameframe == SameFrame.BODY, sameframe == SameFrame.INERTIA
    xpos[at_body] = s.xpos[body[at_body]]
    as_body = at_body | (sameframe == SameFrame.BODYROT)
    xquat[as_body] = s.xquat[body[as_body]]
    as_inertia = at_inertia | (sameframe == SameFrame.INERTIAROT)
    if as_inertia.any():
        xpos[at_inertia] = s.xipos[body[at_inertia]]
        xquat[as_inertia] = s.xiquat[body[as_inertia]]
    return xpos, xquat


def add_to_parents(m: Any, t: Tree, value: Array) -> Array:
    """Sums over subtrees of a value per body [nbody, ...]."""
    total = value.copy()
    for bodies in reversed(t.levels):
        np.add.at(total, m.body_parentid[bodies], total[bodies])
    return total


def _subtree_com(m: Any, t: Tree, xipos: Array) -> Array:
    moment = add_to_parents(m, t, m.body_mass[..., None] * xipos)
    mass = add_to_parents(m, t, m.body_mass)[..., None]
    light = mass < MINVAL
    return np.where(light, xipos, moment / np.where(light, 1.0, mass))


def _cdof(m: Any, s: SimpleNamespace) -> Array:
    """Motion directions [nv, 6], rotation first, about the centre of mass of the kinematic tree."""
    jnt = m.dof_jntid
    kind, body = m.jnt_type[jnt], m.dof_bodyid
    index = np.arange(m.nv) - m.jnt_dofadr[jnt]  # which dof of its joint
    axis = s.xaxis[jnt]
    spherical = np.isin(kind, (JointType.FREE, JointType.BALL))
    columns = np.moveaxis(s.xmat, -1, 1)
    axis[spherical] = columns[body[spherical], index[spherical] % 3]
    translation = (kind == JointType.FREE) & (index < 3)
    axis[translation] = np.eye(3)[index[translation]].reshape(-1, *[1] * (axis.ndim - 2), 3)
    offset = s.subtree_com[m.body_rootid[body]] - s.xanchor[jnt]
    cdof = np.concatenate([axis, cross(axis, offset)], -1)
    linear = translation | (kind == JointType.SLIDE)
    cdof[linear] = np.concatenate([np.zeros_like(axis[linear]), axis[linear]], -1)
    return cdof


def spatial_inertia(m: Any, s: State) -> Array:
    """Inertias of bodies [nbody, 6, 6] about the centre of mass of their kinematic tree (cinert)."""
    r = s.xipos - s.subtree_com[m.body_rootid]
    skew = np.zeros((*r.shape, 3))
    skew[..., [2, 0, 1], [1, 2, 0]] = r
    skew[..., [1, 2, 0], [2, 0, 1]] = -r
    mass = m.body_mass[..., None, None]
    inertia = np.zeros((*r.shape[:-1], 6, 6))
    about_com = (s.ximat * m.body_inertia[..., None, :]) @ np.swapaxes(s.ximat, -1, -2)
    inertia[..., :3, :3] = about_com - mass * skew @ skew
    inertia[..., :3, 3:] = mass * skew
    inertia[..., 3:, :3] = -mass * skew
    inertia[..., 3:, 3:] = mass * np.eye(3)
    inertia[0] = 0
    return inertia


def rigid_inertia(m: Any, t: Tree, s: State) -> Array:
    """Joint-space inertia [nv, nv, ...] of the bodies alone, without any armature (mj_crb)."""
    composite = add_to_parents(m, t, spatial_inertia(m, s))
    force = np.einsum("v...ij,v...j->v...i", composite[m.dof_bodyid], s.cdof)
    full = np.einsum("v...k,u...k->vu...", force, s.cdof)
    i, j = np.nonzero(t.below)
    inertia = np.zeros_like(full)
    inertia[i, j] = inertia[j, i] = full[i, j]
    return inertia


def wrench_rows(m: Any, t: Tree, s: State, body: Array, point: Array, force: Array, torque: Array) -> Array:
    """Generalised forces [n, nv, ...] of forces [n, ..., 3] at points, and of torques, on bodies [n]."""
    arm = point - s.subtree_com[m.body_rootid[body]]
    wrench = np.concatenate([torque + cross(arm, force), force], -1)
    rows = np.einsum("n...k,v...k->nv...", wrench, s.cdof)
    rows[~t.moves[body]] = 0
    return rows


def body_jacobian(m: Any, s: State, body: int, dofs: Array) -> Array:
    """Jacobian [6, n] of a body's centre of mass, translation first, for dofs [n] that move it."""
    rot, lin = s.cdof[dofs, :3], s.cdof[dofs, 3:]
    arm = s.xipos[body] - s.subtree_com[m.body_rootid[body]]
    return np.concatenate([lin + cross(rot, arm), rot], 1).T


def blocks(inertia: Array) -> list[Array]:
    """Groups of dofs between which the inertia matrix [nv, nv] does not couple."""
    count, label = connected_components(inertia != 0, directed=False)
    order = np.argsort(label, kind="stable")
    return np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1]) if count else []
