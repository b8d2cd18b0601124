"""The exact normal of the feature that a search found, by Newton's method on the surfaces about it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.convex.contact import touch
from jaxsim.collision.convex.difference import Difference, difference
from jaxsim.collision.convex.patch import Found, Patch, patch, unpatched
from jaxsim.collision.convex.support import core_points, support
from jaxsim.collision.shape import Shape, safe_norm

Array = jax.Array

STILL = 1e-6  # square of the turn (rad) that may be left after these steps
ASIDE = 1e-3  # of the coordinates: how far beside its shape a point may be
FINER = 1e-3  # of ccd_tolerance: where a distance is off by that much, a normal is by its root, and forces by more
REFINEMENTS = 5  # most steps of Newton's method from what the search found; each doubles the digits


class Accuracy(NamedTuple):
    """MuJoCo's options of convex collision: ccd_tolerance [] (m) and ccd_iterations."""

    tolerance: Array | float = 1e-6
    iterations: int = 35

    @property
    def of_search(self) -> Array | float:
        """The error [] (m) of distances at which searches end: less than is asked for, at hardly a step more."""
        return FINER * self.tolerance


DEFAULT = Accuracy()


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
    both = jax.tree.map(lambda *x: jnp.stack(x), a.data, b.data)
    return jnp.stack([core_points(both, number[:, i]) for i in range(3)], axis=1)


def patches(
    shapes: Difference, found: Search, corner: Array, normal: Array, slid: Array, trusted: Array, drums: bool
) -> tuple[Patch, Patch]:
    """The patches of both shapes, in the frame of a; mere points where the normal is not to be trusted.

    Args:
        shapes: the difference of the two.
        found: the feature, whose core points are at corner [2, 3, 3] (m).
        normal, slid, trusted, drums: as of `Located` and `locate`.
    """
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
    corner = jnp.stack([core_points(shapes.forms, number[:, i]) for i in range(3)], axis=1)

    def step(t: _Trial) -> _Trial:
        made = touch(t.next, *patches(shapes, found, corner, t.next, t.slid, always, drums))
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
    lifted = _to_planes(found, t.first, shapes.smooth)
    return jnp.where(trusted, t.last, found.normal), jnp.where(trusted, t.slid, lifted), trusted


def _on_shapes(shapes: Difference, corner: Array, normal: Array, points: Array) -> Array:
    """Whether points [2, 3] (m) on the planes of both shapes across a normal are not beside the shapes []; as far as
    each shape's reach shows that on the way there from the middle of its feature."""
    local = jnp.stack([points[0], vector.matvec_t(shapes.rot, points[1] - shapes.offset)])
    way = local - jnp.sum(corner, axis=1) / 3
    outward = shapes.directions(normal)
    way = way - vector.dot(way, outward)[:, None] * outward
    reach, _ = support(shapes.forms, way)
    noise = jnp.finfo(way.dtype).eps * shapes.scale  # from the middle to a point over it there is no way but rounding
    slack = shapes.scale * (ASIDE * safe_norm(way)[:, 0] + noise)
    return jnp.all(vector.dot(local - reach, way) <= slack)


def _convex(weight: Array) -> Array:
    """Weights [3] without the negative ones, with sum 1: of a point that is not beside the feature."""
    weight = jnp.maximum(weight, 0)
    return weight / jnp.sum(weight)


def _points_of(row: Array) -> Array:
    """The points [2, 3] of both shapes that make one of their difference, a row [8]."""
    return jnp.stack([row[3:6], row[3:6] - row[:3]])


def _to_planes(found: Search, planes: Array, smooth: Array) -> Array:
    """How far [2, 3] (m) it is, along the normal, from the points of a feature to planes at [2] (m): those of a search
    that ended early, or of a feature too thin for its precision, are short of the shapes by as much.

    Those of shapes without smooth sides that are apart are not, however near: their points are right, but of a normal
    between them rounding may leave little, and the planes across it may cut the shapes by hundredths of their size.
    """
    points = jnp.sum(_convex(found.weight)[:, None, None] * jax.vmap(_points_of)(found.rows), axis=0)
    place = vector.dot(points, found.normal[None])
    right = ~smooth & (place[1] > place[0])
    return jnp.where(right, 0, planes - place)[:, None] * found.normal[None]
