"""Checkpoints: the whole state of a training, complete or absent.

Orbax writes into a folder of another name and renames it at the end, so that a process killed at any time leaves the
last complete checkpoint. What is kept is every array that an iteration reads: continuing gives the same numbers, bit
for bit, on the same devices.
"""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from training.config import ConfigError

Array = jax.Array

KEPT = 2  # checkpoints


class Checkpoints:
    """The checkpoints of a folder, numbered by iteration."""

    def __init__(self, folder: Path):
        from orbax import checkpoint  # slow to import, and not needed to read settings

        self._args = checkpoint.args
        options = checkpoint.CheckpointManagerOptions(max_to_keep=KEPT, enable_async_checkpointing=False)
        self._manager = checkpoint.CheckpointManager(folder.resolve(), options=options)

    def latest(self) -> int | None:
        """The last complete one, if any."""
        return self._manager.latest_step()

    def save(self, iteration: int, state: Any) -> None:
        """Write a state, in place of one of the same number; returns when it is complete."""
        if iteration in self._manager.all_steps():
            self._manager.delete(iteration)
        self._manager.save(iteration, args=self._args.StandardSave(_stored(state)), force=True)

    def restore(self, iteration: int, like: Any) -> Any:
        """Read a state.

        Args:
            iteration: its number.
            like: a state of the same structure: arrays, or their shapes with the places they are to have.
        """
        try:
            kept = self._manager.restore(iteration, args=self._args.StandardRestore(_stored(like)))
        except ValueError as error:  # of orbax, which lists all arrays
            where = f"checkpoint {iteration} in {self._manager.directory}"
            raise ConfigError([f"{where} holds other arrays: of another version; choose another --out"]) from error
        leaves, structure = jax.tree.flatten(like)
        return jax.tree.unflatten(structure, [_back(kept.get(_name(i)), leaf) for i, leaf in enumerate(leaves)])

    def close(self) -> None:
        """Finish."""
        self._manager.close()


def _name(index: int) -> str:
    return f"{index:04}"


def _stored(state: Any) -> dict[str, Any]:
    """Leaves by their number, keys as numbers; orbax refuses arrays of size 0, and nothing is lost without them."""
    return {_name(i): _numbers(leaf) for i, leaf in enumerate(jax.tree.leaves(state)) if leaf.size}


def _numbers(leaf: Any) -> Any:
    if not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return leaf
    if isinstance(leaf, jax.Array):
        return jax.random.key_data(leaf)
    data = jax.eval_shape(jax.random.key_data, leaf)
    return jax.ShapeDtypeStruct(data.shape, data.dtype, sharding=leaf.sharding)


def _back(kept: Any, like: Any) -> Any:
    if not like.size:
        return jax.device_put(jnp.zeros(like.shape, like.dtype), like.sharding)
    if jnp.issubdtype(like.dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(kept)
    return kept
