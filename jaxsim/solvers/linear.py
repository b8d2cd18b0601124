"""Symmetric positive definite systems."""

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array


def factor(H: Array) -> Array:
    """Cholesky factor [nv, nv]; in float32 the diagonal gets a relative 1e-6, a floor under the pivots."""
    if H.dtype == jnp.float32:
        H = H + jnp.diagonal(H)[:, None] * jnp.eye(H.shape[0], dtype=H.dtype) * 1e-6
    return lax.linalg.cholesky(H, symmetrize_input=False)


def factor_solve(L: Array, b: Array) -> Array:
    """Solve L L^T x = b [nv]."""
    y = lax.linalg.triangular_solve(L, b[:, None], left_side=True, lower=True)
    return lax.linalg.triangular_solve(L, y, left_side=True, lower=True, transpose_a=True)[:, 0]


def solve(H: Array, b: Array) -> Array:
    """Solve H x = b for a symmetric positive definite H [nv, nv], differentiably in both modes."""
    L = factor(lax.stop_gradient(H))
    return lax.custom_linear_solve(
        lambda x: lax.dot(H, x, precision=lax.Precision.HIGHEST),
        b,
        solve=lambda _, rhs: factor_solve(L, rhs),
        symmetric=True,
    )
