"""Late controls and readings, from buffers of samples that Data carries (mj_readCtrl, mj_readSensor, mj_advance).

Buffers are those of `core.history`. Samples are found by counting how many are older than a time, so that nothing is
indexed at run time; buffers of a size are read together.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra.select import put, take
from jaxsim.core.data import Data
from jaxsim.core.enums import MINVAL
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology

Array = jax.Array

ZERO_ORDER, LINEAR = 0, 1  # interpolation; 2 is cubic


class Buffers(NamedTuple):
    """Buffers [k] of n samples of dim values each."""

    element: np.ndarray  # [k] actuators or sensors
    place: np.ndarray  # [k, 2 + n + n dim] where they are in data.history
    n: int
    dim: int


class Samples(NamedTuple):
    """What buffers [k] hold."""

    user: Array  # [k]
    cursor: Array  # [k] place of the newest sample
    times: Array  # [k, n] s
    values: Array  # [k, n, dim]


@per_topology
def buffers(t: Topology, kind: str) -> tuple[Buffers, ...]:
    """The buffers of actuators, which keep the first control, or of sensors, by their size."""
    adr, samples = getattr(t, f"{kind}_historyadr"), getattr(t, f"{kind}_history")[:, 0]
    dims = np.ones(len(adr), int) if kind == "actuator" else np.asarray(t.sensor_dim)
    groups: dict[tuple[int, int], list[int]] = {}
    for i in np.flatnonzero(samples > 0):
        groups.setdefault((int(samples[i]), int(dims[i])), []).append(int(i))
    return tuple(
        Buffers(np.array(chosen), adr[chosen][:, None] + np.arange(2 + n + n * dim), n, dim)
        for (n, dim), chosen in groups.items()
    )


def samples_of(history: Array, b: Buffers) -> Samples:
    """The samples of buffers [k]."""
    rows = take(history, b.place.ravel()).reshape(b.place.shape)
    values = rows[:, 2 + b.n :].reshape(-1, b.n, b.dim)
    return Samples(rows[:, 0], rows[:, 1], rows[:, 2 : 2 + b.n], values)


def _order(s: Samples) -> Array:
    """Age rank [k, n] of the sample at each place: 0 for the oldest."""
    n = s.times.shape[1]
    behind = np.arange(n).astype(s.times.dtype)[None] - s.cursor[:, None] - 1
    return jnp.where(behind < 0, behind + n, behind)


def _pick(mask: Array, values: Array) -> Array:
    """Values [k, dim] of the one sample [k, n] that is marked."""
    return jnp.sum(jnp.where(mask[:, :, None], values, 0), axis=1)


def _same(t: Array, times: Array) -> Array:
    """Whether times are one: within mjMINVAL, or in single precision within a few roundings of it."""
    eps = float(np.finfo(t.dtype).eps)
    return jnp.abs(t - times) < (MINVAL if t.dtype == np.float64 else 8 * eps * (1 + jnp.abs(t)))


def read(s: Samples, t: Array, interp: np.ndarray) -> Array:
    """Values [k, dim] at times [k] (s), as `interp` [k] says; before the first and after the last, theirs."""
    n, order = s.times.shape[1], _order(s)
    t = t[:, None]
    same = _same(t, s.times)
    older = (s.times < t) & ~same
    after = jnp.clip(jnp.sum(older, axis=1, dtype=s.times.dtype)[:, None], 0, n - 1)  # rank of the first not older
    at = [_pick(order == after + k, s.values) for k in (-2, -1, 0, 1)]
    time = [_pick(order == after + k, s.times[:, :, None]) for k in (-2, -1, 0, 1)]
    held = (after == 0) | jnp.any(same & (order == after), axis=1, keepdims=True) | (time[2] < t)
    span = jnp.where(held, 1, time[2] - time[1])
    x = jnp.where(held, 1, (t - time[1]) / span)
    value = jnp.where(interp[:, None] == ZERO_ORDER, at[1], at[1] + x * (at[2] - at[1]))
    if (interp > LINEAR).any():
        before, beyond = after > 1, after < n - 1
        slope0 = jnp.where(before, (at[2] - at[0]) / jnp.where(before, time[2] - time[0], 1), 0)
        slope1 = jnp.where(beyond, (at[3] - at[1]) / jnp.where(beyond, time[3] - time[1], 1), 0)
        x2, x3 = x * x, x * x * x
        cubic = (2 * x3 - 3 * x2 + 1) * at[1] + (x3 - 2 * x2 + x) * span * slope0
        cubic = cubic + (3 * x2 - 2 * x3) * at[2] + (x3 - x2) * span * slope1
        value = jnp.where(interp[:, None] > LINEAR, cubic, value)
    return jnp.where(held, at[2], value)


def inserted(s: Samples, t: Array, values: Array) -> Samples:
    """Samples with values [k, dim] at a time t [] (s): a new one drops the oldest, one of the same time is replaced."""
    n, order = s.times.shape[1], _order(s)
    same = jnp.abs(t - s.times) < MINVAL
    rank = jnp.sum((s.times < t) & ~same, axis=1, dtype=s.times.dtype)[:, None]  # of the first that is not older
    replaces = jnp.any(same, axis=1, keepdims=True)
    newest = ~replaces & (rank == n)
    # a time between others: those before it move down by one place, over the oldest
    between = ~replaces & (rank > 0) & (rank < n)
    moves = between & (order < rank - 1)
    place = jnp.where(replaces, rank, jnp.where(newest | (rank == 0), 0, rank - 1))
    here = order == place
    times = jnp.where(moves, jnp.roll(s.times, -1, axis=1), s.times)
    kept = jnp.where(moves[:, :, None], jnp.roll(s.values, -1, axis=1), s.values)
    cursor = jnp.where(newest[:, 0], jnp.where(s.cursor == n - 1, 0, s.cursor + 1), s.cursor)
    return Samples(s.user, cursor, jnp.where(here, t, times), jnp.where(here[:, :, None], values[:, None], kept))


def late_controls(m: Model, d: Data) -> Array:
    """Controls [nu] as they arrive at actuators: those of a delay ago for the ones that have a delay."""
    ctrl = d.ctrl
    for b in buffers(m.topology, "actuator"):
        delay, first = take(m.actuator_delay, b.element), m.actuator_ctrladr[b.element]
        late = read(samples_of(d.history, b), d.time - delay, m.actuator_history[b.element, 1])[:, 0]
        ctrl = put(ctrl, first, jnp.where(delay != 0, late, take(ctrl, first)))
    return ctrl


def late_readings(m: Model, d: Data) -> Data:
    """sensordata [nsensordata] as users see it: of a delay ago, or of when a sensor with a period was due last."""
    data = d.sensordata
    for b in buffers(m.topology, "sensor"):
        s, delay, period = samples_of(d.history, b), take(m.sensor_delay, b.element), _period(m, b)
        late = read(s, d.time - delay, m.sensor_history[b.element, 1])
        where = (m.sensor_adr[b.element][:, None] + np.arange(b.dim)).ravel()
        waits = (delay > 0) | (period > 0) & (s.user + period > d.time)
        fresh = take(data, where).reshape(-1, b.dim)
        data = put(data, where, jnp.where(waits[:, None], late, fresh).reshape(-1))
    return d.replace(sensordata=data)


def _period(m: Model, b: Buffers) -> Array:
    return take(m.sensor_interval, b.element)[:, 0]


def recorded(m: Model, d: Data, sensed: Array) -> Array:
    """history [nhistory] with what actuators were told and sensors `sensed` [nsensordata] at the time of d."""
    history = d.history
    for b in buffers(m.topology, "actuator"):
        told = take(d.ctrl, m.actuator_ctrladr[b.element])[:, None]
        history = _written(history, b, inserted(samples_of(history, b), d.time, told))
    for b in buffers(m.topology, "sensor"):
        s, period = samples_of(history, b), _period(m, b)
        where = (m.sensor_adr[b.element][:, None] + np.arange(b.dim)).ravel()
        due = (period <= 0) | (s.user + period <= d.time)
        new = inserted(s, d.time, take(sensed, where).reshape(-1, b.dim))
        new = new._replace(user=jnp.where(period > 0, s.user + period, s.user))
        chosen = [jnp.where(due.reshape(-1, *(1,) * (y.ndim - 1)), x, y) for x, y in zip(new, s)]
        history = _written(history, b, Samples(*chosen))
    return history


def _written(history: Array, b: Buffers, s: Samples) -> Array:
    rows = [s.user[:, None], s.cursor[:, None], s.times, s.values.reshape(len(b.element), -1)]
    return put(history, b.place.ravel(), jnp.concatenate(rows, axis=1).reshape(-1))
