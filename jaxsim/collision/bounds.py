"""How far geoms reach: the box around a mesh, and what other geoms extend to along a direction.

Meshes are taken for the boxes around them in their own frames, which are elsewhere than the geom where a mesh is not
symmetric. Everything else is exact, but signed distance fields, of which only the radius is known.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.core.data import Data
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model

Array = jax.Array


def centres(m: Model, d: Data, index: np.ndarray) -> Array:
    """The points [n, 3] (m) that `extent` counts from, of geoms of one type."""
    pos = take(d.geom_xpos, index)
    if not len(index) or m.geom_type[index[0]] != GeomType.MESH:
        return pos
    beside = jnp.asarray(m.geom_aabb[index, :3], pos.dtype)
    return pos + vector.matvec(take(d.geom_xmat, index).reshape(-1, 3, 3), beside)


def extent(m: Model, index: np.ndarray, along: Array) -> Array:
    """How far geoms of one type reach from their centres along unit vectors [n, k, 3] in their frames: [n, k], m."""
    kind, size = m.geom_type[index[0]], take(m.geom_size, index)[:, None]
    if kind == GeomType.SPHERE:
        return jnp.broadcast_to(size[..., 0], along.shape[:2])
    if kind == GeomType.CAPSULE:
        return size[..., 0] + size[..., 1] * jnp.abs(along[..., 2])
    if kind == GeomType.CYLINDER:
        return size[..., 0] * vector.norm(along[..., :2]) + size[..., 1] * jnp.abs(along[..., 2])
    if kind == GeomType.ELLIPSOID:
        return vector.norm(size * along)
    if kind == GeomType.BOX:
        return vector.dot(size, jnp.abs(along))
    if kind == GeomType.MESH:
        return vector.dot(jnp.asarray(m.geom_aabb[index, 3:], along.dtype)[:, None], jnp.abs(along))
    return jnp.broadcast_to(take(m.geom_rbound, index)[:, None], along.shape[:2])
