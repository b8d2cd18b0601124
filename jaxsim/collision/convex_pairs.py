"""The convex routine for many pairs: in parts, each for the pairs of all worlds that need it, side by side.

Slots for pairs are for the worst: few of them are taken as a rule, and of those that are taken many are found to be
apart, and few of the others overlap. So each part of the search is asked for where the one before says so, and what
follows it, which is differentiated, where pairs are not apart.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.collision.compact import gather
from jaxsim.collision.convex.collider import contacts_of
from jaxsim.collision.convex.descent import is_curved
from jaxsim.collision.convex.form import Library, corners
from jaxsim.collision.convex.gjk import APART, OVERLAP
from jaxsim.collision.convex.penetration import (
    Accuracy,
    Located,
    Met,
    Search,
    corners_of_cores,
    deep,
    locate,
    penetration_at,
    sift,
)
from jaxsim.collision.shape import NO_CONTACT, Candidates, Shape
from jaxsim.core.enums import GeomType
from jaxsim.layout import where_asked

Array = jax.Array


class Routine(NamedTuple):
    """What all pairs of a program have in common.

    served: the cores of all geoms; pairs: what they may be; iterations: most steps of each search; several: whether
    faces and edges have a contact at each corner.
    """

    served: Library
    pairs: Met
    iterations: int
    several: bool


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

    def first(tolerance: Array, a: Shape, b: Shape, reach: Array):
        return sift(*_whole(served, a, b), reach, Accuracy(tolerance, routine.iterations))

    def second(met: Met):
        def run(tolerance, a, b, known):
            return deep(*_whole(served, a, b), known, Accuracy(tolerance, routine.iterations), met)

        return run

    def third(tolerance, a, b, known, within):
        return locate(*_whole(served, a, b), known, within, Accuracy(tolerance, routine.iterations), pairs.drums)

    def last(_, a: Shape, b: Shape, found: Located, reach: Array) -> Candidates:
        corner = _corners(served, a, b, found)
        a = a._replace(data=a.data._replace(point=None))
        exact = penetration_at(a, b, found, corner, pairs.drums)
        return contacts_of(served, a, b, exact, reach, several)

    known = where_asked(first)(asked, tolerance, *still, lax.stop_gradient(reach))
    near = asked & (known.state != APART)
    overlap = near & (known.state == OVERLAP)
    curved = is_curved(jnp.stack([a.data.kind, b.data.kind]), jnp.stack([a.data.round, b.data.round]))
    within: list[Search] = []
    if pairs.others:
        within.append(where_asked(second(pairs._replace(curves=False)))(overlap & ~curved, tolerance, *still, known))
    if pairs.curves:
        within.append(where_asked(second(pairs._replace(others=False)))(overlap & curved, tolerance, *still, known))
    way = jax.tree.map(lambda *x: _chosen(curved, *x), *within)
    found = where_asked(third)(near, tolerance, *still, known, way)
    made = where_asked(last)(near, None, a, b, found, reach)
    return made._replace(dist=jnp.where(near[:, None], made.dist, NO_CONTACT))


def _chosen(curved: Array, *found: Array) -> Array:
    """Of what was found [n, ...] by faces and by descent that which is for each pair, if there are both."""
    return jnp.where(curved.reshape(-1, *[1] * (found[0].ndim - 1)), found[-1], found[0])


def _whole(served: Library, a: Shape, b: Shape) -> tuple[Shape, Shape]:
    """Two shapes with the points of their cores."""
    first, second = (x._replace(data=x.data._replace(point=_points(served, x))) for x in (a, b))
    return first, second


def _points(served: Library, shape: Shape) -> Array:
    """Points [n, 3] (m) of the core of one shape."""
    form = shape.data
    unit = gather(jnp.asarray(served.unit, form.scale.dtype), form.row) if len(served.unit) > 1 else served.unit[0]
    point = jnp.asarray(unit, form.scale.dtype) * form.scale[None]
    if form.point is None:
        return point
    more = jnp.broadcast_to(form.point[:1], (len(point) - len(form.point), 3))
    return jnp.where(form.kind == GeomType.HFIELD, jnp.concatenate([form.point, more]), point)


def _corners(served: Library, a: Shape, b: Shape, found: Located) -> Array:
    """Positions [2, 3, 3] (m), in the frame of each, of the points of both cores that make the feature."""
    both, number = (a, b), found.numbers()
    listed = jnp.stack([corners(served, x.data, n) for x, n in zip(both, number)])
    if all(x.data.point is None for x in both):
        return listed
    own = corners_of_cores(*_whole(served, a, b), found)
    return jnp.where((jnp.stack([x.data.kind for x in both]) == GeomType.HFIELD)[:, None, None], own, listed)
