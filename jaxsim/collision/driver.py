"""Collision detection: broadphase, colliders, and the contact buffer (mj_collision)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.collision.compact import gather, rank_by, rank_in_order, slots_from_rank
from jaxsim.collision.pairs import Pairs, candidate_pairs, groups
from jaxsim.collision.params import pair_params
from jaxsim.collision.shape import NO_CONTACT, Contacts, Shape, make_frame
from jaxsim.collision.table import COLLIDERS
from jaxsim.core.data import Contact, Data, counted, empty_contact
from jaxsim.core.enums import MINVAL, GeomType, WarningType
from jaxsim.core.model import Model

Array = jax.Array

# groups of this few pairs skip the broadphase: testing them all costs less than choosing
SMALL_GROUP = 24
SLACK = 1 + 1e-5  # of the broadphase, for rounding


class Touching(NamedTuple):
    """The contacts of one world in `nslot` slots, with what the constraints need of them.

    `pair` [nslot] is the row of the candidate table: a numpy array where each slot belongs to one
    candidate for good, traced where slots were filled by choice. Idle slots have dist = NO_CONTACT.
    """

    dist: Array
    pos: Array
    frame: Array
    pair: np.ndarray | Array
    detected: Array
    overflow: Array


def pairs_of(m: Model) -> Pairs:
    """The candidate table of a model."""
    return candidate_pairs(m.topology, int(m.opt.disableflags))


def collide(m: Model, d: Data) -> Touching | None:
    """Find the contacts of all candidate pairs; None if there are no candidates."""
    pairs = pairs_of(m)
    if not len(pairs):
        return None
    detection = _detection_distance(m, pairs)
    parts, rows, overflow = [], [], jnp.zeros((), bool)
    for (type1, type2), index in groups(pairs, m.topology):
        collider, ncon = COLLIDERS[type1, type2]
        near, overflowed = _broadphase(m, d, pairs.rows(index), take(detection, index))
        overflow = overflow | overflowed
        chosen = pairs.rows(index)
        margin = take(detection, index)
        if near is None:
            a, b = _shapes(m, d, chosen.geom1), _shapes(m, d, chosen.geom2)
            row: np.ndarray | Array = index
        else:
            a, b = (_gather_shapes(m, d, g, near) for g in (chosen.geom1, chosen.geom2))
            margin = jnp.where(near < len(index), gather(margin, near), -NO_CONTACT)
            row = gather(jnp.asarray(index, jnp.int32), near)
        found = jax.vmap(collider)(a, b, margin)
        found = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), found)
        reach = jnp.broadcast_to(margin[:, None], (*margin.shape, ncon)).reshape(-1)
        parts.append(found._replace(dist=jnp.where(found.dist <= reach, found.dist, NO_CONTACT)))
        rows.append(np.repeat(row, ncon) if isinstance(row, np.ndarray) else jnp.repeat(row, ncon))
    return _fill(m, _concatenate(parts), _concatenate_rows(rows), overflow)


def _detection_distance(m: Model, pairs: Pairs) -> Array:
    """margin + gap of each pair: contacts closer than this are detected."""
    params = pair_params(m, pairs)
    return params.margin + params.gap


def _shapes(m: Model, d: Data, geom: np.ndarray) -> Shape:
    mat = take(d.geom_xmat, geom).reshape(-1, 3, 3)
    return Shape(take(d.geom_xpos, geom), mat, take(m.geom_size, geom))


def _gather_shapes(m: Model, d: Data, geom: np.ndarray, near: Array) -> Shape:
    index = gather(jnp.asarray(geom, jnp.int32), near)
    mat = gather(d.geom_xmat, index).reshape(-1, 3, 3)
    return Shape(gather(d.geom_xpos, index), mat, gather(m.geom_size, index))


def _broadphase(m: Model, d: Data, pairs: Pairs, reach: Array) -> tuple[Array | None, Array]:
    """Pairs that are not apart along the line of their centres, in slots, and whether the slots were too few.

    None means that all pairs are to be tested.
    """
    size = min(len(pairs), max(SMALL_GROUP, 3 * int(m.nconmax) // 2))
    no = jnp.zeros((), bool)
    is_flat = m.geom_type[pairs.geom1[0]] in (GeomType.PLANE, GeomType.HFIELD)
    if len(pairs) <= size or is_flat:
        return None, no
    offset = take(d.geom_xpos, pairs.geom1) - take(d.geom_xpos, pairs.geom2)
    apart = vector.norm(offset)
    line = offset / jnp.maximum(apart, MINVAL)[:, None]
    bound = _extent(m, d, pairs.geom1, line) + _extent(m, d, pairs.geom2, line) + reach
    near = apart < bound * SLACK
    rank = rank_in_order(near)
    return slots_from_rank(rank, size), jnp.sum(near, dtype=jnp.int32) > size


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


def _concatenate(parts: list[Contacts]) -> Contacts:
    return Contacts(*(jnp.concatenate(x) if len(x) > 1 else x[0] for x in zip(*parts)))


def _concatenate_rows(rows: list[np.ndarray | Array]) -> np.ndarray | Array:
    if all(isinstance(r, np.ndarray) for r in rows):
        return np.concatenate(rows)
    return jnp.concatenate([jnp.asarray(r, jnp.int32) for r in rows])


def _fill(m: Model, found: Contacts, row: np.ndarray | Array, overflow: Array) -> Touching:
    """Put detected contacts into slots; deepest first where there are more candidates than slots."""
    n, size = found.dist.shape[0], int(m.nconmax)
    active = found.dist < NO_CONTACT
    detected = jnp.sum(active, dtype=jnp.int32)
    if n > size:
        slot = slots_from_rank(rank_by(found.dist), size)
        found = Contacts(*(gather(x, slot) for x in found))
        row = gather(jnp.asarray(row, jnp.int32), slot)
    frame = make_frame(found.normal, found.tangent)
    return Touching(found.dist, found.pos, frame, row, detected, overflow | (detected > size))


def contact_buffer(m: Model, d: Data, touching: Touching | None) -> Data:
    """Write `data.contact`, active contacts first, `ncon`, and the overflow warning."""
    if touching is None:
        return d.replace(contact=empty_contact(m), ncon=jnp.zeros((), jnp.int32))
    pairs, size = pairs_of(m), int(m.nconmax)
    active = touching.dist < NO_CONTACT
    order = slots_from_rank(rank_in_order(active), size)
    idle = order >= touching.dist.shape[0]
    params = pair_params(m, pairs)
    table = jnp.concatenate(
        [params.margin[:, None], params.friction, params.solref, params.solreffriction, params.solimp], axis=1
    )
    row = gather(jnp.asarray(touching.pair, jnp.int32), order)
    chosen = gather(table, row)
    ints = gather(jnp.asarray(np.stack([pairs.condim, pairs.geom1, pairs.geom2], axis=1), jnp.int32), row)
    ints = jnp.where(idle[:, None], jnp.asarray([[0, -1, -1]], jnp.int32), ints)
    geometry = jnp.concatenate([touching.dist[:, None], touching.pos, touching.frame.reshape(-1, 9)], axis=1)
    geometry = gather(geometry, order)
    contact = Contact(
        {
            "dist": jnp.where(idle, NO_CONTACT, geometry[:, 0]),
            "pos": geometry[:, 1:4],
            "frame": geometry[:, 4:],
            "includemargin": chosen[:, 0],
            "friction": chosen[:, 1:6],
            "solref": chosen[:, 6:8],
            "solreffriction": chosen[:, 8:10],
            "solimp": chosen[:, 10:],
            "dim": ints[:, 0],
            "geom": ints[:, 1:],
        }
    )
    warning = counted(d.warning, WarningType.CONTACTFULL, touching.overflow)
    return d.replace(contact=contact, ncon=jnp.minimum(touching.detected, size), warning=warning)
