"""The order in which MuJoCo finds contacts, for what depends on it: the engine's own is by the types of geoms."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.collision.compact import gather
from jaxsim.collision.pairs import candidate_pairs
from jaxsim.collision.slots import ContactSlots, fixed_pairs, of_geoms, of_slots, pairs_of
from jaxsim.core.data import Data
from jaxsim.core.enums import DisableBit, GeomType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology

Array = jax.Array


def in_order(m: Model, d: Data, slots: ContactSlots) -> np.ndarray | Array:
    """The slots [n] in MuJoCo's order of contacts (mj_collision); of one pair, in that of their collider.

    Host integers where the order is always the same. Otherwise slots are counted against each other: with pairs that
    come 5th, 2nd and 5th, slots 0 and 2 have 1 and 2 before them, and the order is 1 0 2.
    """
    rank = ranks(m.topology, int(m.opt.disableflags))
    corners = _corners(m, d, slots)
    if slots.pair is None and corners is None:
        return np.argsort(rank[fixed_pairs(m)], kind="stable")
    own = of_slots(m, slots, jnp.asarray(rank, jnp.int32))
    own = own if corners is None else 8 * own + corners
    slot = np.arange(own.shape[0], dtype=np.int32)
    earlier = (own[None] < own[:, None]) | ((own[None] == own[:, None]) & (slot[None] < slot[:, None]))
    place = jnp.sum(earlier, axis=1, dtype=jnp.int32)
    return jnp.sum(jnp.where(place[None] == slot[:, None], slot[None], 0), axis=1, dtype=jnp.int32)


def _corners(m: Model, d: Data, slots: ContactSlots) -> Array | None:
    """[n] which of the eight corners of a box on a plane a contact is at; 0 for others, None if there are no such.

    Their collider gives corners that are opposite each other the same place, which MuJoCo does not.
    """
    pairs = pairs_of(m)
    boxes = (m.geom_type[pairs.geom1] == GeomType.PLANE) & (m.geom_type[pairs.geom2] == GeomType.BOX)
    if not boxes.any():
        return None
    pos, mat = jnp.split(of_geoms(m, slots, 1, jnp.concatenate([d.geom_xpos, d.geom_xmat], axis=1)), [3], axis=1)
    beyond = vector.matvec_t(mat.reshape(-1, 3, 3), slots.pos - pos) > 0
    corner = jnp.sum(jnp.where(beyond, jnp.asarray([[1, 2, 4]], jnp.int32), 0), axis=1, dtype=jnp.int32)
    return jnp.where(of_slots(m, slots, jnp.asarray(boxes)), corner, 0)


def reorder(x: Array, order: np.ndarray | Array) -> Array:
    """Rows of x [n, ...] in an order [n], of the host or traced."""
    return take(x, order) if isinstance(order, np.ndarray) else gather(x, order)


@per_topology
def ranks(t: Topology, disableflags: int) -> np.ndarray:
    """The place [npair] of each candidate pair in MuJoCo's order.

    By the two bodies, the lower one first; of two bodies explicit pairs come before others. These follow the geoms
    of the lower body, or, where a tree of boxes found them, the geoms of the lower type.
    """
    pairs = candidate_pairs(t, disableflags)
    geoms = np.stack([pairs.geom1, pairs.geom2])
    bodies = np.asarray(t.geom_bodyid)[geoms]
    low, high = bodies.min(0), bodies.max(0)
    count = np.asarray(t.body_geomnum)
    by_tree = ((count[low] > 1) | (count[high] > 1)) & (not disableflags & DisableBit.MIDPHASE)
    turned = (bodies[0] > bodies[1]) & ~by_tree
    first, second = np.where(turned, geoms[::-1], geoms)
    explicit = np.where(pairs.pair >= 0, pairs.pair, t.npair)
    rank = np.empty(len(pairs), int)
    rank[np.lexsort((second, first, explicit, high, low))] = np.arange(len(pairs))
    return rank
