"""Depth of two smooth shapes that overlap: the normal along which their difference reaches least far (by descent).

Let h(n) be how far the difference reaches along a unit normal n. Of q = (h(n) + a) n, beyond the supporting plane
there, the nearest point of the difference has a normal m with h(m) <= h(n): the plane through that point is as far from
q as the point is, which is no nearer than the plane of n. So q moves on to m, until no normal is better. As in GJK, a
simplex comes nearer to q with each step, and q need not wait until it is nearest. Of shapes that are apart by more than
a, q is the origin.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.collision.convex.difference import Difference
from jaxsim.collision.convex.gjk import nearest, placed
from jaxsim.collision.shape import safe_norm

Array = jax.Array

BEYOND = 0.05  # of the coordinates: how far beyond the supporting plane


class Lowest(NamedTuple):
    """A normal [3], and points of the difference that reach furthest along it: rows [4, 8], weight [4]."""

    normal: Array
    rows: Array
    weight: Array


class _Descent(NamedTuple):
    """The point [3] beyond the best normal's plane, how far the difference reaches there [], and its nearest point,
    x [3] away from it, of a simplex."""

    beyond: Array
    height: Array
    rows: Array
    weight: Array
    x: Array
    step: Array  # [] int32
    done: Array  # [] bool


def descend(shapes: Difference, start: Array, known: Array, tolerance: Array, iterations: int) -> Lowest:
    """The lowest normal downhill from a known one.

    Args:
        shapes: their difference.
        start: [] bool, whether to search at all.
        known: [3] a unit normal.
        tolerance: [] by how much (m) the nearest point may lie within the difference.
        iterations: most steps.
    """
    s = _downhill(shapes, _begun(shapes, known, start), jnp.maximum(tolerance, _rounding(shapes)), iterations)
    return Lowest(_normal(s), s.rows, s.weight)


def _normal(s: _Descent) -> Array:
    return -s.x / safe_norm(s.x)


def _rounding(shapes: Difference) -> Array:
    return 16 * jnp.finfo(shapes.scale.dtype).eps * shapes.scale


def _begun(shapes: Difference, begin: Array, start: Array) -> _Descent:
    """A descent from a direction [3]."""
    row = shapes.point(begin)
    height = jnp.sum(row[:3] * begin)
    beyond = jnp.maximum(height + BEYOND * shapes.scale, 0) * begin
    rows, one = jnp.broadcast_to(row[None], (4, 8)), jnp.asarray(np.eye(4)[0], row.dtype)
    return _Descent(beyond, height, rows, one, row[:3] - beyond, jnp.zeros((), jnp.int32), ~start)


def _downhill(shapes: Difference, s: _Descent, enough: Array, iterations: int) -> _Descent:
    """A descent to where its nearest point is on the supporting plane, and that no higher than the best, but for
    `enough` [] (m)."""

    def step(s: _Descent) -> _Descent:
        direction = _normal(s)
        row = shapes.point(direction)
        height = jnp.sum(row[:3] * direction)
        reached = height - jnp.sum((s.x + s.beyond) * direction) <= enough
        done = reached & (height > s.height - enough)
        beyond = jnp.maximum(height + BEYOND * shapes.scale, 0) * direction
        beyond = jnp.where(height < s.height, beyond, s.beyond)
        rows = placed(row, s.rows, s.weight, s.step)
        weight, x, inside = nearest(rows[:, :3] - beyond[None])
        moved = _Descent(beyond, jnp.minimum(height, s.height), rows, weight, x, s.step, done)
        stalled = (height >= s.height) & (jnp.sum(x * x) >= jnp.sum(s.x * s.x))
        done |= stalled | inside  # of rounding's making
        kept = jax.tree.map(lambda new, old: jnp.where(done, old, new), moved, s)
        return kept._replace(height=moved.height, step=s.step + 1, done=done)

    return lax.while_loop(lambda s: ~s.done & (s.step < iterations), step, s)
