"""Inverses of small symmetric positive definite matrices, as plain array operations.

Not by LAPACK: an identification of 128 windows stood still in jaxlib 0.10.2 on two cores, every thread waiting, with
`jnp.linalg.solve` and Cholesky factors of batches, and goes on with these. Systems here have a dozen unknowns and come
by the hundred.
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
