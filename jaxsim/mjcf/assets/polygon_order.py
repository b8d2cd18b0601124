"""The order in which MuJoCo numbers a hull's polygons: that of a hash table of the C++ library it is built with.

Where an edge of one hull meets a face of another, the first face around the edge's vertex decides on which side
the contacts lie: the order shows in contacts, so that it is part of what MuJoCo computes. The published builds
use LLVM's library (libc++): a table with separate chaining in one linked list. The hash of a double is its bits, and
those of a pair are combined as Boost does it.
"""

import numpy as np

Array = np.ndarray
GOLDEN, SIX, TWO = (np.uint64(x) for x in (0x9E3779B9, 6, 2))


def hash_order(keys: Array) -> Array:
    """Places [n] of different pairs of doubles, keys [n, 2] in the order of insertion, as libc++ goes through them."""
    one, two = (keys.astype(float) + 0.0).view(np.uint64).T  # of either zero the hash is 0
    seed = one + GOLDEN  # in 64 bits, as what follows
    table = _Table((seed ^ (two + GOLDEN + (seed << SIX) + (seed >> TWO))).tolist())
    for key in range(len(keys)):
        table.insert(key)
    return np.array(table.order(), int)


class _Table:
    """Keys in a linked list in which those of a bucket follow each other; a bucket knows the link before its first."""

    def __init__(self, hashes: list[int]) -> None:
        self.hashes = hashes
        self.head = len(hashes)  # the link before the first key
        self.next = [-1] * (len(hashes) + 1)
        self.before: list[int] = []
        self.size = 0

    def bucket(self, key: int) -> int:
        return self.hashes[key] % len(self.before)

    def insert(self, key: int) -> None:
        if self.size + 1 > len(self.before):
            self.grow()
        where = self.bucket(key)
        before = self.before[where]
        if before >= 0:
            self.next[key], self.next[before] = self.next[before], key
        else:  # in front of all
            first = self.next[self.head]
            self.next[key], self.next[self.head], self.before[where] = first, key, self.head
            if first >= 0:
                self.before[self.bucket(first)] = key
        self.size += 1

    def grow(self) -> None:
        """More than twice as many buckets, a prime number; keys that share one come together."""
        count = len(self.before)
        self.before = [-1] * (2 if count == 0 else _prime(2 * count + 1))
        last, key, filled = self.head, self.next[self.head], -1
        while key >= 0:
            where = self.bucket(key)
            if where == filled:
                last = key
            elif self.before[where] < 0:
                self.before[where], last, filled = last, key, where
            else:
                before = self.before[where]
                self.next[last] = self.next[key]
                self.next[key], self.next[before] = self.next[before], key
            key = self.next[last]

    def order(self) -> list[int]:
        keys, key = [], self.next[self.head]
        while key >= 0:
            keys.append(key)
            key = self.next[key]
        return keys


def _prime(least: int) -> int:
    """The smallest odd prime from `least` on, itself odd."""
    while any(least % d == 0 for d in range(3, int(least**0.5) + 1, 2)):
        least += 2
    return least
