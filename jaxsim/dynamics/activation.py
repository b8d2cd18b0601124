"""Activations of actuators: their rates, and their values one time step on (mj_fwdActuation, mj_nextActivation)."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import gather_groups, put, take
from jaxsim.core.data import Data
from jaxsim.core.enums import MINVAL, DynType, GainType
from jaxsim.core.model import Model
from jaxsim.dynamics import dc_motor, muscle, pid_plugin
from jaxsim.dynamics.controls import disabled_actuators, last_states, nearest, on_rotations, periods
from jaxsim.dynamics.dc_motor import BRISTLE, CURRENT, INTEGRAL, SLEW, Motors
from jaxsim.dynamics.extension import extension_of

Array = jax.Array

LINEAR = (DynType.INTEGRATOR, DynType.FILTER, DynType.FILTEREXACT)
CONTROLLERS = (DynType.PID, DynType.DCMOTOR)
# columns of dynprm: the slew rate, and the bound of the integral
SLEW_LIMIT = {DynType.PID: 1, DynType.DCMOTOR: 7}
INTEGRAL_LIMIT = {DynType.PID: 0, DynType.DCMOTOR: 8}


def owners(m: Model) -> np.ndarray:
    """[na] the actuator of each activation."""
    return np.repeat(np.arange(m.nactuator), m.actuator_actnum)


def activation_rates(m: Model, d: Data, ctrl: Array, x: Motors | None) -> tuple[Array, Array]:
    """act_dot [na], and the controls [nu] with setpoints that move no faster than their slew rate allows.

    Activations of user dynamics stand still without a function for them (see `js.extend`), as in MuJoCo.
    """
    if not m.na:
        return d.act_dot, ctrl
    groups = [*_linear(m, d, ctrl), *_muscles(m, d, ctrl), *_user(m, d)]
    if np.isin(m.actuator_dyntype, CONTROLLERS).any():
        ctrl, slewed = _slewed(m, d, ctrl)
        groups += [*slewed, *_integrals(m, d, ctrl)]
        if x is not None:
            found = dc_motor.rates(m, ctrl, x).items()
            groups += [group for k, rate in found for group in _of_slot(m, x.actuator, k, rate)]
    plugged = pid_plugin.driven(m)
    if len(plugged):
        groups += [group for k, rate in pid_plugin.rates(m, d).items() for group in _of_slot(m, plugged, k, rate)]
    return (gather_groups(groups, m.na) if groups else jnp.zeros_like(d.act)), ctrl


def _linear(m: Model, d: Data, ctrl: Array) -> list[tuple[np.ndarray, Array]]:
    """Integrators, of all controls of an actuator, and filters."""
    chosen = np.flatnonzero(np.isin(m.actuator_dyntype, LINEAR))
    count = np.minimum(m.actuator_ctrlnum, m.actuator_actnum)[chosen]
    actuators = np.repeat(chosen, count)
    if not len(actuators):
        return []
    within = np.concatenate([np.arange(n) for n in count])
    where = last_states(m, actuators) - np.repeat(count, count) + 1 + within
    u = take(ctrl, m.actuator_ctrladr[actuators] + within)
    tau = jnp.maximum(take(m.actuator_dynprm, actuators)[:, 0], MINVAL)
    integrates = m.actuator_dyntype[actuators] == DynType.INTEGRATOR
    return [(where, jnp.where(integrates, u, (u - take(d.act, where)) / tau))]


def _muscles(m: Model, d: Data, ctrl: Array) -> list[tuple[np.ndarray, Array]]:
    chosen = np.flatnonzero(m.actuator_dyntype == DynType.MUSCLE)
    if not len(chosen):
        return []
    where, u = last_states(m, chosen), take(ctrl, m.actuator_ctrladr[chosen])
    return [(where, muscle.activation_rate(u, take(d.act, where), take(m.actuator_dynprm, chosen)))]


def _user(m: Model, d: Data) -> list[tuple[np.ndarray, Array]]:
    rates = extension_of(m).act_dyn
    return [] if rates is None else [(np.flatnonzero((m.actuator_dyntype == DynType.USER)[owners(m)]), rates(m, d))]


def _of_slot(m: Model, index: np.ndarray, slot: int, values: Array) -> list[tuple[np.ndarray, Array]]:
    """Places in act, and values, of those of actuators [n] that have a state."""
    here = np.flatnonzero(dc_motor.has(m, index, slot))
    if not len(here):
        return []
    return [(m.actuator_actadr[index[here]] + m.actuator_slots[index[here], slot], take(values, here))]


def _with_slot(m: Model, slot: int, column: dict[DynType, int]) -> tuple[np.ndarray, np.ndarray, Array]:
    """Actuators [n] that have a state of a controller, where it is in act, and its parameter [n] in dynprm."""
    index = np.flatnonzero((m.actuator_slots[:, slot] >= 0) & (m.actuator_plugin < 0))
    columns = np.array([column[DynType(int(kind))] for kind in m.actuator_dyntype[index]], int)
    prm = jnp.reshape(take(m.actuator_dynprm, index), -1)
    return (
        index,
        m.actuator_actadr[index] + m.actuator_slots[index, slot],
        take(prm, 10 * np.arange(len(index)) + columns),
    )


def _period_of(m: Model, index: np.ndarray) -> Array:
    """Periods [n] of the setpoints of actuators [n]; 0 for those that never are angles."""
    turning = np.isin(index, on_rotations(m))
    return jnp.where(turning, periods(m, index), 0) if turning.any() else jnp.zeros(len(index), m.actuator_gear.dtype)


def _slewed(m: Model, d: Data, ctrl: Array) -> tuple[Array, list[tuple[np.ndarray, Array]]]:
    """Controls [nu] with first ones near enough to what they were a step ago, and the rates of what remembers that."""
    index, where, speed = _with_slot(m, SLEW, SLEW_LIMIT)
    if not len(index):
        return ctrl, []
    h, before = m.opt.timestep, take(d.act, where)
    wanted = nearest(take(ctrl, m.actuator_ctrladr[index]), before, _period_of(m, index))
    reached = jnp.clip(wanted, before - speed * h, before + speed * h)
    return put(ctrl, m.actuator_ctrladr[index], reached), [(where, (reached - before) / h)]


def _integrals(m: Model, d: Data, ctrl: Array) -> list[tuple[np.ndarray, Array]]:
    """Errors of position, which do not drive an integral beyond its bound."""
    index, where, bound = _with_slot(m, INTEGRAL, INTEGRAL_LIMIT)
    if not len(index):
        return []
    z, length = take(d.act, where), take(d.actuator_length, m.actuator_outadr[index])
    error = nearest(take(ctrl, m.actuator_ctrladr[index]), length, _period_of(m, index)) - length
    bounded = bound > 0
    error = jnp.where(bounded & (z >= bound), jnp.minimum(error, 0), error)
    return [(where, jnp.where(bounded & (z <= -bound), jnp.maximum(error, 0), error))]


def activation_after(m: Model, d: Data, x: Motors | None) -> Array:
    """Activations [na] one time step on, clamped to actrange; what is switched off stands still."""
    if not m.na:
        return d.act
    owner, h = owners(m), m.opt.timestep
    rate = jnp.where(disabled_actuators(m)[owner], 0, d.act_dot)
    tau = jnp.maximum(take(m.actuator_dynprm, owner)[:, 0], MINVAL)
    exact = (m.actuator_dyntype == DynType.FILTEREXACT)[owner]
    if x is not None:
        exact |= np.isin(np.arange(m.na), _places(m, x, CURRENT))
    span = jnp.where(exact, -tau * jnp.expm1(-h / tau), h)
    act = d.act + rate * span
    limits = take(m.actuator_actrange, owner)
    limited = (np.asarray(m.actuator_actlimited, bool) & (m.actuator_dyntype != DynType.DCMOTOR))[owner]
    act = jnp.where(limited, jnp.clip(act, limits[:, 0], limits[:, 1]), act)
    return act if x is None else _motors_after(m, act, x)


def _places(m: Model, x: Motors, slot: int) -> np.ndarray:
    here = x.actuator[dc_motor.has(m, x.actuator, slot)]
    return m.actuator_actadr[here] + m.actuator_slots[here, slot]


def _motors_after(m: Model, act: Array, x: Motors) -> Array:
    """Activations [na] with bristles integrated exactly and integrals within their bound."""
    for where, z in _of_slot(m, x.actuator, BRISTLE, dc_motor.bristle_after(x, m.opt.timestep)):
        act = put(act, where, z)
    for where, bound in _of_slot(m, x.actuator, INTEGRAL, x.dyn[:, INTEGRAL_LIMIT[DynType.DCMOTOR]]):
        z = take(act, where)
        act = put(act, where, jnp.where(bound > 0, jnp.clip(z, -bound, bound), z))
    return act


def anchored(m: Model, d: Data, act: Array) -> Array:
    """Activations [na] that are angles, replaced by equivalent ones that do not grow with the turns made."""
    integrates = m.actuator_dyntype == DynType.INTEGRATOR
    turning = on_rotations(m)
    turning = turning[integrates[turning]]
    if len(turning):
        where, length = last_states(m, turning), take(d.actuator_length, m.actuator_outadr[turning])
        act = put(act, where, nearest(take(act, where), length, periods(m, turning)))
    balls = np.flatnonzero(integrates & (m.actuator_gaintype == GainType.SO3))
    if len(balls):
        where = (m.actuator_actadr[balls][:, None] + np.arange(3)).ravel()
        act = put(act, where, _shortest(take(act, where).reshape(-1, 3)).reshape(-1))
    return act


def _shortest(v: Array) -> Array:
    """Rotation vectors [n, 3] of the same rotations by no more than half a turn."""
    angle = vector.norm(v)
    beyond = angle > np.pi
    safe = jnp.where(beyond, angle, 1)
    scale = (safe - 2 * np.pi * jnp.floor(safe / (2 * np.pi) + 0.5)) / safe
    return v * jnp.where(beyond, scale, 1)[:, None]
