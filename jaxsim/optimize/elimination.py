"""Inverses of small symmetric positive definite matrices, as plain array operations.

LAPACK's batched routines wait on XLA's threads for their own parts: called from two places at once on a machine of
two cores, they wait for ever. Systems here have a dozen unknowns and come by the hundred, where nothing is lost.
"""

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array


def inverse(H: Array) -> Array:
    """The inverse of a symmetric positive definite matrix [n, n], by Gauss and Jordan; not finite where it is none."""
    n = len(H)

    def eliminate(k: Array, rows: Array) -> Array:
        pivot = rows[k, k]
        row = rows[k] / jnp.where(pivot > 0, pivot, jnp.nan)
        return (rows - rows[:, k][:, None] * row[None]).at[k].set(row)

    both = jnp.concatenate([H, jnp.eye(n, dtype=H.dtype)], axis=1)
    return lax.fori_loop(0, n, eliminate, both)[:, n:]
