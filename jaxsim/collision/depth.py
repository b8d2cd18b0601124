"""How deep points are inside analytical shapes, by MuJoCo's distance fields (mjc_distance): pure geometry.

Not the distance to the nearest surface everywhere: inside an ellipsoid and a box the fields are other ones that have
the same zeros. A point is in the frame of the shape; all arrays have the same leading axes: point and size [..., 3]
(m), the depth [...] (m), zero outside.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxsim.algebra import vector
from jaxsim.core.enums import GeomType

Array = jax.Array

THIN = 1e-12  # below a face of a box, as a share of its size


def depth(kind: GeomType, point: Array, size: Array) -> Array:
    """The depth [...] of points."""
    return jnp.maximum(FIELDS[kind](point, size), 0)


def _sphere(point: Array, size: Array) -> Array:
    return size[..., 0] - vector.norm(point)


def _capsule(point: Array, size: Array) -> Array:
    along = point[..., 2:]
    return _sphere(vector.join(point[..., :2], along - jnp.clip(along, -size[..., 1:2], size[..., 1:2])), size)


def _ellipsoid(point: Array, size: Array) -> Array:
    """k (1 - k) / |grad k^2 / 2| with k = |x / size|."""
    scaled, slope = vector.norm(point / size), vector.norm(point / (size * size))
    return scaled * (1 - scaled) / jnp.where(slope > 0, slope, 1)


def _cylinder(point: Array, size: Array) -> Array:
    return jnp.minimum(size[..., 0] - vector.norm(point[..., :2]), size[..., 1] - jnp.abs(point[..., 2]))


def _box(point: Array, size: Array) -> Array:
    """Along a direction that turns from the radius to the normals of faces: |size / a| min_i a_i^2 / size_i.

    With a the distances from the faces.
    """
    below = size - jnp.abs(point)
    within = jnp.all(below > 0, axis=-1)
    share = jnp.where(within[..., None], jnp.maximum(below / size, THIN), 1)
    nearest = vector.least(share * share * size)[0][..., 0]
    return jnp.where(within, vector.norm(1 / share) * nearest, 0)


FIELDS: dict[GeomType, Callable[[Array, Array], Array]] = {
    GeomType.PLANE: lambda point, size: -point[..., 2],
    GeomType.SPHERE: _sphere,
    GeomType.CAPSULE: _capsule,
    GeomType.ELLIPSOID: _ellipsoid,
    GeomType.CYLINDER: _cylinder,
    GeomType.BOX: _box,
}
