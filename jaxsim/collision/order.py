"""MuJoCo's order of contacts, which solvers that visit one contact after the other depend on.

The engine's slots are sorted by types of geoms, MuJoCo's contacts by bodies and then by geoms, those of explicit
pairs first. With a box 0 on the floor and a ball 1 on the box, bodies 1 and 2:

    slots      plane-ball | plane-box ... | ball-box
    MuJoCo's   plane-box ... | plane-ball | box-ball
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra.select import take
from jaxsim.collision.compact import gather
from jaxsim.collision.pairs import candidate_pairs
from jaxsim.collision.slots import ContactSlots, fixed_pairs, of_slots
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


def contact_order(m: Model, slots: ContactSlots) -> ContactOrder:
    """MuJoCo's order of the slots; contacts of one pair of geoms keep theirs."""
    rank = _ranks(m.topology, int(m.opt.disableflags))
    fixed = fixed_pairs(m)
    if fixed is not None:
        slot = np.argsort(rank[fixed], kind="stable")
        return ContactOrder(slot, np.argsort(slot))
    key = of_slots(m, slots, jnp.asarray(rank, jnp.int32))
    n = len(key)
    index = np.arange(n, dtype=np.int32)
    before = (key[:, None] > key[None]) | ((key[:, None] == key[None]) & (index[:, None] > index[None]))
    place = jnp.sum(before, axis=1, dtype=jnp.int32)
    return ContactOrder(jnp.sum(jnp.where(place[None] == index[:, None], index[None], 0), axis=1), place)


@per_topology
def _ranks(t: Topology, disableflags: int) -> np.ndarray:
    """[npair] where each candidate pair comes in MuJoCo's order."""
    pairs = candidate_pairs(t, disableflags)
    low, high = np.sort([pairs.geom1, pairs.geom2], axis=0)
    first, second = np.sort(np.asarray(t.geom_bodyid)[np.stack([low, high])], axis=0)
    automatic = pairs.pair < 0
    order = np.lexsort((np.where(automatic, high, 0), np.where(automatic, low, pairs.pair), automatic, second, first))
    return np.argsort(order)


def _rows(x: Array, index: np.ndarray | Array) -> Array:
    return take(x, index) if isinstance(index, np.ndarray) else gather(x, index)
