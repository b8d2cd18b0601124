"""Where two convex shapes are nearest, or overlap least: distance, witness points, normal, and the features there."""

import itertools
from collections.abc import Iterable
from typing import NamedTuple

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
from jaxsim.collision.convex.patch import Found, Patch, patch, unpatched
from jaxsim.collision.convex.rods import Facets, facets_of_prism, rod_meets
from jaxsim.collision.convex.smoothed import ROUND, Aim, aim, curved, is_curved, lowest
from jaxsim.collision.convex.support import core_points, support
from jaxsim.collision.shape import NO_CONTACT, Shape, safe_norm
from jaxsim.core.enums import GeomType

Array = jax.Array

STILL = 1e-6  # square of the turn (rad) that may be left after these steps
ASIDE = 1e-3  # of the coordinates: how far beside its shape a point may be
REFINEMENTS = 5  # most steps of Newton's method from what the search found; each doubles the digits


class Accuracy(NamedTuple):
    """MuJoCo's options of convex collision: ccd_tolerance [] (m) and ccd_iterations."""

    tolerance: Array | float = 1e-6
    iterations: int = 35


DEFAULT = Accuracy()


class Met(NamedTuple):
    """What there may be among the pairs that a program is for, which has no more to do than they need.

    drums: cylinders, whose caps are flat; curves: pairs with smooth sides, for which there is Newton's method; others:
    those for which GJK and EPA search; bumps: those among them for which EPA is not exact; rods and pins:
    capsules with prisms and with meshes of few faces, of which all features can be tried.
    """

    drums: bool
    curves: bool
    others: bool
    bumps: bool
    rods: bool
    pins: bool


def met(kinds: Iterable[tuple[int, ...]], few_faces: bool = False) -> Met:
    """What there is among pairs of such types of geoms, whose meshes may all have few faces."""
    pairs = set(kinds)
    rods = pairs & {(GeomType.HFIELD, GeomType.CAPSULE)}
    pins = pairs & {(GeomType.CAPSULE, GeomType.MESH)} if few_faces else set()
    curves = {x for x in pairs if curved(*x)}
    others = pairs - curves - rods - pins
    bumps = any({*x} & {*ROUND} for x in others)
    return Met(any(GeomType.CYLINDER in x for x in pairs), bool(curves), bool(others), bumps, bool(rods), bool(pins))


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


class Search(NamedTuple):
    """What the searches found of the cores, in the frame of shape a."""

    rows: Array  # [3, 8] points of the difference that make its nearest feature
    weight: Array  # [3] of the nearest point
    used: Array  # [3] bool: which of them are part of the feature
    normal: Array  # [3] from a to b
    near: Array  # [] bool: not farther apart than asked

    def numbers(self) -> Array:
        """[2, 3] int32: the points of both cores that make the feature."""
        return self.rows[:, 6:].T.astype(jnp.int32)


class Located(NamedTuple):
    """What there is to know of two shapes before their exact distance: the search's result, and what refined it.

    search: of the features; normal [3] from a to b in the frame of a; slid [2, 3] (m) how far the points slide to touch
    along it; trusted [] whether the patches about the points are right.
    """

    search: Search
    normal: Array
    slid: Array
    trusted: Array

    def numbers(self) -> Array:
        """[2, 3] int32: the points of both cores that make the feature."""
        return self.search.numbers()


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
        made, sure = touching(*still, aimed)
        lowered = descended(*still, made, accuracy, near & ~sure)
        found.append(where(sure, made, lowered)._replace(near=near))
    chosen = where(by_axes, found[-1], found[0])
    located = locate(*still, chosen, accuracy, pairs.drums)
    return penetration_at(a, b, located, corners_of_cores(a, b, located), pairs.drums)


def sift(a: Shape, b: Shape, reach: Array, accuracy: Accuracy = DEFAULT) -> Simplex:
    """The first part of the search of `penetration`, without derivatives: how far apart two shapes are, if they are.

    Those that are farther apart than reach [] (m) have the state APART.
    """
    reach = reach + a.data.radius + b.data.radius
    return gjk(difference(a, b), reach, jnp.asarray(accuracy.tolerance, reach.dtype), accuracy.iterations)


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


def touching(a: Shape, b: Shape, aimed: Aim) -> tuple[Search, Array]:
    """The second part for these: the feature that makes their depth or distance, and [] whether that is exact."""
    t = lowest(difference(a, b), aimed)
    return Search(t.rows, t.weight, t.weight > 0, t.normal, jnp.ones((), bool)), t.sure


def descended(a: Shape, b: Shape, found: Search, accuracy: Accuracy, asked: Array) -> Search:
    """The same where that was not exact, if asked []: by descent from the normal that was found."""
    return _by_descent(difference(a, b), accuracy, asked, found.normal)


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


def _end(place: Array) -> Array:
    """Numbers [n] of a capsule's ends at places [n] of either sign."""
    return jnp.where(place > 0, 0, 1).astype(jnp.int32)


def _of_feature(x: Array, y: Array, numbers: Array, weight: Array, normal: Array, near: Array) -> Search:
    """What a search would have found: points x, y [3, 3] (m) of both cores with numbers [3, 2] and weights [3]."""
    rows = jnp.concatenate([x - y, x, numbers.astype(x.dtype)], axis=1)
    return Search(rows, weight, weight != 0, normal, near)


def locate(a: Shape, b: Shape, found: Search, accuracy: Accuracy, drums: bool) -> Located:
    """The third part, of shapes that are not farther apart: exactly which normal the feature has.

    Args:
        a, b, accuracy: as of `penetration`.
        found: the feature.
        drums: whether there may be cylinders.
    """
    normal, slid, trusted = _refine(difference(a, b), found, accuracy, drums)
    return Located(found, normal, slid, trusted)


def corners_of_cores(a: Shape, b: Shape, found: Located) -> Array:
    """Positions [2, 3, 3] (m), in the frame of each, of the points of both cores that make the feature."""
    number = found.numbers()
    points = jnp.stack([a.data.point, b.data.point])
    return jnp.stack([core_points(points, number[:, i]) for i in range(3)], axis=1)


def penetration_at(a: Shape, b: Shape, located: Located, corner: Array, drums: bool = True) -> Penetration:
    """What `penetration` gives, from the search's result and the corners [2, 3, 3] (m) of the cores that it names."""
    radius1, radius2 = a.data.radius, b.data.radius
    found, normal, slid, trusted = located
    t = touch(normal, *_patches(difference(a, b), found, corner, normal, slid, trusted, drums))
    numbers = jnp.where(found.used[None], found.numbers(), -1)
    dist = jnp.where(found.near, t.dist - radius1 - radius2, NO_CONTACT)
    world = vector.matvec(a.mat, t.normal)
    middle = vector.matvec(a.mat, t.middle)
    half = 0.5 * t.dist
    return Penetration(
        dist, middle + (radius1 - half) * world, middle - (radius2 - half) * world, world, numbers[0], numbers[1]
    )  # fmt: skip


def where(here: Array, one: Search, other: Search) -> Search:
    """One search's result where a condition [] holds, else the other's."""
    return jax.tree.map(lambda x, y: jnp.where(here, x, y), one, other)


def _by_faces(shapes: Difference, s: Simplex, accuracy: Accuracy, asked: Array) -> Search:
    """The feature of shapes that overlap, where asked [], by EPA; coarse if they are smooth."""
    _, which = largest(s.rows[:, :3])
    corners = [jnp.sum(jnp.where(which[:, None], take(s.rows, TRIANGLES[:, i]), 0), axis=0) for i in range(3)]
    tolerance = jnp.asarray(accuracy.tolerance, s.x.dtype)
    face, outward = epa(shapes, jnp.stack(corners), asked, tolerance, accuracy.iterations)
    weight = _weights(face[:, :3], outward)
    return Search(face, weight, jnp.ones(3, bool), outward, asked)


def _by_descent(shapes: Difference, accuracy: Accuracy, asked: Array, known: Array) -> Search:
    """The same by descent from a known normal [3]."""
    tolerance = jnp.asarray(accuracy.tolerance, shapes.scale.dtype)
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


def _patches(
    shapes: Difference, found: Search, corner: Array, normal: Array, slid: Array, trusted: Array, drums: bool
) -> tuple[Patch, Patch]:
    """The patches of both shapes, in the frame of a; mere points where the normal is not to be trusted."""
    frozen = lax.stop_gradient(shapes)
    x = found.rows[:, 3:6]
    y = vector.matvec_t(frozen.rot[None], x - found.rows[:, :3] - frozen.offset[None])
    core = lax.stop_gradient(corner)
    weight = jnp.where(trusted, found.weight, _convex(found.weight))
    rest = jnp.sum(weight[None, :, None] * (jnp.stack([x, y]) - core), axis=1)
    slid = jnp.stack([slid[0], vector.matvec_t(frozen.rot, slid[1])])
    here = Found(corner, jnp.broadcast_to(weight[None], (2, 3)), rest, slid)
    both = jax.vmap(lambda f, h, n: patch(f, h, n, drums))(shapes.forms, here, shapes.directions(normal))
    both = jax.tree.map(lambda x, y: jnp.where(trusted, x, y), both, jax.vmap(unpatched)(here))
    first, second = (Patch(*(x[i] for x in both)) for i in (0, 1))
    point = shapes.offset + vector.matvec(shapes.rot, second.point)
    slide = vector.matvec(shapes.rot[None], second.slide)
    half_turned = vector.matvec(shapes.rot[None], second.spread)  # symmetric: rows are columns
    return first, Patch(point, vector.matvec(shapes.rot[None], half_turned.T), slide)


class _Trial(NamedTuple):
    """A normal [3] to try next; the last one tried, and by it the patches' distance and that of the planes [] (m)."""

    next: Array
    last: Array
    middle: Array  # [3] m, of the patches' points
    dist: Array
    planes: Array
    first: Array  # [2] m, where both planes are along the normal that was tried first
    slid: Array  # [2, 3] m, of both points in the frame of a
    step: Array  # [] int32


def _refine(shapes: Difference, found: Search, accuracy: Accuracy, drums: bool) -> tuple[Array, Array, Array]:
    """The normal [3] after some steps of Newton's method, how far the points slide [2, 3] (m) to touch along it, and
    whether the patches are to be trusted.

    Along any normal the shapes are at least as far apart as their supporting planes are, and along the right one
    they are as far: so the normal whose planes are farther apart is the better one.
    """
    always = jnp.ones((), bool)
    number = found.numbers()
    corner = jnp.stack([core_points(shapes.forms.point, number[:, i]) for i in range(3)], axis=1)

    def step(t: _Trial) -> _Trial:
        made = touch(t.next, *_patches(shapes, found, corner, t.next, t.slid, always, drums))
        there = vector.matvec(_points_of(shapes.point(t.next)), t.next)
        first = jnp.where(t.step == 0, there, t.first)
        planes = there[1] - there[0]
        return _Trial(made.normal, t.next, made.middle, made.dist, planes, first, t.slid + made.slid, t.step + 1)

    def unfinished(t: _Trial) -> Array:
        turn = jnp.sum((t.next - t.last) ** 2)  # the last step squares it
        going = (t.step == 0) | (t.step <= REFINEMENTS) & (turn > 0.01 * jnp.finfo(turn.dtype).eps)
        return found.near & going

    zero = jnp.zeros((), found.normal.dtype)
    unslid = jnp.zeros((2, 3), zero.dtype)
    start = _Trial(found.normal, found.normal, unslid[0], zero, zero, unslid[:, 0], unslid, jnp.zeros((), jnp.int32))
    t = lax.while_loop(unfinished, step, start)
    slack = 64 * jnp.finfo(zero.dtype).eps * shapes.scale + 0.1 * accuracy.tolerance
    still = jnp.sum((t.next - t.last) ** 2) < STILL  # between two normals to and fro, the last one may be the good one
    no_worse = t.planes >= t.first[1] - t.first[0] - slack
    half = 0.5 * t.dist * t.last
    points = jnp.stack([t.middle - half, t.middle + half])
    there = _on_shapes(shapes, corner, t.last, points)
    trusted = found.near & still & no_worse & (jnp.abs(t.dist - t.planes) <= slack) & there
    lifted = _to_planes(found, t.first)
    return jnp.where(trusted, t.last, found.normal), jnp.where(trusted, t.slid, lifted), trusted


def _on_shapes(shapes: Difference, corner: Array, normal: Array, points: Array) -> Array:
    """Whether points [2, 3] (m) on the planes of both shapes across a normal are not beside the shapes []; as far as
    each shape's reach shows that on the way there from the middle of its feature."""
    local = jnp.stack([points[0], vector.matvec_t(shapes.rot, points[1] - shapes.offset)])
    way = local - jnp.sum(corner, axis=1) / 3
    outward = shapes.directions(normal)
    way = way - vector.dot(way, outward)[:, None] * outward
    reach, _ = support(shapes.forms, way)
    slack = ASIDE * shapes.scale * safe_norm(way)[:, 0]
    return jnp.all(vector.dot(local - reach, way) <= slack)


def _convex(weight: Array) -> Array:
    """Weights [3] without the negative ones, with sum 1: of a point that is not beside the feature."""
    weight = jnp.maximum(weight, 0)
    return weight / jnp.sum(weight)


def _points_of(row: Array) -> Array:
    """The points [2, 3] of both shapes that make one of their difference, a row [8]."""
    return jnp.stack([row[3:6], row[3:6] - row[:3]])


def _to_planes(found: Search, planes: Array) -> Array:
    """How far [2, 3] (m) it is, along the normal, from the points of a feature to planes at [2] (m): those of a search
    that ended early, or of a feature too thin for its precision, are short of the shapes by as much."""
    points = jnp.sum(_convex(found.weight)[:, None, None] * jax.vmap(_points_of)(found.rows), axis=0)
    return (planes - vector.dot(points, found.normal[None]))[:, None] * found.normal[None]
