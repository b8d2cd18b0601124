"""Loops whose rounds are worth a queue: a few worlds at a time go round, and who is done makes room for the next.

A loop over all worlds of a chunk goes on until its slowest world is done. Where one world in a hundred takes ten times
as many rounds as the others, and a round is long, that is most of the time. Here LANES worlds are taken from the chunk,
go round until half of them are done while others wait, and are put back; the last ones go on until all are done.

What is taken and put back lies worlds-first meanwhile, one row for a world, so that it moves in whole rows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.layout.world import settled

Array = jax.Array

LANES = 32  # worlds that go round together: with fewer XLA's kernels take no less time
NAME = "queued_round"


def queued(body: Callable) -> Callable:
    """The body of a `lax.while_loop`, marked: batches of the loop go through a queue. For long bodies only."""

    def queued_round(carry: Any) -> Any:
        return body(carry)

    return jax.jit(queued_round)


def is_queued(eqn: Any) -> bool:
    """Whether the body of a loop is marked, and the loop is of one world."""
    body = eqn.params["body_jaxpr"].jaxpr.eqns
    marked = len(body) == 1 and body[0].params.get("name") == NAME
    return marked and eqn.params["cond_jaxpr"].out_avals[0].ndim == 0


class _Packed(NamedTuple):
    """Arrays [..., n] as rows of worlds."""

    rows: list[Array]  # [n, size] of each type
    place: list[tuple[int, int, tuple[int, ...]]]  # for each array its type, where it begins in a row, and its shape

    def taken(self, worlds: Array) -> list[Array]:
        """The arrays [..., lanes] of some worlds [lanes]."""
        return _unpacked([_rows(x, worlds) for x in self.rows], self.place)


def _packed(arrays: list[Array]) -> _Packed:
    types = sorted({x.dtype.name for x in arrays})
    columns: list[list[Array]] = [[] for _ in types]
    ends, place = [0] * len(types), []
    for x in arrays:
        kind = types.index(x.dtype.name)
        flat = x.reshape(-1, x.shape[-1])
        place.append((kind, ends[kind], x.shape[:-1]))
        ends[kind] += flat.shape[0]
        columns[kind].append(flat)
    return _Packed([settled(lambda *xs: jnp.concatenate(xs).T)(*xs) for xs in columns], place)


def _unpacked(rows: list[Array], place: list[tuple[int, int, tuple[int, ...]]]) -> list[Array]:
    columns = [settled(jnp.transpose)(x) for x in rows]
    return [
        lax.slice_in_dim(columns[kind], begin, begin + int(np.prod(shape))).reshape(*shape, len(rows[kind]))
        for kind, begin, shape in place
    ]


def run_queue(cond: Callable, body: Callable, consts: list[Array], start: list[Array]) -> list[Array]:
    """The end of a loop for n worlds.

    Args:
        cond: `cond(consts, carry)`, arrays worlds-last, gives flags: whether worlds go on.
        body: `body(consts, carry)` gives the next carry.
        consts: [..., n] what worlds have of their own and does not change.
        start: [..., n] the first carry.
    """
    fixed, carried = _packed(consts) if consts else _Packed([], []), _packed(start)

    def round_of(state: tuple[list[Array], Array]) -> tuple[list[Array], Array]:
        rows, active = state
        number = jnp.cumsum(active.astype(jnp.int32))
        worlds = jnp.searchsorted(number, jnp.arange(1, LANES + 1, dtype=jnp.int32), method="compare_all")
        taken, own = _Packed(rows, carried.place).taken(worlds), fixed.taken(worlds)
        present = jnp.arange(LANES, dtype=jnp.int32) < number[-1]
        enough = jnp.where(number[-1] > LANES, LANES // 2, 0)

        def going(state: tuple[list[Array], Array]) -> Array:
            return jnp.sum(state[1].astype(jnp.int32)) > enough

        def once(state: tuple[list[Array], Array]) -> tuple[list[Array], Array]:
            carry, going = state
            new = body(own, carry)
            carry = [jnp.where(going, b, a) for a, b in zip(carry, new)]
            return carry, going & cond(own, carry)

        end, still = lax.while_loop(going, once, (taken, present))
        back = _packed(end).rows
        rows = [_put(x, worlds, new, number[-1]) for x, new in zip(rows, back)]
        return rows, active.at[worlds].set(still, mode="drop")

    active = cond(consts, start)
    rows, _ = lax.while_loop(lambda s: jnp.any(s[1]), round_of, (carried.rows, active))
    return _unpacked(rows, carried.place)


def _rows(rows: Array, worlds: Array) -> Array:
    """Some rows [lanes, size]: copied one by one, which XLA's CPU backend does faster than it gathers."""

    def one(i: Array, taken: Array) -> Array:
        return lax.dynamic_update_slice_in_dim(taken, lax.dynamic_slice_in_dim(rows, worlds[i], 1), i, 0)

    return lax.fori_loop(0, LANES, one, jnp.zeros((LANES, rows.shape[1]), rows.dtype))


def _put(rows: Array, worlds: Array, new: Array, count: Array) -> Array:
    """Rows [n, size] with those of some worlds [lanes] replaced by others [lanes, size], as many as `count` []."""

    def one(i: Array, rows: Array) -> Array:
        return lax.dynamic_update_slice_in_dim(rows, lax.dynamic_slice_in_dim(new, i, 1), worlds[i], 0)

    return lax.fori_loop(0, jnp.minimum(count, LANES), one, rows)
