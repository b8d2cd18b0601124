"""MuJoCo's order of contacts, for what depends on it: sensors, and solvers that visit one contact after the other.

The engine's slots are sorted by types of geoms, MuJoCo's contacts by bodies and then by geoms, those of explicit
pairs first. With a box 0 on the floor and a ball 1 on the box, bodies 1 and 2:

    slots      plane-ball | plane-box ... | ball-box
    MuJoCo's   plane-box ... | plane-ball | box-ball
"""

from typing import NamedTuple

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


class ContactOrder(NamedTuple):
    """The slot [n] that stands at each place of MuJoCo's order, and the place [n] of each slot; numpy where static."""

    slot: np.ndarray | Array
    place: np.ndarray | Array

    def sorted(self, x: Array) -> Array:
        """What is given for each slot [n, ...], in MuJoCo's order."""
        return _rows(x, self.slot)

    def unsorted(self, x: Array) -> Array:
        """What is given in MuJoCo's order [n, ...], for each slot."""
        return _rows(x, self.place)


def contact_order(m: Model, d: Data, slots: ContactSlots) -> ContactOrder:
    """MuJoCo's order of the slots (mj_collision); contacts of one pair keep that of their collider.

    Slots are counted against each other, unless the order is always the same: with pairs that come 5th, 2nd and 5th,
    slots 0 and 2 have 1 and 2 before them, and the order is 1 0 2.
    """
    rank = ranks(m.topology, int(m.opt.disableflags))
    corners = _corners(m, d, slots)
    if slots.pair is None and corners is None:
        fixed = np.argsort(rank[fixed_pairs(m)], kind="stable")
        return ContactOrder(fixed, np.argsort(fixed))
    own = of_slots(m, slots, jnp.asarray(rank, jnp.int32))
    own = own if corners is None else 8 * own + corners
    index = np.arange(own.shape[0], dtype=np.int32)
    earlier = (own[None] < own[:, None]) | ((own[None] == own[:, None]) & (index[None] < index[:, None]))
    place = jnp.sum(earlier, axis=1, dtype=jnp.int32)
    slot = jnp.sum(jnp.where(place[None] == index[:, None], index[None], 0), axis=1, dtype=jnp.int32)
    return ContactOrder(slot, place)


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


def _rows(x: Array, index: np.ndarray | Array) -> Array:
    return take(x, index) if isinstance(index, np.ndarray) else gather(x, index)
