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

Array = jax.Array

WORD = 32
BLOCK = 16  # of prefix sums
FEW_WORDS = 16  # are all compared with every slot: cheaper than searching


def chosen(active: Array, size: int) -> Array:
    """[size] the active candidate in each slot, in table order; n, their number [n], in slots that stay empty."""
    n = active.shape[0]
    words = _packed(active)
    ends = _running(_ones(words))
    slot = jnp.asarray(np.arange(size, dtype=np.int32))
    word = _count_not_past(ends, slot)
    bits = gather(words, word)
    before = gather(ends, word) - _ones(bits)
    place = word * WORD + _place(bits, slot - before)
    return jnp.where(slot < ends[-1:], place, n)


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
    # dist <= low are `taken` candidates, which fit; dist <= high are too many, unless all fit
    fits = count <= size
    low = jnp.where(fits, most, least - 1 - jnp.abs(least))
    taken = jnp.where(fits, count, 0)

    def going(state):
        low, high, taken = state
        middle = low / 2 + high / 2
        return ~fits & (taken < size) & (low < middle) & (middle < high)

    def halve(state):
        low, high, taken = state
        middle = low / 2 + high / 2
        within = jnp.sum(dist <= middle, dtype=jnp.int32)
        fit = within <= size
        return jnp.where(fit, middle, low), jnp.where(fit, high, middle), jnp.where(fit, within, taken)

    low, high, taken = lax.while_loop(going, halve, (low, most, taken))
    tied = (dist > low) & (dist <= high)
    return (dist <= low) & below | _first(tied, size - taken), count


def _first(flags: Array, number: Array) -> Array:
    """The first `number` [] of the flags [n] that are set."""
    n = flags.shape[0]
    order = jnp.asarray(np.arange(n, dtype=np.int32))
    # as above: up to index low are not more than the number, up to high there may be
    some = (number > 0) & jnp.any(flags)

    def going(state):
        low, high = state
        return some & (high - low > 1)

    def halve(state):
        low, high = state
        middle = (low + high) // 2
        fit = jnp.sum(flags & (order < middle), dtype=jnp.int32) <= number
        return jnp.where(fit, middle, low), jnp.where(fit, high, middle)

    start = jnp.zeros((), jnp.int32), jnp.full((), n + 1, jnp.int32)
    return flags & (order < lax.while_loop(going, halve, start)[0])


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
