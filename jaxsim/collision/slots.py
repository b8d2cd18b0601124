"""The contact slots of a world, and the contact buffer of Data that people read.

Three things are called contact. Colliders give `Candidates`, a fixed number for each pair of geoms. What is
detected of them goes into `ContactSlots`: the engine's own, in an order of its own, and what the constraint
rows follow. `data.contact` is MuJoCo's view of them: active ones first, with geoms and parameters.

With 3 pairs of 2 candidates each and room for all 6, slot 5 always is the second candidate of pair 2, and
nothing is ever moved. With room for 4 the deepest 4 are chosen at run time; they keep their order.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra.select import take
from jaxsim.collision.broadphase import tiles
from jaxsim.collision.budget import CONTACTS, budgets_of, group_name
from jaxsim.collision.compact import chosen, deepest, gather
from jaxsim.collision.pairs import FLAT, Pairs, candidate_pairs, groups
from jaxsim.collision.params import PairParams, pair_params
from jaxsim.collision.shape import NO_CONTACT, Candidates, make_frame
from jaxsim.collision.user import Kinds, collider_of
from jaxsim.core.data import Contact, Data, counted, empty_contact
from jaxsim.core.enums import ContactLaw, GeomType, WarningType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology

Array = jax.Array


class ContactSlots(NamedTuple):
    """The contacts of one world in n slots, in the order of the contact rows; idle slots have dist = NO_CONTACT."""

    dist: Array  # [n] m
    pos: Array  # [n, 3] m
    frame: Array  # [n, 3, 3] rows are normal and tangents
    pair: Array | None  # [n] row of the candidate table; None where each slot belongs to one pair for good
    params: PairParams  # of all candidate pairs, or where these are many of the slots'; read it by `slot_params`
    detected: Array  # [] number of contacts found, also of those without a slot
    demand: Array  # [nbudget] how much each budget would have had to be
    asleep: Array | None = None  # [ntree] tree_asleep after contacts woke trees, where any may sleep


def pairs_of(m: Model) -> Pairs:
    """The candidate table of a model: the pairs [npair] of geoms that may collide."""
    return candidate_pairs(m.topology, int(m.opt.disableflags))


def fixed_pairs(m: Model) -> np.ndarray | None:
    """[n] the pair of each slot where every candidate has its own; None where slots are chosen at run time."""
    return _fixed_pairs(m.topology, int(m.opt.disableflags), int(m.opt.sdf_initpoints))


@per_topology
def _fixed_pairs(t: Topology, disableflags: int, sdf_initpoints: int) -> np.ndarray | None:
    pairs, index = candidate_pairs(t, disableflags), []
    for kinds, members in groups(pairs, t):
        if group_budget(t, kinds, len(members)) is not None:
            return None
        index.append(np.repeat(members, collider_of(t, kinds, sdf_initpoints)[1]))
    pair = np.concatenate(index)
    return pair if len(pair) <= int(t.nconmax) and tiles(t, disableflags) is None else None


def group_budget(t: Topology, kinds: Kinds, count: int) -> int | None:
    """How many of the pairs of two types go into their collider; None if all of them do."""
    if len(kinds) > 2:
        return None
    size = budgets_of(t).get(group_name(kinds), count)
    if kinds[0] == GeomType.HFIELD:
        return size  # a number of prisms
    return None if kinds[0] in FLAT or size >= count else size


def of_slots(m: Model, slots: ContactSlots, table: Array) -> Array:
    """What a table over the candidate pairs [npair, ...] says of the pair of each slot [n, ...]."""
    return take(table, fixed_pairs(m)) if slots.pair is None else gather(table, slots.pair)


def of_bodies(m: Model, slots: ContactSlots, side: int, table: Array | np.ndarray) -> Array:
    """What a table over the bodies [nbody, ...] says of the first (0) or second (1) body of each slot [n, ...]."""
    pairs = pairs_of(m)
    body = m.geom_bodyid[(pairs.geom1, pairs.geom2)[side]]
    if slots.pair is None:
        return take(jnp.asarray(table), body[fixed_pairs(m)])
    return gather(jnp.asarray(table), gather(jnp.asarray(body, jnp.int32), slots.pair))


def of_geoms(m: Model, slots: ContactSlots, side: int, table: Array) -> Array:
    """What a table over the geoms [ngeom, ...] says of the first (0) or second (1) geom of each slot [n, ...]."""
    pairs = pairs_of(m)
    geom = (pairs.geom1, pairs.geom2)[side]
    if slots.pair is None:
        return take(table, geom[fixed_pairs(m)])
    return gather(table, gather(jnp.asarray(geom, jnp.int32), slots.pair))


def slot_adhesion(m: Model, slots: ContactSlots) -> Array:
    """The adhesion of each slot [n] (N): that of its <pair>, of the geom of higher priority, or the sum of both."""
    own = jnp.stack([m.geom_adhesion, jnp.asarray(m.geom_priority, m.geom_adhesion.dtype)], axis=1)
    (a, first), (b, second) = (of_geoms(m, slots, side, own).T for side in (0, 1))
    mixed = jnp.where(first > second, a, jnp.where(first < second, b, a + b))
    if not m.npair:
        return mixed
    pair = of_slots(m, slots, jnp.asarray(pairs_of(m).pair, jnp.int32))
    return jnp.where(pair >= 0, gather(m.pair_adhesion, jnp.maximum(pair, 0)), mixed)


def slot_params(m: Model, slots: ContactSlots) -> PairParams:
    """The parameters of each slot's pair [n, ...]."""
    if slots.pair is None:
        return slots.params.rows(fixed_pairs(m))
    return slots.params if are_many(m) else slots.params.rows(slots.pair)


def detected(m: Model, slots: ContactSlots) -> Array:
    """[n] whether MuJoCo would list the contact of each slot: laws of our own detect some that are farther away."""
    if m.opt.contact == ContactLaw.SOFT:
        return slots.dist < NO_CONTACT
    params = slot_params(m, slots)
    return slots.dist <= params.margin + params.gap


def less_gap(m: Model, slots: ContactSlots, more: Array) -> ContactSlots:
    """The slots with the gaps of their pairs less by those of both geoms [ngeom] (m)."""
    if slots.pair is not None and are_many(m):
        both = of_geoms(m, slots, 0, more) + of_geoms(m, slots, 1, more)
    else:
        pairs = pairs_of(m)
        both = take(more, pairs.geom1) + take(more, pairs.geom2)
    return slots._replace(params=slots.params._replace(gap=slots.params.gap - both))


def are_many(m: Model) -> bool:
    """Whether the candidate pairs are so many that nothing is computed for all of them but where they are."""
    return tiles(m.topology, int(m.opt.disableflags)) is not None


def fill_slots(
    m: Model,
    found: Candidates,
    pair: Array | None,
    params: PairParams | None,
    demand: dict[str, Array],
    rank: Array | None = None,
) -> ContactSlots:
    """Put candidates [k] into slots: the deepest where too many are contacts, in the order of the candidate table.

    Args:
        m: the model.
        found: candidates of all pairs.
        pair: [k] the pair of each, None if it is fixed (see `fixed_pairs`).
        params: of all pairs; None where they are many.
        demand: [] by name of a budget, what it would have had to be; contacts are counted here.
        rank: [k] which are taken first where too many are contacts, the lowest; by default their dist. Those from zero
            on may be left out without being missed.
    """
    size, missed = int(m.nconmax), None
    if pair is None:
        detected = jnp.sum(found.dist < NO_CONTACT, dtype=jnp.int32)
    else:
        if rank is not None:
            missed = jnp.sum((found.dist < NO_CONTACT) & (rank < 0), dtype=jnp.int32)
        rank = found.dist if rank is None else jnp.where(found.dist < NO_CONTACT, rank, NO_CONTACT)
        deep, detected = deepest(rank, NO_CONTACT, size)
        slot = chosen(deep, size)
        idle = slot >= found.dist.shape[0]
        found, pair = Candidates(*(gather(x, slot) for x in found)), gather(pair, slot)
        found = found._replace(dist=jnp.where(idle, NO_CONTACT, found.dist))
    if params is None:
        params = pair_params(m, pairs_of(m), pair)
    frame = make_frame(found.normal, found.tangent)
    counts, zero = demand | {CONTACTS: detected if missed is None else missed}, jnp.zeros((), jnp.int32)
    names = budgets_of(m.topology)
    needed = jnp.stack([counts.get(name, zero) for name in names]) if names else jnp.zeros(0, jnp.int32)
    return ContactSlots(found.dist, found.pos, frame, pair, params, detected, needed)


def contact_buffer(m: Model, d: Data, slots: ContactSlots | None) -> Data:
    """Write `data.contact` [nconmax], active contacts first, `ncon` [], whom they woke, and the overflow warning."""
    if slots is None:
        return d.replace(contact=empty_contact(m), ncon=jnp.zeros((), jnp.int32))
    # with contacts in slots 1 and 3 of 4 the order is 1 3 4 4: two places of the buffer are idle
    order, idle = buffer_order(m, slots)
    pairs = pairs_of(m)
    # the pair first: what is the same in every world is then read from one small table
    pair = gather(jnp.asarray(fixed_pairs(m) if slots.pair is None else slots.pair, jnp.int32), order)
    params = slots.params if slots.pair is not None and are_many(m) else slots.params.rows(pair)
    ints = gather(jnp.asarray(np.stack([pairs.condim, pairs.geom1, pairs.geom2], axis=1), jnp.int32), pair)
    if m.hasadhesion:  # surfaces that stick to each other across a gap do so without friction
        apart = (gather(slot_adhesion(m, slots), order) != 0) & (gather(slots.dist, order) >= params.margin)
        ints = jnp.where(apart[:, None], jnp.minimum(ints, jnp.asarray([[1, m.ngeom, m.ngeom]], jnp.int32)), ints)
    ints = jnp.where(idle[:, None], jnp.asarray([[0, -1, -1]], jnp.int32), ints)
    # one table of 13 columns, so that the order is followed once
    geometry = jnp.concatenate([slots.dist[:, None], slots.pos, slots.frame.reshape(-1, 9)], axis=1)
    geometry = gather(geometry, order)
    contact = Contact(
        {
            "dist": jnp.where(idle, NO_CONTACT, geometry[:, 0]),
            "pos": geometry[:, 1:4],
            "frame": geometry[:, 4:],
            "includemargin": params.margin,
            "friction": params.friction,
            "solref": params.solref,
            "solreffriction": params.solreffriction,
            "solimp": params.solimp,
            "dim": ints[:, 0],
            "geom": ints[:, 1:],
        }
    )
    over = jnp.any(slots.demand > np.asarray(m.budget, np.int32))
    return d.replace(
        contact=contact,
        tree_asleep=d.tree_asleep if slots.asleep is None else slots.asleep,
        ncon=jnp.minimum(slots.detected, int(m.nconmax)),
        peak=jnp.maximum(d.peak, slots.demand),
        warning=counted(d.warning, WarningType.CONTACTFULL, over),
    )


def buffer_order(m: Model, slots: ContactSlots) -> tuple[Array, Array]:
    """The engine's slot in each place of `data.contact` [nconmax], and which places are idle [nconmax]."""
    if slots.pair is not None:  # active ones came first when the slots were chosen
        return jnp.arange(int(m.nconmax), dtype=jnp.int32), slots.dist >= NO_CONTACT
    order = chosen(slots.dist < NO_CONTACT, int(m.nconmax))
    return order, order >= slots.dist.shape[0]
