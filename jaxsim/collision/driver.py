"""Collision detection: broadphase, colliders, and the slots that their contacts go into (mj_collision)."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.collision.broadphase import Near, near_pairs, tiles
from jaxsim.collision.budget import TILES, budgets_of, group_name
from jaxsim.collision.compact import chosen, gather
from jaxsim.collision.pairs import Pairs, groups
from jaxsim.collision.params import PairParams, pair_params
from jaxsim.collision.shape import NO_CONTACT, Candidates, Shape
from jaxsim.collision.slots import ContactSlots, fill_slots, fixed_pairs, group_budget, pairs_of
from jaxsim.collision.table import COLLIDERS
from jaxsim.core.data import Data
from jaxsim.core.enums import MINVAL, GeomType
from jaxsim.core.model import Model

Array = jax.Array

SLACK = 1 + 1e-5  # of the broadphase, for rounding


def collide(m: Model, d: Data) -> ContactSlots | None:
    """Find the contacts of all candidate pairs, in `model.nconmax` slots; None if there are no candidates.

    Reads geom_xpos [ngeom, 3] (m) and geom_xmat [ngeom, 9].
    """
    pairs, flags = pairs_of(m), int(m.opt.disableflags)
    if not len(pairs):
        return None
    plan, demand = tiles(m.topology, flags), {}
    params = pair_params(m, pairs) if plan is None else None
    near = None
    if plan is not None:
        near = near_pairs(m, d, budgets_of(m.topology)[TILES])
        demand[TILES] = near.demand
    parts, rows = [], []
    for kinds, index in groups(pairs, m.topology):
        tiled = np.zeros(0, int) if plan is None else np.setdiff1d(index, plan.loose, assume_unique=True)
        loose = index if plan is None else np.intersect1d(index, plan.loose, assume_unique=True)
        if len(loose):
            members = pairs.rows(loose)
            reach = _reach(pair_params(m, members)) if params is None else take(_reach(params), loose)
            slots = None
            if params is not None:
                slots, needed = _broadphase(m, d, members, reach)
                demand[group_name(kinds)] = needed
            parts.append(_test(m, d, kinds, members, reach, slots))
            rows.append(_rows(loose, slots, COLLIDERS[kinds][1]))
        if len(tiled):
            row, needed = _of_tiles(m, near, kinds, index)
            demand[group_name(kinds)] = needed
            parts.append(_test(m, d, kinds, pairs, None, row))
            rows.append(jnp.repeat(row, COLLIDERS[kinds][1]))
    pair = None if fixed_pairs(m) is not None else jnp.concatenate(rows)
    found = Candidates(*(jnp.concatenate(x) if len(x) > 1 else x[0] for x in zip(*parts)))
    return fill_slots(m, found, pair, params, demand)


def _reach(params: PairParams) -> Array:
    """[n] the distance (m) up to which contacts are detected."""
    return params.margin + params.gap


def _of_tiles(m: Model, near: Near, kinds: tuple[int, int], index: np.ndarray) -> tuple[Array, Array]:
    """The pairs of two types, rows of the table in slots, that the tiles let through, and how many there are."""
    here = near.near & (near.row >= int(index[0])) & (near.row <= int(index[-1]))
    size = group_budget(m.topology, kinds, len(index)) or len(index)
    slot = chosen(here, min(size, here.shape[0]))
    npair = len(pairs_of(m))
    row = jnp.where(slot < here.shape[0], gather(near.row, slot), npair)
    return row, jnp.sum(here, dtype=jnp.int32)


def _test(
    m: Model, d: Data, kinds: tuple[int, int], pairs: Pairs, reach: Array | None, near: Array | None
) -> Candidates:
    """Candidates of all pairs of one type, or of those that the broadphase lets through, in a row."""
    collider, ncon = COLLIDERS[kinds]
    if near is None:
        a, b = _shapes(m, d, pairs.geom1), _shapes(m, d, pairs.geom2)
    else:
        a, b = (_gather_shapes(m, d, g, near) for g in (pairs.geom1, pairs.geom2))
        reach = _reach(pair_params(m, pairs, near)) if reach is None else gather(reach, near)
        reach = jnp.where(near < len(pairs), reach, -NO_CONTACT)
    found = jax.vmap(collider)(a, b, reach)
    found = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), found)
    reach = jnp.broadcast_to(reach[:, None], (*reach.shape, ncon)).reshape(-1)
    return found._replace(dist=jnp.where(found.dist <= reach, found.dist, NO_CONTACT))


def _rows(index: np.ndarray, near: Array | None, ncon: int) -> Array:
    """The pair of each candidate, for pairs that are all tested or chosen by the broadphase."""
    if near is None:
        return jnp.asarray(np.repeat(index, ncon), jnp.int32)
    return jnp.repeat(gather(jnp.asarray(index, jnp.int32), near), ncon)


def _shapes(m: Model, d: Data, geom: np.ndarray) -> Shape:
    mat = take(d.geom_xmat, geom).reshape(-1, 3, 3)
    return Shape(take(d.geom_xpos, geom), mat, take(m.geom_size, geom))


def _gather_shapes(m: Model, d: Data, geom: np.ndarray, near: Array) -> Shape:
    index = gather(jnp.asarray(geom, jnp.int32), near)
    mat = gather(d.geom_xmat, index).reshape(-1, 3, 3)
    return Shape(gather(d.geom_xpos, index), mat, gather(m.geom_size, index))


def _broadphase(m: Model, d: Data, pairs: Pairs, reach: Array) -> tuple[Array | None, Array]:
    """Pairs that are not apart along the line of their centres, in slots, and how many there are.

    None means that all pairs are to be tested. `reach` [n] is the distance (m) up to which contacts count.
    """
    kinds = (int(m.geom_type[pairs.geom1[0]]), int(m.geom_type[pairs.geom2[0]]))
    size = group_budget(m.topology, kinds, len(pairs))
    if size is None:
        return None, jnp.zeros((), jnp.int32)
    offset = take(d.geom_xpos, pairs.geom1) - take(d.geom_xpos, pairs.geom2)
    apart = vector.norm(offset)
    line = offset / jnp.maximum(apart, MINVAL)[:, None]
    bound = _extent(m, d, pairs.geom1, line) + _extent(m, d, pairs.geom2, line) + reach
    near = apart < bound * SLACK
    return chosen(near, size), jnp.sum(near, dtype=jnp.int32)


def _extent(m: Model, d: Data, geom: np.ndarray, line: Array) -> Array:
    """How far geoms of one type reach from their centres along unit vectors [n, 3]: [n], m."""
    kind, size = m.geom_type[geom[0]], take(m.geom_size, geom)
    if kind == GeomType.SPHERE:
        return size[:, 0]
    if kind == GeomType.CAPSULE:
        axis = take(d.geom_xmat, geom)[:, 2::3]
        return size[:, 0] + size[:, 1] * jnp.abs(vector.dot(axis, line))
    if kind == GeomType.BOX:
        return vector.dot(size, jnp.abs(vector.matvec_t(take(d.geom_xmat, geom).reshape(-1, 3, 3), line)))
    return take(m.geom_rbound, geom)
