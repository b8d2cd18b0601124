"""Depth and distance of shapes with smooth sides: the normal along which their difference reaches least far.

The lowest value of h(n), how far the difference reaches along a unit normal n (`sums.py`), is their depth, or their
distance below zero. It has a crease where n is across a segment, as an edge or a face touches there, and a tip along
the axis of a flat ellipsoid, its cap.

With segments a little thick and caps a little bulged h is smooth, and Newton's method on the sphere takes few steps,
each hardly more than h itself. How far along a segment or a cap the shapes touch is then known nearly, and so whether
they touch within it; the exact normal follows (`creases.py`).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.convex.creases import PARALLEL, Touching, touching_at
from jaxsim.collision.convex.difference import Difference
from jaxsim.collision.convex.sums import (
    THICK,
    Slopes,
    Sums,
    along_segments,
    bulged,
    inverse_of_size,
    local_of,
    reach,
    slopes_at,
    sums_of,
    turned,
)
from jaxsim.collision.shape import safe_norm
from jaxsim.core.enums import GeomType

Array = jax.Array

ROUND = (GeomType.ELLIPSOID, GeomType.CYLINDER)
FACETED = (GeomType.MESH, GeomType.HFIELD)  # of as many faces as there may be, each with a depth of its own
STARTS = 4
NEAR = 0.9  # cosine of the angle within which directions lead to the same normal
SAME = 0.999  # and within which two that were reached are the same


def curved(kind1: int, kind2: int) -> bool:
    """Whether two types of geoms make a difference with smooth sides."""
    return bool({kind1, kind2} & set(ROUND)) and not {kind1, kind2} & set(FACETED)


def is_curved(kind: Array, semi_axes: Array) -> Array:
    """The same [...] of two shapes, of types [2, ...] and with ellipsoids of semi-axes [2, ..., 3]."""
    faceted = [jnp.any(kind == k, axis=0) for k in FACETED]
    return jnp.any(semi_axes > 0, axis=(0, -1)) & ~(faceted[0] | faceted[1])


class Aim(NamedTuple):
    """A unit normal [3] and how far the difference reaches along it [] (m)."""

    normal: Array
    height: Array


class Lowest(NamedTuple):
    """What is known of the lowest normal: the lowest that is exact, if any, and [] whether no other may be lower.

    If one may, `guess` [3] is near it.
    """

    touching: Touching
    settled: Array
    guess: Array


def aim(shapes: Difference) -> Aim:
    """The lowest normal downhill from the line of the centres, nearly."""
    sums = sums_of(shapes)
    far = jnp.any(shapes.offset != 0)
    line = jnp.where(far, shapes.offset, jnp.asarray([0, 0, 1], shapes.offset.dtype))
    normal = _lowered(sums, (line / safe_norm(line))[None])[0]
    return Aim(normal, reach(sums, normal))


def height(shapes: Difference, normal: Array) -> Array:
    """How far [] (m) the difference reaches along a unit normal [3]."""
    return reach(sums_of(shapes), normal)


def lowest(shapes: Difference, known: Aim) -> Lowest:
    """The lowest normal of a known one, of those where h is lowest among the axes of both shapes, those across two of
    them and the line of the centres, and of those downhill from these."""
    sums = sums_of(shapes)
    starts, begun = _starts(sums, shapes)
    ends = jnp.concatenate([_lowered(sums, starts), known.normal[None]])
    expected, ended = (jax.vmap(lambda n, f=f: f(sums, n))(ends) for f in (_expected, reach))
    every = jnp.concatenate([ends, starts])
    best, least = two_lowest(every, jnp.concatenate([expected, begun]), SAME)
    both = jax.vmap(lambda n: touching_at(shapes, sums, n))(best)
    exact = jnp.where(both.sure, jax.vmap(lambda n: reach(sums, n))(both.normal), least)
    better = exact[1] < exact[0]
    settled = jnp.where(better, both.sure[1], both.sure[0])
    chosen = jnp.where(settled, better, both.sure[1])
    touching = jax.tree.map(lambda x: jnp.where(chosen, x[1], x[0]), both)
    done = touching.sure & (vector.dot(every, touching.normal[None]) > NEAR)
    heights = jnp.concatenate([ended, begun])
    guess = _lowest_of(every, jnp.where(done, jnp.finfo(heights.dtype).max, heights)).normal
    return Lowest(touching, settled, guess)


def _lowest_of(normals: Array, heights: Array) -> Aim:
    """Of unit normals [n, 3] of heights [n] (m) the lowest."""
    least, first = vector.least(heights)
    return Aim(jnp.sum(jnp.where(first[:, None], normals, 0), axis=0), least[0])


def two_lowest(normals: Array, heights: Array, same: float) -> tuple[Array, Array]:
    """Of unit normals [n, 3] of heights [n] (m) the lowest, and the lowest that is not the same: [2, 3] and [2].

    Two are the same within an angle of the given cosine.
    """
    one = _lowest_of(normals, heights)
    alike = vector.dot(normals, one.normal[None]) > same
    two = _lowest_of(normals, jnp.where(alike, jnp.finfo(heights.dtype).max, heights))
    return jnp.stack([one.normal, two.normal]), jnp.stack([one.height, two.height])


def _starts(sums: Sums, shapes: Difference) -> tuple[Array, Array]:
    """Unit normals [STARTS, 3] towards the other centre, not near one another, and h there [STARTS] (m)."""
    one, other = jnp.asarray(np.eye(3), shapes.rot.dtype), shapes.rot.T
    across = vector.cross(*(jnp.broadcast_to(x, (3, 3, 3)).reshape(9, 3) for x in (one[:, None], other[None])))
    every = jnp.concatenate([one, other, across, shapes.offset[None]])
    length = safe_norm(every)
    rounding = 16 * jnp.finfo(length.dtype).eps * shapes.scale
    least = jnp.concatenate([jnp.asarray([0] * 6 + [PARALLEL] * 9, every.dtype), rounding[None]])
    away = vector.dot(every, shapes.offset[None]) < 0
    every = jnp.where(away[:, None], -every, every) / length
    big = jnp.asarray(jnp.finfo(length.dtype).max, length.dtype)
    heights = jnp.where(length[:, 0] <= least, big, jax.vmap(lambda n: reach(sums, n))(every))
    chosen = []
    for _ in range(STARTS):
        chosen.append(_lowest_of(every, heights))
        heights = jnp.where(vector.dot(every, chosen[-1].normal[None]) > NEAR, big, heights)
    return jnp.stack([x.normal for x in chosen]), jnp.stack([x.height for x in chosen])


def _lowered(sums: Sums, normals: Array) -> Array:
    """Unit normals [n, 3] some steps downhill on smoothed shapes."""

    def step(normal: Array, thick: Array) -> Array:
        s = _smoothed_slopes(sums, normal, thick)
        return turned(normal, s.basis, -vector.matvec(inverse_of_size(s.hessian), s.gradient))

    def steps(normals: Array, thick: Array) -> tuple[Array, None]:
        return jax.vmap(lambda n: step(n, thick))(normals), None

    return lax.scan(steps, normals, jnp.asarray(np.square(THICK), normals.dtype))[0]


def _smoothed_slopes(sums: Sums, normal: Array, thick: Array) -> Slopes:
    """The slopes of h at a unit normal [3], of smoothed shapes."""
    local = local_of(sums, normal)
    along, root = along_segments(local, thick)
    bend = sums.half * (1 - thick) * thick / (root * root * root)
    return slopes_at(sums, normal, sums.half * along, bend, bulged(sums, thick))


def _expected(sums: Sums, normal: Array) -> Array:
    """h [] (m) at the exact normal near one [3] that is lowest for smoothed shapes, but for the square of thickness.

    That is the sum of w a . n, which does not change to first order, neither with w nor with n.
    """
    thick = jnp.asarray(THICK[-1] ** 2, normal.dtype)
    local = local_of(sums, normal)
    along, _ = along_segments(local, thick)
    square = jnp.sum(bulged(sums, thick) * local * local, axis=1)
    rest = sums.round * sums.round * local / jnp.sqrt(jnp.where(square > 0, square, 1))[:, None]
    return jnp.sum((sums.half * along + rest) * local) - jnp.sum(sums.offset * normal)
