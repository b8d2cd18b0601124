"""Capsule with box: spheres at one or two points of the capsule's axis (mjc_CapsuleBox).

The first sphere sits where the axis comes nearest to the box: at an end over a face, or opposite an edge
or a corner. The second sits as far along the axis as it stays over the box, in the direction that the
nearest feature suggests: along a face or an edge, never away from a corner. All of it happens in the
frame of the box, in which the axis is `centre + t axis`, |t| <= half.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.colliders.sphere import spheres_box
from jaxsim.collision.shape import NO_CONTACT, Candidates, Shape, first_true, pick
from jaxsim.core.enums import MINVAL

Array = jax.Array

# the twelve edges, by direction: which way each runs, and on which side of the centre it lies
_BITS = np.array([[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)]) * 2 - 1
ALONG = np.repeat(np.eye(3, dtype=bool), 4, axis=0)
SIDE = np.concatenate([np.where(np.arange(3) == j, 0, _BITS[_BITS[:, j] < 0]) for j in range(3)])

LEVEL = 1e-5  # cosine below which single precision does not tell where a capsule points
SHORT = 1e-12  # half-axis component (m) below which the capsule never leaves the box along that axis


class Nearest(NamedTuple):
    """Where axis and box are nearest: t on the axis [1] (m), and the feature of the box.

    side [3] has the signs of the box's feature, zero across it; along [3] marks the direction of an edge,
    or the normal of a face; spot [1] is the place on an edge in [-1, 1].
    """

    t: Array
    side: Array
    along: Array
    spot: Array
    corner: Array


def capsule_box(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [2]: one or two spheres of the capsule (mjc_CapsuleBox)."""
    centre, axis = vector.matvec_t(b.mat, a.pos - b.pos), vector.matvec_t(b.mat, a.mat[:, 2])
    half = a.size[1:2]
    edge, edge_distance = _nearest_edge(centre, axis, half, b.size)
    end, normal, end_distance = _nearest_end(centre, axis, half, b.size)
    over_face = end_distance <= edge_distance

    lead1, room1, more1 = _beyond_edge(edge, axis, half, b.size)
    lead2, room2, more2 = _beyond_face(centre, axis, half, end, normal, b.size)
    first = jnp.where(over_face, end, edge.t)
    lead = jnp.where(over_face, lead2, lead1)
    more = jnp.where(over_face, more2, more1)
    step = jnp.minimum(half - lead * first, jnp.where(over_face, room2, room1))
    t = jnp.concatenate([first, first + lead * jnp.where(more, step, 0)])
    found = spheres_box(a, b, centre[None] + t[:, None] * axis[None], margin)
    missing = (np.arange(2) == 1) & ~more
    return found._replace(dist=jnp.where(missing, NO_CONTACT, found.dist))


def _nearest_end(centre: Array, axis: Array, half: Array, size: Array) -> tuple[Array, Array, Array]:
    """The end [1] of the axis nearest to a face, the face's direction [3], and the squared distance.

    An end counts if it is over a face or inside the box; inside, there is no face.
    """
    t = jnp.concatenate([-half, half])
    point = centre[None] + t[:, None] * axis[None]
    excess = jnp.maximum(jnp.abs(point) - size[None], 0)
    out = excess > 0
    count = jnp.sum(out, axis=1, dtype=jnp.int32)
    square = jnp.where(count <= 1, jnp.sum(excess * excess, axis=1), NO_CONTACT)
    upper = square[1:] < square[:1]
    return jnp.where(upper, half, -half), jnp.where(upper, out[1], out[0]), jnp.where(upper[0], square[1], square[0])


def _nearest_edge(centre: Array, axis: Array, half: Array, size: Array) -> tuple[Nearest, Array]:
    """The point of the twelve edges nearest to the axis, and its squared distance from it less rounding.

    With g the way from the capsule's centre to an edge's middle, c the cosine between edge and axis and
    s, t the places on them: s = c t - g.edge and t = c s + g.axis, each clipped to its segment.
    """
    gap = jnp.asarray(SIDE, size.dtype) * size[None] - centre[None]
    here = jnp.asarray(ALONG)
    length = jnp.sum(jnp.where(here, size[None], 0), axis=1)
    cos = jnp.sum(jnp.where(here, axis[None], 0), axis=1)
    back = jnp.sum(jnp.where(here, gap, 0), axis=1)
    across = jnp.where(here, 0, axis[None])
    sin2 = jnp.sum(across * across, axis=1)
    sideways = jnp.sum(across * gap, axis=1)
    parallel = _is_parallel(sin2, length, half)
    free = cos * sideways / jnp.where(parallel, 1, sin2) - back
    t = jnp.clip(sideways + cos * (back + jnp.clip(free, -length, length)), -half, half)
    bound = cos * t - back
    s = jnp.clip(bound, -length, length)
    # a clip that the second pass undid still counts as a corner, as in MuJoCo
    upper = (bound > length) | ((bound >= -length) & (free > length))
    lower = (bound < -length) | ((bound <= length) & (free < -length))

    way = gap + jnp.where(here, s[:, None], 0) - t[:, None] * axis[None]
    square = jnp.where(parallel, NO_CONTACT, jnp.sum(way * way, axis=1))
    shortest = lax.stop_gradient(jnp.min(square))
    reach = shortest + _slack(shortest, half, size)
    hot = first_true(square <= reach)
    end = jnp.where(upper, 1, -1).astype(t.dtype)[:, None]
    side = jnp.where(here, end, jnp.asarray(SIDE, t.dtype))
    rows = jnp.concatenate([t[:, None], (s / length)[:, None], side], axis=1)
    chosen = pick(hot[None], rows)[0]
    along = jnp.any(here & hot[:, None], axis=0)
    corner = jnp.any((upper | lower) & hot)
    return Nearest(chosen[:1], chosen[2:], along, chosen[1:2], corner), reach


def _is_parallel(sin2: Array, length: Array, half: Array) -> Array:
    """Whether an edge is so close to the axis's direction that its nearest point is rounding noise."""
    if sin2.dtype == jnp.float64:
        return sin2 * (length * half) ** 2 < MINVAL
    return sin2 < 1e-10


def _slack(square: Array, half: Array, size: Array) -> Array | float:
    """Rounding error of a squared distance (m^2)."""
    if size.dtype == jnp.float64:
        return MINVAL
    error = 2e-7 * (half[0] + jnp.sum(size))
    return error * (2 * jnp.sqrt(square) + error)


def _beyond_edge(near: Nearest, axis: Array, half: Array, size: Array) -> tuple[Array, Array, Array]:
    """From an edge or corner: the direction along the axis [1], the room there [1] (m), and if there is any.

    `agree` compares, axis by axis, the capsule's direction with the side of the box it is on. From a
    corner, one axis is odd: the capsule follows it if it is mostly along it, else it crosses the others.
    From an edge, the capsule crosses the box if it agrees on one of the two other axes only.
    """
    forward = jnp.where(axis > 0, 1, -1).astype(axis.dtype)
    agree = forward * near.side
    slope = jnp.abs(axis)
    if axis.dtype != jnp.float64:
        agree = _settle(agree, slope, near)
    cross = 2 * size / jnp.maximum(slope, SHORT)

    total = jnp.sum(agree, keepdims=True)
    odd = agree == -total
    follows = jnp.any(odd & (axis * axis > 0.5), keepdims=True)
    corner_lead = jnp.where(follows, total, -total)
    corner_room, _ = vector.least(jnp.where(odd == follows, cross, NO_CONTACT))

    steep = _steeper(near.along, slope)
    edge_lead = -jnp.sum(jnp.where(steep, agree, 0), keepdims=True)
    rest = 0.5 * cross * (1 - near.spot * forward * edge_lead)
    edge_room, _ = vector.least(jnp.where(steep, cross, jnp.where(near.along, rest, NO_CONTACT)))
    balance = jnp.sum(jnp.where(near.along, 0, agree), keepdims=True)

    lead = jnp.where(near.corner, corner_lead, edge_lead)
    room = jnp.where(near.corner, corner_room, edge_room)
    return lead, room, jnp.where(near.corner, jnp.abs(total) < 2, balance == 0)


def _settle(agree: Array, slope: Array, near: Nearest) -> Array:
    """Let axes along which the capsule is level side against the steepest, so that a second contact is found.

    A level capsule has no direction there. MuJoCo takes the sign of the rounding error, and loses one of
    two contacts where it is unlucky; in double precision that is rare, in single precision it is not.
    """
    steepest = jnp.where(near.corner | ~near.along, slope, -1)
    _, steepest = vector.least(-steepest)
    against = -jnp.sum(jnp.where(steepest, agree, 0), keepdims=True)
    return jnp.where(slope < LEVEL, against, agree)


def _steeper(along: Array, slope: Array) -> Array:
    """Of the two axes across an edge, the one that the capsule follows more; the second one if neither."""
    one = jnp.concatenate([along[2:], along[:2]])
    two = jnp.concatenate([along[1:], along[:1]])
    swap = jnp.sum(jnp.where(one, slope, 0)) > jnp.sum(jnp.where(two, slope, 0))
    return jnp.where(swap, one, two)


def _beyond_face(centre, axis, half, end, normal, size) -> tuple[Array, Array, Array]:
    """From an end over a face: the direction inwards [1], the room over the face [1] (m), and if any."""
    lead = jnp.where(end > 0, -1, 1).astype(axis.dtype)
    point, speed = centre + end * axis, lead * axis
    still = jnp.abs(speed) < SHORT
    speed = jnp.where(still, 1, speed)
    walls = jnp.concatenate([(size - point)[None], (-size - point)[None]]) / speed[None]
    usable = (walls > 0) & ~(still | normal)[None]
    room, _ = vector.least(jnp.where(usable, walls, NO_CONTACT).reshape(6))
    return lead, room, jnp.any(normal, keepdims=True)
