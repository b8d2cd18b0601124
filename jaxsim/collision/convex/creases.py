"""What two shapes with smooth sides touch with, from a normal that is nearly the lowest: the exact normal and points.

Where they touch within a segment or on a cap, h has a crease across its axis or a tip along it, and the normal is
across such axes. Where on them is found with the normal, from

    h'(n) + sum of w a = 0,   n . a = 0   for each such axis a

If each w is where its segment or cap is, the normal is the right one and the features are known, without any search.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.convex.difference import Difference
from jaxsim.collision.convex.sums import THICK, Sums, along_segments, inverse_of_size, local_of, slopes_at, turned
from jaxsim.collision.shape import safe_norm
from jaxsim.core.enums import GeomType

Array = jax.Array

PARALLEL = 1e-3  # sine of the angle of two axes that have no direction across them
WITHIN = 0.95  # of a segment's half-length, where a touching point nearly known counts as between its ends
STEPS = 3  # from nearly right to right
RIGHT = 1e-4  # rad, and of the coordinates: how right it is then


class Touching(NamedTuple):
    """A unit normal [3], points of the difference [3, 8] that make its feature and weights [3] of the nearest one.

    sure [] is whether these are exact; where they are not, the normal is nearly right.
    """

    normal: Array
    rows: Array
    weight: Array
    sure: Array


class _Creases(NamedTuple):
    """Up to two axes along which the shapes touch between the ends of a segment or on a cap.

    mask [2, 2, 3] of the first and the second one, axis [2, 3] each, and how many there are []; cap [2] whether each
    shape touches with its cap; whole [] whether no cap has but one of its two axes among them.
    """

    mask: Array
    axis: Array
    number: Array
    cap: Array
    whole: Array


def touching_at(shapes: Difference, sums: Sums, nearly: Array) -> Touching:
    """What touches along the exact normal near one [3] that is nearly right."""
    creases = _creases(sums, nearly)
    creased = jnp.any(creases.mask, axis=0)

    def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        basis, turn, place = _exact_step(sums, state[0], creased, creases)
        return (turned(state[0], basis, turn), place), None

    (normal, place), _ = lax.scan(step, (nearly, jnp.zeros(2, nearly.dtype)), None, length=STEPS)
    local = local_of(sums, normal)
    side = jnp.where(local < 0, -1, 1).astype(local.dtype)
    across = jnp.where(creased, 0, sums.round * local)
    own = jnp.where(creased, 0, side * sums.half + sums.round * across / safe_norm(across))
    point = own + jnp.sum(jnp.where(creases.mask, place[:, None, None], 0), axis=0)
    segment = creased & (sums.half > 0)
    side = jnp.where(segment & (point < 0), -1, jnp.where(segment, 1, side)).astype(side.dtype)

    beyond = jnp.any(segment & (jnp.abs(point) > sums.half))
    radius = jnp.max(sums.round, axis=1)
    off = jnp.any(creases.cap & (safe_norm(jnp.where(sums.flat, 0, point))[:, 0] > radius))
    bent = jnp.any(creased & (jnp.abs(local) > RIGHT))
    nearest = jnp.sum(vector.matvec(sums.axes, point), axis=0) - sums.offset
    aside = nearest - jnp.sum(nearest * normal) * normal
    right = jnp.sum(aside * aside) <= (RIGHT * shapes.scale) ** 2
    sure = creases.whole & right & ~(beyond | off | bent)
    rows, weight = _rows(shapes, sums, side, point, creases.mask & (sums.half > 0)[None])
    return Touching(jnp.where(sure, normal, nearly), rows, weight, sure)


def _creases(sums: Sums, normal: Array) -> _Creases:
    """The axes along which shapes touch within, from a normal [3] that is lowest for smoothed ones: at most two, those
    where they do so by most."""
    thick = jnp.asarray(THICK[-1] ** 2, normal.dtype)
    local = local_of(sums, normal)
    along, _ = along_segments(local, thick)
    disc = jnp.any(sums.flat, axis=1)
    square = jnp.sum(jnp.where(sums.flat, thick, 1) * local * local, axis=1)
    out = jnp.sum(jnp.where(sums.flat, 0, local * local), axis=1) / jnp.where(square > 0, square, 1)
    radial = disc[:, None] & ~sums.flat  # the two axes of a cap
    within = jnp.where(radial, jnp.sqrt(out)[:, None], jnp.abs(along))
    within = jnp.where(radial | (sums.half > 0), within, 1).reshape(6)
    _, first = vector.least(within)
    _, second = vector.least(jnp.where(first, 1, within))
    mask = jnp.stack([first, second]) & (within < WITHIN)[None]
    axis = jnp.sum(jnp.where(mask[..., None], sums.axes.swapaxes(1, 2).reshape(1, 6, 3), 0), axis=1)
    mask = mask.reshape(2, 2, 3)
    of_cap = jnp.sum(mask & radial[None], axis=(0, 2), dtype=jnp.int32)
    count = jnp.sum(mask, dtype=jnp.int32)
    return _Creases(mask, axis, count, of_cap > 0, jnp.all(of_cap != 1))


def _exact_step(sums: Sums, normal: Array, creased: Array, creases: _Creases) -> tuple[Array, Array, Array]:
    """A basis across a normal [3], Newton's step in it [2] (rad) and the places [2] (m) along the creases."""
    side = jnp.where(local_of(sums, normal) < 0, -1, 1).astype(normal.dtype)
    half, semi = (jnp.where(creased, 0, x) for x in (sums.half, sums.round * sums.round))
    basis, gradient, hessian = slopes_at(sums, normal, half * side, jnp.zeros_like(half), semi)
    a = jnp.sum(creases.axis[:, None] * basis[None], axis=2)  # [2 axes, 2 tangents]
    c = -jnp.sum(creases.axis * normal[None], axis=1)
    free = -vector.matvec(inverse_of_size(hessian), gradient)

    # one crease: a.turn = c, and h is stationary along it
    length = safe_norm(a[0])[0]
    line = a[0] / length
    beside = jnp.stack([-line[1], line[0]])
    to_crease = c[0] / length * line
    stiff = jnp.abs(jnp.sum(beside * vector.matvec(hessian, beside)))
    pull = jnp.sum(beside * (gradient + vector.matvec(hessian, to_crease)))
    one = to_crease - pull / jnp.where(stiff > 0, stiff, 1) * beside
    place = -jnp.sum(line * (gradient + vector.matvec(hessian, one))) / length

    # two of them: a.turn = c for both
    det = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    det = jnp.where(jnp.abs(det) > PARALLEL, det, jnp.inf)
    adjugate = jnp.stack([jnp.stack([a[1, 1], -a[0, 1]]), jnp.stack([-a[1, 0], a[0, 0]])])
    two = vector.matvec(adjugate, c) / det
    places = -vector.matvec_t(adjugate, gradient + vector.matvec(hessian, two)) / det

    turn = jnp.where(creases.number == 0, free, jnp.where(creases.number == 1, one, two))
    alone = jnp.where(creases.number == 1, jnp.stack([place, jnp.zeros_like(place)]), 0)
    return basis, turn, jnp.where(creases.number == 2, places, alone)


def _rows(shapes: Difference, sums: Sums, side: Array, point: Array, flips: Array) -> tuple[Array, Array]:
    """Points [3, 8] of the difference and their weights [3], of touching points [2, 3] (m), each in its frame.

    The core's points are those on the given sides [2, 3], and for the second and the third row on the other one along
    the segments of two masks [2, 2, 3], of which either may be empty.
    """
    rest = point - jnp.where(jnp.any(flips, axis=0), point, side * sums.half)
    half, there = (jnp.sum(jnp.where(flips, x[None], 0), axis=(1, 2)) for x in (sums.half, jnp.abs(point)))
    weight = jnp.where(half > 0, 0.5 - 0.5 * there / jnp.where(half > 0, half, 1), 0)
    sides = jnp.concatenate([side[None], jnp.where(flips, -side[None], side[None])])
    both = sides * sums.half[None] + rest[None]
    x, y = both[:, 0], shapes.offset[None] + vector.matvec(shapes.rot[None], both[:, 1])
    rows = jnp.concatenate([x - y, x, _numbers(shapes.forms.kind, sides).astype(x.dtype)], axis=1)
    return rows, jnp.concatenate([1 - jnp.sum(weight, keepdims=True), weight])


def _numbers(kind: Array, side: Array) -> Array:
    """Numbers [n, 2] of the core's points on given sides [n, 2, 3] of the centres, of geoms of types [2]."""
    of_box = jnp.sum(jnp.where(side > 0, np.array([1, 2, 4], np.int32), 0), axis=2, dtype=jnp.int32)
    of_line = jnp.where(side[..., 2] > 0, 0, 1).astype(jnp.int32)
    line = (kind == GeomType.CAPSULE) | (kind == GeomType.CYLINDER)
    return jnp.where((kind == GeomType.BOX)[None], of_box, jnp.where(line[None], of_line, 0))
