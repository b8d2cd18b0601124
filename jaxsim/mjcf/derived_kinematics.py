"""Poses, inertia matrix and motion directions at one configuration, in float64 numpy.

This is what the compiler needs of the physics (MuJoCo: mj_kinematics, mj_comPos, mj_crb); the engine proper
has its own, differentiable versions of the same stages.
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from jaxsim.types import MINVAL, JointType

Array = np.ndarray
SAME_NONE, SAME_BODY, SAME_INERTIA, SAME_BODYROT, SAME_INERTIAROT = range(5)  # mjtSameFrame


def quat_mul(a: Array, b: Array) -> Array:
    """Products of quaternions [..., 4]."""
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        -1,
    )


def quat_conj(quat: Array) -> Array:
    """Inverse of unit quaternions [..., 4]."""
    return quat * np.array([1.0, -1.0, -1.0, -1.0])


def quat_normalize(quat: Array) -> Array:
    """Unit quaternions [..., 4]; a null quaternion becomes the identity."""
    norm = np.linalg.norm(quat, axis=-1, keepdims=True)
    null = norm < MINVAL
    return np.where(null, np.array([1.0, 0, 0, 0]), quat / np.where(null, 1.0, norm))


def quat_to_mat(quat: Array) -> Array:
    """Rotation matrices [..., 3, 3] of unit quaternions [..., 4]."""
    w, x, y, z = np.moveaxis(quat, -1, 0)
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def quat_to_rotvec(quat: Array) -> Array:
    """Rotation vectors [..., 3] in radian, of length at most pi (mju_quat2Vel with dt 1)."""
    axis = quat[..., 1:]
    sine = np.linalg.norm(axis, axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, quat[..., :1])
    angle = np.where(angle > np.pi, angle - 2 * np.pi, angle)
    return axis / np.where(sine < MINVAL, 1.0, sine) * angle


def rotate(quat: Array, vec: Array) -> Array:
    """Vectors [..., 3] turned by unit quaternions [..., 4]."""
    return (quat_to_mat(quat) @ vec[..., None])[..., 0]


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


def state(m: Any, t: Tree, qpos: Array) -> State:
    """Kinematics, centres of mass and motion directions at qpos [nq] (mj_kinematics, mj_comPos)."""
    s = SimpleNamespace(qpos=qpos)
    _poses(m, t, s)
    s.xmat = quat_to_mat(s.xquat)
    sameframe = np.where(np.isin(m.body_sameframe, (SAME_BODY, SAME_BODYROT)), m.body_sameframe, SAME_NONE)
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
    s.xpos, s.xquat = np.zeros((m.nbody, 3)), np.tile([1.0, 0, 0, 0], (m.nbody, 1))
    s.xanchor, s.xaxis = np.zeros((m.njnt, 3)), np.zeros((m.njnt, 3))
    local = np.where((m.body_mocapid >= 0)[:, None], quat_normalize(m.body_quat), m.body_quat)
    for bodies in t.levels:
        parent = m.body_parentid[bodies]
        s.xpos[bodies] = s.xpos[parent] + rotate(s.xquat[parent], m.body_pos[bodies])
        s.xquat[bodies] = quat_mul(s.xquat[parent], local[bodies])
        for k in range(m.body_jntnum[bodies].max(initial=0)):
            joints = m.body_jntadr[bodies[m.body_jntnum[bodies] > k]] + k
            free = m.jnt_type[joints] == JointType.FREE
            _apply_free(m, s, joints[free])
            _apply_joints(m, s, joints[~free])
        s.xquat[bodies] = quat_normalize(s.xquat[bodies])


def _apply_free(m: Any, s: SimpleNamespace, joints: Array) -> None:
    bodies, adr = m.jnt_bodyid[joints], m.jnt_qposadr[joints][:, None]
    s.xpos[bodies] = s.qpos[adr + np.arange(3)]
    s.xquat[bodies] = quat_normalize(s.qpos[adr + np.arange(3, 7)])
    s.xanchor[joints] = s.xpos[bodies]
    s.xaxis[joints] = m.jnt_axis[joints]


def _apply_joints(m: Any, s: SimpleNamespace, joints: Array) -> None:
    """Move bodies by one slide, hinge or ball joint each."""
    body, kind, adr = m.jnt_bodyid[joints], m.jnt_type[joints], m.jnt_qposadr[joints]
    axis, offset = m.jnt_axis[joints], m.jnt_pos[joints]
    s.xaxis[joints] = rotate(s.xquat[body], axis)
    s.xanchor[joints] = s.xpos[body] + rotate(s.xquat[body], offset)

    travel = s.qpos[adr] - m.qpos0[adr]
    slide = kind == JointType.SLIDE
    s.xpos[body[slide]] += travel[slide, None] * s.xaxis[joints[slide]]

    turn = np.concatenate([np.cos(travel / 2)[:, None], np.sin(travel / 2)[:, None] * axis], 1)
    ball = kind == JointType.BALL
    turn[ball] = quat_normalize(s.qpos[adr[ball][:, None] + np.arange(4)])
    turning = ~slide
    body = body[turning]
    s.xquat[body] = quat_mul(s.xquat[body], turn[turning])
    s.xpos[body] = s.xanchor[joints[turning]] - rotate(s.xquat[body], offset[turning])


def _attached(
    s: SimpleNamespace, body: Array, pos: Array, quat: Array, sameframe: Array
) -> tuple[Array, Array]:
    """World positions and orientations of frames fixed to bodies (mj_local2Global)."""
    xpos = s.xpos[body] + rotate(s.xquat[body], pos)
    xquat = quat_mul(s.xquat[body], quat)
    at_body, at_inertia = sameframe == SAME_BODY, sameframe == SAME_INERTIA
    xpos[at_body] = s.xpos[body[at_body]]
    as_body = at_body | (sameframe == SAME_BODYROT)
    xquat[as_body] = s.xquat[body[as_body]]
    as_inertia = at_inertia | (sameframe == SAME_INERTIAROT)
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
    moment = add_to_parents(m, t, m.body_mass[:, None] * xipos)
    mass = add_to_parents(m, t, m.body_mass)[:, None]
    light = mass < MINVAL
    return np.where(light, xipos, moment / np.where(light, 1.0, mass))


def _cdof(m: Any, s: SimpleNamespace) -> Array:
    """Motion directions [nv, 6], rotation first, about the centre of mass of the kinematic tree."""
    jnt = m.dof_jntid
    kind, body = m.jnt_type[jnt], m.dof_bodyid
    index = np.arange(m.nv) - m.jnt_dofadr[jnt]  # which dof of its joint
    linear = (kind == JointType.SLIDE) | ((kind == JointType.FREE) & (index < 3))
    axis = s.xaxis[jnt].copy()
    spherical = np.isin(kind, (JointType.FREE, JointType.BALL))
    axis[spherical] = s.xmat[body[spherical], :, index[spherical] % 3]
    world = (kind == JointType.FREE) & (index < 3)
    axis[world] = np.eye(3)[index[world]]
    offset = s.subtree_com[m.body_rootid[body]] - s.xanchor[jnt]
    turning = np.concatenate([axis, np.cross(axis, offset)], 1)
    moving = np.concatenate([np.zeros_like(axis), axis], 1)
    return np.where(linear[:, None], moving, turning)


def spatial_inertia(m: Any, t: Tree, s: State) -> Array:
    """Composite inertias [nbody, 6, 6] about the centre of mass of the kinematic tree (mj_crb)."""
    r = s.xipos - s.subtree_com[m.body_rootid]
    cross = np.zeros((m.nbody, 3, 3))
    cross[:, [2, 0, 1], [1, 2, 0]] = r[:, [0, 1, 2]]
    cross[:, [1, 2, 0], [2, 0, 1]] = -r[:, [0, 1, 2]]
    mass = m.body_mass[:, None, None]
    inertia = np.zeros((m.nbody, 6, 6))
    about_com = (s.ximat * m.body_inertia[:, None]) @ np.swapaxes(s.ximat, 1, 2)
    inertia[:, :3, :3] = about_com - mass * cross @ cross
    inertia[:, :3, 3:] = mass * cross
    inertia[:, 3:, :3] = -mass * cross
    inertia[:, 3:, 3:] = mass * np.eye(3)
    inertia[0] = 0
    return add_to_parents(m, t, inertia)


def rigid_inertia(m: Any, t: Tree, s: State) -> Array:
    """Joint-space inertia [nv, nv] of the bodies alone, without any armature."""
    force = np.einsum("vij,vj->vi", spatial_inertia(m, t, s)[m.dof_bodyid], s.cdof)
    lower = np.where(t.below, force @ s.cdof.T, 0.0)
    return lower + np.tril(lower, -1).T


def wrench_rows(m: Any, t: Tree, s: State, body: Array, point: Array, force: Array, torque: Array) -> Array:
    """Generalised forces [n, nv] of forces [n, 3] at points [n, 3] and torques [n, 3] on bodies [n]."""
    arm = point - s.subtree_com[m.body_rootid[body]]
    wrench = np.concatenate([torque + np.cross(arm, force), force], 1)
    return np.where(t.moves[body], wrench @ s.cdof.T, 0.0)


def body_jacobian(m: Any, s: State, body: int, dofs: Array) -> Array:
    """Jacobian [6, n] of a body's centre of mass, translation first, for dofs [n] that move it."""
    rot, lin = s.cdof[dofs, :3], s.cdof[dofs, 3:]
    arm = s.xipos[body] - s.subtree_com[m.body_rootid[body]]
    return np.concatenate([lin + np.cross(rot, arm), rot], 1).T


def blocks(inertia: Array) -> list[Array]:
    """Groups of dofs between which the inertia matrix [nv, nv] does not couple."""
    count, label = connected_components(inertia != 0, directed=False)
    order = np.argsort(label, kind="stable")
    return np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1]) if count else []
