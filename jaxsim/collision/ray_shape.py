"""Where rays cross the surfaces of analytical shapes (mju_rayGeom): pure geometry, for rays and touch sensors.

A ray is start + x along for x >= 0, in the frame of the shape; x is in units of the length of `along`. Each
shape offers a fixed number of crossings, and says which of them are real. All arrays have the same leading
axes: start, along and size [..., 3] (m), x and whether it is a crossing [...].
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.core.enums import MINVAL, GeomType

Array = jax.Array
Crossings = list[tuple[Array, Array]]


def distance(kind: GeomType, start: Array, along: Array, size: Array) -> Array:
    """The nearest crossing ahead [...], infinite if there is none; differentiable, which one it is being a choice."""
    ahead = [jnp.where(valid & (x >= 0), x, jnp.inf) for x, valid in SURFACES[kind](start, along, size)]
    return vector.least(jnp.stack(ahead, axis=-1))[0][..., 0]


def meets(kind: GeomType, start: Array, along: Array, size: Array) -> Array:
    """Whether a ray crosses the surface at all [...] bool, which a ray that starts inside always does."""
    met = [valid & (x >= 0) for x, valid in SURFACES[kind](start, along, size)]
    return jnp.any(jnp.stack(met), axis=0)


def _roots(a: Array, b: Array, c: Array) -> tuple[Array, Array, Array]:
    """Solutions of a x^2 + 2 b x + c = 0 in ascending order, and whether they are real."""
    square = b * b - a * c
    real = (square >= 0) & (a >= MINVAL)
    positive = real & (square > 0)
    root = jnp.where(positive, jnp.sqrt(jnp.where(positive, square, 1)), 0)
    a = jnp.where(real, a, 1)
    return (-b - root) / a, (-b + root) / a, real


def _quadric(start: Array, along: Array, c: Array, accept: Callable[[Array], Array] = jnp.isfinite) -> Crossings:
    """Crossings of |start + x along|^2 = c, where `accept(x)`."""
    low, high, real = _roots(vector.dot(along, along), vector.dot(along, start), vector.dot(start, start) - c)
    return [(x, real & accept(x)) for x in (low, high)]


def _plane(start: Array, along: Array, size: Array) -> Crossings:
    """From above only."""
    facing = along[..., 2] <= -MINVAL
    x = -start[..., 2] / jnp.where(facing, along[..., 2], 1)
    spot = start[..., :2] + x[..., None] * along[..., :2]
    within = jnp.all((size[..., :2] <= 0) | (jnp.abs(spot) <= size[..., :2]), axis=-1)
    return [(x, facing & within)]


def _sphere(start: Array, along: Array, size: Array) -> Crossings:
    return _quadric(start, along, size[..., 0] ** 2)


def _ellipsoid(start: Array, along: Array, size: Array) -> Crossings:
    return _quadric(start / size, along / size, jnp.ones_like(size[..., 0]))


def _height(start: Array, along: Array, x: Array) -> Array:
    return start[..., 2] + x * along[..., 2]


def _round_side(start: Array, along: Array, size: Array) -> Crossings:
    """Crossings of a cylinder's round side."""
    accept = lambda x: jnp.abs(_height(start, along, x)) <= size[..., 1]  # noqa: E731
    return _quadric(start[..., :2], along[..., :2], size[..., 0] ** 2, accept)


def _capsule(start: Array, along: Array, size: Array) -> Crossings:
    crossings = _round_side(start, along, size)
    for end in (1, -1):
        shifted = vector.join(start[..., :2], start[..., 2:] - end * size[..., 1:2])
        beyond = lambda x, end=end: end * _height(start, along, x) >= size[..., 1]  # noqa: E731
        crossings += _quadric(shifted, along, size[..., 0] ** 2, beyond)
    return crossings


def _cylinder(start: Array, along: Array, size: Array) -> Crossings:
    crossings = _round_side(start, along, size)
    slanted = jnp.abs(along[..., 2]) > MINVAL
    for end in (1, -1):
        x = (end * size[..., 1] - start[..., 2]) / jnp.where(slanted, along[..., 2], 1)
        spot = start[..., :2] + x[..., None] * along[..., :2]
        crossings.append((x, slanted & (vector.dot(spot, spot) <= size[..., 0] ** 2)))
    return crossings


def _box(start: Array, along: Array, size: Array) -> Crossings:
    crossings = []
    for axis in range(3):
        others = np.array([i for i in range(3) if i != axis])
        crossing = jnp.abs(along[..., axis]) > MINVAL
        for side in (1, -1):
            x = (side * size[..., axis] - start[..., axis]) / jnp.where(crossing, along[..., axis], 1)
            spot = start[..., others] + x[..., None] * along[..., others]
            crossings.append((x, crossing & jnp.all(jnp.abs(spot) <= size[..., others], axis=-1)))
    return crossings


SURFACES: dict[GeomType, Callable[[Array, Array, Array], Crossings]] = {
    GeomType.PLANE: _plane,
    GeomType.SPHERE: _sphere,
    GeomType.CAPSULE: _capsule,
    GeomType.ELLIPSOID: _ellipsoid,
    GeomType.CYLINDER: _cylinder,
    GeomType.BOX: _box,
}


def _round_end(spot: Array, size: Array) -> Array:
    along = spot[..., 2:]
    return vector.join(spot[..., :2], along - jnp.clip(along, -size[..., 1:2], size[..., 1:2]))


def _can(spot: Array, size: Array) -> Array:
    """Of a cylinder's side or end, whichever the point is nearer to."""
    height = spot[..., 2:]
    end = jnp.abs(height) - size[..., 1:2] > vector.norm(spot[..., :2])[..., None] - size[..., :1]
    flat = vector.join(jnp.zeros_like(spot[..., :2]), jnp.sign(height))
    return jnp.where(end, flat, vector.join(spot[..., :2], jnp.zeros_like(height)))


def _face(spot: Array, size: Array) -> Array:
    """Of the face of a box that the point is nearest to."""
    _, hot = vector.least(size - jnp.abs(spot))
    return jnp.where(hot, jnp.sign(spot), 0)


# along the outward normal, of any length but zero, at a point of the surface [..., 3]
NORMALS: dict[GeomType, Callable[[Array, Array], Array]] = {
    GeomType.PLANE: lambda spot, size: jnp.broadcast_to(jnp.asarray([0, 0, 1], spot.dtype), spot.shape),
    GeomType.SPHERE: lambda spot, size: spot,
    GeomType.CAPSULE: _round_end,
    GeomType.ELLIPSOID: lambda spot, size: spot / (size * size),
    GeomType.CYLINDER: _can,
    GeomType.BOX: _face,
}
