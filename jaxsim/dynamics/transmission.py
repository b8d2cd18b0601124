"""Actuator lengths and moment arms for joint and tendon transmissions (mj_transmission)."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.select import gather_groups, take
from jaxsim.core.data import Data
from jaxsim.core.enums import JointType, TrnType
from jaxsim.core.model import Model
from jaxsim.dynamics.coordinates import SCALAR, quats_of, read

Array = jax.Array


def transmission(m: Model, d: Data, ten_J: Array) -> tuple[Data, Array]:
    """actuator_length [nout], and the moment arms actuator_moment [nout, nv]."""
    dtype = d.qpos.dtype
    if not m.nactuator:
        return d, jnp.zeros((0, m.nv), dtype)
    trn, target = m.actuator_trntype, m.actuator_trnid[:, 0]
    on_joint = (trn == TrnType.JOINT) | (trn == TrnType.JOINTINPARENT)
    kind = np.where(on_joint, m.jnt_type[np.where(on_joint, target, 0)] if m.njnt else -1, -1)
    groups = []
    scalar = np.flatnonzero(np.isin(kind, SCALAR))
    if len(scalar):
        joint = target[scalar]
        gear = take(m.actuator_gear, scalar)[:, 0]
        at_dof = jnp.asarray(m.jnt_dofadr[joint][:, None] == np.arange(m.nv)[None], dtype)
        groups.append((scalar, gear * take(d.qpos, m.jnt_qposadr[joint]), gear[:, None] * at_dof))
    for joint_type, rows in ((JointType.BALL, _ball), (JointType.FREE, _free)):
        chosen = np.flatnonzero(kind == joint_type)
        if len(chosen):
            groups.append((chosen, *rows(m, d, chosen)))
    tendons = np.flatnonzero(trn == TrnType.TENDON)
    if len(tendons):
        gear = take(m.actuator_gear, tendons)[:, 0]
        length, arm = take(d.ten_length, target[tendons]), take(ten_J, target[tendons])
        groups.append((tendons, gear * length, gear[:, None] * arm))
    length = gather_groups([(i, a) for i, a, _ in groups], m.nactuator)
    moment = gather_groups([(i, b) for i, _, b in groups], m.nactuator)
    return d.replace(actuator_length=length), moment


def _spread(m: Model, arm: Array, first_dof: np.ndarray) -> Array:
    """Place arms [n, k] at dofs first_dof .. first_dof + k of moment rows [n, nv]."""
    _n, k = arm.shape
    columns = np.arange(m.nv)[None, None] == (first_dof[:, None] + np.arange(k))[:, :, None]
    return jnp.sum(arm[:, :, None] * jnp.asarray(columns, arm.dtype), axis=1)


def _in_parent(m: Model, chosen: np.ndarray, quat: Array, axis: Array) -> Array:
    """Gear axes [n, 3], turned into the parent frame for JOINTINPARENT."""
    in_parent = (m.actuator_trntype[chosen] == TrnType.JOINTINPARENT)[:, None]
    return jnp.where(in_parent, quaternion.rotate(quaternion.conj(quat), axis), axis)


def _ball(m: Model, d: Data, chosen: np.ndarray) -> tuple[Array, Array]:
    joint = m.actuator_trnid[chosen, 0]
    quat = vector.normalize(read(d.qpos, quats_of(m, joint)))
    axis = _in_parent(m, chosen, quat, take(m.actuator_gear, chosen)[:, :3])
    length = vector.dot(quaternion.log(quat), axis)
    return length, _spread(m, axis, m.jnt_dofadr[joint])


def _free(m: Model, d: Data, chosen: np.ndarray) -> tuple[Array, Array]:
    joint = m.actuator_trnid[chosen, 0]
    quat = vector.normalize(read(d.qpos, quats_of(m, joint)))
    gear = take(m.actuator_gear, chosen)
    arm = vector.join(gear[:, :3], _in_parent(m, chosen, quat, gear[:, 3:]))
    return jnp.zeros(len(chosen), arm.dtype), _spread(m, arm, m.jnt_dofadr[joint])
