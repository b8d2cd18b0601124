"""Distance of two convex shapes that are apart: the point of their difference nearest to the origin (GJK).

The simplex always has four points, of which some may coincide, and weights that make the nearest point of their
hull; a new point takes the place of one of weight zero. Old points of weight zero stay: they do no harm, as the
nearest point of a larger hull is never farther.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.collision.convex.difference import Difference
from jaxsim.collision.convex.widen import beside, line_of
from jaxsim.collision.shape import first_true, safe_norm

Array = jax.Array

SEARCHING, NEAREST, OVERLAP, APART = range(4)

# edges and triangles of a tetrahedron, and the corner opposite each triangle
EDGES = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])
TRIANGLES = np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])
OPPOSITE = np.array([3, 2, 1, 0])
_AT = np.eye(4)


class Simplex(NamedTuple):
    """Four points of the difference, rows [4, 8], the weights [4] of the nearest point x [3], and what is known."""

    rows: Array
    weight: Array
    x: Array
    state: Array  # [] int32: still SEARCHING, x is NEAREST, the shapes OVERLAP, or they are farther APART than asked
    step: Array  # [] int32


def gjk(shapes: Difference, reach: Array, tolerance: Array, iterations: int) -> Simplex:
    """The nearest point, or a simplex with some area at or around the origin.

    Args:
        shapes: their difference.
        reach: [] distance (m) beyond which shapes only need to be known to be apart.
        tolerance: [] error of x (m) to be had on smooth shapes; on others x is exact.
        iterations: most steps.
    """
    eps = jnp.finfo(reach.dtype).eps
    accurate = jnp.where(shapes.smooth, 0.5 * tolerance * tolerance, 0)
    rounding = 8 * eps * shapes.scale
    touching = (2 * rounding) ** 2

    def search(s: Simplex) -> Simplex:
        square = jnp.sum(s.x * s.x)
        outside = square > touching
        direction = jnp.where(outside, -s.x, _sideways(s.rows[:, :3], s.step))
        row = shapes.point(direction / safe_norm(direction))
        ahead = jnp.sum(s.x * row[:3])
        rows = placed(row, s.rows, s.weight, s.step)
        weight, x, inside = nearest(rows[:, :3])
        new = jnp.sum(x * x)
        # the nearest point is found where the new point is no further ahead, or rounding lets it come no nearer
        enough = jnp.maximum(accurate, rounding * jnp.sqrt(square))
        # beyond a plane that separates it from the shape the origin is inside no simplex, only a flat one looks so
        separated = ahead > rounding * jnp.sqrt(square)
        found = outside & ((square - ahead <= enough) | jnp.where(inside, separated, new >= square))
        apart = outside & (ahead > reach * jnp.sqrt(square))
        overlap = ~found & (inside | (new <= touching)) & (largest(rows[:, :3])[0] > 0)
        state = jnp.where(apart, APART, jnp.where(found, NEAREST, jnp.where(overlap, OVERLAP, SEARCHING)))
        moved = Simplex(rows, weight, x, state, s.step + 1)
        return jax.tree.map(lambda new, old: jnp.where(found, old, new), moved, s)._replace(
            state=state.astype(jnp.int32), step=s.step + 1
        )

    zero = jnp.zeros((), jnp.int32)
    first = shapes.point(shapes.offset / safe_norm(shapes.offset))
    rows = jnp.broadcast_to(first[None], (4, 8))
    start = Simplex(rows, jnp.asarray(_AT[0], first.dtype), first[:3], zero, zero)
    return _widened(shapes, lax.while_loop(lambda s: (s.state == SEARCHING) & (s.step < iterations), search, start))


def _widened(shapes: Difference, s: Simplex) -> Simplex:
    """The same with one more point, of weight zero, where two make the nearest point and a face has both."""
    used = s.weight > 0
    distance = safe_norm(s.x)[0]
    normal = -s.x / distance
    line = line_of(s.rows, used, normal)

    def look(t: tuple[Array, Array]) -> tuple[Array, Array]:
        rows, side = t
        row, far = beside(shapes, line, normal, -distance, side)
        here = ~used & (far > 0)
        return jnp.where(here[:, None], row[None], rows), jnp.where(jnp.any(here) | (side < 0), 0, -jnp.ones_like(side))

    wanted = (s.state == NEAREST) & (jnp.sum(used) == 2) & ~shapes.smooth
    rows, _ = lax.while_loop(lambda t: t[1] != 0, look, (s.rows, wanted.astype(distance.dtype)))
    return s._replace(rows=rows)


def placed(row: Array, rows: Array, weight: Array, step: Array) -> Array:
    """A simplex [4, 8] with a new point [8] in place of one of weight [4] zero: places are filled in turn."""
    later = (jnp.arange(4, dtype=jnp.int32) - step - 1) & 3  # how long ago each place was filled
    soonest = jnp.min(jnp.where(weight == 0, later, 4))
    place = first_true((weight == 0) & (later == soonest))
    return jnp.where(place[:, None], row[None], rows)


def _sideways(points: Array, step: Array) -> Array:
    """A direction [3] in which a simplex through the origin gets more area: off its longest edge, to and fro."""
    edge = take(points, EDGES[:, 1]) - take(points, EDGES[:, 0])
    _, longest = vector.least(-vector.dot(edge, edge))
    along = jnp.sum(jnp.where(longest[:, None], edge, 0), axis=0)
    _, least = vector.least(jnp.abs(along))
    across = vector.cross(along, least.astype(along.dtype))
    some = jnp.any(across != 0)
    across = jnp.where(some, across, jnp.asarray([0, 0, 1], along.dtype))
    return jnp.where(step & 1 == 0, across, -across)


def largest(points: Array) -> tuple[Array, Array]:
    """The square of twice the area [] of the largest triangle of a simplex, 0 if it is flat, and which it is [4]."""
    a, b, c = (take(points, TRIANGLES[:, i]) for i in range(3))
    normal = vector.cross(b - a, c - a)
    area = vector.dot(normal, normal)
    length = jnp.maximum(vector.dot(b - a, b - a), vector.dot(c - a, c - a))
    eps = jnp.finfo(points.dtype).eps
    area = jnp.where(area > (64 * eps) ** 2 * length * length, area, 0)
    most, which = vector.least(-area)
    return -most[0], which


def nearest(points: Array) -> tuple[Array, Array, Array]:
    """Weights [4] and position [3] of the point of a simplex [4, 3] nearest to the origin; whether it is inside.

    Of the six edges, with their ends, and the four triangles, the nearest one counts.
    """
    a, b = (take(points, EDGES[:, i]) for i in range(2))
    edge = b - a
    t = -vector.dot(a, edge) / jnp.maximum(vector.dot(edge, edge), jnp.finfo(a.dtype).tiny)
    t = jnp.clip(t, 0, 1)
    foot = a + t[:, None] * edge
    at = jnp.asarray(_AT, a.dtype)
    on_edge = (1 - t)[:, None] * take(at, EDGES[:, 0]) + t[:, None] * take(at, EDGES[:, 1])

    a, b, c = (take(points, TRIANGLES[:, i]) for i in range(3))
    ab, ac = b - a, c - a
    normal = vector.cross(ab, ac)
    square = vector.dot(normal, normal)
    eps = jnp.finfo(a.dtype).eps
    flat = square <= (64 * eps) ** 2 * vector.dot(ab, ab) * vector.dot(ac, ac)
    safe = jnp.where(flat, 1, square)
    of_b = vector.dot(vector.cross(c, a), normal) / safe
    of_c = vector.dot(vector.cross(a, b), normal) / safe
    of_a = 1 - of_b - of_c
    within = ~flat & (of_a > 0) & (of_b > 0) & (of_c > 0)
    height = vector.dot(a, normal)
    on_triangle = sum(
        w[:, None] * take(at, TRIANGLES[:, i]) for i, w in enumerate((of_a, of_b, of_c))
    )  # fmt: skip

    reach = vector.dot(take(points, OPPOSITE) - a, normal)
    thin = jnp.abs(reach) <= 64 * eps * jnp.sqrt(safe * vector.dot(ab, ab))
    inside = jnp.all(~flat & ~thin & (-height * reach >= 0))

    big = jnp.finfo(a.dtype).max
    far = jnp.concatenate([jnp.where(within, height * height / safe, big), vector.dot(foot, foot)])
    weights = jnp.concatenate([on_triangle, on_edge])
    _, best = vector.least(far)
    weight = jnp.sum(jnp.where(best[:, None], weights, 0), axis=0)
    x = jnp.sum(weight[:, None] * points, axis=0)
    return jnp.where(inside, 1, weight), jnp.where(inside, 0, x), inside
