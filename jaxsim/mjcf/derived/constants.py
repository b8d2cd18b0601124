"""Constants that follow from the rest of a model (MuJoCo: mj_setConst and what the compiler does after it).

`compute` takes any object with MjModel's fields as numpy arrays, filled by the compiler, and completes it.
Everything is in float64 at the reference configuration qpos0, except where springs are concerned.
"""

import contextlib
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from jaxsim.core.enums import MINVAL, EqType, GainType, JointType, ObjType
from jaxsim.mjcf.algebra.quaternion import quat_conj, quat_mul, quat_normalize, quat_to_mat, rotate
from jaxsim.mjcf.derived import statistics
from jaxsim.mjcf.derived import tree as tree_constants
from jaxsim.mjcf.derived.armature import joint_armature, tendon_armature
from jaxsim.mjcf.derived.kinematics import (
    State,
    Tree,
    blocks,
    body_jacobian,
    rigid_inertia,
    state,
    tree,
)
from jaxsim.mjcf.derived.tendon import Paths, paths, tendon
from jaxsim.mjcf.derived.transmission import transmission

Array = np.ndarray
ILL_CONDITIONED = 1e-9  # smallest pivot in its diagonal element that Cholesky is trusted with
MARKED = 11  # place in eq_data that says: complete the relative pose of this weld


def compute(m: Any) -> Array:
    """Fill in every derived field of m: subtree masses, inverse weights, lengths and poses at qpos0, statistics.

    Conventions of the compiler are resolved on the way: tendon_lengthspring of (-1, -1) becomes the length at
    qpos_spring, a positive biasprm[2] of a position-like actuator is a damping ratio and becomes a damping,
    and the relative pose of a weld whose quaternion is zero (or which is marked so) is measured.

    Returns:
        The dofs, if any, at which the inertia matrix is singular.
    """
    tree_constants.fill(m)
    t = tree(m)
    s = state(m, t, m.qpos0)
    along = paths(m)
    ten_length, ten_J = tendon(m, t, s, along)
    length, moment = transmission(m, t, s, ten_length, ten_J)
    m.tendon_length0[:], m.actuator_length0[:] = ten_length, length

    rigid = rigid_inertia(m, t, s)
    m.dof_M0[:] = np.diag(rigid) + joint_armature(m)
    inertia = _inertia(m, t, rigid, ten_J)
    roots, singular = [], [np.zeros(0, int)]
    for dofs in blocks(inertia):
        root, flat = _inverse_root(inertia, dofs)
        roots.append((dofs, root))
        singular.append(flat)
    _body_invweight(m, t, s, roots)
    _dof_invweight(m, roots)
    accelerations = _solve(roots, np.concatenate([ten_J, moment]))
    m.tendon_invweight0[:] = np.sum(ten_J * accelerations[: m.ntendon], axis=1)
    m.actuator_acc0[:] = np.linalg.norm(accelerations[m.ntendon :], axis=1)
    _damping_ratios(m, moment, accelerations[m.ntendon :])

    _relative_poses(m, s)
    _cameras_and_lights(m, s)
    statistics.fill(m, s, inertia)
    _spring_lengths(m, t, along)
    return np.concatenate(singular)


def spring_dampers(m: Any, springdamper: Array) -> None:
    """Stiffness and damping of joints given by time constant and damping ratio (needs dof_invweight0).

    Args:
        springdamper: [njnt, 2], in second and without unit; rows that are not both positive do nothing.
    """
    for j in np.flatnonzero((springdamper > 0).all(axis=1)):
        timeconst, dampratio = springdamper[j]
        dofs = slice(m.jnt_dofadr[j], m.jnt_dofadr[j] + JointType(m.jnt_type[j]).nv)
        inertia = 1 / max(MINVAL, float(np.mean(m.dof_invweight0[dofs])))
        m.jnt_stiffness[j] = inertia / max(MINVAL, (timeconst * dampratio) ** 2)
        m.dof_damping[dofs] = 2 * inertia / max(MINVAL, timeconst)


def _inertia(m: Any, t: Tree, rigid: Array, ten_J: Array) -> Array:
    """Joint-space inertia [nv, nv] with all armatures; tendons couple only dofs of one branch (MuJoCo)."""
    coupled = t.below | t.below.T
    simple = m.dof_simplenum > 0
    coupled &= ~(simple[:, None] | simple[None]) | np.eye(m.nv, dtype=bool)
    through_tendons = (ten_J.T * tendon_armature(m)) @ ten_J
    return np.where(coupled, rigid + np.diag(joint_armature(m)) + through_tendons, 0.0)


def _inverse_root(inertia: Array, dofs: Array) -> tuple[Array, Array]:
    """A root R of the inverse of a block of the inertia matrix, R R' = M^-1, and the dofs at which M is singular.

    Dofs are eliminated from the last to the first, with pivots of at least MINVAL (mj_factorI).
    """
    block, eye = inertia[np.ix_(dofs, dofs)], np.eye(len(dofs))
    with contextlib.suppress(np.linalg.LinAlgError):
        lower = cholesky(block[::-1, ::-1], lower=True, check_finite=False)
        if (np.diag(lower) ** 2 > ILL_CONDITIONED * np.diag(block)[::-1]).all():
            return solve_triangular(lower, eye, lower=True, check_finite=False).T[::-1, ::-1], dofs[:0]
    # M = U' diag(pivot) U without square roots, whose rounding would hide that a pivot is zero
    U, pivot = eye.copy(), np.zeros(len(dofs))
    for k in reversed(range(len(dofs))):
        pivot[k] = block[k, k]
        U[k, :k] = block[k, :k] / max(pivot[k], MINVAL)
        block[:k, :k] -= np.outer(block[k, :k], U[k, :k])
    root = solve_triangular(U, eye, lower=True, unit_diagonal=True, check_finite=False) / np.sqrt(
        np.maximum(pivot, MINVAL)
    )
    return root, dofs[pivot < MINVAL]


def _solve(roots: list[tuple[Array, Array]], rows: Array) -> Array:
    """M^-1 applied to rows [n, nv]."""
    out = np.zeros_like(rows)
    for dofs, root in roots:
        out[:, dofs] = rows[:, dofs] @ root @ root.T
    return out


def _body_invweight(m: Any, t: Tree, s: State, roots: list[tuple[Array, Array]]) -> None:
    """Mean diagonal of J M^-1 J' for translation and rotation of each body's centre of mass."""
    m.body_invweight0[:] = 0
    for dofs, root in roots:
        for body in np.flatnonzero(t.moves[:, dofs].any(axis=1) & (m.body_simple != 2)):
            moving = t.moves[body, dofs]
            jac = body_jacobian(m, s, int(body), dofs[moving])
            diagonal = np.sum((jac @ root[moving]) ** 2, axis=1)
            m.body_invweight0[body] += [diagonal[:3].mean(), diagonal[3:].mean()]
    simple = np.flatnonzero(m.body_simple == 2)
    m.body_invweight0[simple, 0] = 1 / np.maximum(m.body_mass[simple], MINVAL)


def _dof_invweight(m: Any, roots: list[tuple[Array, Array]]) -> None:
    """Diagonal of M^-1, averaged over the translations and over the rotations of a joint."""
    diagonal = np.zeros(m.nv)
    for dofs, root in roots:
        diagonal[dofs] = np.sum(root**2, axis=1)
    for j in range(m.njnt):
        adr, kind = m.jnt_dofadr[j], m.jnt_type[j]
        if kind in (JointType.FREE, JointType.BALL):
            for k in range(adr, adr + JointType(kind).nv, 3):
                diagonal[k : k + 3] = diagonal[k : k + 3].mean()
    body = m.dof_bodyid
    sliding = m.body_simple[body] == 2
    m.dof_invweight0[:] = np.where(sliding, 1 / np.maximum(m.body_mass[body], MINVAL), diagonal)


def _damping_ratios(m: Any, moment: Array, acceleration: Array) -> None:
    """Damping ratios of position-like actuators become dampings 2 ratio sqrt(kp m), m = 1 / (J M^-1 J')."""
    for i in range(m.nactuator):
        bias, gain = m.actuator_biasprm[i], m.actuator_gainprm[i]
        is_pid = m.actuator_gaintype[i] == GainType.PID
        if bias[2] <= 0 or (not is_pid and gain[0] != -bias[1]):
            continue
        rows = slice(m.actuator_outadr[i], m.actuator_outadr[i] + m.actuator_outnum[i])
        mobility = float(np.mean(np.sum(moment[rows] * acceleration[rows], axis=1)))
        mass = 1 / mobility if mobility > MINVAL else 0.0
        stiffness = -bias[1] if is_pid else gain[0]
        bias[2] = -2 * bias[2] * np.sqrt(stiffness * mass)


def _relative_poses(m: Any, s: State) -> None:
    """Complete eq_data of connects and welds from the poses of their bodies."""
    for i in range(m.neq):
        data, body1, body2 = m.eq_data[i], m.eq_obj1id[i], m.eq_obj2id[i]
        of_sites = m.eq_objtype[i] == ObjType.SITE
        if m.eq_type[i] == EqType.CONNECT:
            if of_sites:
                data[:] = 0
            else:
                data[3:6] = _seen_from(s, body2, s.xpos[body1] + s.xmat[body1] @ data[:3])
        elif m.eq_type[i] == EqType.WELD and not of_sites:
            if data[MARKED] or not data[6:10].any():
                data[MARKED] = 1
                data[3:6] = _seen_from(s, body1, s.xpos[body2] + s.xmat[body2] @ data[:3])
                data[6:10] = quat_mul(quat_conj(s.xquat[body1]), s.xquat[body2])
            else:
                data[6:10] = quat_normalize(data[6:10])


def _seen_from(s: State, body: int, point: Array) -> Array:
    return s.xmat[body].T @ (point - s.xpos[body])


def _cameras_and_lights(m: Any, s: State) -> None:
    """Offsets of cameras and lights from their body and from the centre of mass that they track."""
    for kind in ("cam", "light"):
        body, target = getattr(m, f"{kind}_bodyid"), getattr(m, f"{kind}_targetbodyid")
        pos = s.xpos[body] + rotate(s.xquat[body], getattr(m, f"{kind}_pos"))
        getattr(m, f"{kind}_pos0")[:] = pos - s.xpos[body]
        getattr(m, f"{kind}_poscom0")[:] = pos - s.subtree_com[np.where(target >= 0, target, body)]
    m.cam_mat0[:] = quat_to_mat(quat_mul(s.xquat[m.cam_bodyid], m.cam_quat)).reshape(m.cam_mat0.shape)
    direction = rotate(s.xquat[m.light_bodyid], m.light_dir)
    m.light_dir0[:] = direction / np.maximum(np.linalg.norm(direction, axis=-1, keepdims=True), MINVAL)


def _spring_lengths(m: Any, t: Tree, along: Paths) -> None:
    """Spring lengths of tendons which have none: the length at qpos_spring."""
    unset = (m.tendon_lengthspring == -1).all(axis=1)
    if unset.any():
        length, _ = tendon(m, t, state(m, t, m.qpos_spring), along)
        m.tendon_lengthspring[unset] = length[unset, None]
