"""History buffers at the start: what `data.history` holds before the first step (mj_resetData).

A buffer of n samples of a control or of a sensor of dim values is, in MuJoCo's layout,

    user | cursor | time of each sample (n) | values of each sample (n dim)

where the cursor is the place of the newest sample, and `user` of a sensor the time at which it was last due. Samples
are in order of time from the place after the cursor on, around the end of the buffer.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np


def initial_history(model: Any) -> Any:
    """[nhistory]: samples of zero one time step apart, or one period apart for sensors that have a period."""
    dt, parts = model.opt.timestep, []
    for adr, (samples, _) in zip(model.actuator_historyadr, model.actuator_history):
        if adr >= 0:
            n = int(samples)
            size = _size(model.actuator_historyadr, model.sensor_historyadr, int(adr), model.nhistory)
            parts.append((int(adr), [jnp.zeros(1, dt.dtype), _cursor(n, dt), _steps(n, dt)], size))
    for i, (adr, (samples, _)) in enumerate(zip(model.sensor_historyadr, model.sensor_history)):
        if adr >= 0:
            n, (period, phase) = int(samples), model.sensor_interval[i]
            due = jnp.where(phase == 0, -period, phase)
            periodic = jnp.ceil((due - np.arange(n - 1, -1, -1).astype(dt.dtype) * period) / dt) * dt
            first = jnp.where(period > 0, due, -dt)
            times = jnp.where(period > 0, periodic, _steps(n, dt))
            parts.append((int(adr), [first[None], _cursor(n, dt), times], 2 + n + n * int(model.sensor_dim[i])))
    pieces = []
    for _, given, size in sorted(parts, key=lambda part: part[0]):
        pieces += [*given, jnp.zeros(size - sum(x.shape[0] for x in given), dt.dtype)]
    return jnp.concatenate(pieces)


def _size(first: np.ndarray, second: np.ndarray, adr: int, total: int) -> int:
    """Length of the buffer that starts at an address: up to the next one, or to the end."""
    later = [int(a) for a in (*first, *second) if a > adr]
    return min(later, default=total) - adr


def _cursor(n: int, dt: Any) -> Any:
    return jnp.full(1, n - 1, dt.dtype)


def _steps(n: int, dt: Any) -> Any:
    return -np.arange(n, 0, -1).astype(dt.dtype) * dt
