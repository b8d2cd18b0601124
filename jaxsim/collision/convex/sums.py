"""Shapes with smooth sides as sums of segments and ellipsoids: how far their difference reaches along a normal.

Segments lie along the axes, none for an ellipsoid, one for a capsule and a cylinder, three for a box; the ellipsoid is
flat for a cylinder; balls are left to the end. How far they reach along a unit normal n, less the way between the
centres, is h(n), whose slopes on the sphere are those of `slopes_at`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.collision.convex.contact import tangents
from jaxsim.collision.convex.difference import Difference
from jaxsim.collision.shape import safe_norm
from jaxsim.core.enums import GeomType

Array = jax.Array

THICK = (0.03, 0.03, 0.02, 0.02, 0.02, 0.02)  # of a segment's length, step by step
LEAST = 1e-3  # of both eigenvalues of a Hessian: how small either counts as
TURN = 0.25  # most (rad) that a normal turns in a step


class Sums(NamedTuple):
    """What two shapes are sums of, each in its frame [2, 3]: segments of half-lengths (m), and ellipsoids.

    These have semi-axes (m), along one of which they may be flat. The frames' axes, as columns [2, 3, 3], are those of
    a and, reversed, of b.
    """

    half: Array
    round: Array
    flat: Array
    axes: Array
    offset: Array  # [3] m, of the centres


class Slopes(NamedTuple):
    """Of h at a normal: a basis [2, 3] across it, and in this the gradient [2] and the Hessian [2, 2] on the sphere."""

    basis: Array
    gradient: Array
    hessian: Array


def sums_of(shapes: Difference) -> Sums:
    """What two shapes are sums of, radii left out."""
    form = shapes.forms
    kind = form.kind[:, None]
    lying = ((kind == GeomType.CAPSULE) | (kind == GeomType.CYLINDER)) & (np.arange(3) == 2)[None]
    half = jnp.where((kind == GeomType.BOX) | lying, form.scale, 0)
    flat = lying & (kind == GeomType.CYLINDER)
    axes = jnp.stack([jnp.asarray(np.eye(3), half.dtype), -shapes.rot])
    return Sums(half, form.round, flat, axes, shapes.offset)


def local_of(sums: Sums, x: Array) -> Array:
    """A vector [3] out of a, in the frame of a, as one out of each shape in its own frame [2, 3]."""
    return vector.matvec_t(sums.axes, x[None])


def reach(sums: Sums, normal: Array) -> Array:
    """h [] (m) of a unit normal [3]."""
    local = local_of(sums, normal)
    both = jnp.sum(sums.half * jnp.abs(local)) + jnp.sum(safe_norm(sums.round * local))
    return both - jnp.sum(sums.offset * normal)


def slopes_at(sums: Sums, normal: Array, place: Array, bend: Array, semi: Array) -> Slopes:
    """The slopes of h at a unit normal [3], where segments are touched at places [2, 3] (m) that move by `bend` [2, 3]
    (m) as it turns, and ellipsoids have squares of semi-axes [2, 3] (m^2)."""
    basis = tangents(normal)
    local, across = local_of(sums, normal), jnp.stack([local_of(sums, t) for t in basis])
    w = semi * local
    square = jnp.sum(w * local, axis=1)
    length = jnp.sqrt(jnp.where(square > 0, square, 1))
    # apart from the segments', so that it is not computed anew for each tangent where a compiler fuses what follows
    each = jnp.sum(across * (w / length[:, None])[None], axis=2)  # [2 tangents, 2 shapes]
    both = across[:, None] * across[None]
    curved = jnp.sum(
        (jnp.sum(both * semi[None, None], axis=3) - each[:, None] * each[None]) / length[None, None], axis=2
    )
    curved = curved + jnp.sum(both * bend[None, None], axis=(2, 3))
    gradient = jnp.sum(across * place[None], axis=(1, 2)) + jnp.sum(each, axis=1) - vector.dot(basis, sums.offset[None])
    height = jnp.sum(place * local) + jnp.sum(jnp.where(square > 0, length, 0)) - jnp.sum(sums.offset * normal)
    return Slopes(basis, gradient, curved - height * jnp.asarray(np.eye(2), curved.dtype))


def turned(normal: Array, basis: Array, turn: Array) -> Array:
    """A unit normal [3] turned by [2] (rad) in a basis [2, 3], no further than TURN."""
    turn = turn * (TURN / jnp.maximum(jnp.sqrt(jnp.sum(turn * turn)), TURN))
    moved = normal + jnp.sum(turn[:, None] * basis, axis=0)
    return moved / safe_norm(moved)


def inverse_of_size(x: Array) -> Array:
    """The inverse of a symmetric matrix [2, 2] with the sizes of its eigenvalues in place of these."""
    eye = jnp.asarray(np.eye(2), x.dtype)
    square = jnp.sum(x[:, :, None] * x[None], axis=1)
    det = jnp.abs(x[0, 0] * x[1, 1] - x[0, 1] * x[1, 0])
    trace = square[0, 0] + square[1, 1] + 2 * det
    size = jnp.sqrt(jnp.where(trace > 0, trace, 1))  # the sum of both
    root = (square + det * eye) / size + LEAST * size * eye
    return ((root[0, 0] + root[1, 1]) * eye - root) / (root[0, 0] * root[1, 1] - root[0, 1] * root[1, 0])


def along_segments(local: Array, thick: Array) -> tuple[Array, Array]:
    """How far along segments [2, 3], from -1 to 1, a direction [2, 3] touches if they are thick, the square of which is
    given []; and the root [2, 3] that this has below it."""
    root = jnp.sqrt(thick + (1 - thick) * local * local)
    return (1 - thick) * local / root, root


def bulged(sums: Sums, thick: Array) -> Array:
    """Squares [2, 3] (m^2) of the semi-axes of ellipsoids, flat ones as thick as segments are."""
    square = sums.round * sums.round
    return jnp.where(sums.flat, thick * jnp.max(square, axis=1, keepdims=True), square)
