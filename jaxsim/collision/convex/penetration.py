"""Where two convex shapes are nearest, or overlap least: distance, witness points, normal, and the features there."""

import itertools
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.collision.convex.contact import touch
from jaxsim.collision.convex.descent import descend
from jaxsim.collision.convex.difference import Difference, difference
from jaxsim.collision.convex.epa import epa
from jaxsim.collision.convex.gjk import APART, OVERLAP, TRIANGLES, Simplex, gjk, largest
from jaxsim.collision.convex.knobs import Guess, knob_of, lowest_of_box, lowest_of_features
from jaxsim.collision.convex.locate import DEFAULT, Accuracy, Located, Search, corners_of_cores, locate, patches
from jaxsim.collision.convex.rods import Facets, facets_of_prism, rod_meets
from jaxsim.collision.convex.smoothed import ROUND, Aim, Lowest, aim, curved, height, is_curved, lowest
from jaxsim.collision.convex.widen import beside, line_of
from jaxsim.collision.shape import NO_CONTACT, Shape, first_true, safe_norm
from jaxsim.core.enums import GeomType

Array = jax.Array
T = TypeVar("T")


class Met(NamedTuple):
    """What there may be among the pairs that a program is for, which has no more to do than they need.

    drums: cylinders, whose caps are flat; curves: pairs with smooth sides, for which there is Newton's method; others:
    those for which GJK searches; hulls: those among them for which EPA does, if they overlap; bumps: those among these
    for which EPA is not exact; rods and pins: capsules with prisms and with meshes of few faces, of which all features
    can be tried; pegs and knobs: ellipsoids and cylinders with these, blocks and bricks: boxes with these, which are
    tried if they overlap.
    """

    drums: bool
    curves: bool
    others: bool
    hulls: bool
    bumps: bool
    rods: bool
    pins: bool
    pegs: bool
    knobs: bool
    blocks: bool
    bricks: bool


def met(kinds: Iterable[tuple[int, ...]], few_faces: bool = False) -> Met:
    """What there is among pairs of such types of geoms, whose meshes may all have few faces."""
    pairs = set(kinds)
    rods = pairs & {(GeomType.HFIELD, GeomType.CAPSULE)}
    pins = pairs & {(GeomType.CAPSULE, GeomType.MESH)} if few_faces else set()
    pegs = pairs & {(GeomType.HFIELD, x) for x in ROUND}
    knobs = pairs & {(x, GeomType.MESH) for x in ROUND} if few_faces else set()
    blocks = pairs & {(GeomType.HFIELD, GeomType.BOX)}
    bricks = pairs & {(GeomType.BOX, GeomType.MESH)} if few_faces else set()
    curves = {x for x in pairs if curved(*x)}
    others = pairs - curves - rods - pins
    hulls = others - pegs - knobs - blocks - bricks
    drums, bumps = any(GeomType.CYLINDER in x for x in pairs), any({*x} & {*ROUND} for x in hulls)
    sets = (curves, others, hulls)
    return Met._make([drums, *map(bool, sets), bumps, *map(bool, (rods, pins, pegs, knobs, blocks, bricks))])


ANY = met(itertools.product(GeomType, repeat=2))


class Penetration(NamedTuple):
    """Where two shapes are nearest, or overlap least; positions have world axes and count from the centre of a.

    dist [] (m) is NO_CONTACT where the shapes are farther apart than asked; normal [3] points from a to b; the
    witnesses [3] are the points of the two surfaces, normal * dist apart. vertices1 and vertices2 [3] are the points
    of the cores of a and b that make the nearest feature, -1 where fewer than three do.
    """

    dist: Array
    witness1: Array
    witness2: Array
    normal: Array
    vertices1: Array
    vertices2: Array


def penetration(a: Shape, b: Shape, reach: Array, accuracy: Accuracy = DEFAULT, pairs: Met = ANY) -> Penetration:
    """Distance, witnesses and normal of two convex shapes, up to a distance [] (m) (mjc_ccd).

    The search is not differentiated: it says which features touch, and distance, witnesses and normal are then
    exact functions of poses and sizes.

    Args:
        a, b: geoms whose data are forms.
        reach: [] m.
        accuracy: of the search.
        pairs: what they may be.
    """
    still = lax.stop_gradient((a, b))
    reach = lax.stop_gradient(reach)
    by_axes = is_curved(*(jnp.stack([getattr(x.data, name) for x in still]) for name in ("kind", "round")))
    found = []
    if pairs.others or pairs.rods:
        known = sift(*still, reach, accuracy)
        known = known._replace(state=jnp.where(by_axes & pairs.curves, APART, known.state))  # no polytope for those
        found.append(apart_or(known, deep(*still, known, accuracy, pairs.bumps)))
    if pairs.curves:
        aimed, near = steer(*still, reach)
        lowest = touching(*still, aimed)
        lowered = descended(*still, lowest, accuracy, near & ~lowest.settled)
        found.append(where(lowest.settled, of_touching(lowest), lowered)._replace(near=near))
    chosen = where(by_axes, found[-1], found[0])
    located = locate(*still, chosen, accuracy, pairs.drums)
    return penetration_at(a, b, located, corners_of_cores(a, b, located), pairs.drums)


def sift(a: Shape, b: Shape, reach: Array, accuracy: Accuracy = DEFAULT) -> Simplex:
    """The first part of the search of `penetration`, without derivatives: how far apart two shapes are, if they are.

    Those that are farther apart than reach [] (m) have the state APART.
    """
    reach = reach + a.data.radius + b.data.radius
    return gjk(difference(a, b), reach, jnp.asarray(accuracy.of_search, reach.dtype), accuracy.iterations)


def deep(a: Shape, b: Shape, known: Simplex, accuracy: Accuracy, bumps: bool) -> Search:
    """The second part, of shapes that overlap: the feature that makes their depth, by EPA.

    Args:
        a, b, accuracy: as of `penetration`.
        known: what the first part found.
        bumps: whether there may be round ones among them, for which EPA is coarse.
    """
    shapes, inside = difference(a, b), known.state == OVERLAP
    found = _by_faces(shapes, known, accuracy, inside)
    if not bumps:
        return found
    round_too = inside & shapes.smooth
    return where(round_too, _by_descent(shapes, accuracy, round_too, found.normal), found)


def apart_or(known: Simplex, within: Search) -> Search:
    """What the first part found of shapes that are apart, and else what the second did."""
    rows, weight = _without_lightest(known.rows, known.weight)
    found = Search(rows, weight, weight > 0, -known.x / safe_norm(known.x), known.state != APART)
    return where(known.state == OVERLAP, within, found)


def steer(a: Shape, b: Shape, reach: Array) -> tuple[Aim, Array]:
    """The first part for shapes with smooth sides: a normal that leads to the lowest if they are apart, and [] whether
    they may be within reach [] (m)."""
    aimed = aim(difference(a, b))
    return aimed, -aimed.height <= reach + a.data.radius + b.data.radius


def touching(a: Shape, b: Shape, aimed: Aim) -> Lowest:
    """The second part for these: what is known of the feature that makes their depth or distance."""
    return lowest(difference(a, b), aimed)


def of_touching(known: Lowest) -> Search:
    """The feature that the second part found."""
    t = known.touching
    return Search(t.rows, t.weight, t.weight > 0, t.normal, jnp.ones((), bool))


def descended(a: Shape, b: Shape, known: Lowest, accuracy: Accuracy, asked: Array) -> Search:
    """The same where that may not be the lowest, if asked []: by descent, if that leads lower."""
    shapes = difference(a, b)
    lowered = _by_descent(shapes, accuracy, asked, known.guess)
    lower = height(shapes, lowered.normal) < height(shapes, known.touching.normal)
    return where(lower | ~known.touching.sure, lowered, of_touching(known))


def on_prism(a: Shape, b: Shape, corner: Array, reach: Array) -> Search:
    """The feature that makes the depth or distance of a prism with corners [6, 3] (m) and a capsule, if that is within
    reach [] (m)."""
    shapes = difference(a, b)
    axis = shapes.rot[:, 2] * b.data.scale[2]
    t = rod_meets(facets_of_prism(corner), shapes.offset, axis)
    y = shapes.offset[None] + t.place[:, None] * axis[None]
    numbers = jnp.stack([t.corner, _end(t.place)], axis=1)
    return _of_feature(t.point, y, numbers, t.weight, t.normal, t.dist <= reach + b.data.radius)


def on_mesh(a: Shape, b: Shape, facets: Facets, reach: Array) -> Search:
    """The same of a capsule and a mesh with the given facets, if that is within reach [] (m)."""
    shapes = difference(a, b)
    axis = jnp.where(np.arange(3) == 2, a.data.scale, 0)
    centre, half = vector.matvec_t(shapes.rot, -shapes.offset), vector.matvec_t(shapes.rot, axis)
    t = rod_meets(facets, centre, half)
    y = shapes.offset[None] + vector.matvec(shapes.rot[None], t.point)
    normal = -vector.matvec(shapes.rot, t.normal)
    numbers = jnp.stack([_end(t.place), t.corner], axis=1)
    return _of_feature(t.place[:, None] * axis[None], y, numbers, t.weight, normal, t.dist <= reach + a.data.radius)


def around_prism(a: Shape, b: Shape, corner: Array, boxes: bool) -> Guess:
    """Where the feature may be that makes the depth of a prism with corners [6, 3] (m) and an ellipsoid or a cylinder,
    or else a box, if they overlap."""
    shapes = difference(a, b)
    lowest = lowest_of_box if boxes else lowest_of_features
    return lowest(facets_of_prism(corner), corner, knob_of(b.data, shapes.offset, shapes.rot))


def around_mesh(a: Shape, b: Shape, facets: Facets, boxes: bool) -> Guess:
    """The same of an ellipsoid or a cylinder, or else a box, and a mesh with the given facets."""
    shapes = difference(a, b)
    knob = knob_of(a.data, vector.matvec_t(shapes.rot, -shapes.offset), shapes.rot.T)
    guess = (lowest_of_box if boxes else lowest_of_features)(facets, b.data.point, knob)
    return guess._replace(normal=-vector.matvec(shapes.rot[None], guess.normal))


def from_guess(a: Shape, b: Shape, normal: Array, accuracy: Accuracy) -> tuple[Search, Array]:
    """The feature that a descent from a normal [3] ends at, and how far [] (m) the shapes overlap along its normal."""
    shapes = difference(a, b)
    found = _by_descent(shapes, accuracy, jnp.ones((), bool), normal)
    height = jnp.sum(shapes.point(found.normal)[:3] * found.normal)
    for _ in range(2):
        found = _widened(shapes, found, height)
    return found, height


def _widened(shapes: Difference, found: Search, height: Array) -> Search:
    """The same feature of shapes without smooth sides with one more point, if it has less than three and that is on the
    plane at the normal's height [] (m): what overlaps does so by a face of the difference.

    A descent ends with less where the foot of the origin is on a line between two points, which may be a diagonal.
    """
    rows, used, normal = found.rows, found.used, found.normal
    line = line_of(rows, used, normal)
    (one, far1), (other, far2) = (beside(shapes, line, normal, height, side) for side in (1, -1))
    free = first_true(~used)
    here = free & ~shapes.smooth & (jnp.maximum(far1, far2) > 0)
    point = jnp.where(far1 >= far2, one, other)
    return found._replace(rows=jnp.where(here[:, None], point[None], rows), used=used | here)


def _end(place: Array) -> Array:
    """Numbers [n] of a capsule's ends at places [n] of either sign."""
    return jnp.where(place > 0, 0, 1).astype(jnp.int32)


def _of_feature(x: Array, y: Array, numbers: Array, weight: Array, normal: Array, near: Array) -> Search:
    """What a search would have found: points x, y [3, 3] (m) of both cores with numbers [3, 2] and weights [3]."""
    rows = jnp.concatenate([x - y, x, numbers.astype(x.dtype)], axis=1)
    return Search(rows, weight, weight != 0, normal, near)


def penetration_at(a: Shape, b: Shape, located: Located, corner: Array, drums: bool = True) -> Penetration:
    """What `penetration` gives, from the search's result and the corners [2, 3, 3] (m) of the cores that it names."""
    radius1, radius2 = a.data.radius, b.data.radius
    found, normal, slid, trusted = located
    t = touch(normal, *patches(difference(a, b), found, corner, normal, slid, trusted, drums))
    numbers = jnp.where(found.used[None], found.numbers(), -1)
    dist = jnp.where(found.near, t.dist - radius1 - radius2, NO_CONTACT)
    world = vector.matvec(a.mat, t.normal)
    middle = vector.matvec(a.mat, t.middle)
    half = 0.5 * t.dist
    return Penetration(
        dist, middle + (radius1 - half) * world, middle - (radius2 - half) * world, world, numbers[0], numbers[1]
    )  # fmt: skip


def where(here: Array, one: T, other: T) -> T:
    """One result of a search where a condition [] holds, else the other's."""
    return jax.tree.map(lambda x, y: jnp.where(here, x, y), one, other)


def _by_faces(shapes: Difference, s: Simplex, accuracy: Accuracy, asked: Array) -> Search:
    """The feature of shapes that overlap, where asked [], by EPA; coarse if they are smooth."""
    _, which = largest(s.rows[:, :3])
    corners = [jnp.sum(jnp.where(which[:, None], take(s.rows, TRIANGLES[:, i]), 0), axis=0) for i in range(3)]
    tolerance = jnp.asarray(accuracy.of_search, s.x.dtype)
    face, outward = epa(shapes, jnp.stack(corners), asked, tolerance, accuracy.iterations)
    weight = _weights(face[:, :3], outward)
    return Search(face, weight, jnp.ones(3, bool), outward, asked)


def _by_descent(shapes: Difference, accuracy: Accuracy, asked: Array, known: Array) -> Search:
    """The same by descent from a known normal [3]."""
    tolerance = jnp.asarray(accuracy.of_search, shapes.scale.dtype)
    lowest = descend(shapes, asked, known, tolerance, accuracy.iterations)
    rows, weight = _without_lightest(lowest.rows, lowest.weight)
    return Search(rows, weight, weight > 0, lowest.normal, asked)


def _without_lightest(rows: Array, weight: Array) -> tuple[Array, Array]:
    """The three points of a simplex, rows [4, 8] of weight [4], that make its nearest point, and their weights."""
    _, lightest = vector.least(weight)
    drop = jnp.argmax(lightest).astype(jnp.int32)
    keep = (jnp.arange(3, dtype=jnp.int32) + drop + 1) & 3
    rows, weight = (x.at[keep].get(mode="promise_in_bounds") for x in (rows, weight))
    return rows, weight


def _weights(face: Array, normal: Array) -> Array:
    """Weights [3] of the origin's foot in the plane of a triangle [3, 3] with the given unit normal.

    The foot may lie beside the triangle: where a face of the difference has more corners, the search ends with any of
    the triangles that it is made of, and weights of either sign then give the right points of both shapes.
    """
    area = vector.dot(vector.cross(take(face, [1, 2, 0]), take(face, [2, 0, 1])), normal[None])
    total = jnp.sum(area)
    return jnp.where(total > 0, area / jnp.where(total > 0, total, 1), 1 / 3)
