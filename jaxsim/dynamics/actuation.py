"""Actuator dynamics and forces (mj_fwdActuation): force = gain * (control or activation) + bias, then the limits.

Actuators of other kinds than fixed and affine ones are computed apart, those of a kind together: see `muscle`,
`dc_motor`, `servo`. User gains are 1, and user biases and dynamics 0, where `js.extend` gave no functions for them.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.algebra.select import gather_groups, put, scatter_add, take
from jaxsim.core.data import Data, counted
from jaxsim.core.enums import MINVAL, BiasType, DisableBit, GainType, TrnType, WarningType
from jaxsim.core.extension import user_actuators
from jaxsim.core.model import Model
from jaxsim.dynamics import dc_motor, muscle, pid_plugin, servo
from jaxsim.dynamics.activation import activation_after, activation_rates, anchored
from jaxsim.dynamics.armature import on_joint, on_tendon
from jaxsim.dynamics.controls import (
    controls,
    disabled_actuators,
    first_controls,
    last_states,
    nearest,
    on_rotations,
    periods,
)
from jaxsim.dynamics.coordinates import SCALAR
from jaxsim.dynamics.extension import extension_of

Array = jax.Array

ROUNDING = 4  # units in the last place by which forces that were scaled to a bound may miss it; for MuJoCo they decide


def actuation(m: Model, d: Data, moment: Array, qfrc_gravcomp: Array) -> Data:
    """act_dot [na], actuator_force [nout] and qfrc_actuator [nv], for moments [nout, nv].

    Forces obey the limits of tendons, of actuators and then of joints.
    """
    dtype = d.qpos.dtype
    if not m.nactuator or m.opt.disables(DisableBit.ACTUATION):
        zero = jnp.zeros(m.nv, dtype)
        return d.replace(qfrc_actuator=zero, actuator_force=jnp.zeros(m.nout, dtype), act_dot=jnp.zeros(m.na, dtype))
    ctrl, bad = controls(m, d)
    motors = dc_motor.motors(m, d)
    act_dot, ctrl = activation_rates(m, d, ctrl, motors)
    d = d.replace(act_dot=act_dot, warning=counted(d.warning, WarningType.BADCTRL, bad))
    force = jnp.where(disabled_actuators(m)[_owners(m)], 0, _forces(m, d, ctrl, motors))
    force = _clamp(m, _clamp_tendons(m, force))
    if motors is not None:
        own = np.where(disabled_actuators(m)[motors.actuator], 0.0, 1.0)
        more = dc_motor.mechanical_force(m, d.act_dot, motors) * jnp.asarray(own, dtype)
        force = force + scatter_add(m.actuator_outadr[motors.actuator], more, m.nout)
    qfrc = lax.dot_general(moment, force, (((0,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)
    through_actuator = np.asarray(m.jnt_actgravcomp, bool)[m.dof_jntid]
    if through_actuator.any():
        qfrc = qfrc + jnp.where(through_actuator, qfrc_gravcomp, 0)
    return d.replace(actuator_force=force, qfrc_actuator=_clamp_joints(m, qfrc))


def next_activation(m: Model, d: Data) -> Array:
    """Activations [na] one time step on (mj_advance)."""
    return anchored(m, d, activation_after(m, d, dc_motor.motors(m, d)))


def _owners(m: Model) -> np.ndarray:
    """[nout] the actuator of each output."""
    return np.repeat(np.arange(m.nactuator), m.actuator_outnum)


def _forces(m: Model, d: Data, ctrl: Array, motors: dc_motor.Motors | None) -> Array:
    """Forces [nout] of all actuators, without limits."""
    early = np.asarray(m.actuator_actearly, bool) & (m.actuator_actnum > 0)
    after = activation_after(m, d, motors) if early.any() else d.act
    signal = _signal(m, d, ctrl, after)
    affine = _affine(m, d)
    bias = _bias(m, d, affine)
    force = _gain(m, d, affine) * signal + bias
    servos = np.flatnonzero(m.actuator_gaintype == GainType.PID)
    if len(servos):
        more = servo.pid_force(m, d, ctrl, take(signal, servos), servos)
        force = put(force, servos, more + take(bias, servos))
    if motors is not None:
        force = put(force, motors.actuator, dc_motor.electric_force(m, ctrl, motors, take(signal, motors.actuator)))
    act = jnp.where(np.repeat(early, m.actuator_actnum), after, d.act) if early.any() else d.act
    plugged = pid_plugin.driven(m)
    if len(plugged):
        force = put(force, plugged, pid_plugin.force(m, d, act))
    turning, outputs = servo.orientation_outputs(m)
    if not len(turning):
        return force
    torque = servo.orientation_torque(m, d, ctrl, act)
    single = np.flatnonzero(m.actuator_outnum == 1)
    groups = [(outputs.ravel(), torque.reshape(-1)), (m.actuator_outadr[single], take(force, single))]
    return gather_groups(groups, m.nout)


def _signal(m: Model, d: Data, ctrl: Array, after: Array) -> Array:
    """What gains multiply [nactuator]: the last activation of those that have any, else the first control.

    `after` [na] are the activations after the step, for actuators that use them early.
    """
    signal = first_controls(m, ctrl)
    stateful = np.flatnonzero(m.actuator_actnum > 0)
    if len(stateful):
        where, early = last_states(m, stateful), np.asarray(m.actuator_actearly, bool)[stateful]
        act = take(d.act, where)
        if early.any():
            act = jnp.where(early, take(after, where), act)
        signal = put(signal, stateful, act)
    turning = on_rotations(m)
    turning = turning[m.actuator_gaintype[turning] != GainType.PID]
    if not len(turning):
        return signal
    length = take(d.actuator_length, m.actuator_outadr[turning])
    return put(signal, turning, nearest(take(signal, turning), length, periods(m, turning)))


def _affine(m: Model, d: Data) -> Array:
    """1, length and velocity [nactuator, 3] of the first output of each actuator."""
    length, velocity = (take(x, m.actuator_outadr) for x in (d.actuator_length, d.actuator_velocity))
    return jnp.stack([jnp.ones_like(length), length, velocity], axis=-1)


def _muscles(m: Model, d: Data, chosen: np.ndarray, prm: Array) -> muscle.Muscle:
    out = m.actuator_outadr[chosen]
    length, velocity = take(d.actuator_length, out), take(d.actuator_velocity, out)
    return muscle.muscles(
        length, velocity, take(m.actuator_lengthrange, out), take(m.actuator_acc0, out), take(prm, chosen)
    )


def _gain(m: Model, d: Data, affine: Array) -> Array:
    """[nactuator] N by unit of what is multiplied; `affine` is what `_affine` gives."""
    is_affine = (np.asarray(m.actuator_gaintype) == GainType.AFFINE)[:, None]
    mask = jnp.asarray(np.where(is_affine, [[1, 1, 1]], [[1, 0, 0]]), d.qpos.dtype)
    gain = jnp.sum(m.actuator_gainprm[:, :3] * mask * affine, axis=-1)
    chosen = np.flatnonzero(m.actuator_gaintype == GainType.MUSCLE)
    if len(chosen):
        gain = put(gain, chosen, muscle.gain(_muscles(m, d, chosen, m.actuator_gainprm)))
    users, given = user_actuators(m.topology, "gain"), extension_of(m).act_gain
    if not len(users):
        return gain
    return put(gain, users, jnp.ones(len(users), gain.dtype) if given is None else given(m, d))


def _bias(m: Model, d: Data, affine: Array) -> Array:
    """[nactuator] N; `affine` is what `_affine` gives."""
    mask = jnp.asarray((np.asarray(m.actuator_biastype) == BiasType.AFFINE)[:, None], d.qpos.dtype)
    bias = jnp.sum(m.actuator_biasprm[:, :3] * mask * affine, axis=-1)
    chosen = np.flatnonzero(m.actuator_biastype == BiasType.MUSCLE)
    if len(chosen):
        bias = put(bias, chosen, muscle.bias(_muscles(m, d, chosen, m.actuator_biasprm)))
    given = extension_of(m).act_bias
    return bias if given is None else put(bias, user_actuators(m.topology, "bias"), given(m, d))


def _clamp(m: Model, force: Array) -> Array:
    """Forces [nout] within the forceranges of their actuators, which bound the norm for servos of an orientation."""
    bounds, limited = take(m.actuator_forcerange, _owners(m)), np.asarray(m.actuator_forcelimited, bool)
    turning, outputs = servo.orientation_outputs(m)
    each = limited & (m.actuator_gaintype != GainType.SO3)
    clamped = jnp.where(each[_owners(m)], jnp.clip(force, bounds[:, 0], bounds[:, 1]), force)
    if not limited[turning].any():
        return clamped
    torque = take(force, outputs.ravel()).reshape(-1, 3)
    most, norm = take(m.actuator_forcerange, turning)[:, 1], vector.norm(torque)
    scale = jnp.where(limited[turning] & (norm > most), most / jnp.maximum(norm, MINVAL), 1)
    return put(clamped, outputs.ravel(), (torque * scale[:, None]).reshape(-1))


def _clamp_tendons(m: Model, force: Array) -> Array:
    """Scale the forces on each limited tendon so that their sum stays in its actfrcrange."""
    limited = np.asarray(m.tendon_actfrclimited, bool)
    pulls = np.flatnonzero(m.actuator_trntype == TrnType.TENDON)
    pulls = pulls[limited[m.actuator_trnid[pulls, 0]]] if len(pulls) else pulls
    if not len(pulls):
        return force
    tendon, out = m.actuator_trnid[pulls, 0], m.actuator_outadr[pulls]
    total = take(scatter_add(tendon, take(force, out), m.ntendon), tendon)
    bounds = take(m.tendon_actfrcrange, tendon)
    scale = jnp.clip(total, bounds[:, 0], bounds[:, 1]) / jnp.where(total == 0, 1, total)
    return put(force, out, take(force, out) * jnp.where(total == 0, 1, scale))


def _clamp_joints(m: Model, qfrc: Array) -> Array:
    """Clamp each scalar joint's actuator force to its actfrcrange."""
    joints = np.flatnonzero(np.asarray(m.jnt_actfrclimited, bool) & np.isin(m.jnt_type, SCALAR))
    if not len(joints):
        return qfrc
    bounds, dofs = take(m.jnt_actfrcrange, joints), m.jnt_dofadr[joints]
    return put(qfrc, dofs, jnp.clip(take(qfrc, dofs), bounds[:, 0], bounds[:, 1]))


def actuator_velocity_gain(m: Model, d: Data) -> Array:
    """d force / d velocity of each output [nout], zero where a force limit saturates (mjd_actuator_vel)."""
    dtype, owner = d.qpos.dtype, _owners(m)
    biased = np.isin(m.actuator_biastype, (BiasType.AFFINE, BiasType.SO3))
    slope = m.actuator_biasprm[:, 2] * jnp.asarray(biased, dtype)
    motors = dc_motor.motors(m, d)
    ctrl = controls(m, d)[0]
    after = activation_after(m, d, motors) if np.asarray(m.actuator_actearly, bool).any() else d.act
    if np.isin(m.actuator_gaintype, (GainType.AFFINE, GainType.MUSCLE)).any():
        slope = slope + _gain_slope(m, d) * _signal(m, d, ctrl, after)
    if motors is not None:
        slope = put(slope, motors.actuator, _motor_slopes(m, d, ctrl, after, motors)[1])
    return _limited(m, d, take(slope, owner), motors, None if motors is None else -motors.dyn[:, 6])


def actuator_length_gain(m: Model, d: Data) -> Array:
    """d force / d length of each output [nout], zero where a force limit saturates."""
    ctrl, _ = controls(m, d)
    motors = dc_motor.motors(m, d)
    _, ctrl = activation_rates(m, d, ctrl, motors)

    def force(length: Array) -> Array:
        return _forces(m, d.replace(actuator_length=length), ctrl, motors)

    # each output's force depends on its own length, but for servos of orientations, which take kp as their stiffness
    slope = jax.jvp(force, (d.actuator_length,), (jnp.ones_like(d.actuator_length),))[1]
    turning, outputs = servo.orientation_outputs(m)
    if len(turning):
        slope = put(slope, outputs.ravel(), jnp.repeat(take(m.actuator_biasprm[:, 1], turning), 3))
    if motors is not None:
        after = activation_after(m, d, motors)
        own = _motor_slopes(m, d, controls(m, d)[0], after, motors)[0]
        slope = put(slope, m.actuator_outadr[motors.actuator], own)
    return _limited(m, d, slope, motors, None if motors is None else dc_motor.cogging_slope(motors))


def _limited(m: Model, d: Data, slope: Array, motors: dc_motor.Motors | None, mechanical: Array | None) -> Array:
    """Slopes [nout] where no limit holds the force, and of what motors add after the limits of forces [n].

    Neither forceranges nor tendons bound cogging and bristles, only joints do.
    """
    stopped = _saturated_by_joint(m, d) | disabled_actuators(m)[_owners(m)]
    saturated = _saturated(m, d)
    if motors is None:
        return jnp.where(saturated | _saturated_by_tendon(m, d, d.actuator_force) | stopped, 0, slope)
    out = m.actuator_outadr[motors.actuator]
    saturated = saturated & ~np.isin(np.arange(m.nout), out)
    bounded = d.actuator_force - scatter_add(out, dc_motor.mechanical_force(m, d.act_dot, motors), m.nout)
    slope = jnp.where(saturated | _saturated_by_tendon(m, d, bounded), 0, slope)
    return jnp.where(stopped, 0, slope + scatter_add(out, mechanical, m.nout))


def _motor_slopes(m: Model, d: Data, ctrl: Array, after: Array, motors: dc_motor.Motors) -> tuple[Array, Array]:
    """d force / d length and d velocity of motors [n], of the electric part within its limits."""
    _, ctrl = activation_rates(m, d, ctrl, motors)
    current = take(_signal(m, d, ctrl, after), motors.actuator)
    force = dc_motor.electric_force(m, ctrl, motors, current)
    bounds = take(m.actuator_forcerange, motors.actuator)
    held = np.asarray(m.actuator_forcelimited, bool)[motors.actuator]
    held = held & ((force <= bounds[:, 0]) | (force >= bounds[:, 1]))
    by_length, by_velocity = dc_motor.slopes(m, m.opt.timestep, ctrl, motors)
    return jnp.where(held, 0, by_length), jnp.where(held, 0, by_velocity)


def _gain_slope(m: Model, d: Data) -> Array:
    """Derivatives of gains [nactuator] with respect to velocity."""
    slope = m.actuator_gainprm[:, 2] * jnp.asarray(m.actuator_gaintype == GainType.AFFINE, d.qpos.dtype)
    chosen = np.flatnonzero(m.actuator_gaintype == GainType.MUSCLE)
    if not len(chosen):
        return slope
    return put(slope, chosen, muscle.gain_slope(_muscles(m, d, chosen, m.actuator_gainprm)))


def _saturated(m: Model, d: Data) -> Array:
    """[nout] bool: the forcerange of the actuator holds."""
    owner, limited = _owners(m), np.asarray(m.actuator_forcelimited, bool)
    bounds = take(m.actuator_forcerange, owner)
    each = (limited & (m.actuator_gaintype != GainType.SO3))[owner]
    saturated = each & ((d.actuator_force <= bounds[:, 0]) | (d.actuator_force >= bounds[:, 1]))
    turning, outputs = servo.orientation_outputs(m)
    if not limited[turning].any():
        return saturated
    norm = vector.norm(take(d.actuator_force, outputs.ravel()).reshape(-1, 3))
    nearly = 1 - ROUNDING * float(np.finfo(norm.dtype).eps)
    beyond = limited[turning] & (norm >= nearly * take(m.actuator_forcerange, turning)[:, 1])
    return put(saturated, outputs.ravel(), jnp.repeat(beyond, 3))


def _saturated_by_joint(m: Model, d: Data) -> Array:
    """[nout] bool: the joint that an actuator drives is at its actfrcrange."""
    saturated, limited = jnp.zeros(m.nout, bool), np.asarray(m.jnt_actfrclimited, bool)
    drives, joint = _limited_targets(m, on_joint(m), limited)
    if not len(drives):
        return saturated
    qfrc, bounds = take(d.qfrc_actuator, m.jnt_dofadr[joint]), take(m.jnt_actfrcrange, joint)
    return put(saturated, m.actuator_outadr[drives], (qfrc <= bounds[:, 0]) | (qfrc >= bounds[:, 1]))


def _saturated_by_tendon(m: Model, d: Data, bounded: Array) -> Array:
    """[nout] bool: the tendon that an actuator pulls is at its actfrcrange, by the forces [nout] that it bounds."""
    saturated, limited = jnp.zeros(m.nout, bool), np.asarray(m.tendon_actfrclimited, bool)
    pulls, tendon = _limited_targets(m, on_tendon(m), limited)
    if not len(pulls):
        return saturated
    out, bounds = m.actuator_outadr[pulls], take(m.tendon_actfrcrange, tendon)
    force, size = take(bounded, out), jnp.abs(take(d.actuator_force, out))
    total, whole = (take(scatter_add(tendon, f, m.ntendon), tendon) for f in (force, jnp.abs(force) + size))
    slack = ROUNDING * float(np.finfo(force.dtype).eps) * whole
    return put(saturated, out, (total <= bounds[:, 0] + slack) | (total >= bounds[:, 1] - slack))


def _limited_targets(m: Model, drives: np.ndarray, limited: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The actuators of a kind [nactuator] whose target is among the limited ones [n], and those targets."""
    target = m.actuator_trnid[:, 0]
    which = np.flatnonzero(drives & limited[np.where(drives, target, 0)]) if len(limited) else np.zeros(0, int)
    return which, target[which]
