"""What happened in the latest steps of each world, to learn from again."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array


def begin(steps: Any, worlds: int, length: int) -> Any:
    """Room for the last `length` steps of each world: zeros [worlds, length, ...].

    Args:
        steps: a pytree of arrays, or of their shapes, [T, worlds, ...].
        worlds: how many.
        length: a multiple of T.
    """
    return jax.tree.map(lambda x: jnp.zeros((worlds, length, *x.shape[2:]), x.dtype), steps)


def add(replay: Any, steps: Any, taken: Array) -> Any:
    """The same with steps [T, worlds, ...] in place of the oldest, after `taken` steps [] of each world."""

    def put(kept: Array, x: Array) -> Array:
        return lax.dynamic_update_slice_in_dim(kept, jnp.moveaxis(x, 0, 1), taken % kept.shape[1], 1)

    return jax.tree.map(put, replay, steps)


def sample(replay: Any, taken: Array, number: int, key: Array) -> Any:
    """So many steps [number, ...] of any worlds, each drawn from all that are kept after `taken` steps [] of each."""
    worlds, length = jax.tree.leaves(replay)[0].shape[:2]
    of_world, of_step = jax.random.split(key)
    world = jax.random.randint(of_world, (number,), 0, worlds)
    step = jax.random.randint(of_step, (number,), 0, jnp.minimum(taken, length))
    return jax.tree.map(lambda x: x[world, step], replay)
