"""Collider of a prism of a height field with a sphere: the prism is geom 1.

Of a centre outside, the nearest point of the prism counts, which is on one of its nine edges or within one of its five
faces; of a centre inside, the nearest face.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.collision.shape import Candidates, Shape, detected, pick, safe_norm, to_world, tolerance

Array = jax.Array

# corners are those of the base and then those of the top, both counterclockwise seen from above
TURNED = np.array([0, 2, 1, 3, 5, 4])
EDGES = np.array([[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [0, 3], [1, 4], [2, 5]])
# four corners of each face, counterclockwise seen from outside; of triangles the last one twice
FACES = np.array([[3, 4, 5, 5], [0, 2, 1, 1], [0, 1, 4, 3], [1, 2, 5, 4], [2, 0, 3, 5]])


def prism_sphere(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [1]. The data of a are a form, of whose points the first six are the prism's corners."""
    corner, centre = _counterclockwise(a.data.point[:6]), vector.matvec_t(a.mat, b.pos - a.pos)
    normal, height, within = _faces(corner, centre)
    foot = _on_edges(corner, centre)
    foot = jnp.concatenate([foot, centre[None] - height[:, None] * normal])
    gap = centre[None] - foot
    far = jnp.asarray(jnp.finfo(centre.dtype).max, centre.dtype)
    square = jnp.where(jnp.concatenate([np.ones(len(EDGES), bool), within]), vector.dot(gap, gap), far)
    _, nearest = vector.least(lax.stop_gradient(square))
    outward = pick(nearest[None], gap)
    length = safe_norm(outward)

    _, face = vector.least(lax.stop_gradient(-height))
    above = jnp.sum(jnp.where(face, height, 0), keepdims=True)
    # on the surface itself the direction is that face's
    outside = (above > 0) & (length[:, 0] > tolerance(length.dtype))
    normal = jnp.where(outside[:, None], outward / length, pick(face[None], normal))
    dist = jnp.where(outside, length[:, 0], above) - b.size[:1]
    normal = to_world(a.mat, normal)
    pos = b.pos[None] - (b.size[0] + 0.5 * dist)[:, None] * normal
    return Candidates(detected(dist, margin), pos, normal, jnp.zeros_like(pos))


def _counterclockwise(corner: Array) -> Array:
    """The corners [6, 3] of a prism in the order that EDGES and FACES have."""
    one, other = corner[1, :2] - corner[0, :2], corner[2, :2] - corner[0, :2]
    return jnp.where(one[0] * other[1] - one[1] * other[0] > 0, corner, take(corner, TURNED))


def _faces(corner: Array, x: Array) -> tuple[Array, Array, Array]:
    """Outward unit normals [5, 3], height [5] (m) of a point over each face, and whether its foot is within [5]."""
    a, b, c, d = (take(corner, FACES[:, i]) for i in range(4))
    across = vector.cross(b - a, c - a)
    normal = across / safe_norm(across)
    beside = jnp.stack(
        [vector.dot(vector.cross(normal, q - p), x[None] - p) for p, q in ((a, b), (b, c), (c, d), (d, a))]
    )
    return normal, vector.dot(normal, x[None] - a), jnp.all(beside >= 0, axis=0)


def _on_edges(corner: Array, x: Array) -> Array:
    """The points of the edges [9, 3] that are nearest to a point."""
    a = take(corner, EDGES[:, 0])
    edge = take(corner, EDGES[:, 1]) - a
    t = vector.dot(x[None] - a, edge) / vector.dot(edge, edge)
    return a + jnp.clip(t, 0, 1)[:, None] * edge
