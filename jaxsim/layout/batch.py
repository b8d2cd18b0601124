"""Batches of worlds: chunks, and the two rules of a batched function."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap

from jaxsim.layout.evaluate import evaluate
from jaxsim.layout.regions import evaluate_in_regions
from jaxsim.layout.world import World, settled, spread

Array = jax.Array

CHUNK = 128  # worlds per chunk on a CPU
LANES = 16  # chunks hold a multiple of this many worlds


def batched(fun: Callable) -> Callable:
    """`fun(*pytrees) -> pytree` of one world, whose batches under `jax.vmap` run worlds-last.

    Forward and reverse derivatives are those of `fun`.
    """

    known = jax.jit(fun)

    def once(*args):
        """custom_vmap and its rule both trace `fun`; the second time JAX knows it, if the mesh looks the same."""
        with jax.sharding.use_abstract_mesh(jax.sharding.get_abstract_mesh()):
            return known(*args)

    @custom_vmap
    def primal(*args):
        return once(*args)

    @primal.def_vmap
    def _(axis_size, in_batched, *args):
        out = _run_batch(once, axis_size, in_batched, args)
        return out, jax.tree.map(lambda _: True, out)

    @jax.custom_jvp
    @functools.wraps(fun)
    def wrapped(*args):
        return primal(*args)

    @wrapped.defjvp
    def _(primals, tangents):
        return jax.jvp(fun, primals, tangents)

    return wrapped


def _run_batch(fun: Callable, size: int, in_batched: Any, args: Any) -> Any:
    """Trace one world, move batched inputs to worlds-last, run, and move outputs back."""
    leaves, tree = jax.tree.flatten(args)
    flags = jax.tree.leaves(in_batched)
    single = [x[0] if b else x for x, b in zip(leaves, flags)]
    closed, out_shape = jax.make_jaxpr(lambda *xs: fun(*jax.tree.unflatten(tree, xs)), return_shape=True)(*single)
    out_tree = jax.tree.structure(out_shape)

    def worlds_last(*xs):
        n = next(x.shape[-1] for x, b in zip(xs, flags) if b)
        run = evaluate_in_regions if jax.default_backend() == "cpu" else evaluate
        outs = run(closed.jaxpr, closed.consts, [World(x) if b else x for x, b in zip(xs, flags)], n)
        return [spread(x, n) for x in outs]

    return jax.tree.unflatten(out_tree, _in_chunks(worlds_last, size, flags, leaves, closed.out_avals))


def _in_chunks(fun: Callable, size: int, flags: list[bool], leaves: list[Array], out_types: list) -> list[Array]:
    """Run in chunks on a CPU, filled up with copies of the first world.

    Whole multiples of LANES make a world's numbers the same, bit by bit, whatever batch it is in. A result
    takes the place of an input of its type, chunk by chunk.
    """

    def moved(fun, *xs):
        outs = fun(*[jnp.moveaxis(x, 0, -1) if b else x for x, b in zip(xs, flags)])
        return [jnp.moveaxis(x, -1, 0) for x in outs]

    if jax.default_backend() != "cpu":
        return moved(fun, *leaves)
    width = min(CHUNK, -(-size // LANES) * LANES)
    count = -(-size // width)
    fill = count * width - size

    def split(x):
        copies = jnp.broadcast_to(x[:1], (fill, *x.shape[1:]))
        return jnp.concatenate([x, copies]).reshape(count, width, *x.shape[1:])

    chunks = [split(x) if b else x for x, b in zip(leaves, flags)]
    place = _places(out_types, chunks, flags)
    begin = [jnp.zeros((count, width, *t.shape), t.dtype) if i is None else chunks[i] for t, i in zip(out_types, place)]
    unit = settled(fun)  # one unit, so that it is the same program wherever it runs

    def run(c, outs):
        latest = list(chunks)
        for i, x in zip(place, outs):
            if i is not None:
                latest[i] = x
        results = moved(unit, *[lax.dynamic_index_in_dim(x, c, 0, False) if b else x for x, b in zip(latest, flags)])
        return [lax.dynamic_update_index_in_dim(x, new, c, 0) for x, new in zip(outs, results)]

    outs = lax.fori_loop(0, count, run, begin)
    return [x.reshape(count * width, *x.shape[2:])[:size] for x in outs]


def _places(out_types: list, chunks: list[Array], flags: list[bool]) -> list[int | None]:
    """For each result a batched input of the same shape and type, no input twice; None where there is none left."""
    free: dict[tuple, list[int]] = {}
    for i, (x, b) in enumerate(zip(chunks, flags)):
        if b:
            free.setdefault((x.shape[2:], x.dtype), []).append(i)
    return [left.pop(0) if (left := free.get((t.shape, t.dtype))) else None for t in out_types]
