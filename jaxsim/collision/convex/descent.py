"""Depth of two smooth shapes that overlap: the normal along which their difference reaches least far (by descent).

Let h(n) be how far the difference reaches along a unit normal n. Of q = (h(n) + a) n, beyond the supporting plane
there, the nearest point of the difference has a normal m with h(m) <= h(n): the plane through that point is as far from
q as the point is, which is no nearer than the plane of n. So q moves on to m, until no normal is better. As in GJK, a
simplex comes nearer to q with each step, and q need not wait until it is nearest.

There may be several normals that are better than all nearby. The descent begins where h is lowest among the axes of
both shapes, those across two of them, and the line of the centres; then again where it is lowest but for directions
near those that were found. All of these shapes are symmetric about their centres, so of a direction and its opposite
the one towards the other centre is the better one.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.convex.difference import Difference
from jaxsim.collision.convex.gjk import nearest, placed
from jaxsim.collision.shape import safe_norm
from jaxsim.core.enums import GeomType

Array = jax.Array

ROUND = (GeomType.ELLIPSOID, GeomType.CYLINDER)
FACETED = (GeomType.MESH, GeomType.HFIELD)  # of as many faces as there may be, each with a depth of its own
STARTS = 4
NEAR = 0.9  # cosine of the angle within which directions lead to the same normal
BEYOND = 0.05  # of the coordinates: how far beyond the supporting plane
# of the coordinates: how near it has to come to tell which start was best, and then for Newton's method to go on
COARSE, FINE = 3e-5, 2e-6
HASTE = 16  # most steps from a start: what it has come to by then tells which was best
PARALLEL = 1e-3  # sine of the angle of two axes that have no direction across them


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


def curved(kind1: int, kind2: int) -> bool:
    """Whether the depth of two types of geoms is found by descent."""
    return bool({kind1, kind2} & set(ROUND)) and not {kind1, kind2} & set(FACETED)


def is_curved(kind: Array, semi_axes: Array) -> Array:
    """The same [...] of two shapes, of types [2, ...] and with ellipsoids of semi-axes [2, ..., 3]."""
    faceted = [jnp.any(kind == k, axis=0) for k in FACETED]
    return jnp.any(semi_axes > 0, axis=(0, -1)) & ~(faceted[0] | faceted[1])


def descend(shapes: Difference, start: Array, known: Array | None, tolerance: Array, iterations: int) -> Lowest:
    """The lowest normal that there is, or the one downhill from a known one [3].

    Args:
        shapes: their difference; if no normal is known, symmetric about the difference of their centres.
        start: [] bool, whether to search at all.
        known: [3] a unit normal, or None.
        tolerance: [] by how much (m) the nearest point may lie within the difference.
        iterations: most steps from each start.
    """
    s = _lowest(shapes, start, tolerance, iterations) if known is None else _begun(shapes, known, start)
    s = s._replace(step=jnp.zeros((), jnp.int32), done=~start)
    s = _downhill(shapes, s, _enough(shapes, tolerance, FINE if known is None else 0), iterations)
    return Lowest(_normal(s), s.rows, s.weight)


def _enough(shapes: Difference, tolerance: Array, share: float) -> Array:
    return jnp.maximum(jnp.maximum(tolerance, share * shapes.scale), _rounding(shapes))


def _lowest(shapes: Difference, start: Array, tolerance: Array, iterations: int) -> _Descent:
    """The best of some descents, each of which has come near its end."""
    directions, missing = _directions(shapes)
    reaches = jax.vmap(lambda n: jnp.sum(shapes.point(n)[:3] * n))(directions)
    big = jnp.asarray(jnp.finfo(reaches.dtype).max, reaches.dtype)
    enough = _enough(shapes, tolerance, COARSE)

    def attempt(state: tuple[Array, _Descent], _: None) -> tuple[tuple[Array, _Descent], None]:
        heights, best = state
        _, first = vector.least(heights)
        begin = jnp.sum(jnp.where(first[:, None], directions, 0), axis=0)
        found = _downhill(shapes, _begun(shapes, begin, start), enough, min(HASTE, iterations))
        best = jax.tree.map(lambda new, old: jnp.where(found.height < best.height, new, old), found, best)
        cosine = jnp.maximum(vector.dot(directions, _normal(found)[None]), vector.dot(directions, begin[None]))
        return (jnp.where(cosine > NEAR, big, heights), best), None

    none = _begun(shapes, directions[0], jnp.zeros((), bool))._replace(height=big)
    (_, best), _ = lax.scan(attempt, (jnp.where(missing, big, reaches), none), None, length=STARTS)
    return best


def _normal(s: _Descent) -> Array:
    return -s.x / safe_norm(s.x)


def _directions(shapes: Difference) -> tuple[Array, Array]:
    """Unit vectors [16, 3] towards the other centre, and which of them [16] are missing, as axes are parallel."""
    one, other = jnp.asarray(np.eye(3), shapes.rot.dtype), shapes.rot.T
    across = vector.cross(*(jnp.broadcast_to(x, (3, 3, 3)).reshape(9, 3) for x in (one[:, None], other[None])))
    every = jnp.concatenate([one, other, across, shapes.offset[None]])
    length = safe_norm(every)
    least = jnp.concatenate([jnp.asarray([0] * 6 + [PARALLEL] * 9, every.dtype), _rounding(shapes)[None]])
    away = vector.dot(every, shapes.offset[None]) < 0
    return jnp.where(away[:, None], -every, every) / length, length[:, 0] <= least


def _rounding(shapes: Difference) -> Array:
    return 16 * jnp.finfo(shapes.scale.dtype).eps * shapes.scale


def _begun(shapes: Difference, begin: Array, start: Array) -> _Descent:
    """A descent from a direction [3]."""
    row = shapes.point(begin)
    height = jnp.sum(row[:3] * begin)
    beyond = (height + BEYOND * shapes.scale) * begin
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
        beyond = (height + BEYOND * shapes.scale) * direction
        beyond = jnp.where(height < s.height, beyond, s.beyond)
        rows = placed(row, s.rows, s.weight, s.step)
        weight, x, inside = nearest(rows[:, :3] - beyond[None])
        moved = _Descent(beyond, jnp.minimum(height, s.height), rows, weight, x, s.step, done)
        stalled = (height >= s.height) & (jnp.sum(x * x) >= jnp.sum(s.x * s.x))
        done |= stalled | inside  # of rounding's making
        kept = jax.tree.map(lambda new, old: jnp.where(done, old, new), moved, s)
        return kept._replace(height=moved.height, step=s.step + 1, done=done)

    return lax.while_loop(lambda s: ~s.done & (s.step < iterations), step, s)
