"""Choosing some of many candidates into a fixed number of slots, without sorting or scattering.

What is chosen follows from counting whole numbers, so it is the same alone, in a batch and permuted, and it
vectorises over worlds. Flags are packed 32 to a word: the candidates themselves are read once, and everything else
costs a 32nd of that, or a few operations for each slot. With words of 4 bits, written from the left:

    active           0110 0000 1001    candidates 1, 2, 8 and 11
    ends               2    2    4     active ones up to the end of each word
    slot 2 is in the third word, the first whose end is past 2, and there 2 - 2 = 0 places on: candidate 8
    chosen           1 2 8 11 12       for 5 slots: the last stays empty, which 12, one past the end, says
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.select import product

Array = jax.Array

SMALL = 128  # number of candidates up to which products of matrices serve as well, and compile in less time
WORD = 32
BLOCK = 16  # of prefix sums
FEW_WORDS = 16  # are all compared with every slot: cheaper than searching


def chosen(active: Array, size: int) -> Array:
    """[size] the active candidate in each slot, in table order; n, their number [n], in slots that stay empty."""
    n = active.shape[0]
    if n <= SMALL:
        return _chosen_of_few(active, size)
    words = _packed(active)
    ends = _running(_ones(words))
    slot = jnp.asarray(np.arange(size, dtype=np.int32))
    word = _count_not_past(ends, slot)
    bits = gather(words, word)
    before = gather(ends, word) - _ones(bits)
    place = word * WORD + _place(bits, slot - before)
    return jnp.where(slot < ends[-1:], place, n)


def places(active: Array) -> Array:
    """[n] which slot `chosen` puts each candidate in, if it is active."""
    return _running(active.astype(jnp.int32)) - 1


def _chosen_of_few(active: Array, size: int) -> Array:
    """The same by products of matrices as large as candidates times candidates, and candidates times slots."""
    n = active.shape[0]
    before = product(np.tril(np.ones((n, n)), -1), active.astype(jnp.float32)).astype(jnp.int32)
    here = (before[:, None] == np.arange(size, dtype=np.int32)[None]) & active[:, None]
    # at most one candidate i is in a slot: n + (i - n) where there is one, n where there is none
    return n + product(np.arange(-n, 0)[None], here.astype(jnp.float32))[0].astype(jnp.int32)


def deepest(dist: Array, limit: float, size: int) -> tuple[Array, Array]:
    """Which of the candidates [n] are the `size` ones of least dist < limit (m), and how many are below the limit.

    Of candidates at the same distance the first in the table are taken. The distance that divides them is found by
    halving an interval, unless all fit, which costs nothing more.
    """
    dist = lax.stop_gradient(dist)
    below = dist < limit
    count = jnp.sum(below, dtype=jnp.int32)
    least = jnp.min(jnp.where(below, dist, limit))
    most = jnp.max(jnp.where(below, dist, least))

    def going(bounds):
        low, high = bounds
        middle = low / 2 + high / 2
        return (low < middle) & (middle < high)

    def halve(bounds):
        """Up to `low` there are not more than fit, up to `high` not fewer; both are the same if just as many are."""
        low, high = bounds
        middle = low / 2 + high / 2
        within = jnp.sum(dist <= middle, dtype=jnp.int32)
        return jnp.where(within <= size, middle, low), jnp.where(within >= size, middle, high)

    start = jnp.where(count <= size, most, least - 1 - jnp.abs(least)), most
    low, high = lax.while_loop(going, halve, start)
    sure = below & (dist <= low)
    # at `high` there are several, of which the first ones fill up
    tied = below & ~sure & (dist <= high)
    left = size - jnp.sum(sure, dtype=jnp.int32)
    return sure | tied & (_running(tied.astype(jnp.int32)) <= left), count


def gather(table: Array, index: Array) -> Array:
    """Rows [k, ...] of a table [n, ...] at traced indices [k]; an index past the end gives the last row."""
    last = table.shape[0] - 1
    return table.at[jnp.minimum(index, last)].get(mode="promise_in_bounds")


def _packed(flags: Array) -> Array:
    """Flags [n] as the bits of words [n / 32], the first flag the lowest bit."""
    count = -(-flags.shape[0] // WORD)
    bits = _filled(flags.astype(jnp.uint32), count * WORD).reshape(count, WORD)
    return jnp.sum(bits << np.arange(WORD, dtype=np.uint32)[None], axis=1, dtype=jnp.uint32)


def _filled(x: Array, size: int) -> Array:
    """x [n] with zeros after it: [size]."""
    return x if x.shape[0] == size else lax.pad(x, jnp.zeros((), x.dtype), [(0, size - x.shape[0], 0)])


def _running(x: Array) -> Array:
    """Sums of x [n] up to and including each: within blocks by doubling the reach, then over the blocks' totals."""
    n = x.shape[0]
    count = -(-n // BLOCK)
    blocks = _filled(x, count * BLOCK).reshape(count, BLOCK)
    zero = jnp.zeros((), x.dtype)
    for reach in (1, 2, 4, 8):
        blocks = blocks + lax.pad(blocks[:, :-reach], zero, [(0, 0, 0), (reach, 0, 0)])
    if count == 1:
        return blocks[0, :n]
    before = lax.pad(_running(blocks[:, -1])[:-1], zero, [(1, 0, 0)])
    return (blocks + before[:, None]).reshape(-1)[:n]


def _count_not_past(ends: Array, slot: Array) -> Array:
    """[size] how many of the ascending numbers `ends` [n] are not greater than each slot [size]."""
    n = ends.shape[0]
    if n <= FEW_WORDS:
        return jnp.sum(ends[None] <= slot[:, None], axis=1, dtype=jnp.int32)
    found = jnp.zeros_like(slot)
    for step in (1 << k for k in reversed(range(n.bit_length()))):
        further = found + step
        found = jnp.where((further <= n) & (gather(ends, further - 1) <= slot), further, found)
    return found


def _partial_ones(words: Array) -> list[tuple[int, Array]]:
    """(width, number of set bits in each field of that width, in its place), from 16 down to 1."""
    twos = words - ((words >> 1) & 0x55555555)
    fours = (twos & 0x33333333) + ((twos >> 2) & 0x33333333)
    bytes_ = (fours + (fours >> 4)) & 0x0F0F0F0F
    halves = (bytes_ + (bytes_ >> 8)) & 0x00FF00FF
    return [(16, halves), (8, bytes_), (4, fours), (2, twos), (1, words)]


def _ones(words: Array) -> Array:
    """How many bits of each word are set."""
    _, halves = _partial_ones(words)[0]
    return ((halves + (halves >> 16)) & 0x3F).astype(jnp.int32)


def _place(words: Array, rank: Array) -> Array:
    """Which bit of each word [n] is its set bit number `rank` [n], counted from zero."""
    place, rank = jnp.zeros_like(words), rank.astype(jnp.uint32)
    for width, ones in _partial_ones(words):
        lower = (ones >> place) & ((1 << width) - 1)
        beyond = rank >= lower
        rank = jnp.where(beyond, rank - lower, rank)
        place = jnp.where(beyond, place + width, place)
    return place.astype(jnp.int32)
