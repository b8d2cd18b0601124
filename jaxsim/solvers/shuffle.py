"""The order in which MuJoCo's PGS visits the blocks of rows: shuffled anew for every sweep, always the same way.

Fisher and Yates's shuffle swaps place i, from the last one down, with one up to i that a random number picks. The
numbers are those of the generator PCG32 from a fixed seed, so all sweeps of all worlds read one table of them.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Array = jax.Array

MULTIPLIER = 6364136223846793005  # of PCG32's congruential generator modulo 2^64, whose increment is 1


@functools.lru_cache(maxsize=16)
def draws(count: int) -> np.ndarray:
    """The first numbers [count] of 32 bits."""
    factors = np.full(max(count, 1), MULTIPLIER, np.uint64)
    factors[0] = 1
    state = np.cumsum(np.cumprod(factors, dtype=np.uint64), dtype=np.uint64)  # 1, a + 1, a^2 + a + 1 ...
    mixed = (((state >> np.uint64(18)) ^ state) >> np.uint64(27)).astype(np.uint32)
    turn = (state >> np.uint64(59)).astype(np.uint32)
    return (mixed >> turn) | (mixed << ((32 - turn) & np.uint32(31)))


def shuffled(order: Array, count: Array, sweep: Array, table: np.ndarray) -> Array:
    """`order` [n] with its first `count` [] entries shuffled, from the order after the sweep before.

    Args:
        order: [n] at the end of the last shuffle.
        count: [] the entries that take part; the others stay.
        sweep: [] counted from zero, which says where in the table of draws this one begins.
        table: `draws`, at least n - 1 for each sweep.
    """
    n = len(order)
    if n < 2:
        return order
    place = np.arange(n - 1, 0, -1, dtype=np.int32)
    at = jnp.clip(sweep * (count - 1) + (count - 1 - place), 0, len(table) - 1)
    numbers = jnp.asarray(table).at[at].get(mode="promise_in_bounds")
    partner = (numbers % (place.astype(np.uint32) + 1)).astype(jnp.int32)
    index = np.arange(n, dtype=np.int32)

    def swap(order: Array, row: Any) -> tuple[Array, None]:
        i, j = row
        here = order.at[i].get(mode="promise_in_bounds")
        there = order.at[j].get(mode="promise_in_bounds")
        swapped = jnp.where(index == j, here, jnp.where(index == i, there, order))
        return jnp.where(i < count, swapped, order), None

    return lax.scan(swap, order, (place, partner))[0]
