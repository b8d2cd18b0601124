"""Whether points are inside analytical shapes (mju_insideGeom): pure geometry, for sensors in the zone of a site.

A point is in the frame of the shape; all arrays have the same leading axes: point and size [..., 3] (m).
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxsim.algebra import vector
from jaxsim.core.enums import GeomType

Array = jax.Array


def inside(kind: GeomType, point: Array, size: Array) -> Array:
    """Whether points are inside [...] bool; those on the surface are not, nor is any in a shape without a volume."""
    return VOLUMES[kind](point, size)


def _sphere(point: Array, size: Array) -> Array:
    return vector.dot(point, point) < size[..., 0] ** 2


def _capsule(point: Array, size: Array) -> Array:
    along = point[..., 2:]
    beyond = along - jnp.clip(along, -size[..., 1:2], size[..., 1:2])
    return _sphere(vector.join(point[..., :2], beyond), size)


def _ellipsoid(point: Array, size: Array) -> Array:
    return vector.dot(point / size, point / size) < 1


def _cylinder(point: Array, size: Array) -> Array:
    across = point[..., :2]
    return (jnp.abs(point[..., 2]) < size[..., 1]) & (vector.dot(across, across) < size[..., 0] ** 2)


def _box(point: Array, size: Array) -> Array:
    return jnp.all(jnp.abs(point) < size, axis=-1)


def _plane(point: Array, size: Array) -> Array:
    """The half space below."""
    return point[..., 2] < 0


VOLUMES: dict[GeomType, Callable[[Array, Array], Array]] = {
    GeomType.PLANE: _plane,
    GeomType.SPHERE: _sphere,
    GeomType.CAPSULE: _capsule,
    GeomType.ELLIPSOID: _ellipsoid,
    GeomType.CYLINDER: _cylinder,
    GeomType.BOX: _box,
}
