"""The convex routine for many pairs: in blocks of pairs, and only in those that have something near.

Slots for pairs are for the worst: few of them are taken as a rule, and of those that are taken many are found to be
apart. So the first half of the search goes through blocks of those that are taken, put one after the other; the
second half, and what follows it, through blocks of those that are not apart. Blocks that have nothing, in any of the
worlds that are stepped together, are left out: the searches as loops of one round or none, and what follows them,
which is differentiated, as a branch.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.collision.compact import chosen, gather, places
from jaxsim.collision.convex.collider import contacts_of
from jaxsim.collision.convex.form import Library, corners
from jaxsim.collision.convex.gjk import APART, Simplex
from jaxsim.collision.convex.multicontact import MOST
from jaxsim.collision.convex.penetration import (
    Accuracy,
    Located,
    Met,
    corners_of_cores,
    locate,
    penetration_at,
    sift,
    unlocated,
)
from jaxsim.collision.shape import NO_CONTACT, Candidates, Shape
from jaxsim.collision.shapes import formed
from jaxsim.core.data import Data
from jaxsim.core.model import Model

Array = jax.Array
Index = np.ndarray | Array

SLOTS = 32  # pairs of a block in the first half of the search
NEAR = 8  # and in the second


class Routine(NamedTuple):
    """The convex routine in three parts, for lanes [n] of pairs, the last of which is how far each reaches.

    sift: lanes to simplices; locate: lanes and simplices to what is known of each pair; finish: from those to
    candidates [n, 4]. Only the last is differentiated.
    """

    sift: Callable[[Any], Simplex]
    locate: Callable[[Any, Simplex], Located]
    finish: Callable[[Any, Located], Candidates]


def convex_pairs(
    m: Model,
    d: Data,
    served: Library,
    geoms: tuple[Index, Index],
    reach: Array,
    accuracy: Accuracy,
    several: bool,
    pairs: Met,
) -> Candidates:
    """Candidates [n, 4] of pairs of geoms; of those with a reach of -NO_CONTACT there are none.

    Args:
        m: the model.
        d: with geom_xpos [ngeom, 3] (m) and geom_xmat [ngeom, 9].
        served: the cores of all geoms that may be among them.
        geoms: [n] of each pair.
        reach: [n] distance (m) up to which contacts are detected.
        accuracy: of the search.
        several: whether faces and edges have a contact at each corner.
        pairs: what they may be.
    """
    still = m.replace(geom_size=lax.stop_gradient(m.geom_size))
    poses = d.replace(geom_xpos=lax.stop_gradient(d.geom_xpos), geom_xmat=lax.stop_gradient(d.geom_xmat))

    def shapes(lanes: tuple[Index, Index, Array]) -> tuple[Shape, ...]:
        return tuple(formed(still, poses, g, served) for g in lanes[:2])

    def finish(lanes: tuple[Index, Index, Array], found: Located) -> Candidates:
        a, b = (formed(m, d, g, served, points=False) for g in lanes[:2])

        def one(a: Shape, b: Shape, found: Located, reach: Array) -> Candidates:
            corner = jnp.stack([corners(served, x.data, n) for x, n in zip((a, b), found.numbers())])
            return contacts_of(served, a, b, penetration_at(a, b, found, corner, pairs.drums), reach, several)

        return jax.vmap(one)(a, b, found, lanes[2])

    return _in_blocks(_routine(shapes, accuracy, pairs, finish), (*geoms, reach))


def convex_shapes(
    served: Library, a: Shape, b: Shape, reach: Array, accuracy: Accuracy, several: bool, pairs: Met
) -> Candidates:
    """The same of shapes [n] with forms, which need not be geoms."""

    def shapes(lanes: tuple[Shape, Shape, Array]) -> tuple[Shape, ...]:
        return lanes[:2]

    def finish(lanes: tuple[Shape, Shape, Array], found: Located) -> Candidates:
        def one(a: Shape, b: Shape, found: Located, reach: Array) -> Candidates:
            exact = penetration_at(a, b, found, corners_of_cores(a, b, found), pairs.drums)
            return contacts_of(served, a, b, exact, reach, several)

        return jax.vmap(one)(*lanes[:2], found, lanes[2])

    return _in_blocks(_routine(shapes, accuracy, pairs, finish), (a, b, reach))


def _routine(shapes: Callable, accuracy: Accuracy, pairs: Met, finish: Callable) -> Routine:
    """The routine for lanes whose two shapes [n] a function gives."""

    def first(lanes: Any) -> Simplex:
        a, b = shapes(lanes)
        return jax.vmap(lambda a, b, r: sift(a, b, r, accuracy))(a, b, lanes[-1])

    def second(lanes: Any, known: Simplex) -> Located:
        a, b = shapes(lanes)
        return jax.vmap(lambda a, b, s: locate(a, b, s, accuracy, pairs))(a, b, known)

    return Routine(first, second, finish)


def _in_blocks(routine: Routine, lanes: Any) -> Candidates:
    """The candidates of lanes [n]: block by block."""
    dtype = lanes[-1].dtype
    lanes = jax.tree.map(lambda x: jnp.asarray(x, jnp.int32) if isinstance(x, np.ndarray) else x, lanes)
    tested, some = _packed(lax.stop_gradient(lanes[-1]) > -NO_CONTACT, lanes, SLOTS)
    known = _each(lambda x: _sifted(routine, *x), (tested.on, lax.stop_gradient(some)), SLOTS)
    near, (some, known) = _packed(tested.on & (known.state != APART), (some, known), NEAR)
    known = known._replace(state=jnp.where(near.on, known.state, APART))
    none = Candidates(jnp.full((1, MOST), NO_CONTACT, dtype), *(jnp.zeros((1, MOST, 3), dtype) for _ in range(3)))
    unknown = jax.tree.map(lambda x: x[None], unlocated(dtype))

    def one(block: tuple[Array, Any, Simplex]) -> Candidates:
        on, lanes, known = block
        found = _if_any(on, routine.locate, lax.stop_gradient((lanes, known)), _copies(unknown, len(on)))
        found = jax.tree.map(lambda x, y: jnp.where(on.reshape(-1, *(1,) * (y.ndim - 1)), x, y), found, unknown)
        return lax.cond(jnp.any(on), routine.finish, lambda lanes, found: _copies(none, len(on)), lanes, found)

    found = _each(one, (near.on, some, known), NEAR)
    here, place = near.of(tested)
    if place is not None:
        found = jax.tree.map(lambda x: gather(x, place), found)
    return found._replace(dist=jnp.where(here[:, None], found.dist, NO_CONTACT))


class _Packed(NamedTuple):
    """Lanes put one after the other: which slots [n] have one; before, which lanes were chosen, and their slots [n]."""

    on: Array
    chosen: Array
    place: Array | None  # None if they stay where they are

    def of(self, before: "_Packed") -> tuple[Array, Array | None]:
        """Which lanes [n] were chosen both times, and their slots."""
        if before.place is None:
            return self.chosen, self.place
        place = before.place if self.place is None else gather(self.place, before.place)
        return before.chosen & gather(self.chosen, before.place), place


def _packed(flags: Array, lanes: Any, size: int) -> tuple[_Packed, Any]:
    """The flagged lanes first, if there are more than `size`, and which they are."""
    n = len(flags)
    if n <= size:
        return _Packed(flags, flags, None), lanes
    order = chosen(flags, n)
    on = jnp.arange(n, dtype=jnp.int32) < jnp.sum(flags, dtype=jnp.int32)
    return _Packed(on, flags, places(flags)), jax.tree.map(lambda x: gather(x, order), lanes)


def _sifted(routine: Routine, tested: Array, lanes: Any) -> Simplex:
    """The simplices of lanes [n], zero where there are none to be tested."""
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(routine.sift, lanes))
    return _if_any(tested, routine.sift, (lanes,), nothing)


def _copies(x: Any, n: int) -> Any:
    """Rows [1, ...], n times."""
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (n, *x.shape[1:])), x)


def _each(run: Callable[[Any], Any], lanes: Any, size: int) -> Any:
    """What a function gives for lanes [n], the first of which are flags: so many at a time, filled up with False."""
    n = len(lanes[0])
    count = -(-n // size)
    if count == 1:
        return run(lanes)

    def split(x: Array) -> Array:
        more = jnp.broadcast_to(x[:1], (count * size - n, *x.shape[1:]))
        return jnp.concatenate([x, more]).reshape(count, size, *x.shape[1:])

    blocks = jax.tree.map(split, lanes)
    filled = jnp.arange(count * size, dtype=jnp.int32).reshape(count, size) < n
    found = lax.map(run, (blocks[0] & filled, *blocks[1:]))
    return jax.tree.map(lambda x: x.reshape(count * size, *x.shape[2:])[:n], found)


def _if_any(flags: Array, search: Callable, operands: tuple, nothing: Any) -> Any:
    """What a search finds, or nothing if no flag is set: a loop of one round or none, which is not differentiated.

    The barrier ties the operands to the round, without which XLA would take what it can out of the loop and do it in
    any case.
    """

    def once(state: tuple[Array, Any]) -> tuple[Array, Any]:
        rounds, tied = lax.optimization_barrier((state[0], operands))
        return rounds - 1, search(*tied)

    return lax.while_loop(lambda s: s[0] > 0, once, (jnp.any(flags).astype(jnp.int32), nothing))[1]
