"""Actuator lengths and moment arms (mj_transmission): one row for each force output of an actuator.

Where actuators act is known at load, so that those of a kind are computed together; those on sites are in
`site_transmission`. Adhesion acts where contacts are: see `constraint.adhesion`.
"""

import numpy as np

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.arrays import Array, namespace
from jaxsim.algebra.select import gather_groups, take
from jaxsim.core.data import Data
from jaxsim.core.enums import JointType, TrnType
from jaxsim.core.model import Model
from jaxsim.dynamics.armature import on_joint
from jaxsim.dynamics.coordinates import SCALAR, quats_of, read
from jaxsim.dynamics.site_transmission import (
    gears_of,
    on_site,
    site_rotation,
    site_to_site,
    slider_crank,
)


def transmission(m: Model, d: Data, ten_J: Array) -> tuple[Data, Array]:
    """actuator_length [nout] (m or rad), and the moment arms actuator_moment [nout, nv]."""
    xp, dtype = namespace(d.qpos), d.qpos.dtype
    groups = []
    for chosen, outputs, rows in _kinds(m):
        if len(chosen):
            out = m.actuator_outadr[chosen][:, None] + np.arange(outputs)
            groups.append((out.ravel(), *rows(m, d, chosen)))
    tendons = np.flatnonzero(m.actuator_trntype == TrnType.TENDON)
    if len(tendons):
        gear, target = gears_of(m, tendons)[:, 0], m.actuator_trnid[tendons, 0]
        length, arm = take(d.ten_length, target), take(ten_J, target)
        groups.append((m.actuator_outadr[tendons], gear * length, gear[:, None] * arm))
    if not groups:
        return d.replace(actuator_length=xp.zeros(m.nout, dtype)), xp.zeros((m.nout, m.nv), dtype)
    length = gather_groups([(i, a) for i, a, _ in groups], m.nout)
    moment = gather_groups([(i, b) for i, _, b in groups], m.nout)
    return d.replace(actuator_length=length), moment


def _kinds(m: Model) -> list[tuple]:
    """For each kind but tendons: the actuators of that kind, outputs of each, and what gives their rows."""
    trn, first, second = m.actuator_trntype, m.actuator_trnid[:, 0], m.actuator_trnid[:, 1]
    joint = np.where(on_joint(m) | (trn == TrnType.SO3) & (second < 0), first, -1)
    kind = np.where(joint >= 0, m.jnt_type[joint] if m.njnt else -1, -1)
    single = on_joint(m)
    kinds = [
        (single & np.isin(kind, SCALAR), 1, _scalar),
        (single & (kind == JointType.BALL), 1, _ball),
        (single & (kind == JointType.FREE), 1, _free),
        ((trn == TrnType.SITE) & (second < 0), 1, on_site),
        ((trn == TrnType.SITE) & (second >= 0), 1, site_to_site),
        (trn == TrnType.SLIDERCRANK, 1, slider_crank),
        ((trn == TrnType.SO3) & (second < 0), 3, _ball_rotation),
        ((trn == TrnType.SO3) & (second >= 0), 3, site_rotation),
    ]
    return [(np.flatnonzero(mask), outputs, rows) for mask, outputs, rows in kinds]


def _spread(m: Model, arm: Array, first_dof: np.ndarray) -> Array:
    """Place arms [n, k] at dofs first_dof .. first_dof + k of moment rows [n, nv]."""
    _n, k = arm.shape
    columns, xp = np.arange(m.nv)[None, None] == (first_dof[:, None] + np.arange(k))[:, :, None], namespace(arm)
    return xp.sum(arm[:, :, None] * xp.asarray(columns, arm.dtype), axis=1)


def _in_parent(m: Model, chosen: np.ndarray, quat: Array, axis: Array) -> Array:
    """Gear axes [n, 3], turned into the parent frame for JOINTINPARENT."""
    in_parent = (m.actuator_trntype[chosen] == TrnType.JOINTINPARENT)[:, None]
    return namespace(quat).where(in_parent, quaternion.rotate(quaternion.conj(quat), axis), axis)


def _scalar(m: Model, d: Data, chosen: np.ndarray) -> tuple[Array, Array]:
    """Lengths [n] and arms [n, nv] of actuators on slides and hinges."""
    joint, gear = m.actuator_trnid[chosen, 0], gears_of(m, chosen)[:, 0]
    at_dof = namespace(gear).asarray(m.jnt_dofadr[joint][:, None] == np.arange(m.nv)[None], gear.dtype)
    return gear * take(d.qpos, m.jnt_qposadr[joint]), gear[:, None] * at_dof


def _ball(m: Model, d: Data, chosen: np.ndarray) -> tuple[Array, Array]:
    joint = m.actuator_trnid[chosen, 0]
    quat = vector.normalize(read(d.qpos, quats_of(m, joint)))
    axis = _in_parent(m, chosen, quat, gears_of(m, chosen)[:, :3])
    length = vector.dot(quaternion.log(quat), axis)
    return length, _spread(m, axis, m.jnt_dofadr[joint])


def _free(m: Model, d: Data, chosen: np.ndarray) -> tuple[Array, Array]:
    joint = m.actuator_trnid[chosen, 0]
    quat = vector.normalize(read(d.qpos, quats_of(m, joint)))
    gear = gears_of(m, chosen)
    arm = vector.join(gear[:, :3], _in_parent(m, chosen, quat, gear[:, 3:]))
    return namespace(arm).zeros(len(chosen), arm.dtype), _spread(m, arm, m.jnt_dofadr[joint])


def _ball_rotation(m: Model, d: Data, chosen: np.ndarray) -> tuple[Array, Array]:
    """Rotation vectors of balls as three lengths each [3 n], and their arms [3 n, nv], which are the dofs."""
    joint = m.actuator_trnid[chosen, 0]
    length = quaternion.log(vector.normalize(read(d.qpos, quats_of(m, joint))))
    dofs = (m.jnt_dofadr[joint][:, None] + np.arange(3)).ravel()
    arm = dofs[:, None] == np.arange(m.nv)
    return length.reshape(-1), namespace(length).asarray(arm, length.dtype)
