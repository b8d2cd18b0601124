"""Batched values, and how to keep XLA from fusing across them."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata

Array = jax.Array


def settled(fun: Callable) -> Callable:
    """`fun` as a unit that XLA neither inlines nor fuses with its surroundings, on a CPU.

    XLA's CPU backend recomputes what feeds a gather, a concatenation or a transpose once per use, and an
    optimization barrier does not stop it. A call that must not be inlined does: its operands and results
    are stored.
    """
    if jax.default_backend() != "cpu":
        return fun

    def call(*args):
        with set_xla_metadata(inlineable="false"):
            return jax.jit(_tupled(fun), inline=False)(*args)[0]

    return call


def one_kernel(fun: Callable) -> Callable:
    """`fun` as one unit that XLA's CPU backend compiles to a single kernel, loops and all.

    For many short operations: a kernel of its own costs each of them more than its work, and compiles in 7 ms.
    `fun` must not sort, scatter, multiply matrices or call a library.
    """

    def call(*args):
        with set_xla_metadata(inlineable="false", xla_cpu_small_call="true"):
            return jax.jit(_tupled(fun), inline=False)(*args)[0]

    return call


def _tupled(fun: Callable) -> Callable:
    """`fun` with a second result: XLA runs the root of a call in parallel, which a kernel's inner calls must not."""
    return lambda *args: (fun(*args), jnp.zeros((), bool))


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


def spread(x: Value, n: int) -> Array:
    """The array with a world axis last, broadcast if it had none."""
    return x.array if isinstance(x, World) else jnp.broadcast_to(jnp.asarray(x)[..., None], (*np.shape(x), n))
