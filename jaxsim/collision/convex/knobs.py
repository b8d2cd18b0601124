"""Depth of a polyhedron of few faces and an ellipsoid, a cylinder or a box that overlap: near which normal it is, by
trying what touches of the polyhedron.

Along a unit normal n out of the polyhedron the two overlap by h(n) = max over its corners v of n . (v - c), c being the
centre of the other, plus how far that reaches from there. If a face touches, the least h is at its normal. If an edge
does, the least is on the arc between the normals of its two faces, along which only the other shape bends: a step or
two of Newton's method from several places lead there, or it is where the arc crosses the plane across a cylinder's
axis, as its side touches. If a corner does, the other shape's own normal near it leads there.

Which of these is lowest is hardly ever left open; a descent (`descent.py`) goes on from there to the exact normal. Of
a box edges touch where arcs cross the planes across its axes, and its faces where corners do: those are all, and exact.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.collision.convex.form import Form
from jaxsim.collision.convex.rods import Facets
from jaxsim.collision.convex.smoothed import two_lowest
from jaxsim.collision.shape import safe_norm
from jaxsim.core.enums import GeomType

Array = jax.Array

ALONG = (0.25, 0.75)  # where on arcs Newton's method starts
STEPS = 2  # of it, from each place
SAME = 0.98  # cosine of the angle within which two normals are near the same
ROOTS = 5  # steps for where corners are nearest to an ellipsoid


class Knob(NamedTuple):
    """An ellipsoid and segments along its axes, in the frame of the polyhedron: centre [3] (m), axes [3, 3] as columns,
    semi-axes [3] and half the segments' lengths [3] (m): the last one's of a cylinder, all of a box."""

    centre: Array
    axes: Array
    round: Array
    half: Array


class Guess(NamedTuple):
    """Two unit normals [2, 3], not near each other, and h there [2] (m), the lower one first; that of the second is the
    largest number where the first is exact."""

    normal: Array
    height: Array


def knob_of(form: Form, centre: Array, axes: Array) -> Knob:
    """An ellipsoid, a cylinder or a box with a centre [3] (m) and axes [3, 3] as columns, in a polyhedron's frame."""
    long = (form.kind == GeomType.BOX) | (form.kind == GeomType.CYLINDER) & (np.arange(3) == 2)
    return Knob(centre, axes, form.round, jnp.where(long, form.scale, 0))


class _Ridge(NamedTuple):
    """Arcs [e] between the normals beside edges: a unit normal at one end, the unit tangent there [e, 3], and the angle
    to the other end [e, 1] (rad); and the way [e, 3] (m) from the other shape's centre to the edge."""

    begin: Array
    tangent: Array
    angle: Array
    way: Array


def lowest_of_features(facets: Facets, corner: Array, knob: Knob) -> Guess:
    """Two unit normals out of a polyhedron with corners [v, 3] (m), one of which is near the lowest of an ellipsoid or
    a cylinder."""
    return _lowest(facets, corner, knob, _edges(facets, knob), _corners(corner, knob))


def lowest_of_box(facets: Facets, corner: Array, box: Knob) -> Guess:
    """Two unit normals out of a polyhedron with corners [v, 3] (m), the first of which is the lowest of a box."""
    on_edges = jnp.concatenate([_sides(facets, axis) for axis in box.axes.T])
    found = _lowest(facets, corner, box, on_edges, jnp.concatenate([box.axes.T, -box.axes.T]))
    exact = jnp.where(np.arange(2) == 0, found.height, jnp.finfo(found.height.dtype).max)
    return found._replace(height=exact)


def _lowest(facets: Facets, corner: Array, knob: Knob, on_edges: Array, at_corners: Array) -> Guess:
    """The two lowest of the normals of faces, of some [n, 3] on the arcs of edges, all of these so many times, and of
    any others [k, 3]."""
    faces = facets.normal
    over_faces = vector.dot(faces, facets.face[:, 0] - knob.centre[None]) + _reach(knob, faces)
    to_edge = facets.edge[:, 0] - knob.centre[None]
    to_edge = jnp.concatenate([to_edge] * (len(on_edges) // len(to_edge)))
    over_edges = vector.dot(on_edges, to_edge) + _reach(knob, on_edges)
    way = corner - knob.centre[None]
    over_corners = jnp.max(vector.dot(at_corners[:, None], way[None]), axis=1) + _reach(knob, at_corners)
    every, heights = jnp.concatenate([faces, on_edges, at_corners]), [over_faces, over_edges, over_corners]
    return Guess(*two_lowest(every, jnp.concatenate(heights), SAME))


def _reach(knob: Knob, normal: Array) -> Array:
    """How far [n] (m) the other shape reaches from its centre along normals [n, 3], and as far against them."""
    local = vector.matvec_t(knob.axes[None], normal)
    return vector.dot(knob.half[None], jnp.abs(local)) + vector.norm(knob.round[None] * local)


def _edges(facets: Facets, knob: Knob) -> Array:
    """Normals [n, 3] that may be lowest where edges touch, on the arcs of all edges so many times."""
    one, other = facets.beside[:, 0], facets.beside[:, 1]
    cos = vector.dot(one, other)[:, None]
    across = other - cos * one
    sin = safe_norm(across)
    ridge = _Ridge(one, across / sin, jnp.arctan2(sin, cos), facets.edge[:, 0] - knob.centre[None])
    _, flattest = vector.least(knob.round)
    tip = jnp.sum(jnp.where(flattest[None], knob.axes, 0), axis=1)[None]
    past = jnp.arctan2(vector.dot(ridge.tangent, tip), vector.dot(ridge.begin, tip))[:, None]
    found = []
    for angle in [share * ridge.angle for share in ALONG] + [jnp.where(past < 0, past + np.pi, past)]:
        for _ in range(STEPS):
            angle = jnp.clip(angle - _newton(ridge, knob, angle), 0, ridge.angle)
        found.append(_on_arc(ridge, angle)[0])
    return jnp.concatenate([*found, _sides(facets, knob.axes[:, 2])])


def _sides(facets: Facets, axis: Array) -> Array:
    """Where the arcs of edges cross the plane across an axis [3]: unit normals [e, 3], a face's where not."""
    one, other = facets.beside[:, 0], facets.beside[:, 1]
    p, q = (vector.dot(x, axis[None])[:, None] for x in (one, other))
    crossing = jnp.where(p * q < 0, (one * q - other * p) * jnp.sign(q), one)
    return crossing / safe_norm(crossing)


def _on_arc(ridge: _Ridge, angle: Array) -> tuple[Array, Array]:
    """Unit normals and tangents [e, 3] at angles [e, 1] (rad) from where arcs begin."""
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    return cos * ridge.begin + sin * ridge.tangent, cos * ridge.tangent - sin * ridge.begin


def _newton(ridge: _Ridge, knob: Knob, angle: Array) -> Array:
    """By how much [e, 1] (rad) Newton's method takes angles back, towards where h is least."""
    normal, tangent = _on_arc(ridge, angle)
    n, t = (vector.matvec_t(knob.axes[None], x) for x in (normal, tangent))
    across = knob.round[None] * n
    length = safe_norm(across)
    first = vector.dot(across, knob.round[None] * t)[:, None] / length
    along = knob.half[None, 2:] * jnp.sign(n[:, 2:])
    slope = vector.dot(ridge.way, tangent)[:, None] + first + along * t[:, 2:]
    height = vector.dot(ridge.way, normal)[:, None] + length + along * n[:, 2:]
    bend = (vector.dot(knob.round[None] * t, knob.round[None] * t)[:, None] - first * first) / length
    curved = jnp.abs(bend - height)
    return slope / jnp.where(curved > 0, curved, 1)


def _corners(corner: Array, knob: Knob) -> Array:
    """Normals [n, 3] that may be lowest where corners touch: the other shape's where it is nearest, and its caps'.

    The point of an ellipsoid with semi-axes r that is nearest to w within it is r^2 w / (r^2 + t), for the t beyond
    minus the least r^2 at which this is on the ellipsoid. Newton's method comes to it from below.
    """
    local = vector.matvec_t(knob.axes[None], corner - knob.centre[None])
    inside = jnp.where(knob.half[None] > 0, 0, local)
    round_or_far = jnp.where(knob.round > 0, knob.round, jnp.max(knob.round))[None]
    semi = round_or_far * round_or_far
    short, hot = vector.least(round_or_far[0])
    near = jnp.sum(jnp.where(hot[None], jnp.abs(inside), 0), axis=1, keepdims=True)
    tiny = jnp.finfo(near.dtype).eps
    t = short[None] * (jnp.maximum(near, tiny * short[None]) - short[None])
    for _ in range(ROOTS):
        square = jnp.square(round_or_far * inside / (semi + t))
        slope = 2 * jnp.sum(square / (semi + t), axis=1, keepdims=True)
        t = t + (jnp.sum(square, axis=1, keepdims=True) - 1) / jnp.where(slope > 0, slope, 1)
    outward = vector.matvec(knob.axes[None], inside / (semi + t))
    axis = knob.axes[:, 2][None]
    return jnp.concatenate([-outward / safe_norm(outward), axis, -axis])
