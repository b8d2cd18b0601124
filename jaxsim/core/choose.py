"""Choosing between worlds, and starting some of them anew."""

from typing import Any

import jax
import jax.numpy as jnp

from jaxsim.core.data import Data, make_data
from jaxsim.core.model import Model

Array = jax.Array

COUNTS = ("warning", "peak")  # of a world since it was made: they outlive its resets


def where(mask: Array, a: Any, b: Any) -> Any:
    """`a` where `mask` holds and `b` elsewhere, for Data and for any pytree of arrays.

    Of a Data the counts of warnings and the peak demands on budgets are the larger ones of both, so that a world that
    is put back to an earlier state, or to a new one, keeps what happened to it.

    Args:
        mask: truth values, [B] for a batch of worlds [B, ...], [] for one world.
        a: pytree of arrays whose axes begin with those of the mask, or that lack them: one world for all.
        b: likewise, of the same structure.

    Raises:
        ValueError: the structures differ, or an array of both begins with other axes than the mask.
    """
    mask = jnp.asarray(mask, bool)
    if jax.tree.structure(a) != jax.tree.structure(b):  # type: ignore[operator]  # its stub lacks them
        raise ValueError("where takes two pytrees of the same structure, such as two Data of the same model")
    return jax.tree.map(lambda x, y: _chosen(mask, x, y), a, b, is_leaf=lambda x: isinstance(x, Data))


def _chosen(mask: Array, a: Any, b: Any) -> Any:
    if not isinstance(a, Data):
        return _leaf(mask, a, b)
    chosen = jax.tree.map(lambda x, y: _leaf(mask, x, y), a, b)
    return chosen.replace(**{name: _larger(getattr(a, name), getattr(b, name)) for name in COUNTS})


def _leaf(mask: Array, a: Any, b: Any) -> Array:
    """One array, whose own axes come after those of the worlds."""
    a, b = jnp.asarray(a), jnp.asarray(b)
    shape = max(a.shape, b.shape, key=len)
    if shape[: mask.ndim] != mask.shape:
        raise ValueError(f"mask has shape {mask.shape}, which an array of shape {shape} does not begin with")
    over = mask.reshape(mask.shape + (1,) * (len(shape) - mask.ndim))
    return jax.lax.select(*(jnp.broadcast_to(x, shape) for x in (over, a, b)))


def _larger(a: Array, b: Array) -> Array:
    shape = max(a.shape, b.shape, key=len)
    return jnp.maximum(jnp.broadcast_to(a, shape), jnp.broadcast_to(b, shape))


def reset(model: Model, data: Data, mask: Array | None = None, to: Data | str | int | None = None) -> Data:
    """`data` with some worlds, or all, at a start: inputs and derived fields too. Warnings and peaks are kept.

    Args:
        model: the model.
        data: of one world, or of a batch [B].
        mask: which worlds, truth values [B]; by default all.
        to: where they start, as a Data of one world or of a batch [B], or as a keyframe by name or index; by default
            at rest at qpos0.

    Raises:
        KeyError: no keyframe has this name or index.
        ValueError: the mask or the start has the axes of another batch.
    """
    start = to if isinstance(to, Data) else make_data(model, to)
    if mask is None:
        mask = jnp.ones(data.time.shape, bool)
    if jnp.shape(mask) != data.time.shape:
        raise ValueError(f"mask has shape {jnp.shape(mask)}, expected {data.time.shape}, the batch of data")
    return where(mask, start, data)
