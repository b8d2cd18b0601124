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
from jaxsim.collision.convex.rods import spanned
from jaxsim.collision.shape import Candidates, Shape, detected, pick, safe_norm, to_world, tolerance

Array = jax.Array

NEXT = np.array([1, 2, 0])


class Solid(NamedTuple):
    """A polyhedron's triangles and edges, with all that can be known of them beforehand.

    Of triangles the outward unit normals [f, 3] and heights [f] (m) along them; across each side, the inward unit
    normals [f, 3, 3] and their heights [f, 3] (m). Of edges the starts [e, 3] (m), unit directions [e, 3] and lengths
    [e] (m). Sides between triangles of one face are no edges.
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
    centre = vector.matvec_t(a.mat, b.pos - a.pos)
    gap, outward = _nearest(centre, *_of_prism(a.data.point[:3], a.data.point[3:6], centre))
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
    # faces first: a point that is over a face and one of its edges as well is over the face
    foot = jnp.concatenate([centre[None] - faces.height[:, None] * faces.normal, on_edges])
    gap = centre[None] - foot
    far = jnp.asarray(jnp.finfo(centre.dtype).max, centre.dtype)
    square = jnp.where(jnp.concatenate([faces.within, np.ones(len(on_edges), bool)]), vector.dot(gap, gap), far)
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


def _of_prism(base: Array, top: Array, x: Array) -> tuple[_Faces, Array]:
    """Where a point [3] is over the faces of a prism, and the points of its edges that are nearest to it [9, 3] (m).

    Corners [3, 3] (m) are those of the base, of one height, and those over them. What is upright is a matter of the
    plane; which way round the corners are does not matter.
    """
    start, z, floor, lid = base[:, :2], x[2], base[:1, 2], top[:, 2]
    edge, way = take(start, NEXT) - start, x[None, :2] - start
    turn = jnp.where(edge[0, 0] * edge[1, 1] - edge[0, 1] * edge[1, 0] > 0, 1, -1).astype(x.dtype)
    length = safe_norm(edge)
    sideways = turn * jnp.concatenate([edge[:, 1:], -edge[:, :1]], axis=1) / length
    beyond, place = vector.dot(sideways, way), vector.dot(way, edge) / vector.dot(edge, edge)
    under = lid + place * (take(lid, NEXT) - lid) - z
    beside = (place >= 0) & (place <= 1) & (under >= 0) & (z >= floor)

    slope, from_top = take(top, NEXT) - top, x[None] - top
    normal, dual = spanned(top[None])
    upward, weight = turn * normal[0], vector.dot(dual[0], from_top[:1])
    over = jnp.all(weight >= 0) & (jnp.sum(weight) <= 1)
    down = jnp.asarray([[0, 0, -1]], x.dtype)
    faces = _Faces(
        jnp.concatenate([jnp.concatenate([sideways, jnp.zeros_like(length)], axis=1), upward[None], down]),
        jnp.concatenate([beyond, jnp.sum(upward * from_top[0], keepdims=True), floor - z]),
        jnp.concatenate([beside, over[None], jnp.all(beyond <= 0, keepdims=True)]),
    )
    along = jnp.clip(vector.dot(from_top, slope) / vector.dot(slope, slope), 0, 1)
    flat = start + jnp.clip(place, 0, 1)[:, None] * edge
    level = jnp.broadcast_to(floor, lid.shape)
    low = jnp.concatenate([flat, level[:, None]], axis=1)
    upright = jnp.concatenate([start, jnp.clip(z, level, lid)[:, None]], axis=1)
    return faces, jnp.concatenate([low, top + along[:, None] * slope, upright])
