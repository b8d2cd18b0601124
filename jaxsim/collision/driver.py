"""Collision detection: broadphase, colliders, and the slots that their contacts go into (mj_collision)."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.collision.compact import chosen, gather
from jaxsim.collision.pairs import Pairs, groups
from jaxsim.collision.params import pair_params
from jaxsim.collision.shape import NO_CONTACT, Candidates, Shape
from jaxsim.collision.slots import ContactSlots, broadphase_size, fill_slots, fixed_pairs, pairs_of
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
    pairs = pairs_of(m)
    if not len(pairs):
        return None
    params = pair_params(m, pairs)
    reach = params.margin + params.gap  # contacts closer than this are detected
    parts, rows, overflow = [], [], jnp.zeros((), bool)
    fixed = fixed_pairs(m) is not None
    for (type1, type2), index in groups(pairs, m.topology):
        members = pairs.rows(index)
        near, overflowed = _broadphase(m, d, members, take(reach, index))
        overflow = overflow | overflowed
        found = _test(m, d, (type1, type2), members, take(reach, index), near)
        parts.append(found)
        if not fixed:
            rows.append(_rows(index, near, COLLIDERS[type1, type2][1]))
    pair = None if fixed else jnp.concatenate(rows)
    found = Candidates(*(jnp.concatenate(x) if len(x) > 1 else x[0] for x in zip(*parts)))
    return fill_slots(m, found, pair, params, overflow)


def _test(m: Model, d: Data, kinds: tuple[int, int], pairs: Pairs, reach: Array, near: Array | None) -> Candidates:
    """Candidates of all pairs of one type, or of those that the broadphase lets through, in a row."""
    collider, ncon = COLLIDERS[kinds]
    if near is None:
        a, b = _shapes(m, d, pairs.geom1), _shapes(m, d, pairs.geom2)
    else:
        a, b = (_gather_shapes(m, d, g, near) for g in (pairs.geom1, pairs.geom2))
        reach = jnp.where(near < len(pairs), gather(reach, near), -NO_CONTACT)
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
    """Pairs that are not apart along the line of their centres, in slots, and whether the slots were too few.

    None means that all pairs are to be tested. `reach` [n] is the distance (m) up to which contacts count.
    """
    size = broadphase_size(m.topology, pairs)
    if size is None:
        return None, jnp.zeros((), bool)
    offset = take(d.geom_xpos, pairs.geom1) - take(d.geom_xpos, pairs.geom2)
    apart = vector.norm(offset)
    line = offset / jnp.maximum(apart, MINVAL)[:, None]
    bound = _extent(m, d, pairs.geom1, line) + _extent(m, d, pairs.geom2, line) + reach
    near = apart < bound * SLACK
    return chosen(near, size), jnp.sum(near, dtype=jnp.int32) > size


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
