"""Choosing some of many candidates into a fixed number of slots, without sorting or scattering.

Ranks come from counting, so the choice is the same alone, in a batch and permuted, and vectorises over
worlds. All costs are products of the two sizes; both are small. Five candidates of which three are active:

    active           0 1 1 0 1
    rank_in_order    5 0 1 5 2
    slots_from_rank  1 2 4 5       of 4 slots: the last stays empty, which 5, one past the end, says
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra.select import product

Array = jax.Array


def rank_in_order(active: Array) -> Array:
    """[n] place of each active candidate among the active ones, in table order; idle ones get n."""
    n = active.shape[0]
    # row i counts the active ones before i
    before = product(np.tril(np.ones((n, n)), -1), active.astype(jnp.float32))
    return jnp.where(active, before.astype(jnp.int32), n)


def rank_by(key: Array) -> Array:
    """[n] place of each candidate by ascending key, ties in table order."""
    n = key.shape[0]
    # j beats k if its key is lower, or the same and j stands first; the rank of k is how many beat it
    first = jnp.asarray(np.triu(np.ones((n, n), bool), 1))
    beats = (key[:, None] < key[None, :]) | ((key[:, None] == key[None, :]) & first)
    return _count(np.ones((1, n)), beats)


def slots_from_rank(rank: Array, size: int) -> Array:
    """[size] candidate index in each slot, and n where the slot stays empty."""
    n = rank.shape[0]
    # at most one candidate i is here: n + (i - n) where there is one, n where there is none
    here = rank[:, None] == np.arange(size, dtype=np.int32)[None]
    return n + _count(np.arange(-n, 0)[None], here)


def _count(weight: np.ndarray, flags: Array) -> Array:
    """weight [1, n] times flags [n, k]: [k]. A product, so XLA stores it, and exact for these small integers."""
    return product(weight, flags.astype(jnp.float32))[0].astype(jnp.int32)


def gather(table: Array, index: Array) -> Array:
    """Rows [k, ...] of a table [n, ...] at traced indices [k]; an index past the end gives the last row."""
    last = table.shape[0] - 1
    return table.at[jnp.minimum(index, last)].get(mode="promise_in_bounds")
