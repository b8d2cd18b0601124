"""Actuators that MuJoCo's plugin mujoco.pid drives (plugin/actuator/pid.cc).

    setpoint  u, the control, or the activation of dynamics that it has; moves no faster than slewmax
    integral  z' = z + (u - l) h, whose force is at most imax
    force     kp (u - l) + ki z' + kd (du/dt - l'), without du/dt of a control

Which of the states integral and last setpoint an actuator has is decided at load. Both differ in order and law from
those of the servos that MuJoCo has built in (`servo.py`).
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.core.data import Data
from jaxsim.core.enums import DynType
from jaxsim.core.model import Model
from jaxsim.dynamics.controls import is_bad, last_states
from jaxsim.dynamics.dc_motor import INTEGRAL, SLEW, has, state

Array = jax.Array


def driven(m: Model) -> np.ndarray:
    """The actuators [n] of the plugin."""
    return np.flatnonzero(m.actuator_plugin >= 0)


def rates(m: Model, d: Data) -> dict[int, Array]:
    """The rates [n] of the states of actuators [n], by slot; of those that have none, anything."""
    index, h = driven(m), m.opt.timestep
    setpoint = _setpoint(m, d, d.act)
    integral, before = (state(m, d.act, index, slot) for slot in (INTEGRAL, SLEW))
    return {INTEGRAL: (_integral(m, d, setpoint) - integral) / h, SLEW: (setpoint - before) / h}


def force(m: Model, d: Data, act: Array) -> Array:
    """Forces [n] (N), of which the activations [na] are setpoints where actuators have dynamics."""
    index = driven(m)
    prm, out = take(m.actuator_pidprm, index), m.actuator_outadr[index]
    setpoint = _setpoint(m, d, act)
    speed = _of_dynamics(m, index, d.act_dot, jnp.zeros_like(setpoint))
    error, error_rate = setpoint - take(d.actuator_length, out), speed - take(d.actuator_velocity, out)
    return prm[:, 0] * error + prm[:, 1] * _integral(m, d, setpoint) + prm[:, 2] * error_rate


def _setpoint(m: Model, d: Data, act: Array) -> Array:
    """[n]; the controls are clamped, but do not arrive late, and bad ones are zero."""
    index = driven(m)
    first = m.actuator_ctrladr[index]
    ctrl, bounds = take(d.ctrl, first), take(m.actuator_ctrlrange, first)
    limited = np.asarray(m.actuator_ctrllimited, bool)[first]
    ctrl = jnp.where(limited, vector.within(ctrl, bounds[:, 0], bounds[:, 1]), ctrl)
    wanted = _of_dynamics(m, index, act, jnp.where(is_bad(ctrl), 0, ctrl))
    way = take(m.actuator_pidprm, index)[:, 4] * m.opt.timestep
    before = state(m, d.act, index, SLEW)
    known = has(m, index, SLEW) & (d.time > 0)  # at first nothing was asked for before
    return jnp.where(known, jnp.clip(wanted, before - way, before + way), wanted)


def _of_dynamics(m: Model, index: np.ndarray, values: Array, other: Array) -> Array:
    """Of values [na] those of the dynamics of actuators [n]; others [n] of those that have none."""
    follows = m.actuator_dyntype[index] != DynType.NONE
    return (
        jnp.where(follows, take(values, np.where(follows, last_states(m, index), 0)), other) if follows.any() else other
    )


def _integral(m: Model, d: Data, setpoint: Array) -> Array:
    """The integrals [n] of the error at the end of the step; 0 without ki."""
    index = driven(m)
    prm, integrates = take(m.actuator_pidprm, index), has(m, index, INTEGRAL)
    error = setpoint - take(d.actuator_length, m.actuator_outadr[index])
    moved = state(m, d.act, index, INTEGRAL) + error * m.opt.timestep
    bounded = integrates & (prm[:, 3] >= 0) & (prm[:, 1] != 0)  # ki may have been set to zero since
    most = jnp.where(bounded, prm[:, 3] / jnp.where(bounded, prm[:, 1], 1), 0)
    return jnp.where(integrates, jnp.where(bounded, jnp.clip(moved, -most, most), moved), 0)
