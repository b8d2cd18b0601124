"""Collision detection: broadphase, colliders, and the slots that their contacts go into (mj_collision)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.collision.ahead import gap_ahead, looking_ahead, reaching_far
from jaxsim.collision.bounds import centres, extent
from jaxsim.collision.broadphase import Near, near_pairs, tiles
from jaxsim.collision.budget import CELLS, TILES, budgets_of, group_name
from jaxsim.collision.colliders.plane_mesh import plane_mesh
from jaxsim.collision.compact import chosen, gather
from jaxsim.collision.convex.collider import convex
from jaxsim.collision.convex.form import Library, cells, is_large, library
from jaxsim.collision.convex.penetration import met
from jaxsim.collision.convex_pairs import Routine, convex_pairs
from jaxsim.collision.height_field import PRISM, prisms
from jaxsim.collision.hulls import facets, is_whole
from jaxsim.collision.pairs import Pairs, groups
from jaxsim.collision.params import PairParams, pair_params
from jaxsim.collision.plane_pairs import has_many_vertices, on_planes
from jaxsim.collision.rouse import roused
from jaxsim.collision.sdf.collider import Part, fields_met
from jaxsim.collision.sdf.contact import sdf_contacts
from jaxsim.collision.sdf.mesh import mesh_contacts, triangle_contact
from jaxsim.collision.shape import NO_CONTACT, Candidates, Shape
from jaxsim.collision.shapes import formed, shapes_of
from jaxsim.collision.slots import ContactSlots, fill_slots, fixed_pairs, group_budget, less_gap, pairs_of
from jaxsim.collision.sphere_pairs import have_few_faces, spheres_on_meshes
from jaxsim.collision.table import Collider
from jaxsim.collision.user import Kinds, collider_of
from jaxsim.core.data import Data
from jaxsim.core.enums import MINVAL, ContactLaw, DisableBit, GeomType
from jaxsim.core.model import Model

Array = jax.Array

SLACK = 1 + 1e-5  # of the broadphase, for rounding


def collide(m: Model, d: Data) -> ContactSlots | None:
    """Find the contacts of all candidate pairs, in `model.nconmax` slots; None if there are no candidates.

    Reads geom_xpos [ngeom, 3] (m) and geom_xmat [ngeom, 9].
    """
    if not len(pairs_of(m)):
        return None
    if m.opt.contact == ContactLaw.SOFT:
        return _collide(m, d)
    reaching, ahead = looking_ahead(m, d) if m.opt.contact.rigid else reaching_far(m)
    return less_gap(m, _collide(reaching, d), ahead)


def _collide(m: Model, d: Data) -> ContactSlots:
    pairs, flags = pairs_of(m), int(m.opt.disableflags)
    plan, demand = tiles(m.topology, flags), {}
    params = pair_params(m, pairs) if plan is None else None
    near = None
    if plan is not None:
        near = near_pairs(m, d, budgets_of(m.topology)[TILES])
        demand[TILES] = near.demand
    tests: list[_Tests] = []
    rows = []
    for kinds, index in groups(pairs, m.topology):
        if kinds[0] == GeomType.HFIELD:
            members = pairs.rows(index)
            under, demands = _prism_tests(m, d, kinds, members)
            demand |= {name: jnp.maximum(demand.get(name, 0), x) for name, x in demands.items()}
            tests.append(under)
            rows.append(gather(jnp.asarray([*index, len(pairs)], jnp.int32), under.pair))
            continue
        tiled = np.zeros(0, int) if plan is None else np.setdiff1d(index, plan.loose, assume_unique=True)
        loose = index if plan is None else np.intersect1d(index, plan.loose, assume_unique=True)
        if len(loose):
            members = pairs.rows(loose)
            reach = _reach(pair_params(m, members)) if params is None else take(_reach(params), loose)
            slots = None
            if params is not None:
                slots, needed = _broadphase(m, d, members, reach)
                if len(kinds) == 2:
                    demand[group_name(kinds)] = needed
            if slots is None and _collider(m, kinds) in (convex, mesh_contacts):
                reach = jnp.where(_are_near(m, d, members, reach), reach, -NO_CONTACT)
            tests.append(_tests(m, kinds, members, reach, slots))
            rows.append(_rows(loose, slots, _count(m, kinds)))
        if len(tiled):
            row, needed = _of_tiles(m, near, kinds, index)
            if len(kinds) == 2:
                demand[group_name(kinds)] = needed
            tests.append(_tests(m, kinds, pairs, None, row))
            rows.append(jnp.repeat(row, _count(m, kinds)))
    pair = None if fixed_pairs(m) is not None else jnp.concatenate(rows)
    found = Candidates(*(jnp.concatenate(x) if len(x) > 1 else x[0] for x in zip(*_tested(m, d, tests))))
    asleep = None
    if m.nsleep:
        found, asleep = roused(m, d, found, pair)
    soonest = gap_ahead(m, d, found, pair) if m.opt.contact.rigid and pair is not None else None
    return fill_slots(m, found, pair, params, demand, soonest)._replace(asleep=asleep)


def _reach(params: PairParams) -> Array:
    """[n] the distance (m) up to which contacts are detected."""
    return params.margin + params.gap


def _of_tiles(m: Model, near: Near, kinds: Kinds, index: np.ndarray) -> tuple[Array, Array]:
    """The pairs of two types, rows of the table in slots, that the tiles let through, and how many there are."""
    here = near.near & (near.row >= int(index[0])) & (near.row <= int(index[-1]))
    size = group_budget(m.topology, kinds, len(index)) or len(index)
    slot = chosen(here, min(size, here.shape[0]))
    npair = len(pairs_of(m))
    row = jnp.where(slot < here.shape[0], gather(near.row, slot), npair)
    return row, jnp.sum(here, dtype=jnp.int32)


class _Tests(NamedTuple):
    """Pairs of two types that are to be tested: all in a row, or those that the broadphase lets through."""

    kinds: Kinds
    among: np.ndarray  # the geoms that may be among them
    geoms: tuple[np.ndarray | Array, np.ndarray | Array]  # [n] of each pair
    reach: Array  # [n] m
    prisms: Shape | None = None  # [n] in place of the first geom of each pair
    pair: Array | None = None  # [n] with those, which of the pairs; their number where there is none


def _prism_tests(m: Model, d: Data, kinds: Kinds, pairs: Pairs) -> tuple[_Tests, dict[str, Array]]:
    """Tests of geoms of one type with the prisms of height fields under them, and how much room they need by name."""
    reach, geoms = _reach(pair_params(m, pairs)), np.unique(pairs.geom2)
    served, budget = library(m.topology, tuple(geoms.tolist())), budgets_of(m.topology)
    found = prisms(m, d, pairs, reach, served, budget[CELLS], budget[group_name(kinds)])
    geom2 = gather(jnp.asarray(pairs.geom2, jnp.int32), found.pair)
    reach = jnp.where(found.pair < len(pairs), gather(reach, found.pair), -NO_CONTACT)
    tests = _Tests(kinds, geoms, (geom2, geom2), reach, found.shape, found.pair)
    return tests, {group_name(kinds): found.demand, CELLS: found.span}


def _tests(m: Model, kinds: Kinds, pairs: Pairs, reach: Array | None, near: Array | None) -> _Tests:
    """The tests of all pairs in a table, or of those [n] that are near."""
    among = np.unique(np.concatenate([pairs.geom1, pairs.geom2]))
    if near is None:
        assert reach is not None
        return _Tests(kinds, among, (pairs.geom1, pairs.geom2), reach)
    geom1, geom2 = (gather(jnp.asarray(g, jnp.int32), near) for g in (pairs.geom1, pairs.geom2))
    among = among[np.isin(m.geom_type[among], kinds)]
    reach = _reach(pair_params(m, pairs, near)) if reach is None else gather(reach, near)
    return _Tests(kinds, among, (geom1, geom2), jnp.where(near < len(pairs), reach, -NO_CONTACT))


def _tested(m: Model, d: Data, tests: list[_Tests]) -> list[Candidates]:
    """Candidates of each of the tests; those of the convex routine are made by one program or two."""
    t = m.topology
    found: dict[int, Candidates] = {}
    general = [i for i, x in enumerate(tests) if _collider(m, x.kinds) is convex]
    for i in list(general):
        x = tests[i]
        if x.kinds[:2] == (GeomType.SPHERE, GeomType.MESH) and have_few_faces(t, x.among):
            general.remove(i)
            found[i] = spheres_on_meshes(m, d, *x.geoms, x.among, x.reach)
    for large in (False, True):
        those = [i for i in general if any(is_large(t, int(g)) for g in tests[i].among) == large]
        found.update(zip(those, _convex_tested(m, d, [tests[i] for i in those])))
    for collider in (sdf_contacts, mesh_contacts, triangle_contact):
        those = [i for i, x in enumerate(tests) if _collider(m, x.kinds) is collider]
        if those:
            some = [tests[i] for i in those]
            found.update(zip(those, _split(fields_met(m, d, collider, [_part(m, x) for x in some]), some)))
    for i, x in enumerate(tests):
        if i in found:
            continue
        planes, meshes = x.geoms
        known = isinstance(planes, np.ndarray) and isinstance(meshes, np.ndarray)
        if known and _collider(m, x.kinds) is plane_mesh and has_many_vertices(m, np.asarray(meshes)):
            found[i] = on_planes(m, d, np.asarray(planes), np.asarray(meshes), x.reach)
        else:
            a, b = (shapes_of(m, d, g, x.among) for g in x.geoms)
            a = a if x.prisms is None else x.prisms
            found[i] = jax.vmap(_collider(m, x.kinds))(a, b, x.reach)
    return [_in_reach(found[i], x, _count(m, x.kinds)) for i, x in enumerate(tests)]


def _part(m: Model, tests: _Tests) -> Part:
    """The geoms of tests, or the triangles on top of prisms and the geoms."""
    top, of = tests.prisms, m.geom_type[tests.among]
    firsts, seconds = (tests.among[of == kind] for kind in tests.kinds[:2])
    first = tests.geoms[0] if top is None else top._replace(data=top.data.point[:, PRISM // 2 :])
    return Part(first, tests.geoms[1], firsts, seconds, tests.reach)


def _collider(m: Model, kinds: Kinds) -> Collider:
    return collider_of(m.topology, kinds, 0)[0]


def _count(m: Model, kinds: Kinds) -> int:
    return collider_of(m.topology, kinds, int(m.opt.sdf_initpoints))[1]


def _convex_tested(m: Model, d: Data, tests: list[_Tests]) -> list[Candidates]:
    """Candidates [n, 4] of tests by the convex routine, all at once."""
    if not tests:
        return []
    least = 1 if all(x.prisms is None for x in tests) else PRISM
    among = tuple(np.unique(np.concatenate([x.among for x in tests])).tolist())
    served = library(m.topology, among, least)
    several = not m.opt.disables(DisableBit.MULTICCD) and any(_count(m, x.kinds) > 1 for x in tests)
    geoms = np.flatnonzero((served.row >= 0) & (m.geom_type == GeomType.MESH))
    few = not any(is_large(m.topology, int(g)) for g in geoms)
    few = few and all(is_whole(m.topology, int(i)) for i in m.geom_dataid[geoms])
    pairs = met((x.kinds for x in tests), few)
    tables = facets(m.topology, served.row) if pairs.pins or pairs.knobs or pairs.bricks else ()
    searched = cells(m.topology, among) if least == 1 else None
    swell = m.opt.contact == ContactLaw.SOFT
    routine = Routine(served, pairs, m.opt.ccd_iterations, several, tables, searched, swell)
    a, b = (formed(m, d, _joined([x.geoms[i] for x in tests]), served, points=False) for i in (0, 1))
    if least > 1:
        a = jax.tree.map(lambda *x: jnp.concatenate(x), *(_with_room(m, d, x, served) for x in tests))
    reach = jnp.concatenate([x.reach for x in tests])
    return _split(convex_pairs(routine, a, b, reach, m.opt.ccd_tolerance), tests)


def _joined(index: list[np.ndarray | Array]) -> np.ndarray | Array:
    """Indices in a row, static ones if all are."""
    if all(isinstance(x, np.ndarray) for x in index):
        return np.concatenate(index)
    return jnp.concatenate([jnp.asarray(x, jnp.int32) for x in index])


def _split(found: Candidates, tests: list[_Tests]) -> list[Candidates]:
    """The candidates of each of the tests."""
    ends = np.cumsum([len(x.reach) for x in tests])
    return [Candidates(*(y[end - len(x.reach) : end] for y in found)) for x, end in zip(tests, ends)]


def _with_room(m: Model, d: Data, tests: _Tests, served: Library) -> Shape:
    """The first shapes [n] of tests, with room for the corners of prisms, of which other shapes have none."""
    if tests.prisms is not None:
        return tests.prisms
    shape = formed(m, d, tests.geoms[0], served, points=False)
    room = jnp.zeros((len(shape.pos), PRISM, 3), shape.pos.dtype)
    return shape._replace(data=shape.data._replace(point=room))


def _in_reach(found: Candidates, tests: _Tests, ncon: int) -> Candidates:
    """Candidates [n * k] in a row, as many of each pair as its types can have."""
    found = jax.tree.map(lambda x: x[:, :ncon].reshape(-1, *x.shape[2:]), found)
    reach = jnp.broadcast_to(tests.reach[:, None], (*tests.reach.shape, ncon)).reshape(-1)
    return found._replace(dist=jnp.where(found.dist <= reach, found.dist, NO_CONTACT))


def _rows(index: np.ndarray, near: Array | None, ncon: int) -> Array:
    """The pair of each candidate, for pairs that are all tested or chosen by the broadphase."""
    if near is None:
        return jnp.asarray(np.repeat(index, ncon), jnp.int32)
    return jnp.repeat(gather(jnp.asarray(index, jnp.int32), near), ncon)


def _broadphase(m: Model, d: Data, pairs: Pairs, reach: Array) -> tuple[Array | None, Array]:
    """Pairs that are not apart along the line of their centres, in slots, and how many there are.

    None means that all pairs are to be tested. `reach` [n] is the distance (m) up to which contacts count.
    """
    kinds = (int(m.geom_type[pairs.geom1[0]]), int(m.geom_type[pairs.geom2[0]]))
    size = group_budget(m.topology, kinds, len(pairs))
    if size is None:
        return None, jnp.zeros((), jnp.int32)
    near = _are_near(m, d, pairs, reach)
    return chosen(near, size), jnp.sum(near, dtype=jnp.int32)


def _are_near(m: Model, d: Data, pairs: Pairs, reach: Array) -> Array:
    """Which pairs of two types are not apart along the line of their centres: [n] bool."""
    offset = centres(m, d, pairs.geom1) - centres(m, d, pairs.geom2)
    apart = vector.norm(offset)
    line = offset / jnp.maximum(apart, MINVAL)[:, None]
    bound = _extent(m, d, pairs.geom1, line) + _extent(m, d, pairs.geom2, line) + reach
    return apart < bound * SLACK


def _extent(m: Model, d: Data, geom: np.ndarray, line: Array) -> Array:
    """How far geoms of one type reach from their centres along unit vectors [n, 3]: [n], m."""
    mat = take(d.geom_xmat, geom).reshape(-1, 3, 3)
    return extent(m, geom, vector.matvec_t(mat, line)[:, None])[:, 0]
