"""Exact line search: the root of a convex function's slope, by Newton steps inside a bracket."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array


class Bracket(NamedTuple):
    """The step being tried and the interval (low, high) that holds the root; all []."""

    evaluations: Array
    alpha: Array
    low: Array
    high: Array
    done: Array


def line_search(
    slope_curvature: Callable[[Array], tuple[Array, Array]],
    slope0: Array,
    iterations: int,
    goal: Array,
    first: Array | None = None,
) -> Array:
    """Step alpha with slope(alpha) = 0, for a convex function whose slope at 0 is negative.

    Starts at `first`, by default the full Newton step alpha = 1, which is exact unless rows change their state.

    Args:
        slope_curvature: alpha [] -> first and second derivative along the line [].
        slope0: slope at alpha = 0 [].
        iterations: most evaluations.
        goal: stop when |slope| <= goal [].
        first: the step that is tried first [].

    Returns:
        alpha [].
    """

    def unfinished(b: Bracket) -> Array:
        return (b.evaluations < iterations) & ~b.done

    def step(b: Bracket) -> Bracket:
        slope, curvature = slope_curvature(b.alpha)
        low = jnp.where(slope < 0, b.alpha, b.low)
        high = jnp.where(slope < 0, b.high, b.alpha)
        newton = b.alpha - slope / jnp.maximum(curvature, jnp.finfo(b.alpha.dtype).tiny)
        bounded = jnp.where(jnp.isfinite(high), 0.5 * (low + high), 2 * b.alpha)
        proposal = jnp.where((newton > low) & (newton < high), newton, bounded)
        done = (jnp.abs(slope) <= goal) | (proposal == b.alpha)
        return Bracket(b.evaluations + 1, jnp.where(done, b.alpha, proposal), low, high, done)

    first = jnp.ones_like(slope0) if first is None else first
    start = Bracket(
        jnp.zeros((), jnp.int32), first, jnp.zeros_like(first), jnp.full_like(first, jnp.inf), jnp.zeros((), bool)
    )
    return lax.while_loop(unfinished, step, start).alpha
