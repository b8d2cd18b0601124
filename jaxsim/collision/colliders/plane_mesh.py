"""Plane with mesh: the hull's lowest vertex, and corners of the face there that lies flattest on the plane."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.convex.quadrilateral import largest_quadrilateral
from jaxsim.collision.shape import Candidates, Hull, Shape, detected, make_frame, to_world

Array = jax.Array


def plane_mesh(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [4]: the lowest vertex, and three more corners of its flattest face.

    Of a face of more than four corners they are those of a large quadrilateral. Those above the mesh's centre do not
    count. This is what MuJoCo 4.0 was seen to do.
    """
    hull: Hull = b.data
    normal = a.mat[:, 2]
    down = -vector.matvec_t(b.mat, normal)
    corners, count = lax.stop_gradient(_corners(hull, down))
    offset = to_world(b.mat, _row(hull.vertex, corners)[:, :3])
    height = vector.dot(offset, normal[None])
    dist = jnp.sum(normal * (b.pos - a.pos)) + height
    first = np.arange(4) == 0
    wanted = jnp.asarray(first) | (height < 0) & (np.arange(4, dtype=np.int32) < count)
    pos = b.pos[None] + offset - 0.5 * dist[:, None] * normal[None]
    normals = jnp.broadcast_to(normal[None], (4, 3))
    return Candidates(detected(dist, margin, wanted), pos, normals, jnp.zeros_like(normals))


def _corners(hull: Hull, down: Array) -> tuple[Array, Array]:
    """Vertices [4] of a hull, of which the first is furthest down, and how many of them there are."""
    lowest = jnp.argmax(vector.dot(hull.vertex[:, :3], down[None])).astype(jnp.int32)
    faces = _row(hull.around, lowest)
    normals = _row(hull.normal, jnp.maximum(faces, 0))
    flattest = jnp.argmax(jnp.where(faces >= 0, vector.dot(normals, down[None]), -2)).astype(jnp.int32)
    corner = _row(hull.corner, jnp.maximum(_row(faces, flattest), 0))
    n = corner.shape[0]
    count = jnp.sum(corner >= 0, dtype=jnp.int32)
    start = jnp.sum(jnp.where(corner == lowest, np.arange(n, dtype=np.int32), 0), dtype=jnp.int32)
    axes = make_frame(_row(normals, flattest)[None], jnp.zeros((1, 3), down.dtype))[0, 1:]

    def vertex(place: Array) -> Array:
        """The vertices at places [k] of the face, counted from the lowest one."""
        place = start + place
        return _row(corner, jnp.where(place >= count, place - count, place))

    def point(place: Array) -> Array:
        return vector.matvec(axes[None], _row(hull.vertex, vertex(place))[:, :3])

    chosen = largest_quadrilateral(point, count, 16 * n, down.dtype) if n > 4 else jnp.arange(4, dtype=jnp.int32)
    # of a mesh without faces there is nothing but the vertex
    listed = vertex(jnp.minimum(chosen, jnp.maximum(count - 1, 0)))
    vertices = jnp.where(np.arange(4) == 0, lowest, jnp.maximum(listed, 0))
    return vertices, count


def _row(table: Array, index: Array) -> Array:
    return table.at[index].get(mode="promise_in_bounds")
