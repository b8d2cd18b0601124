"""Colliders of spheres with prisms of height fields and with meshes of few vertices.

Of a centre outside, the nearest point of the polyhedron counts, which is on one of its edges or within one of its
faces; of a centre inside, the nearest face.
"""

from typing import NamedTuple

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


class Solid(NamedTuple):
    """A polyhedron's triangles and edges, with all that can be known of them beforehand.

    Of triangles the outward unit normals [f, 3] and heights [f] (m) along them; across each side, the inward unit
    normals [f, 3, 3] and their heights [f, 3] (m). Of edges the starts [e, 3] (m), unit directions [e, 3] and lengths
    [e] (m).
    """

    normal: Array
    height: Array
    side: Array
    beside: Array
    start: Array
    along: Array
    length: Array


class _Faces(NamedTuple):
    """Outward unit normals [n, 3], height [n] (m) of a point over each face, and whether its foot is within [n]."""

    normal: Array
    height: Array
    within: Array


def prism_sphere(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [1]. The data of a are a form, of whose points the first six are the prism's corners."""
    corner, centre = _counterclockwise(a.data.point[:6]), vector.matvec_t(a.mat, b.pos - a.pos)
    faces = _over(centre, *(take(corner, FACES[:, i]) for i in range(4)))
    gap, outward = _nearest(centre, faces, _on_edges(centre, take(corner, EDGES[:, 0]), take(corner, EDGES[:, 1])))
    return _contact(b, gap, to_world(a.mat, outward), 1, margin)


def sphere_mesh(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [1]. The data of b are a `Solid`."""
    solid, centre = b.data, vector.matvec_t(b.mat, a.pos - b.pos)
    within = jnp.all(jnp.sum(solid.side * centre[None, None], axis=2) >= solid.beside, axis=1)
    faces = _Faces(solid.normal, vector.dot(solid.normal, centre[None]) - solid.height, within)
    place = jnp.clip(vector.dot(centre[None] - solid.start, solid.along), 0, solid.length)
    gap, outward = _nearest(centre, faces, solid.start + place[:, None] * solid.along)
    return _contact(a, gap, to_world(b.mat, outward), -1, margin)


def _contact(sphere: Shape, gap: Array, outward: Array, side: int, margin: Array) -> Candidates:
    """The contact of a sphere whose centre is so far [1] (m) from a polyhedron, whose normal there is given [1, 3].

    `side` is -1 where the sphere is geom 1.
    """
    dist = gap - sphere.size[:1]
    pos = sphere.pos[None] - (sphere.size[0] + 0.5 * dist)[:, None] * outward
    return Candidates(detected(dist, margin), pos, side * outward, jnp.zeros_like(pos))


def _nearest(centre: Array, faces: _Faces, on_edges: Array) -> tuple[Array, Array]:
    """How far a point [3] is from the surface [1] (m), less than zero inside, and the outward normal there [1, 3].

    `on_edges` [e, 3] (m) are the points of the edges that are nearest to it.
    """
    foot = jnp.concatenate([on_edges, centre[None] - faces.height[:, None] * faces.normal])
    gap = centre[None] - foot
    far = jnp.asarray(jnp.finfo(centre.dtype).max, centre.dtype)
    square = jnp.where(jnp.concatenate([np.ones(len(on_edges), bool), faces.within]), vector.dot(gap, gap), far)
    outward = pick(_least(square)[None], gap)
    length = safe_norm(outward)

    face = _least(-faces.height)
    above = jnp.sum(jnp.where(face, faces.height, 0), keepdims=True)
    # on the surface itself the direction is that face's
    outside = (above > 0) & (length[:, 0] > tolerance(length.dtype))
    normal = jnp.where(outside[:, None], outward / length, pick(face[None], faces.normal))
    return jnp.where(outside, length[:, 0], above), normal


def _least(x: Array) -> Array:
    """The first of the least of numbers [n], as a one-hot mask."""
    return np.arange(len(x), dtype=np.int32) == jnp.argmin(lax.stop_gradient(x)).astype(jnp.int32)


def _counterclockwise(corner: Array) -> Array:
    """The corners [6, 3] of a prism in the order that EDGES and FACES have."""
    one, other = corner[1, :2] - corner[0, :2], corner[2, :2] - corner[0, :2]
    return jnp.where(one[0] * other[1] - one[1] * other[0] > 0, corner, take(corner, TURNED))


def _over(x: Array, *corners: Array) -> _Faces:
    """Where a point [3] is over faces of so many corners [n, 3] each."""
    a, b, c = corners[:3]
    across = vector.cross(b - a, c - a)
    normal = across / safe_norm(across)
    sides = zip(corners, (*corners[1:], a))
    beside = jnp.stack([vector.dot(vector.cross(normal, q - p), x[None] - p) for p, q in sides])
    return _Faces(normal, vector.dot(normal, x[None] - a), jnp.all(beside >= 0, axis=0))


def _on_edges(x: Array, a: Array, b: Array) -> Array:
    """The points of edges from a to b [n, 3] that are nearest to a point [3]."""
    edge = b - a
    t = vector.dot(x[None] - a, edge) / vector.dot(edge, edge)
    return a + jnp.clip(t, 0, 1)[:, None] * edge
