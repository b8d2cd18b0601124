"""Distance, position and normal of two touching patches, as exact functions of what moves them.

Let n be the normal from a to b, x and y the points of the patches, C and D how these spread as n turns by w. At
the points, n is across every direction that a patch slides in, and y - x is along n:

    (n + w) . t = 0                        for each tangent t along which a patch slides
    (y - D w) - (x + C w) - dist (n + w) = 0   but for what sliding makes up for

One solution of these for w, with derivatives of n, x, y and t only, is a step of Newton's method where n is not
yet right; where it is, w is zero, and its derivative is that of the normal by the implicit function theorem.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.convex.patch import Patch
from jaxsim.collision.shape import safe_norm

Array = jax.Array


class Turn(NamedTuple):
    """The turn of the normal [2] in a basis [2, 3] across it; the part of a gap [2, 2] that a's sliding covers; and how
    far all six tangents [6, 3] are slid along for a gap [6, 2]."""

    turn: Array
    basis: Array
    share: Array
    slide: Array
    along: Array


def tangents(normal: Array) -> Array:
    """Two unit vectors [2, 3] across a unit vector."""
    _, least = vector.least(jnp.abs(normal))
    one = vector.cross(normal, least.astype(normal.dtype))
    one = one / safe_norm(one)
    return jnp.stack([one, vector.cross(normal, one)])


def turn(normal: Array, a: Patch, b: Patch) -> Turn:
    """The turn of a unit normal [3] towards the right one; half of what no sliding covers counts as a's share."""
    basis = tangents(lax.stop_gradient(normal))
    slide = jnp.concatenate([a.slide, b.slide])
    length = safe_norm(lax.stop_gradient(slide))
    slide = slide / jnp.where(length > 1e-12, length, 1)
    way = jnp.sum(lax.stop_gradient(slide)[:, None] * basis[None], axis=-1)
    both = way[:, :, None] * way[:, None, :]
    of_a, of_b = jnp.sum(both[:3], axis=0), jnp.sum(both[3:], axis=0)
    pinned = of_a + of_b
    lean = -jnp.sum(way * jnp.sum(slide * normal[None], axis=-1, keepdims=True), axis=0)
    rank, inverse, free = _pseudo_inverse(pinned)

    gap = b.point - a.point
    dist = lax.stop_gradient(jnp.sum(normal * gap))
    spread = lax.stop_gradient(a.spread + b.spread)
    spreading = jnp.sum(spread[None] * basis[:, None], axis=-1)
    stiff = jnp.sum(basis[:, None] * spreading[None], axis=-1)
    stiff = stiff + dist * jnp.asarray(np.eye(2), dist.dtype)
    by_slide = vector.matvec(inverse, lean)
    rest = vector.matvec(free, vector.matvec(basis, gap) - vector.matvec(stiff, by_slide))
    by_gap = vector.matvec(_inverse_within(stiff, free, rank), rest)
    share = jnp.sum(of_a[:, :, None] * inverse[None], axis=1) + 0.5 * free
    side = np.where(np.arange(6) < 3, 1, -1)[:, None].astype(dist.dtype)
    along = jnp.asarray(side) * jnp.sum(way[:, :, None] * inverse[None], axis=1)
    return Turn(by_slide + by_gap, basis, share, slide, along)


def _pseudo_inverse(x: Array) -> tuple[Array, Array, Array]:
    """Rank [], pseudo-inverse and projector on the kernel of a symmetric positive matrix [2, 2]."""
    eye = jnp.asarray(np.eye(2), x.dtype)
    trace = x[0, 0] + x[1, 1]
    det = x[0, 0] * x[1, 1] - x[0, 1] * x[1, 0]
    least = 1e-6 if x.dtype == jnp.float64 else 1e-4
    rank = jnp.where(trace < 0.5, 0, jnp.where(det < least * trace * trace, 1, 2))
    some = jnp.where(rank > 0, trace, 1)
    one = x / some  # nearly a projector where the rank is one
    column = jnp.where(one[0, 0] > one[1, 1], one[0], one[1])
    column = column / safe_norm(column)
    projector = column[:, None] * column[None]
    full = (trace * eye - x) / jnp.where(rank == 2, det, 1)
    inverse = jnp.where(rank == 2, full, jnp.where(rank == 1, projector / some, 0))
    free = jnp.where(rank == 2, 0, jnp.where(rank == 1, eye - projector, eye))
    return rank, inverse, free


def _inverse_within(x: Array, free: Array, rank: Array) -> Array:
    """Inverse of a symmetric matrix [2, 2] within the range of a projector; zero where it is not positive there."""
    eye = jnp.asarray(np.eye(2), x.dtype)
    trace = x[0, 0] + x[1, 1]
    det = x[0, 0] * x[1, 1] - x[0, 1] * x[1, 0]
    along = jnp.sum(free * x)
    tiny = 1e-12 if x.dtype == jnp.float64 else 1e-7
    whole = (rank == 0) & (det > tiny * tiny) & (trace > 0)
    line = (rank == 1) & (along > tiny)
    full = (trace * eye - x) / jnp.where(whole, det, 1)
    return jnp.where(whole, full, jnp.where(line, free / jnp.where(line, along, 1), 0))


class Touch(NamedTuple):
    """Distance [] (m), middle of the two points [3] (m) and unit normal [3] from a to b; and by how much (m) the
    points of a and b [2, 3] have to slide to be there."""

    dist: Array
    middle: Array
    normal: Array
    slid: Array


def touch(normal: Array, a: Patch, b: Patch) -> Touch:
    """What two patches make, differentiable, from a unit normal [3] that is (nearly) right.

    For exact derivatives of the middle the points have to be where they touch, so that none has to slide.
    """
    t = turn(normal, a, b)
    w = vector.matvec_t(t.basis, t.turn)
    turned = normal + w
    turned = turned / safe_norm(turned)
    dist = jnp.sum(turned * (b.point - a.point))
    half = 0.5 * dist * turned
    x = a.point + vector.matvec(lax.stop_gradient(a.spread), w) + half
    y = b.point - vector.matvec(lax.stop_gradient(b.spread), w) - half
    gap = vector.matvec(t.basis, y - x)
    middle = x + vector.matvec_t(t.basis, vector.matvec(t.share, gap))
    # along the tangents themselves, so that points on edges and faces stay there
    each = t.slide * vector.dot(t.along, gap[None])[:, None]
    return Touch(dist, middle, turned, jnp.sum(each.reshape(2, 3, 3), axis=1))
