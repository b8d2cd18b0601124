"""Faces that a search ends inside of: on a line between two of their corners, which may be no edge but a diagonal.

Distance and points are right then, but of what touches only a line is known, along which things could roll. A point
beside the line, as far out as it is, shows that it is within a face.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxsim.algebra import vector
from jaxsim.collision.convex.contact import tangents
from jaxsim.collision.convex.difference import Difference
from jaxsim.collision.convex.patch import flatness
from jaxsim.collision.shape import first_true, safe_norm

Array = jax.Array

PROBE = 1e-2  # rad from a normal, more than its error by GJK: where a point is looked for on the same face
WIDE = 1e-4  # of the coordinates: how far that is beside the others at least


class Line(NamedTuple):
    """A point of the difference, a row [8], and the unit vector [3] across a line from there and across the normal."""

    begin: Array
    across: Array


def line_of(rows: Array, used: Array, normal: Array) -> Line:
    """The line through the first two points in use, of rows [n, 8] (used [n]); any line across a unit normal [3] if
    there is one point only."""
    first = first_true(used)
    second = first_true(used & ~first)
    begin, other = (jnp.sum(jnp.where(x[:, None], rows, 0), axis=0) for x in (first, second))
    edge = jnp.where(jnp.any(second), other - begin, 0)[:3]
    length = safe_norm(edge)
    along = jnp.where(length > 0, edge / length, tangents(normal)[0])
    return Line(begin, vector.cross(normal, along))


def beside(shapes: Difference, line: Line, normal: Array, height: Array, side: Array | int) -> tuple[Array, Array]:
    """A point of the difference, a row [8], on one side (1 or -1) of a line, and how far (m) beside it: 0 if it is not
    on the plane across the normal [3] at a height [] (m), or hardly beside it."""
    row = shapes.point(normal + side * PROBE * line.across)
    rounding = 16 * jnp.finfo(height.dtype).eps * shapes.scale
    away = jnp.abs(jnp.sum((row - line.begin)[:3] * line.across))
    level = jnp.abs(jnp.sum(row[:3] * normal) - height) <= rounding + flatness(height.dtype) * away
    return row, jnp.where(level & (away > WIDE * shapes.scale), away, 0)
