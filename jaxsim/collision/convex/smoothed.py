"""Depth and distance of shapes with smooth sides: the normal along which their difference reaches least far.

Such shapes are sums: of segments along their axes, none for an ellipsoid, one for a capsule and a cylinder, three for a
box; of an ellipsoid, flat for a cylinder; and of a ball. How far they reach along a unit normal n, less the way between
the centres, is a function h(n) of which the lowest value is their depth, or their distance below zero. It has a crease
where n is across a segment, as an edge or a face touches there, and a tip along the axis of a flat ellipsoid, its cap.

With segments a little thick and caps a little bulged h is smooth, and Newton's method on the sphere takes few steps,
each hardly more than h itself. How far along a segment or a cap the shapes touch is then known nearly, and so whether
they touch within it: along such axes the normal is across, and where they touch is found with it, from

    h'(n) + sum of w a = 0,   n . a = 0   for each such axis a

If each w is where its segment or cap is, the normal is the right one and the features are known, without any search.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.convex.contact import tangents
from jaxsim.collision.convex.difference import Difference
from jaxsim.collision.shape import safe_norm
from jaxsim.core.enums import GeomType

Array = jax.Array

ROUND = (GeomType.ELLIPSOID, GeomType.CYLINDER)
FACETED = (GeomType.MESH, GeomType.HFIELD)  # of as many faces as there may be, each with a depth of its own
THICK = (0.03, 0.03, 0.02, 0.02, 0.02, 0.02)  # of a segment's length, step by step
STARTS = 4
NEAR = 0.9  # cosine of the angle within which directions lead to the same normal
SAME = 0.999  # and within which two that were reached are the same
PARALLEL = 1e-3  # sine of the angle of two axes that have no direction across them
LEAST = 1e-3  # of both eigenvalues of a Hessian: how small either counts as
TURN = 0.25  # most (rad) that a normal turns in a step
WITHIN = 0.95  # of a segment's half-length, where a touching point nearly known counts as between its ends
STEPS = 3  # from nearly right to right
RIGHT = 1e-4  # rad, and of the coordinates: how right it is then


def curved(kind1: int, kind2: int) -> bool:
    """Whether two types of geoms make a difference with smooth sides."""
    return bool({kind1, kind2} & set(ROUND)) and not {kind1, kind2} & set(FACETED)


def is_curved(kind: Array, semi_axes: Array) -> Array:
    """The same [...] of two shapes, of types [2, ...] and with ellipsoids of semi-axes [2, ..., 3]."""
    faceted = [jnp.any(kind == k, axis=0) for k in FACETED]
    return jnp.any(semi_axes > 0, axis=(0, -1)) & ~(faceted[0] | faceted[1])


class Aim(NamedTuple):
    """A unit normal [3] and how far the difference reaches along it [] (m)."""

    normal: Array
    height: Array


class Touching(NamedTuple):
    """A unit normal [3], points of the difference [3, 8] that make its feature and weights [3] of the nearest one.

    sure [] is whether these are exact; where they are not, the normal is nearly right.
    """

    normal: Array
    rows: Array
    weight: Array
    sure: Array


class _Sums(NamedTuple):
    """What two shapes are sums of, each in its frame [2, 3]: segments of half-lengths (m), and ellipsoids.

    These have semi-axes (m), along one of which they may be flat. The frames' axes, as columns [2, 3, 3], are those of
    a and, reversed, of b.
    """

    half: Array
    round: Array
    flat: Array
    axes: Array
    offset: Array  # [3] m, of the centres


class _Slopes(NamedTuple):
    """Of h at a normal: a basis [2, 3] across it, and in this the gradient [2] and the Hessian [2, 2] on the sphere."""

    basis: Array
    gradient: Array
    hessian: Array


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


def aim(shapes: Difference) -> Aim:
    """The lowest normal downhill from the line of the centres, nearly."""
    sums = _sums(shapes)
    far = jnp.any(shapes.offset != 0)
    line = jnp.where(far, shapes.offset, jnp.asarray([0, 0, 1], shapes.offset.dtype))
    normal = _lowered(sums, (line / safe_norm(line))[None])[0]
    return Aim(normal, _height(sums, normal))


def lowest(shapes: Difference, known: Aim) -> Touching:
    """The lowest normal of a known one and those downhill from where h is lowest among the axes of both shapes, those
    across two of them and the line of the centres."""
    sums = _sums(shapes)
    ends = jnp.concatenate([_lowered(sums, _starts(sums, shapes)), known.normal[None]])
    heights = jax.vmap(lambda n: _expected(sums, n))(ends)
    best = _two_lowest(ends, heights)
    both = jax.vmap(lambda n: _touching(shapes, sums, n))(best)
    exact = jax.vmap(lambda t: jnp.where(t.sure, _height(sums, t.normal), _expected(sums, t.normal)))(both)
    return jax.tree.map(lambda x: jnp.where(exact[1] < exact[0], x[1], x[0]), both)


def _two_lowest(normals: Array, heights: Array) -> Array:
    """Of unit normals [n, 3] of heights [n] (m) [2, 3] the lowest, and the lowest that is not the same."""
    _, first = vector.least(heights)
    one = jnp.sum(jnp.where(first[:, None], normals, 0), axis=0)
    other = jnp.where(vector.dot(normals, one[None]) > SAME, jnp.finfo(heights.dtype).max, heights)
    _, second = vector.least(other)
    return jnp.stack([one, jnp.sum(jnp.where(second[:, None], normals, 0), axis=0)])


def _sums(shapes: Difference) -> _Sums:
    form = shapes.forms
    kind = form.kind[:, None]
    lying = ((kind == GeomType.CAPSULE) | (kind == GeomType.CYLINDER)) & (np.arange(3) == 2)[None]
    half = jnp.where((kind == GeomType.BOX) | lying, form.scale, 0)
    flat = lying & (kind == GeomType.CYLINDER)
    axes = jnp.stack([jnp.asarray(np.eye(3), half.dtype), -shapes.rot])
    return _Sums(half, form.round, flat, axes, shapes.offset)


def _local(sums: _Sums, x: Array) -> Array:
    """A vector [3] out of a, in the frame of a, as one out of each shape in its own frame [2, 3]."""
    return vector.matvec_t(sums.axes, x[None])


def _height(sums: _Sums, normal: Array) -> Array:
    """h [] (m) of a unit normal [3]."""
    local = _local(sums, normal)
    reach = jnp.sum(sums.half * jnp.abs(local)) + jnp.sum(safe_norm(sums.round * local))
    return reach - jnp.sum(sums.offset * normal)


# near the lowest normal


def _starts(sums: _Sums, shapes: Difference) -> Array:
    """Unit normals [STARTS, 3] towards the other centre, not near one another."""
    one, other = jnp.asarray(np.eye(3), shapes.rot.dtype), shapes.rot.T
    across = vector.cross(*(jnp.broadcast_to(x, (3, 3, 3)).reshape(9, 3) for x in (one[:, None], other[None])))
    every = jnp.concatenate([one, other, across, shapes.offset[None]])
    length = safe_norm(every)
    rounding = 16 * jnp.finfo(length.dtype).eps * shapes.scale
    least = jnp.concatenate([jnp.asarray([0] * 6 + [PARALLEL] * 9, every.dtype), rounding[None]])
    away = vector.dot(every, shapes.offset[None]) < 0
    every = jnp.where(away[:, None], -every, every) / length
    big = jnp.asarray(jnp.finfo(length.dtype).max, length.dtype)
    heights = jnp.where(length[:, 0] <= least, big, jax.vmap(lambda n: _height(sums, n))(every))
    chosen = []
    for _ in range(STARTS):
        _, first = vector.least(heights)
        chosen.append(jnp.sum(jnp.where(first[:, None], every, 0), axis=0))
        heights = jnp.where(vector.dot(every, chosen[-1][None]) > NEAR, big, heights)
    return jnp.stack(chosen)


def _lowered(sums: _Sums, normals: Array) -> Array:
    """Unit normals [n, 3] some steps downhill on smoothed shapes."""

    def step(normal: Array, thick: Array) -> Array:
        s = _smoothed_slopes(sums, normal, thick)
        return _turned(normal, s.basis, -vector.matvec(_inverse_of_size(s.hessian), s.gradient))

    def steps(normals: Array, thick: Array) -> tuple[Array, None]:
        return jax.vmap(lambda n: step(n, thick))(normals), None

    return lax.scan(steps, normals, jnp.asarray(np.square(THICK), normals.dtype))[0]


def _turned(normal: Array, basis: Array, turn: Array) -> Array:
    """A unit normal [3] turned by [2] (rad) in a basis [2, 3], no further than TURN."""
    turn = turn * (TURN / jnp.maximum(jnp.sqrt(jnp.sum(turn * turn)), TURN))
    moved = normal + jnp.sum(turn[:, None] * basis, axis=0)
    return moved / safe_norm(moved)


def _along(local: Array, thick: Array) -> tuple[Array, Array]:
    """How far along segments [2, 3], from -1 to 1, a direction [2, 3] touches if they are thick, the square of which is
    given []; and the root [2, 3] that this has below it."""
    root = jnp.sqrt(thick + (1 - thick) * local * local)
    return (1 - thick) * local / root, root


def _bulged(sums: _Sums, thick: Array) -> Array:
    """Squares [2, 3] (m^2) of the semi-axes of ellipsoids, flat ones as thick as segments are."""
    square = sums.round * sums.round
    return jnp.where(sums.flat, thick * jnp.max(square, axis=1, keepdims=True), square)


def _smoothed_slopes(sums: _Sums, normal: Array, thick: Array) -> _Slopes:
    """The slopes of h at a unit normal [3], of smoothed shapes."""
    local = _local(sums, normal)
    along, root = _along(local, thick)
    bend = sums.half * (1 - thick) * thick / (root * root * root)
    return _slopes(sums, normal, sums.half * along, bend, _bulged(sums, thick))


def _slopes(sums: _Sums, normal: Array, place: Array, bend: Array, semi: Array) -> _Slopes:
    """The slopes of h at a unit normal [3], where segments are touched at places [2, 3] (m) that move by `bend` [2, 3]
    (m) as it turns, and ellipsoids have squares of semi-axes [2, 3] (m^2)."""
    basis = tangents(normal)
    local, across = _local(sums, normal), jnp.stack([_local(sums, t) for t in basis])
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
    return _Slopes(basis, gradient, curved - height * jnp.asarray(np.eye(2), curved.dtype))


def _inverse_of_size(x: Array) -> Array:
    """The inverse of a symmetric matrix [2, 2] with the sizes of its eigenvalues in place of these."""
    eye = jnp.asarray(np.eye(2), x.dtype)
    square = jnp.sum(x[:, :, None] * x[None], axis=1)
    det = jnp.abs(x[0, 0] * x[1, 1] - x[0, 1] * x[1, 0])
    trace = square[0, 0] + square[1, 1] + 2 * det
    size = jnp.sqrt(jnp.where(trace > 0, trace, 1))  # the sum of both
    root = (square + det * eye) / size + LEAST * size * eye
    return ((root[0, 0] + root[1, 1]) * eye - root) / (root[0, 0] * root[1, 1] - root[0, 1] * root[1, 0])


def _expected(sums: _Sums, normal: Array) -> Array:
    """h [] (m) at the exact normal near one [3] that is lowest for smoothed shapes, but for the square of thickness.

    That is the sum of w a . n, which does not change to first order, neither with w nor with n.
    """
    thick = jnp.asarray(THICK[-1] ** 2, normal.dtype)
    local = _local(sums, normal)
    along, _ = _along(local, thick)
    square = jnp.sum(_bulged(sums, thick) * local * local, axis=1)
    rest = sums.round * sums.round * local / jnp.sqrt(jnp.where(square > 0, square, 1))[:, None]
    return jnp.sum((sums.half * along + rest) * local) - jnp.sum(sums.offset * normal)


# from there to the exact one


def _touching(shapes: Difference, sums: _Sums, nearly: Array) -> Touching:
    """What touches along the exact normal near one [3] that is nearly right."""
    creases = _creases(sums, nearly)
    creased = jnp.any(creases.mask, axis=0)

    def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        basis, turn, place = _exact_step(sums, state[0], creased, creases)
        return (_turned(state[0], basis, turn), place), None

    (normal, place), _ = lax.scan(step, (nearly, jnp.zeros(2, nearly.dtype)), None, length=STEPS)
    local = _local(sums, normal)
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


def _creases(sums: _Sums, normal: Array) -> _Creases:
    """The axes along which shapes touch within, from a normal [3] that is lowest for smoothed ones: at most two, those
    where they do so by most."""
    thick = jnp.asarray(THICK[-1] ** 2, normal.dtype)
    local = _local(sums, normal)
    along, _ = _along(local, thick)
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


def _exact_step(sums: _Sums, normal: Array, creased: Array, creases: _Creases) -> tuple[Array, Array, Array]:
    """A basis across a normal [3], Newton's step in it [2] (rad) and the places [2] (m) along the creases."""
    side = jnp.where(_local(sums, normal) < 0, -1, 1).astype(normal.dtype)
    half, semi = (jnp.where(creased, 0, x) for x in (sums.half, sums.round * sums.round))
    basis, gradient, hessian = _slopes(sums, normal, half * side, jnp.zeros_like(half), semi)
    a = jnp.sum(creases.axis[:, None] * basis[None], axis=2)  # [2 axes, 2 tangents]
    c = -jnp.sum(creases.axis * normal[None], axis=1)
    free = -vector.matvec(_inverse_of_size(hessian), gradient)

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


def _rows(shapes: Difference, sums: _Sums, side: Array, point: Array, flips: Array) -> tuple[Array, Array]:
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
