"""Actuator dynamics and forces (mj_fwdActuation) for stateless, integrator and filter actuators."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.select import put, scatter_add, take
from jaxsim.core.data import Data, counted
from jaxsim.core.enums import MAXVAL, MINVAL, BiasType, DisableBit, DynType, GainType, TrnType, WarningType
from jaxsim.core.model import Model
from jaxsim.dynamics.coordinates import SCALAR

Array = jax.Array


def is_bad(x: Array) -> Array:
    """Elements of x [...] that are not finite or beyond mjMAXVAL: [...] bool."""
    return ~(jnp.abs(x) <= MAXVAL)


def disabled_actuators(m: Model) -> np.ndarray:
    """[nactuator] bool: switched off by opt.disableactuator's group bits."""
    group = np.asarray(m.actuator_group)
    return (group >= 0) & (group < 31) & ((m.opt.disableactuator >> np.clip(group, 0, 30)) & 1 == 1)


def _controls(m: Model, d: Data) -> tuple[Array, Array]:
    """The control that each actuator reads [nactuator], clamped, and whether any is invalid after that.

    One invalid control silences all. An infinite control of a clamped actuator is valid; NaN stays NaN.
    """
    ctrl = d.ctrl
    if not m.opt.disables(DisableBit.CLAMPCTRL):
        clamped = jnp.clip(ctrl, m.actuator_ctrlrange[:, 0], m.actuator_ctrlrange[:, 1])
        ctrl = jnp.where(np.asarray(m.actuator_ctrllimited, bool), clamped, ctrl)
    bad = jnp.any(is_bad(ctrl))
    return take(jnp.where(bad, 0, ctrl), m.actuator_ctrladr), bad


def actuation(m: Model, d: Data, moment: Array, qfrc_gravcomp: Array) -> Data:
    """act_dot [na], actuator_force [nout] and qfrc_actuator [nv], for moments [nout, nv].

    force = gain * (ctrl or act) + bias, with gain and bias affine in length and velocity; then the tendon,
    actuator and joint force limits.
    """
    dtype = d.qpos.dtype
    if not m.nactuator or m.opt.disables(DisableBit.ACTUATION):
        zero = jnp.zeros(m.nv, dtype)
        return d.replace(qfrc_actuator=zero, actuator_force=jnp.zeros(m.nout, dtype), act_dot=jnp.zeros(m.na, dtype))
    ctrl, bad = _controls(m, d)
    warning = counted(d.warning, WarningType.BADCTRL, bad)
    d = d.replace(act_dot=_act_dot(m, d, ctrl), warning=warning)
    signal = _signal(m, d, ctrl)
    length, velocity = d.actuator_length, d.actuator_velocity

    affine = jnp.stack([jnp.ones_like(length), length, velocity], axis=-1)
    gain_affine = (np.asarray(m.actuator_gaintype) == GainType.AFFINE)[:, None]
    gain_mask = jnp.asarray(np.where(gain_affine, [[1, 1, 1]], [[1, 0, 0]]), dtype)
    bias_mask = jnp.asarray((np.asarray(m.actuator_biastype) == BiasType.AFFINE)[:, None], dtype)
    gain = jnp.sum(m.actuator_gainprm[:, :3] * gain_mask * affine, axis=-1)
    bias = jnp.sum(m.actuator_biasprm[:, :3] * bias_mask * affine, axis=-1)
    force = jnp.where(disabled_actuators(m), 0, gain * signal + bias)

    force = _clamp_tendons(m, force)
    clamped = jnp.clip(force, m.actuator_forcerange[:, 0], m.actuator_forcerange[:, 1])
    force = jnp.where(np.asarray(m.actuator_forcelimited, bool), clamped, force)
    qfrc = lax.dot_general(moment, force, (((0,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)
    through_actuator = np.asarray(m.jnt_actgravcomp, bool)[m.dof_jntid]
    if through_actuator.any():
        qfrc = qfrc + jnp.where(through_actuator, qfrc_gravcomp, 0)
    return d.replace(actuator_force=force, qfrc_actuator=_clamp_joints(m, qfrc))


def _stateful(m: Model) -> np.ndarray:
    return np.flatnonzero(np.asarray(m.actuator_actnum) > 0)


def _act_dot(m: Model, d: Data, ctrl: Array) -> Array:
    """Rate of each activation: the control (integrator) or its lag (filter)."""
    actuators = _stateful(m)
    if not len(actuators):
        return d.act_dot
    u = take(ctrl, actuators)
    act = take(d.act, m.actuator_actadr[actuators])
    tau = jnp.maximum(take(m.actuator_dynprm, actuators)[:, 0], MINVAL)
    integrates = m.actuator_dyntype[actuators] == DynType.INTEGRATOR
    return put(d.act_dot, m.actuator_actadr[actuators], jnp.where(integrates, u, (u - act) / tau))


def next_activation(m: Model, d: Data) -> Array:
    """Activations [na] one time step on (mj_nextActivation), clamped to actrange."""
    actuators = _stateful(m)
    if not len(actuators):
        return d.act
    adr = m.actuator_actadr[actuators]
    rate = jnp.where(disabled_actuators(m)[actuators], 0, take(d.act_dot, adr))
    tau = jnp.maximum(take(m.actuator_dynprm, actuators)[:, 0], MINVAL)
    exact = m.actuator_dyntype[actuators] == DynType.FILTEREXACT
    span = jnp.where(exact, -tau * jnp.expm1(-m.opt.timestep / tau), m.opt.timestep)
    act = take(d.act, adr) + rate * span
    limits = take(m.actuator_actrange, actuators)
    limited = np.asarray(m.actuator_actlimited, bool)[actuators]
    return put(d.act, adr, jnp.where(limited, jnp.clip(act, limits[:, 0], limits[:, 1]), act))


def _signal(m: Model, d: Data, ctrl: Array) -> Array:
    """What the gain multiplies: the activation of stateful actuators, the control of others."""
    actuators = _stateful(m)
    if not len(actuators):
        return ctrl
    adr = m.actuator_actadr[actuators]
    early = np.asarray(m.actuator_actearly, bool)[actuators]
    act = take(d.act, adr)
    if early.any():
        act = jnp.where(early, take(next_activation(m, d), adr), act)
    return put(ctrl, actuators, act)


def _clamp_tendons(m: Model, force: Array) -> Array:
    """Scale the forces on each limited tendon so that their sum stays in its actfrcrange."""
    limited = np.asarray(m.tendon_actfrclimited, bool)
    pulls = np.flatnonzero(m.actuator_trntype == TrnType.TENDON)
    pulls = pulls[limited[m.actuator_trnid[pulls, 0]]] if len(pulls) else pulls
    if not len(pulls):
        return force
    tendon = m.actuator_trnid[pulls, 0]
    total = take(scatter_add(tendon, take(force, pulls), m.ntendon), tendon)
    bounds = take(m.tendon_actfrcrange, tendon)
    scale = jnp.clip(total, bounds[:, 0], bounds[:, 1]) / jnp.where(total == 0, 1, total)
    return put(force, pulls, take(force, pulls) * jnp.where(total == 0, 1, scale))


def _clamp_joints(m: Model, qfrc: Array) -> Array:
    """Clamp each scalar joint's actuator force to its actfrcrange."""
    joints = np.flatnonzero(np.asarray(m.jnt_actfrclimited, bool) & np.isin(m.jnt_type, SCALAR))
    if not len(joints):
        return qfrc
    bounds, dofs = take(m.jnt_actfrcrange, joints), m.jnt_dofadr[joints]
    return put(qfrc, dofs, jnp.clip(take(qfrc, dofs), bounds[:, 0], bounds[:, 1]))


def actuator_velocity_gain(m: Model, d: Data) -> Array:
    """d force / d velocity of each actuator [nout], zero where a force limit saturates (mjd_actuator_vel)."""
    dtype = d.qpos.dtype
    bias = m.actuator_biasprm[:, 2] * jnp.asarray(m.actuator_biastype == BiasType.AFFINE, dtype)
    signal = _signal(m, d, _controls(m, d)[0])
    gain = m.actuator_gainprm[:, 2] * jnp.asarray(m.actuator_gaintype == GainType.AFFINE, dtype) * signal
    low, high = m.actuator_forcerange[:, 0], m.actuator_forcerange[:, 1]
    limited = np.asarray(m.actuator_forcelimited, bool)
    saturated = limited & ((d.actuator_force <= low) | (d.actuator_force >= high))
    saturated = saturated | _saturated_by_target(m, d)
    return jnp.where(saturated | disabled_actuators(m), 0, bias + gain)


def _saturated_by_target(m: Model, d: Data) -> Array:
    """[nout] bool: the joint or tendon that an actuator drives is at its actfrcrange."""
    saturated = jnp.zeros(m.nout, bool)
    target = m.actuator_trnid[:, 0]
    on_joint = np.isin(m.actuator_trntype, (TrnType.JOINT, TrnType.JOINTINPARENT))
    limited = np.asarray(m.jnt_actfrclimited, bool)
    drives = np.flatnonzero(on_joint & limited[np.where(on_joint, target, 0)]) if m.njnt else np.zeros(0, int)
    if len(drives):
        joint = target[drives]
        qfrc, bounds = take(d.qfrc_actuator, m.jnt_dofadr[joint]), take(m.jnt_actfrcrange, joint)
        saturated = put(saturated, drives, (qfrc <= bounds[:, 0]) | (qfrc >= bounds[:, 1]))
    on_tendon = m.actuator_trntype == TrnType.TENDON
    limited = np.asarray(m.tendon_actfrclimited, bool)
    pulls = np.flatnonzero(on_tendon & limited[np.where(on_tendon, target, 0)]) if m.ntendon else np.zeros(0, int)
    if len(pulls):
        tendon = target[pulls]
        total = take(scatter_add(tendon, take(d.actuator_force, pulls), m.ntendon), tendon)
        bounds = take(m.tendon_actfrcrange, tendon)
        saturated = put(saturated, pulls, (total <= bounds[:, 0]) | (total >= bounds[:, 1]))
    return saturated
