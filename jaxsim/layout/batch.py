"""A batch of worlds on a CPU: worlds-last, in chunks."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.layout.evaluate import live_bytes
from jaxsim.layout.regions import evaluate_in_regions
from jaxsim.layout.unstable import ClosedJaxpr, jaxpr_as_fun, without_dead
from jaxsim.layout.world import World, settled, spread

Array = jax.Array

CHUNK = 128  # worlds per chunk at most
LANES = 16  # chunks hold a multiple of this many worlds
LEAST = 32  # and this many at least, if they may: LLVM unrolls a loop over 16 whole, and then rounds otherwise
TURNS = 4  # that lanes may be asked for in; later ones are the last
CACHE = 13e6  # bytes of intermediate results of a chunk: about what stays in the cache of a core


def in_chunks(closed: ClosedJaxpr, size: int, mapped: tuple[bool, ...], operands: tuple[Array, ...]) -> list[Array]:
    """The results of a program for all worlds, filled up with copies of the first world to whole chunks.

    Whole multiples of LANES make a world's numbers the same, bit by bit, whatever batch it is in. A result
    takes the place of an input of its type, chunk by chunk.

    Args:
        closed: the program of one world.
        size: number of worlds, at least 1.
        mapped: for each operand whether each world has its own, along axis 0.
        operands: of the program.
    """
    moved, width = _of_a_chunk(closed, size, mapped, operands)
    count = -(-size // width)
    fill = count * width - size

    def split(x):
        copies = jnp.broadcast_to(x[:1], (fill, *x.shape[1:]))
        return jnp.concatenate([x, copies]).reshape(count, width, *x.shape[1:])

    chunks = [split(x) if m else x for x, m in zip(operands, mapped)]
    types = closed.out_avals
    place = _places(types, chunks, mapped)
    begin = [jnp.zeros((count, width, *t.shape), t.dtype) if i is None else chunks[i] for t, i in zip(types, place)]

    def run(c, outs):
        latest = list(chunks)
        for i, x in zip(place, outs):
            if i is not None:
                latest[i] = x
        results = moved(*[lax.dynamic_index_in_dim(x, c, 0, False) if m else x for x, m in zip(latest, mapped)])
        return [lax.dynamic_update_index_in_dim(x, new, c, 0) for x, new in zip(outs, results)]

    outs = lax.fori_loop(0, count, run, begin)
    return [x.reshape(count * width, *x.shape[2:])[:size] for x in outs]


def among(
    asked: Array, closed: ClosedJaxpr, size: int, mapped: tuple[bool, ...], operands: tuple[Array, ...]
) -> list[Array]:
    """The results of a program for the worlds [size] that are asked for, zero for others; arguments of `in_chunks` and
    `packed`. A few lanes, which are those of a world that is in no batch, take their turns alone."""
    if size < LEAST:
        return _one_by_one(asked, closed, mapped, operands)
    moved, width = _of_a_chunk(closed, size, mapped, operands)
    return packed(asked, moved, width, closed.out_avals, mapped, operands)


def _one_by_one(
    asked: Array, closed: ClosedJaxpr, mapped: tuple[bool, ...], operands: tuple[Array, ...]
) -> list[Array]:
    run, types = jaxpr_as_fun(closed), closed.out_avals

    def one(lane: tuple[Array, list[Array]]) -> list[Array]:
        own = iter(lane[1])
        taken = [next(own) if m else x for x, m in zip(operands, mapped)]
        return lax.cond(lane[0], lambda: run(*taken), lambda: [jnp.zeros(t.shape, t.dtype) for t in types])

    return lax.map(one, (asked.astype(bool), [x for x, m in zip(operands, mapped) if m]))


def packed(
    asked: Array, run: Callable, width: int, types: list, mapped: tuple[bool, ...], operands: tuple[Array, ...]
) -> list[Array]:
    """The results [n, ...] of worlds [n] that are asked for, zero for others.

    Chunks are filled with those worlds only, and there are no more chunks than they need; the last one is filled up
    with copies of its first.

    Args:
        asked: [n] bool, or int32: in which of TURNS turns, from 1 on; 0 for those that are not asked for.
        run: the program of a chunk of worlds, worlds-first in and out.
        width: worlds of a chunk.
        types: shapes and types of a world's results.
        mapped, operands: as of `in_chunks`.
    """
    size, turns = len(asked), asked
    if asked.dtype != bool:
        turns = (jnp.minimum(asked, TURNS)[None] == jnp.arange(1, TURNS + 1, dtype=jnp.int32)[:, None]).reshape(-1)
    ends = jnp.cumsum(turns.astype(jnp.int32))
    places = jnp.arange(1, width + 1, dtype=jnp.int32)

    def chunk(c, outs):
        entry = jnp.searchsorted(ends, c * width + places).astype(jnp.int32)  # len(turns) where there are no more
        worlds = jnp.where(entry < len(turns), entry % size, size)
        taken = jnp.where(worlds < size, worlds, worlds[0])
        results = run(*[x.at[taken].get(mode="promise_in_bounds") if m else x for x, m in zip(operands, mapped)])
        return [x.at[worlds].set(new, mode="drop", unique_indices=True) for x, new in zip(outs, results)]

    begin = [jnp.zeros((size, *t.shape), t.dtype) for t in types]
    return lax.fori_loop(0, -(-ends[-1] // width), chunk, begin)


def _of_a_chunk(
    closed: ClosedJaxpr, size: int, mapped: tuple[bool, ...], operands: tuple[Array, ...]
) -> tuple[Callable, int]:
    """A program for a chunk of worlds, worlds-first in and out, and how many worlds a chunk has."""
    own = next((i for i, (x, m) in enumerate(zip(operands, mapped)) if m and x.size), None)  # to know a batch by
    keep = [i == own for i in range(len(mapped))]
    needed, used = without_dead(closed, [True] * len(closed.out_avals), keep)
    batched = [m for m, u in zip(mapped, used) if u]
    width = min(_widest(closed), max(LEAST, -(-size // LANES) * LANES))

    def worlds_last(*xs):
        values = [World(x) if m else x for x, m in zip(xs, batched)]
        return [spread(x, width) for x in evaluate_in_regions(needed.jaxpr, needed.consts, values, width)]

    unit = settled(worlds_last)  # one unit, so that it is the same program wherever it runs

    def moved(*xs):
        read = [x for x, u in zip(xs, used) if u]  # XLA would turn round the others too
        outs = unit(*[jnp.moveaxis(x, 0, -1) if m else x for x, m in zip(read, batched)])
        return [jnp.moveaxis(x, -1, 0) for x in outs]

    return moved, width


def _widest(closed: ClosedJaxpr) -> int:
    """Worlds per chunk: CHUNK, halved until what the program holds of them at a time fits into the cache.

    A humanoid's step holds 43 KB at most and its gradient 94 KB: 128 worlds (with 64 LLVM unrolls its copies
    whole, and takes a fifth longer to compile). Its derivative with respect to 27 positions at once holds 247 KB, and
    takes 32 worlds in two thirds of the time that 128 take.
    """
    width, each = CHUNK, live_bytes(closed)
    while width > LANES and width * each > CACHE:
        width //= 2
    return width


def _places(types: list, chunks: list[Array], mapped: tuple[bool, ...]) -> list[int | None]:
    """For each result a batched input of the same shape and type, no input twice; None where there is none left."""
    free: dict[tuple, list[int]] = {}
    for i, (x, m) in enumerate(zip(chunks, mapped)):
        if m:
            free.setdefault((x.shape[2:], x.dtype), []).append(i)
    return [left.pop(0) if (left := free.get((t.shape, t.dtype))) else None for t in types]
