"""Where rays first cross meshes, which are made of triangles (mj_rayMesh).

All triangles of all geoms are searched, a block at a time, so that what is held does not grow with their number.
Which triangle a ray meets is a choice; the distance to it is an exact function of the ray and of its corners.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.core.enums import MINVAL
from jaxsim.core.model import Model

Array = jax.Array

BLOCK = 2048  # triangles that are searched at a time


class Triangles(NamedTuple):
    """Triangles [k, 3, 3] (m) in the frames of geoms, and the geom of each [k] by its place in a list."""

    corners: Array
    owner: np.ndarray


class Facet(NamedTuple):
    """The first of many facets that a ray meets."""

    x: Array  # [] distance in units of the length of `along`, infinite if there is none
    geom: Array  # [] place of the geom in a list
    normal: Array  # [3] outward in the frame of the geom, of any length


def nearest_triangle(triangles: Triangles, start: Array, along: Array) -> Facet:
    """The first triangle that a ray meets, given as start and along [n, 3] in the frame of each of n geoms."""
    rays, corners = lax.stop_gradient((jnp.stack([start, along], axis=1), triangles.corners))
    chosen = _search(corners, triangles.owner, rays)
    geom = jnp.asarray(triangles.owner, jnp.int32)[chosen]
    return facet(triangles.corners[chosen], geom, start[geom], along[geom])


def facet(corners: Array, geom: Array, start: Array, along: Array) -> Facet:
    """One triangle [3, 3] as what a ray [3] meets of a geom, in its frame."""
    x = crossing(corners[None], start[None], along[None])[0]
    return Facet(x, geom, vector.cross(corners[0] - corners[2], corners[1] - corners[2]))


def _search(corners: Array, owner: np.ndarray, rays: Array) -> Array:
    """The triangle [] that a ray, [n, 2, 3] in the frames of the geoms, meets first; any if it meets none."""
    size = min(BLOCK, len(owner))
    blocks = -(-len(owner) // size)
    fill = blocks * size - len(owner)  # with triangles of no area, which no ray meets
    corners = jnp.concatenate([corners, jnp.zeros((fill, 3, 3), corners.dtype)])
    geoms = jnp.asarray(np.concatenate([owner, np.zeros(fill, int)]), jnp.int32)

    def nearer(best: tuple[Array, Array], begin: Array) -> tuple[tuple[Array, Array], None]:
        ray = rays[lax.dynamic_slice_in_dim(geoms, begin, size)]
        x = crossing(lax.dynamic_slice_in_dim(corners, begin, size), ray[:, 0], ray[:, 1])
        first = jnp.argmin(x).astype(jnp.int32)
        closer = x[first] < best[0]
        return (jnp.where(closer, x[first], best[0]), jnp.where(closer, begin + first, best[1])), None

    none = jnp.full((), jnp.inf, corners.dtype), jnp.zeros((), jnp.int32)
    (_, chosen), _ = lax.scan(nearer, none, jnp.arange(0, blocks * size, size, dtype=jnp.int32))
    return chosen


def crossing(corners: Array, start: Array, along: Array) -> Array:
    """Where rays cross triangles [k, 3, 3]: [k] in units of the length of `along`, infinite where they do not."""
    side1, side2 = corners[:, 0] - corners[:, 2], corners[:, 1] - corners[:, 2]
    offset = start - corners[:, 2]
    normal, across = vector.cross(side1, side2), vector.cross(offset, along)
    steep = vector.dot(along, normal)
    met = jnp.abs(steep) > MINVAL
    steep = jnp.where(met, steep, 1)
    of_1, of_2 = -vector.dot(side2, across) / steep, vector.dot(side1, across) / steep
    x = -vector.dot(offset, normal) / steep
    return jnp.where(met & (of_1 >= 0) & (of_2 >= 0) & (of_1 + of_2 <= 1) & (x >= 0), x, jnp.inf)


def triangles_of(m: Model, geoms: np.ndarray) -> Triangles:
    """The surfaces of meshes: geoms [n], of which there is at least one."""
    parts = [_of_mesh(m, g) for g in geoms]
    owner = np.repeat(np.arange(len(geoms)), [len(part) for part in parts])
    return Triangles(jnp.concatenate(parts), owner)


def _of_mesh(m: Model, geom: int) -> Array:
    mesh = m.geom_dataid[geom]
    first, count = m.mesh_faceadr[mesh], m.mesh_facenum[mesh]
    corners = m.mesh_vertadr[mesh] + m.mesh_face[first : first + count]
    return jnp.asarray(m.mesh_vert[corners], m.geom_pos.dtype)
