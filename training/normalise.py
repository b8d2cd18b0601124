"""Running mean and deviation of observations."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array

FLOOR = 1e-4  # of the variance: what hardly varies is not blown up
LIMIT = 10.0  # of normalised observations


class Moments(NamedTuple):
    """Number [], mean [n] and sum of squared deviations [n] of all observations so far."""

    number: Array
    mean: Array
    spread: Array


def begin(size: int, dtype=float) -> Moments:
    """Moments with which observations [size] stay as they are."""
    return Moments(jnp.zeros((), dtype), jnp.zeros(size, dtype), jnp.zeros(size, dtype))


def update(moments: Moments, obs: Array, axis: str | None = None) -> Moments:
    """Add observations [..., n], of all devices where `axis` names their axis (Chan's parallel formula)."""
    rows = obs.reshape(-1, obs.shape[-1])
    count = jnp.asarray(rows.shape[0], rows.dtype)
    total = lambda x: lax.psum(x, axis) if axis else x  # noqa: E731
    count, mean = total(count), total(rows.sum(0)) / total(count)
    spread = total(jnp.square(rows - mean[None]).sum(0))
    both = moments.number + count
    step = mean - moments.mean
    return Moments(
        both,
        moments.mean + step * count / both,
        moments.spread + spread + jnp.square(step) * moments.number * count / both,
    )


def normalise(moments: Moments, obs: Array) -> Array:
    """Observations [..., n] with mean 0 and deviation 1, within LIMIT."""
    variance = jnp.where(moments.number > 0, moments.spread / jnp.maximum(moments.number, 1), 1)
    mean, scale = (jnp.broadcast_to(x, obs.shape) for x in (moments.mean, lax.rsqrt(jnp.maximum(variance, FLOOR))))
    return jnp.clip((obs - mean) * scale, -LIMIT, LIMIT)
