"""Clipping a polygon by the sides of another, as a ring of edges (polygonClip, Sutherland-Hodgman).

Every edge that can be in the result has its own slot: those of the polygon itself, then one per cutting side.
A cut by a side keeps an arc of the ring: the edge that leaves ends where it crosses, the one that comes back
starts there, and the side's own slot joins the two crossings. So no edge ever moves, and what is written is
a mask. A square cut at its right by side s, slots a b c d:

      d              d
    +---+          +--+
    |   |          |  |
  a |   | c   ->  a|  | s       b ends and d starts on s; c is gone; the ring is a b s d
    +---+          +--+
      b              b

MuJoCo's list of corners begins, after each cut, with the next corner after the one it began with.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.convex.polygons import at_index
from jaxsim.collision.shape import pick

Array = jax.Array


class Ring(NamedTuple):
    """Edges [n] that follow each other: ends [n, 2, 3] start and end, next [n] which follows, cut [n] which slot
    each start lies on besides its own, alive [n]; first [] where MuJoCo's list begins."""

    ends: Array
    next: Array
    cut: Array
    alive: Array
    first: Array


def clip(polygon: Array, count: Array, sides: Array, nsides: Array) -> Ring:
    """What of a polygon [p, 3] of `count` corners lies within the sides of a convex one [s, 2] of `nsides` corners.

    The first two coordinates are across, the third is carried along. Both lists repeat their last corner.
    """
    p, s = polygon.shape[0], sides.shape[0]
    slot = np.arange(p + s, dtype=np.int32)
    normal, offset = _inward(sides, nsides)
    small = (1e-13 if polygon.dtype == jnp.float64 else 2e-6) * jnp.max(jnp.abs(sides))

    def cut(state: tuple[Array, Ring]) -> tuple[Array, Ring]:
        side, ring = state
        here = np.arange(s, dtype=np.int32) == side
        n, away = pick(here[None], normal)[0], jnp.sum(jnp.where(here, offset, 0))
        return side + 1, _cut(ring, p + side, vector.dot(ring.ends[:, :, :2], n[None, None]) - away, small)

    after = jnp.where(slot + 1 >= count, 0, slot + 1)
    before = jnp.where(slot == 0, count - 1, slot - 1)
    extra = jnp.zeros((s, 2, 3), polygon.dtype)
    ends = jnp.concatenate([jnp.stack([polygon, following(polygon, count)], axis=1), extra])
    start = Ring(ends, after, before, jnp.asarray(slot) < jnp.minimum(count, p), jnp.zeros((), jnp.int32))
    _, ring = lax.while_loop(lambda x: x[0] < nsides, cut, (jnp.zeros((), jnp.int32), start))
    return ring


def following(polygon: Array, count: Array) -> Array:
    """The corner after each of a closed polygon [p, ...] of `count` corners."""
    last = (np.arange(polygon.shape[0], dtype=np.int32) >= count - 1).reshape(-1, *(1,) * (polygon.ndim - 1))
    return jnp.where(last, polygon[:1], jnp.concatenate([polygon[1:], polygon[:1]]))


def _inward(sides: Array, count: Array) -> tuple[Array, Array]:
    """Unit normals [s, 2] that point inside, of sides that run clockwise, and offsets [s]."""
    along = following(sides, count) - sides
    length = vector.norm(along)
    across = jnp.concatenate([along[:, 1:], -along[:, :1]], axis=1)
    normal = across / jnp.where(length > 0, length, 1)[:, None]
    return normal, vector.dot(normal, sides)


def _cut(ring: Ring, new: Array, height: Array, small: Array) -> Ring:
    """Keep what has height [n, 2] of starts and ends above zero, as good as; slot `new` closes the gap."""
    n = ring.next.shape[0]
    slot = np.arange(n, dtype=np.int32)
    start_in, end_in = height[:, 0] > -small, height[:, 1] > -small
    crosses = jnp.stack([start_in & ~end_in, end_in & ~start_in]) & ring.alive[None]
    place = jnp.min(jnp.where(crosses, slot[None], n), axis=1)  # of the edges that leave and come back
    here = (slot[None] == place[:, None]) & (jnp.max(place) < n)
    leaving, entering = here[0], here[1]
    h1, h2 = height[:, 0], height[:, 1]
    t = jnp.clip(h1 / jnp.where(start_in == end_in, 1, h1 - h2), 0, 1)[:, None]
    crossing = ring.ends[:, 0] + t * (ring.ends[:, 1] - ring.ends[:, 0])

    born = (slot == new) & (jnp.max(place) < n)
    moved = jnp.stack([entering, leaving], axis=1)[:, :, None]
    ends = jnp.where(moved, crossing[:, None], ring.ends)
    ends = jnp.where(born[:, None, None], pick(here, crossing)[None], ends)
    follows = jnp.where(leaving, new, jnp.where(born, place[1], ring.next))
    cut = jnp.where(entering, new, jnp.where(born, place[0], ring.cut))
    alive = born | (ring.alive & (start_in | end_in))
    after = jnp.max(jnp.where((slot == ring.first) & start_in, follows, -1))
    return Ring(ends, follows, cut, alive, jnp.where(after < 0, place[1], after))


class Corners(NamedTuple):
    """Corners in MuJoCo's order, as slots of a ring: slot [n], of which the first `total` [] are corners."""

    slot: Array
    total: Array


def corners(ring: Ring, most: Array) -> Corners:
    """The ring's corners, one after the other, but those whose third coordinate is more than `most` [] (m)."""
    n = ring.next.shape[0]
    order = np.arange(n, dtype=np.int32)
    alive = jnp.sum(ring.alive, dtype=jnp.int32)
    keep = (ring.ends[:, 0, 2] <= most).astype(jnp.int32)

    def visit(state):
        step, at, slots, total = state
        here = at_index(keep, at)
        slots = jnp.where((order == total) & (here > 0), at, slots)
        return step + 1, at_index(ring.next, at), slots, total + here

    zero = jnp.zeros((), jnp.int32)
    start = (zero, ring.first, jnp.zeros(n, jnp.int32), zero)
    return Corners(*lax.while_loop(lambda x: x[0] < alive, visit, start)[2:])
