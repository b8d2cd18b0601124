"""Where rays first cross meshes and height fields, which are made of triangles (mj_rayMesh, mj_rayHfield).

All triangles of all geoms are searched, a block at a time, so that what is held does not grow with their number.
Which triangle a ray meets is a choice; the distance to it is an exact function of the ray and of its corners.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.ray_shape import NORMALS, distance
from jaxsim.core.enums import MINVAL, GeomType
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
    corners = triangles.corners[chosen]
    x = _crossing(corners[None], start[geom][None], along[geom][None])[0]
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
        x = _crossing(lax.dynamic_slice_in_dim(corners, begin, size), ray[:, 0], ray[:, 1])
        first = jnp.argmin(x).astype(jnp.int32)
        closer = x[first] < best[0]
        return (jnp.where(closer, x[first], best[0]), jnp.where(closer, begin + first, best[1])), None

    none = jnp.full((), jnp.inf, corners.dtype), jnp.zeros((), jnp.int32)
    (_, chosen), _ = lax.scan(nearer, none, jnp.arange(0, blocks * size, size, dtype=jnp.int32))
    return chosen


def _crossing(corners: Array, start: Array, along: Array) -> Array:
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
    """The surfaces of meshes and height fields: geoms [n], of which there is at least one."""
    parts = [_of_mesh(m, g) if m.geom_type[g] == GeomType.MESH else _of_field(m, m.geom_dataid[g]) for g in geoms]
    owner = np.repeat(np.arange(len(geoms)), [len(part) for part in parts])
    return Triangles(jnp.concatenate(parts), owner)


def _of_mesh(m: Model, geom: int) -> Array:
    mesh = m.geom_dataid[geom]
    first, count = m.mesh_faceadr[mesh], m.mesh_facenum[mesh]
    corners = m.mesh_vertadr[mesh] + m.mesh_face[first : first + count]
    return jnp.asarray(m.mesh_vert[corners], m.geom_pos.dtype)


def _of_field(m: Model, field: int) -> Array:
    """Two triangles for each cell of a height field, cut along the diagonal from its first to its last corner."""
    x, y, height = _field(m, field)
    points = jnp.stack([*jnp.broadcast_arrays(x[None], y[:, None]), height], axis=-1)
    near, right, far, left = points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1]
    both = jnp.stack([jnp.stack([near, right, far], axis=2), jnp.stack([near, far, left], axis=2)])
    return both.reshape(-1, 3, 3)


def _field(m: Model, field: int) -> tuple[Array, Array, Array]:
    """Coordinates x [ncol], y [nrow] and heights [nrow, ncol] of a height field (m)."""
    rows, columns, first = (int(a[field]) for a in (m.hfield_nrow, m.hfield_ncol, m.hfield_adr))
    size = m.hfield_size[field]
    x, y = (
        half * jnp.asarray(np.linspace(-1, 1, count), size.dtype)
        for half, count in ((size[0], columns), (size[1], rows))
    )
    return x, y, size[2] * m.hfield_data[first : first + rows * columns].reshape(rows, columns)


def field_walls(m: Model, geom: int, start: Array, along: Array) -> tuple[Array, Array]:
    """Where a ray [3], in the frame of a height field, first meets its base or the walls below its border: [].

    With it the normal [3] there.
    """
    field = m.geom_dataid[geom]
    size = m.hfield_size[field]
    x, y, height = _field(m, field)
    base = jnp.stack([size[0], size[1], size[3] / 2])
    above = start.at[2].add(size[3] / 2)
    below = distance(GeomType.BOX, above, along, base)
    spot = above + jnp.where(jnp.isfinite(below), below, 0) * along
    walls, normals = [below], [NORMALS[GeomType.BOX](spot, base)]
    for axis, line, border in ((0, y, height.T), (1, x, height)):
        crossing = jnp.abs(along[axis]) > MINVAL
        for side, top in zip((-1, 1), (border[0], border[-1])):
            t = (side * size[axis] - start[axis]) / jnp.where(crossing, along[axis], 1)
            spot = start + t * along
            over = jnp.interp(spot[1 - axis], line, top)
            hit = crossing & (t >= 0) & (jnp.abs(spot[1 - axis]) <= size[1 - axis]) & (spot[2] >= 0) & (spot[2] < over)
            walls.append(jnp.where(hit, t, jnp.inf))
            normals.append(jnp.asarray(side * np.eye(3)[axis], spot.dtype))
    x, hot = vector.least(jnp.stack(walls))
    return x[0], jnp.sum(jnp.where(hot[:, None], jnp.stack(normals), 0), axis=0)
