"""Exact line search: the root of a convex function's slope, by Newton steps inside a bracket."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array


def line_search(
    slope_curvature: Callable[[Array], tuple[Array, Array]], slope0: Array, iterations: int, goal: Array
) -> Array:
    """Step alpha with slope(alpha) = 0, for a convex function whose slope at 0 is negative.

    Starts at the full Newton step alpha = 1, which is exact unless rows change their state.

    Args:
        slope_curvature: alpha -> first and second derivative along the line.
        slope0: slope at alpha = 0.
        iterations: most evaluations.
        goal: stop when |slope| <= goal.
    """

    def unfinished(state):
        k, *_, done = state
        return (k < iterations) & ~done

    def step(state):
        k, alpha, low, high, _ = state
        slope, curvature = slope_curvature(alpha)
        low = jnp.where(slope < 0, alpha, low)
        high = jnp.where(slope < 0, high, alpha)
        newton = alpha - slope / jnp.maximum(curvature, jnp.finfo(alpha.dtype).tiny)
        bounded = jnp.where(jnp.isfinite(high), 0.5 * (low + high), 2 * alpha)
        proposal = jnp.where((newton > low) & (newton < high), newton, bounded)
        done = (jnp.abs(slope) <= goal) | (proposal == alpha)
        return k + 1, jnp.where(done, alpha, proposal), low, high, done

    one = jnp.ones_like(slope0)
    start = (
        jnp.zeros((), jnp.int32),
        one,
        jnp.zeros_like(one),
        jnp.full_like(one, jnp.inf),
        jnp.zeros((), bool),
    )
    return lax.while_loop(unfinished, step, start)[1]
