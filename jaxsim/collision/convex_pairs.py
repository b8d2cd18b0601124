"""The convex routine for many pairs: in parts, each for the pairs of all worlds that need it, side by side.

Slots for pairs are for the worst: few of them are taken as a rule, and of those that are taken many are found to be
apart, and few of the others overlap. So each part of the search is asked for where the one before says so, and what
follows it, which is differentiated, where pairs are not apart.
"""

from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.collision.convex.cells import Cells
from jaxsim.collision.convex.collider import contacts_of
from jaxsim.collision.convex.features import most_corners
from jaxsim.collision.convex.form import Library, corners
from jaxsim.collision.convex.gjk import APART, OVERLAP, Simplex
from jaxsim.collision.convex.knobs import Guess
from jaxsim.collision.convex.locate import Accuracy, Located, Search, corners_of_cores, locate
from jaxsim.collision.convex.multicontact import cutting_sides
from jaxsim.collision.convex.penetration import (
    Met,
    Penetration,
    apart_or,
    around_mesh,
    around_prism,
    deep,
    descended,
    from_guess,
    of_touching,
    on_mesh,
    on_prism,
    penetration_at,
    sift,
    steer,
    touching,
    where,
)
from jaxsim.collision.convex.rods import Facets
from jaxsim.collision.convex.smoothed import Lowest, is_curved
from jaxsim.collision.height_field import PRISM
from jaxsim.collision.shape import NO_CONTACT, Candidates, Shape
from jaxsim.collision.shapes import of_mesh
from jaxsim.core.enums import GeomType
from jaxsim.layout import where_asked

Array = jax.Array
T = TypeVar("T")

FEW_SIDES = (4, 8, 16)  # of the faces that pairs are cut by which take their turn together
RIVAL = 1.1  # times a depth: how high a normal that is nearly exact may be if a descent from it may lead lower


class Routine(NamedTuple):
    """What all pairs of a program have in common.

    served: the cores of all geoms; pairs: what they may be; iterations: most steps of each search; several: whether
    faces and edges have a contact at each corner; facets: tables, of each of its meshes, of `Facets`; cells:
    what to search cores of many points by; swell: whether reaches are MuJoCo's margins, by half of which its
    capsules swell.
    """

    served: Library
    pairs: Met
    iterations: int
    several: bool
    facets: tuple[np.ndarray, ...] = ()
    cells: Cells | None = None
    swell: bool = True


def convex_pairs(routine: Routine, a: Shape, b: Shape, reach: Array, tolerance: Array) -> Candidates:
    """Candidates [n, 4] of pairs of shapes; of those with a reach of -NO_CONTACT there are none.

    Args:
        routine: what they have in common.
        a, b: shapes [n] whose data are forms, which have points only where these are not in the library, of prisms.
        reach: [n] distance (m) up to which contacts are detected.
        tolerance: [] accuracy (m) of the search.
    """
    served, pairs, several = routine.served, routine.pairs, routine.several
    still = lax.stop_gradient((a, b))
    tolerance = lax.stop_gradient(jnp.asarray(tolerance, reach.dtype))
    asked = lax.stop_gradient(reach) > -NO_CONTACT

    def third(tolerance, a, b, found):
        return locate(*_whole(routine, a, b), found, Accuracy(tolerance, routine.iterations), pairs.drums)

    def fourth(_, a: Shape, b: Shape, found: Located, reach: Array) -> tuple[Candidates, Penetration, Array]:
        corner = _corners(routine, a, b, found)
        a = _without_points(a)
        exact = penetration_at(a, b, found, corner, pairs.drums)
        one = contacts_of(served, a, b, exact, reach, several=False)
        return one, exact, cutting_sides(served, a, b, exact) if several else jnp.zeros((), jnp.int32)

    def last(_, a: Shape, b: Shape, exact: Penetration, reach: Array) -> Candidates:
        return contacts_of(served, _without_points(a), b, exact, reach, several, routine.swell)

    curved = is_curved(jnp.stack([a.data.kind, b.data.kind]), jnp.stack([a.data.round, b.data.round]))
    rod = (a.data.kind == GeomType.HFIELD) & (b.data.kind == GeomType.CAPSULE)
    pin = (a.data.kind == GeomType.CAPSULE) & (b.data.kind == GeomType.MESH) & pairs.pins
    still_reach = lax.stop_gradient(reach)
    ways = []
    if pairs.others:
        other = ~(curved | rod | pin)
        ways.append((other, _by_polytopes(routine, *still, still_reach, tolerance, asked & other)))
    if pairs.curves:
        ways.append((curved, _by_newton(routine, *still, still_reach, tolerance, asked & curved)))
    if pairs.rods:
        ways.append((rod, _on_prisms(*still, still_reach, asked & rod)))
    if pairs.pins:
        ways.append((pin, _on_meshes(routine, *still, still_reach, asked & pin)))
    search = _chosen(ways)
    near = search.near
    found = where_asked(third)(near, tolerance, *still, search)
    made, exact, sides = where_asked(fourth)(near, None, a, b, found, reach)
    if several:
        # each side is a cut, for which all beside wait
        flat = sides > 0
        turn = jnp.where(near, _turns(sides), 0) if most_corners(served) > FEW_SIDES[0] else near & flat
        corners = where_asked(last)(turn, None, a, b, exact, reach)
        made = jax.vmap(lambda here, *x: jax.tree.map(lambda y, z: jnp.where(here, y, z), *x))(flat, corners, made)
    return made._replace(dist=jnp.where(near[:, None], made.dist, NO_CONTACT))


def _turns(sides: Array) -> Array:
    """The turns [n] of pairs by the sides [n] of the faces that cut; 0 where there are none."""
    return jnp.sum(sides[:, None] > np.array([0, *FEW_SIDES], np.int32)[None], axis=1, dtype=jnp.int32)


def _by_polytopes(routine: Routine, a: Shape, b: Shape, reach: Array, tolerance: Array, asked: Array) -> Search:
    """The features of those pairs [n] that are asked for and near, by GJK, and all features or EPA if they overlap."""

    def first(tolerance: Array, a: Shape, b: Shape, reach: Array):
        return sift(*_whole(routine, a, b), reach, Accuracy(tolerance, routine.iterations))

    def second(tolerance: Array, a: Shape, b: Shape, known: Simplex):
        return deep(*_whole(routine, a, b), known, Accuracy(tolerance, routine.iterations), routine.pairs.bumps)

    pairs = routine.pairs
    known = where_asked(first)(asked, tolerance, a, b, reach)
    near = asked & (known.state != APART)
    overlap = near & (known.state == OVERLAP)
    tried = _tried(routine, a, b, overlap)
    by_epa, deepest = overlap, []
    for chosen, _ in tried:
        by_epa = by_epa & ~chosen
    if pairs.hulls:
        deepest.append((overlap, where_asked(second)(by_epa, tolerance, a, b, known)))
    if tried:
        its = overlap & ~by_epa
        deepest.append((its, _lowered(routine, a, b, tolerance, its, _chosen(tried))))
    return jax.vmap(apart_or)(known, _chosen(deepest))._replace(near=near)


def _tried(routine: Routine, a: Shape, b: Shape, asked: Array) -> list[tuple[Array, Guess]]:
    """For each kind of pairs of which all features can be tried: which pairs [n] those are, and what it leads to, if it
    is asked [n]."""
    field, mesh, pairs = a.data.kind == GeomType.HFIELD, b.data.kind == GeomType.MESH, routine.pairs
    kinds = [  # whether there are any, which they are, whether with prisms and of boxes
        (pairs.pegs, field & jnp.any(b.data.round > 0, axis=1), True, False),
        (pairs.knobs, mesh & jnp.any(a.data.round > 0, axis=1), False, False),
        (pairs.blocks, field & (b.data.kind == GeomType.BOX), True, True),
        (pairs.bricks, mesh & (a.data.kind == GeomType.BOX), False, True),
    ]

    def guess(a: Shape, b: Shape, prisms: bool, boxes: bool) -> Guess:
        whole = _whole(routine, a, b)
        if prisms:
            return around_prism(*whole, a.data.point[:PRISM], boxes)
        return around_mesh(*whole, _facets(routine, b), boxes)

    return [
        (its, where_asked(lambda _, x, y, k=kind: guess(x, y, *k))(asked & its, None, a, b))
        for there, its, *kind in kinds
        if there
    ]


def _lowered(routine: Routine, a: Shape, b: Shape, tolerance: Array, asked: Array, known: Guess) -> Search:
    """The features of those pairs [n] that are asked for: by descent from the lower normal of those that are known, and
    from the other if that may lead lower."""

    def lower(tolerance: Array, a: Shape, b: Shape, normal: Array) -> tuple[Search, Array]:
        return from_guess(*_whole(routine, a, b), normal, Accuracy(tolerance, routine.iterations))

    one, depth = where_asked(lower)(asked, tolerance, a, b, known.normal[:, 0])
    again = asked & (known.height[:, 1] < RIVAL * depth)
    other, depth2 = where_asked(lower)(again, tolerance, a, b, known.normal[:, 1])
    return jax.vmap(where)(again & (depth2 < depth), other, one)


def _by_newton(routine: Routine, a: Shape, b: Shape, reach: Array, tolerance: Array, asked: Array) -> Search:
    """The same of pairs with smooth sides, by Newton's method, and by descent where that is not exact."""

    def third(tolerance: Array, a: Shape, b: Shape, known: Lowest):
        always = jnp.ones((), bool)
        return descended(*_whole(routine, a, b), known, Accuracy(tolerance, routine.iterations), always)

    smooth = (_without_points(a), _without_points(b))
    aimed, near = where_asked(lambda _, *x: steer(*x))(asked, None, *smooth, reach)
    near &= asked
    known = where_asked(lambda _, *x: touching(*x))(near, None, *smooth, aimed)
    lowered = where_asked(third)(near & ~known.settled, tolerance, a, b, known)
    return jax.vmap(where)(known.settled, jax.vmap(of_touching)(known), lowered)._replace(near=near)


def _on_prisms(a: Shape, b: Shape, reach: Array, asked: Array) -> Search:
    """The same of capsules with prisms, by trying all features."""

    def run(_: None, a: Shape, b: Shape, corner: Array, reach: Array) -> Search:
        return on_prism(a, b, corner, reach)

    corner = a.data.point[:, :PRISM]
    found = where_asked(run)(asked, None, _without_points(a), _without_points(b), corner, reach)
    return found._replace(near=asked & found.near)


def _on_meshes(routine: Routine, a: Shape, b: Shape, reach: Array, asked: Array) -> Search:
    """The same of capsules with meshes of few faces."""

    def run(_: None, a: Shape, b: Shape, reach: Array) -> Search:
        return on_mesh(a, b, _facets(routine, b), reach)

    found = where_asked(run)(asked, None, _without_points(a), _without_points(b), reach)
    return found._replace(near=asked & found.near)


def _chosen(ways: list[tuple[Array, T]]) -> T:
    """Of each pair [n] what the last of some ways [n] that are its own found; the first where none is."""
    found = ways[0][1]
    for its, way in ways[1:]:
        found = jax.vmap(where)(its, way, found)
    return found


def _facets(routine: Routine, mesh: Shape) -> Facets:
    """The facets of a mesh of few faces."""
    dtype = mesh.pos.dtype
    tables = [jnp.asarray(x, dtype if x.dtype.kind == "f" else jnp.int32) for x in routine.facets]
    first = len(routine.served.unit) - len(tables[0])  # meshes have the library's last rows
    return Facets(*(of_mesh(x, jnp.maximum(mesh.data.row - first, 0)) for x in tables))


def _without_points(shape: Shape) -> Shape:
    return shape._replace(data=shape.data._replace(point=None))


def _whole(routine: Routine, a: Shape, b: Shape) -> tuple[Shape, Shape]:
    """Two shapes with the points of their cores."""
    points = (_points(routine.served, x) if routine.cells is None else routine.cells for x in (a, b))
    first, second = (x._replace(data=x.data._replace(point=p)) for x, p in zip((a, b), points))
    return first, second


def _points(served: Library, shape: Shape) -> Array:
    """Points [n, 3] (m) of the core of one shape."""
    form = shape.data
    point = of_mesh(jnp.asarray(served.unit, form.scale.dtype), form.row) * form.scale[None]
    if form.point is None:
        return point
    more = jnp.broadcast_to(form.point[:1], (len(point) - len(form.point), 3))
    return jnp.where(form.kind == GeomType.HFIELD, jnp.concatenate([form.point, more]), point)


def _corners(routine: Routine, a: Shape, b: Shape, found: Located) -> Array:
    """Positions [2, 3, 3] (m), in the frame of each, of the points of both cores that make the feature."""
    both, number = (a, b), found.numbers()
    listed = jnp.stack([corners(routine.served, x.data, n) for x, n in zip(both, number)])
    if all(x.data.point is None for x in both):
        return listed
    own = corners_of_cores(*_whole(routine, a, b), found)
    return jnp.where((jnp.stack([x.data.kind for x in both]) == GeomType.HFIELD)[:, None, None], own, listed)
