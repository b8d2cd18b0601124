"""Direct-current motors: controller, winding, heat and friction (mjDYN_DCMOTOR, mjGAIN_DCMOTOR, mjBIAS_DCMOTOR).

    voltage      V = R/K (kp (u - l) + ki x + kd (u' - l') + ff) + K l', clipped, or as given
    current      te di/dt = (V - K l') / R - i, or at once without te
    temperature  C dT/dt = R i^2 - T / RT, which raises R by the factor 1 + alpha (T + Ta - T0)
    bristle      dz/dt = l' - s0 |l'| / g(l') z, g = Fc + (Fs - Fc) exp(-(l'/vs)^2)
    force        K i, then A sin(Np l + phi) - s0 z - s1 dz/dt, which no force limit bounds

Which of the states slew, integral, temperature, bristle, current a motor has is decided at load; parameters are
those of `mjcf.actuators.dcmotor`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra.select import take
from jaxsim.core.data import Data
from jaxsim.core.enums import MINVAL, GainType
from jaxsim.core.model import Model
from jaxsim.dynamics.controls import inputs

Array = jax.Array

SLEW, INTEGRAL, TEMPERATURE, BRISTLE, CURRENT = range(5)  # columns of actuator_slots
CONTROLLED = 7  # bits of ctrlspec of which a controller needs one


class Motors(NamedTuple):
    """The motors [n] of a model in one state."""

    actuator: np.ndarray  # [n]
    gain: Array  # [n, 10]
    dyn: Array  # [n, 10]
    fri: Array  # [n, 10] biasprm
    length: Array  # [n] rad
    velocity: Array  # [n] rad/s
    states: list[Array]  # [n] each, in the order of the slots; 0 where a motor has none


def motors(m: Model, d: Data) -> Motors | None:
    """The motors of a model, None if there are none."""
    index = np.flatnonzero(m.actuator_gaintype == GainType.DCMOTOR)
    if not len(index):
        return None
    out = m.actuator_outadr[index]
    gain, dyn, fri = (take(p, index) for p in (m.actuator_gainprm, m.actuator_dynprm, m.actuator_biasprm))
    states = [state(m, d.act, index, k) for k in range(5)]
    return Motors(index, gain, dyn, fri, take(d.actuator_length, out), take(d.actuator_velocity, out), states)


def has(m: Model, index: np.ndarray, slot: int) -> np.ndarray:
    """Which of the actuators [n] have a state."""
    return m.actuator_slots[index, slot] >= 0


def state(m: Model, act: Array, index: np.ndarray, slot: int) -> Array:
    """A state [n] of actuators [n], 0 where they have none."""
    here = has(m, index, slot)
    if not here.any():
        return jnp.zeros(len(index), act.dtype)
    return jnp.where(here, take(act, np.where(here, m.actuator_actadr[index] + m.actuator_slots[index, slot], 0)), 0)


def _supply(m: Model, ctrl: Array, x: Motors) -> tuple[Array, Array]:
    """What controllers ask for [n], and what comes besides [n], volt, for controls [nu] of limited slew rate."""
    position, velocity, forward, raw = inputs(m, ctrl, x.actuator)
    torque = x.gain[:, 4] * (position - x.length) + x.gain[:, 6] * (velocity - x.velocity)
    torque = torque + x.gain[:, 5] * x.states[INTEGRAL] + forward
    asked = x.gain[:, 0] / jnp.maximum(x.gain[:, 1], MINVAL) * torque + x.gain[:, 1] * x.velocity
    return jnp.where(_controlled(m, x), asked, 0), raw


def _controlled(m: Model, x: Motors) -> np.ndarray:
    """Which motors [n] have a controller."""
    return (m.actuator_ctrlspec[x.actuator] & CONTROLLED) != 0


def voltage(m: Model, ctrl: Array, x: Motors) -> Array:
    """Terminal voltage [n] for controls [nu], whose slew rate is limited already."""
    asked, raw = _supply(m, ctrl, x)
    return jnp.where(x.gain[:, 7] > 0, jnp.clip(asked, -x.gain[:, 7], x.gain[:, 7]), asked) + raw


def resistance(m: Model, x: Motors) -> Array:
    """Resistance [n] at the temperature of the winding."""
    warm = 1 + x.gain[:, 2] * (x.states[TEMPERATURE] + x.dyn[:, 4] - x.gain[:, 3])
    return x.gain[:, 0] * jnp.where(has(m, x.actuator, TEMPERATURE), warm, 1)


def stribeck(x: Motors) -> Array:
    """Rate [n] (1/s) at which the bristles relax: s0 |l'| / g(l')."""
    ratio = x.velocity / jnp.maximum(x.fri[:, 5], MINVAL)
    g = x.fri[:, 3] + (x.fri[:, 4] - x.fri[:, 3]) * jnp.exp(-ratio * ratio)
    return x.dyn[:, 5] * jnp.abs(x.velocity) / jnp.maximum(g, MINVAL)


def rates(m: Model, ctrl: Array, x: Motors) -> dict[int, Array]:
    """Rates [n] of temperature, bristle and current, by slot."""
    R, at_once = resistance(m, x), _steady_current(m, ctrl, x)
    current = jnp.where(has(m, x.actuator, CURRENT), x.states[CURRENT], at_once)
    sink, capacity = (jnp.where(p > 0, p, 1) for p in (x.dyn[:, 2], x.dyn[:, 3]))
    rise, most = _current_rate(m, at_once, x), x.dyn[:, 1]
    return {
        TEMPERATURE: (R * current * current - x.states[TEMPERATURE] / sink) / capacity,
        BRISTLE: x.velocity - stribeck(x) * x.states[BRISTLE],
        CURRENT: jnp.where(most > 0, jnp.clip(rise, -most, most), rise),
    }


def _steady_current(m: Model, ctrl: Array, x: Motors) -> Array:
    """Current [n] (A) without inductance."""
    return (voltage(m, ctrl, x) - x.gain[:, 1] * x.velocity) / jnp.maximum(resistance(m, x), MINVAL)


def _current_rate(m: Model, steady: Array, x: Motors) -> Array:
    """di/dt [n] (A/s) without its limit."""
    return (steady - x.states[CURRENT]) / jnp.where(has(m, x.actuator, CURRENT), x.dyn[:, 0], 1)


def bristle_after(x: Motors, h: Array) -> Array:
    """Bristle states [n] after a time h [] (s) at constant velocity, exactly."""
    decay = -stribeck(x)
    moving = jnp.abs(decay) > MINVAL
    span = jnp.where(moving, jnp.expm1(decay * h) / jnp.where(moving, decay, 1), h)
    return jnp.exp(decay * h) * x.states[BRISTLE] + span * x.velocity


def electric_force(m: Model, ctrl: Array, x: Motors, current: Array) -> Array:
    """K i [n] (N m): i is the state `current` [n], or follows from the voltage at once."""
    return x.gain[:, 1] * jnp.where(has(m, x.actuator, CURRENT), current, _steady_current(m, ctrl, x))


def mechanical_force(m: Model, act_dot: Array, x: Motors) -> Array:
    """Cogging and friction [n] (N m)."""
    friction = x.dyn[:, 5] * x.states[BRISTLE] + x.dyn[:, 6] * state(m, act_dot, x.actuator, BRISTLE)
    cogging = x.fri[:, 0] * jnp.sin(x.fri[:, 1] * x.length + x.fri[:, 2])
    return cogging - jnp.where(has(m, x.actuator, BRISTLE), friction, 0)


def slopes(m: Model, h: Array, ctrl: Array, x: Motors) -> tuple[Array, Array]:
    """Derivatives [n] of `electric_force` by length and velocity, after a step of h [] (s) where there is inductance.

    They are zero where the rate of current is limited; controls [nu] as for `voltage`.
    """
    K, winding = x.gain[:, 1], has(m, x.actuator, CURRENT)
    asked, _ = _supply(m, ctrl, x)
    free = _controlled(m, x) & ~((x.gain[:, 7] > 0) & (jnp.abs(asked) > x.gain[:, 7]))
    ohms = x.gain[:, 0] / jnp.maximum(K, MINVAL)
    by_length, by_velocity = (jnp.where(free, v, 0) for v in (-x.gain[:, 4] * ohms, K - x.gain[:, 6] * ohms))
    share = jnp.where(winding, -jnp.expm1(-h / jnp.where(winding, x.dyn[:, 0], 1)), 1)
    rise = _current_rate(m, _steady_current(m, ctrl, x), x)
    limited = winding & (x.dyn[:, 1] > 0) & (jnp.abs(rise) > x.dyn[:, 1])
    amperes = jnp.where(limited, 0, K * share / jnp.maximum(resistance(m, x), MINVAL))
    return amperes * by_length, amperes * (by_velocity - K)


def cogging_slope(x: Motors) -> Array:
    """Derivative [n] of the cogging force with respect to length."""
    return x.fri[:, 0] * x.fri[:, 1] * jnp.cos(x.fri[:, 1] * x.length + x.fri[:, 2])
