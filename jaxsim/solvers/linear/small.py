"""Small systems that are not symmetric, by elimination written out."""

import jax
import jax.numpy as jnp

Array = jax.Array


def solve_small(A: Array, b: Array) -> Array:
    """Solve A x = b by Gaussian elimination without pivoting, for [..., n, n] and [..., n] with small n.

    As mju_factorLUSparse and mju_solveLUSparse do; for matrices that are positive definite but for a small part.
    Batches of them never go to a library, whose kernels may split a batch over threads (see `spd_solve`).
    """
    n = A.shape[-1]
    rows = [jnp.concatenate([A[..., i, :], b[..., i, None]], axis=-1) for i in range(n)]
    for k in range(n):
        rows[k] = rows[k] / rows[k][..., k, None]
        rows = [r if i == k else r - r[..., k, None] * rows[k] for i, r in enumerate(rows)]
    return jnp.stack([r[..., n] for r in rows], axis=-1)
