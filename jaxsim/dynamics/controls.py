"""What actuators read: clamped controls, the inputs of controllers, and setpoints that a rotation makes periodic."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.core.data import Data
from jaxsim.core.enums import MAXVAL, BiasType, DisableBit, DynType, GainType, JointType, TrnType
from jaxsim.core.model import Model
from jaxsim.dynamics.armature import on_joint
from jaxsim.dynamics.history import late_controls

Array = jax.Array

INPUTS = (1, 2, 4, 8)  # bits of actuator_ctrlspec: position, velocity, feed-forward, voltage


def is_bad(x: Array) -> Array:
    """Elements of x [...] that are not finite or beyond mjMAXVAL: [...] bool."""
    return ~(jnp.abs(x) <= MAXVAL)


def disabled_actuators(m: Model) -> np.ndarray:
    """[nactuator] bool: switched off by opt.disableactuator's group bits."""
    group = np.asarray(m.actuator_group)
    return (group >= 0) & (group < 31) & ((m.opt.disableactuator >> np.clip(group, 0, 30)) & 1 == 1)


def last_states(m: Model, actuators: np.ndarray) -> np.ndarray:
    """Where in act the last state of actuators [n] is, which is what their gain multiplies."""
    return m.actuator_actadr[actuators] + m.actuator_actnum[actuators] - 1


def controls(m: Model, d: Data) -> tuple[Array, Array]:
    """The controls [nu] that arrive now, clamped, and whether any is invalid after that.

    One invalid control silences all. An infinite control of a clamped actuator is valid; NaN stays NaN.
    """
    ctrl = late_controls(m, d)
    if not m.opt.disables(DisableBit.CLAMPCTRL):
        clamped = vector.within(ctrl, m.actuator_ctrlrange[:, 0], m.actuator_ctrlrange[:, 1])
        ctrl = jnp.where(np.asarray(m.actuator_ctrllimited, bool), clamped, ctrl)
    bad = jnp.any(is_bad(ctrl))
    return jnp.where(bad, 0, ctrl), bad


def first_controls(m: Model, ctrl: Array) -> Array:
    """The first control [nactuator] of each actuator; 0 of those that have none."""
    return _read(ctrl, np.where(m.actuator_ctrlnum > 0, m.actuator_ctrladr, m.nu))


def inputs(m: Model, ctrl: Array, chosen: np.ndarray) -> Sequence[Array]:
    """Position, velocity, feed-forward and voltage [n] each that actuators [n] are given; 0 for what they are not."""
    spec, first = m.actuator_ctrlspec[chosen], m.actuator_ctrladr[chosen]
    given = np.array([(spec & bit) != 0 for bit in INPUTS])
    before = np.cumsum(given, axis=0) - given
    return [_read(ctrl, np.where(here, first + k, m.nu)) for here, k in zip(given, before)]


def _read(ctrl: Array, index: np.ndarray) -> Array:
    """Controls at indices [n], of which nu stands for none."""
    missing = (index >= len(ctrl)).any()
    return take(jnp.concatenate([ctrl, jnp.zeros(1, ctrl.dtype)]) if missing else ctrl, index)


def on_rotations(m: Model) -> np.ndarray:
    """Indices [n] of actuators whose setpoint may be an angle: servos on balls, or between the axes of two sites."""
    servo = (m.actuator_gaintype == GainType.FIXED) & (m.actuator_biastype == BiasType.AFFINE)
    servo &= np.isin(m.actuator_dyntype, (DynType.NONE, DynType.INTEGRATOR))
    servo |= m.actuator_gaintype == GainType.PID
    target = m.actuator_trnid
    ball = on_joint(m) & (m.jnt_type[np.where(on_joint(m), target[:, 0], 0)] == JointType.BALL) if m.njnt else False
    return np.flatnonzero(servo & (ball | (m.actuator_trntype == TrnType.SITE) & (target[:, 1] >= 0)))


def periods(m: Model, chosen: np.ndarray) -> Array:
    """Change of length [n] (m) after which actuators [n] of `on_rotations` are where they were; 0 if never."""
    gear = take(m.actuator_gear, m.actuator_outadr[chosen])
    between = (m.actuator_trntype[chosen] == TrnType.SITE)[:, None]
    turn = vector.norm(jnp.where(between, gear[:, 3:], gear[:, :3]))
    slides = jnp.any(jnp.where(between, gear[:, :3], 0) != 0, axis=1)
    pulls = take(m.actuator_gainprm, chosen)[:, 0] == -take(m.actuator_biasprm, chosen)[:, 1]
    servo = pulls | (m.actuator_gaintype[chosen] == GainType.PID)
    return jnp.where(servo & ~slides, 2 * np.pi * turn, 0)


def nearest(setpoint: Array, length: Array, period: Array) -> Array:
    """The setpoints [n] nearest to lengths [n] among those whole periods [n] away; as given where that is 0."""
    turns = jnp.floor((setpoint - length) / jnp.where(period > 0, period, 1) + 0.5)
    return jnp.where(period > 0, setpoint - period * turns, setpoint)
