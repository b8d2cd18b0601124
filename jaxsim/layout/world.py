"""Batched values, and how to keep XLA from fusing across them."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.layout.unstable import set_xla_metadata

Array = jax.Array


def settled(fun: Callable) -> Callable:
    """`fun` as a unit that XLA neither inlines nor fuses with its surroundings.

    XLA's CPU backend recomputes what feeds a gather, a concatenation or a transpose once per use, and an
    optimization barrier does not stop it. A call that must not be inlined does: its operands and results
    are stored. It has a second result because XLA splits a single one over threads, which must not happen
    where the call is part of a kernel.
    """

    def call(*args):
        with set_xla_metadata(inlineable="false"):
            both = jax.jit(lambda *xs: (fun(*xs), jnp.zeros((), bool)), inline=False)(*args)
        return lax.optimization_barrier(both)[0]  # or JAX drops the second result

    return call


def one_kernel(fun: Callable) -> Callable:
    """`fun` as one unit that XLA's CPU backend compiles to a single kernel, loops and all.

    For many short operations: a kernel of its own costs each of them more than its work, and compiles in 7 ms.
    `fun` must not sort, scatter, multiply matrices or call a library, nor take or return anything empty, nor
    take anything that XLA may know to be constant.
    """

    def with_all_read(*args):
        """XLA has no address for an argument that nothing in the kernel reads."""
        firsts = [lax.convert_element_type(first(x), jnp.float32) for x in args]
        return fun(*args), functools.reduce(lax.add, firsts)

    def call(*args):
        with set_xla_metadata(inlineable="false", xla_cpu_small_call="true"):
            both = jax.jit(with_all_read, inline=False)(*args)
        return lax.optimization_barrier(both)[0]

    return call


def first(x: Array) -> Array:
    """The first number [] of an array; indexing takes several times longer to trace."""
    return lax.squeeze(lax.slice(x, (0,) * x.ndim, (1,) * x.ndim), range(x.ndim))


class World:
    """A batched value, held worlds-last, worlds-first, or both; the other layout is made when asked for."""

    __slots__ = ("_first", "_last")

    def __init__(self, last: Array | None = None, first: Array | None = None):
        self._last, self._first = last, first

    @property
    def array(self) -> Array:
        """The array with the world axis last."""
        if self._last is None:
            self._last = settled(lambda x: jnp.moveaxis(x, 0, -1))(self._first)
        return self._last

    @property
    def first(self) -> Array:
        """The array with the world axis first."""
        if self._first is None:
            self._first = settled(lambda x: jnp.moveaxis(x, -1, 0))(self._last)
        return self._first

    @property
    def only_first(self) -> bool:
        """Whether only the worlds-first layout exists so far."""
        return self._last is None

    @property
    def has_first(self) -> bool:
        """Whether the worlds-first layout exists already."""
        return self._first is not None


Value = Any  # World or an unbatched array


def within(values: list[Value]) -> list[Value]:
    """The values for the body of a loop, which may make another layout of one: it is a value of that body's trace."""
    return [World(v._last, v._first) if isinstance(v, World) else v for v in values]


def spread(x: Value, n: int) -> Array:
    """The array with a world axis last, broadcast if it had none."""
    return x.array if isinstance(x, World) else jnp.broadcast_to(jnp.asarray(x)[..., None], (*np.shape(x), n))
