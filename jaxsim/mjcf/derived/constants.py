"""Constants that follow from the rest of a model (MuJoCo: mj_setConst and what the compiler does after it).

`compute` takes any object with MjModel's fields as numpy arrays, filled by the compiler, and completes it.
Everything is in float64 at the reference configuration qpos0, except where springs are concerned. The physics and
what the constants are is that of `dynamics`; here is what only the compiler resolves, and how it inverts M.
"""

import contextlib
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse.csgraph import connected_components

from jaxsim.algebra.tree import coupled
from jaxsim.core.enums import MINVAL, EqType, GainType, JointType, ObjType
from jaxsim.dynamics import reference
from jaxsim.dynamics.com import com_pos, crb
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.dynamics.tendon import tendon, tendon_armature
from jaxsim.dynamics.transmission import transmission
from jaxsim.mjcf.derived import statistics
from jaxsim.mjcf.derived import tree as tree_constants
from jaxsim.mjcf.derived.host import HostModel, host_data, host_model

Array = np.ndarray
ILL_CONDITIONED = 1e-9  # smallest pivot in its diagonal element that Cholesky is trusted with
TOGETHER = 32  # dofs of which small groups are inverted together, because many calls take longer than the work


def compute(model: Any) -> Array:
    """Fill in every derived field of a model: subtree masses, inverse weights, lengths and poses at qpos0, statistics.

    Conventions of the compiler are resolved on the way: tendon_lengthspring of (-1, -1) becomes the length at
    qpos_spring, a positive biasprm[2] of a position-like actuator is a damping ratio and becomes a damping,
    and the relative pose of a weld whose quaternion is zero (or which is marked so) is measured.

    Returns:
        The dofs, if any, at which the inertia matrix is singular.
    """
    tree_constants.fill(model)
    m = host_model(model)
    d = com_pos(m, kinematics(m, host_data(m, m.qpos0)))
    d, ten_J = tendon(m, d)
    d = crb(m, d)
    m.dof_M0[:] = np.diag(d.qM)
    d, moment = transmission(m, tendon_armature(m, d, ten_J), ten_J)
    m.tendon_length0[:], m.actuator_length0[:] = d.ten_length[: m.ntendon], d.actuator_length

    inertia = np.where(coupled(m.topology), d.qM, 0)
    inverses = [_inverse(inertia, dofs) for dofs in _uncoupled(inertia)]
    blocks, diagonal = [block for block, _, _ in inverses], np.zeros(m.nv)
    for block, squares, _ in inverses:
        diagonal[block.dofs] = squares
    m.dof_invweight0[:] = reference.dof_invweight(m, diagonal)
    m.body_invweight0[:] = reference.body_invweight(m, d, blocks)
    m.tendon_invweight0[:] = reference.weights(ten_J, blocks)
    accelerations = reference.solved(moment, blocks)
    m.actuator_acc0[:] = np.linalg.norm(accelerations, axis=1)
    _damping_ratios(m, moment, accelerations)

    _mark_welds(m)
    m.eq_data[:] = reference.relative_poses(m, d)
    for name, value in reference.viewers(m, d).items():
        getattr(m, name).reshape(value.shape)[:] = value
    statistics.fill(m, d, inertia)
    _spring_lengths(m)
    return np.concatenate([np.zeros(0, int), *(singular for _, _, singular in inverses)])


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


def _uncoupled(inertia: Array) -> list[Array]:
    """Groups of dofs between which the inertia matrix [nv, nv] does not couple; small ones are put together."""
    count, label = connected_components(inertia != 0, directed=False)
    size = np.bincount(label, minlength=count)
    order = np.argsort(label, kind="stable")
    ends, full = np.cumsum(size), (np.cumsum(size) - size) // TOGETHER
    return [np.sort(dofs) for dofs in np.split(order, ends[:-1][np.diff(full) > 0])] if count else []


def _inverse(inertia: Array, dofs: Array) -> tuple[reference.Block, Array, Array]:
    """The inverse of a block of the inertia matrix, its diagonal, and the dofs at which M is singular."""
    root, singular = _inverse_root(inertia, dofs)
    block = reference.Block(dofs, lambda rows: rows @ root @ root.T, lambda rows: np.sum((rows @ root) ** 2, axis=1))
    return block, np.sum(root**2, axis=1), singular


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


def _damping_ratios(m: HostModel, moment: Array, acceleration: Array) -> None:
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


def _mark_welds(m: HostModel) -> None:
    """Mark the welds of bodies whose relative pose is to be measured, because they have none."""
    welds = (m.eq_type == EqType.WELD) & (m.eq_objtype != ObjType.SITE)
    m.eq_data[welds & ~m.eq_data[:, 6:10].any(axis=1), reference.MARKED] = 1


def _spring_lengths(m: HostModel) -> None:
    """Spring lengths of tendons which have none: the length at qpos_spring."""
    unset = (m.tendon_lengthspring == -1).all(axis=1)
    if unset.any():
        d, _ = tendon(m, com_pos(m, kinematics(m, host_data(m, m.qpos_spring))))
        m.tendon_lengthspring[unset] = d.ten_length[unset, None]
