"""Depth of a polyhedron of few faces and an ellipsoid or a cylinder that overlap: near which normal it is, by trying
what touches of the polyhedron.

Along a unit normal n out of the polyhedron the two overlap by h(n) = max over its corners v of n . (v - c), c being the
centre of the other, plus how far that reaches from there. If a face touches, the least h is at its normal. If an edge
does, the least is on the arc between the normals of its two faces, along which only the other shape bends: a step or
two of Newton's method from several places lead there, or it is where the arc crosses the plane across a cylinder's
axis, as its side touches. If a corner does, the other shape's own normal near it leads there.

Which of these is lowest is hardly ever left open; a descent (`descent.py`) goes on from there to the exact normal.
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
STEPS = 2
SAME = 0.98  # cosine of the angle within which two normals are near the same
ROOTS = 5  # steps for where corners are nearest to an ellipsoid


class Knob(NamedTuple):
    """An ellipsoid and a segment along its last axis, in the frame of the polyhedron: centre [3] (m), axes [3, 3] as
    columns, semi-axes [3] and half the segment's length [] (m)."""

    centre: Array
    axes: Array
    round: Array
    half: Array


class Guess(NamedTuple):
    """Two unit normals [2, 3], not near each other, and h there [2] (m), the lower one first."""

    normal: Array
    height: Array


def half_length(form: Form) -> Array:
    """Half the length [] (m) of a cylinder's axis, 0 of an ellipsoid's."""
    return jnp.where(form.kind == GeomType.CYLINDER, form.scale[2], 0)


class _Ridge(NamedTuple):
    """Arcs [e] between the normals beside edges: a unit normal at one end, the unit tangent there [e, 3], and the angle
    to the other end [e, 1] (rad); and the way [e, 3] (m) from the other shape's centre to the edge."""

    begin: Array
    tangent: Array
    angle: Array
    way: Array


def lowest_of_features(facets: Facets, corner: Array, knob: Knob) -> Guess:
    """Two unit normals out of a polyhedron with corners [v, 3] (m), one of which is near the lowest."""
    faces = facets.normal
    over_faces = vector.dot(faces, facets.face[:, 0] - knob.centre[None]) + _reach(knob, faces)
    on_edges, over_edges = _edges(facets, knob)
    at_corners = _corners(corner, knob)
    way = corner - knob.centre[None]
    over_corners = jnp.max(vector.dot(at_corners[:, None], way[None]), axis=1) + _reach(knob, at_corners)
    every, heights = jnp.concatenate([faces, on_edges, at_corners]), [over_faces, over_edges, over_corners]
    return Guess(*two_lowest(every, jnp.concatenate(heights), SAME))


def _reach(knob: Knob, normal: Array) -> Array:
    """How far [n] (m) the other shape reaches from its centre along normals [n, 3], and as far against them."""
    local = vector.matvec_t(knob.axes[None], normal)
    return knob.half * jnp.abs(local[:, 2]) + vector.norm(knob.round[None] * local)


def _edges(facets: Facets, knob: Knob) -> tuple[Array, Array]:
    """Normals [n, 3] that may be lowest where edges touch, and h there [n] (m)."""
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
    axis = knob.axes[:, 2]
    p, q = vector.dot(one, axis[None]), vector.dot(other, axis[None])
    side = jnp.where((p * q < 0)[:, None], (one * q[:, None] - other * p[:, None]) * jnp.sign(q)[:, None], one)
    found.append(side / safe_norm(side))
    normal = jnp.concatenate(found)
    way = jnp.concatenate([ridge.way] * len(found))
    return normal, vector.dot(normal, way) + _reach(knob, normal)


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
    along = knob.half * jnp.sign(n[:, 2:])
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
    drum = knob.half > 0
    inside = jnp.where(drum & (np.arange(3) == 2), 0, local)
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
