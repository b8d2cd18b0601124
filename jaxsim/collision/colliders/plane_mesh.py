"""Plane with mesh: the hull's lowest vertex, and corners of the face there that lies flattest on the plane."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.convex.polygons import at_index
from jaxsim.collision.convex.quadrilateral import largest_quadrilateral
from jaxsim.collision.shape import Candidates, Hull, Shape, detected, to_world

Array = jax.Array


def plane_mesh(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [4]: the lowest vertex, and three more corners of its flattest face.

    Of a face of more than four corners they are those of a large quadrilateral with the lowest vertex. Those above the
    mesh's centre do not count. This is what MuJoCo 4.0 was seen to do.
    """
    hull: Hull = b.data
    normal = a.mat[:, 2]
    down = -vector.matvec_t(b.mat, normal)
    corners, count = lax.stop_gradient(_corners(hull, down))
    offset = to_world(b.mat, _vertices(hull, corners))
    height = vector.dot(offset, normal[None])
    dist = jnp.sum(normal * (b.pos - a.pos)) + height
    first = np.arange(4) == 0
    wanted = jnp.asarray(first) | (height < 0) & (np.arange(4, dtype=np.int32) < count)
    pos = b.pos[None] + offset - 0.5 * dist[:, None] * normal[None]
    normals = jnp.broadcast_to(normal[None], (4, 3))
    return Candidates(detected(dist, margin, wanted), pos, normals, jnp.zeros_like(normals))


def _corners(hull: Hull, down: Array) -> tuple[Array, Array]:
    """Vertices [4] of a hull, of which the first is furthest down, and how many of them there are."""
    table = hull.polygons
    lowest = at_index(hull.number, jnp.argmax(vector.dot(hull.vertex, down[None])).astype(jnp.int32))
    faces = at_index(table.around_adr, lowest) + np.arange(max(table.most_around, 1), dtype=np.int32)
    faces = at_index(table.around, jnp.minimum(faces, len(table.around) - 1))
    around = np.arange(faces.shape[0], dtype=np.int32) < at_index(table.around_num, lowest)
    normals = at_index(table.normal, faces).astype(down.dtype)
    flattest = jnp.argmax(jnp.where(around, vector.dot(normals, down[None]), -2)).astype(jnp.int32)
    face = at_index(faces, flattest)
    # of a mesh without faces there is nothing but the vertex
    count = jnp.where(around[0], at_index(table.corner_num, face), 0)
    n = max(table.most_corners, 1)
    last = at_index(table.corner_adr, face) + count - 1  # the table runs backwards

    def corner(place: Array) -> Array:
        """The vertices at places [k] of the face, as MuJoCo counts them."""
        return jnp.where(count > 0, at_index(table.corner, jnp.maximum(last - place, 0)), lowest)

    order = np.arange(n, dtype=np.int32)
    here = (corner(jnp.minimum(order, count - 1)) == lowest) & (order < count)
    start = jnp.sum(jnp.where(here, order, 0), dtype=jnp.int32)

    def vertex(place: Array) -> Array:
        """The vertices at places [k] of the face, counted from the lowest one."""
        place = start + place
        return corner(jnp.where(place >= count, place - count, place))

    def point(place: Array) -> Array:
        return _vertices(hull, vertex(place))

    chosen = jnp.arange(4, dtype=jnp.int32)
    if n > 4:
        chosen = largest_quadrilateral(point, count, 16 * n, down.dtype, with_first=True)
    listed = vertex(jnp.minimum(chosen, jnp.maximum(count - 1, 0)))
    return jnp.where(np.arange(4) == 0, lowest, listed), count


def _vertices(hull: Hull, number: Array) -> Array:
    """Positions [k, 3] (m) of vertices [k] of a mesh."""
    return at_index(hull.polygons.vert, number).astype(hull.vertex.dtype)
