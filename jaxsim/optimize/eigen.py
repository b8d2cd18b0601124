"""Eigenvectors of small symmetric matrices, as plain array operations: LAPACK may split a batch (see `elimination`)."""

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array

SWEEPS = 6  # Jacobi's method converges quadratically: rounding is reached in four or five
PAIRS = ((0, 1), (0, 2), (1, 2))


@jax.custom_jvp
def eigh3(A: Array) -> tuple[Array, Array]:
    """Eigenvalues [3], ascending, and eigenvectors [3, 3], in columns, of a symmetric matrix, by Jacobi's rotations.

    The derivative of the vectors is not finite where eigenvalues are equal.
    """

    def sweep(_, state: tuple[Array, Array]) -> tuple[Array, Array]:
        for p, q in PAIRS:
            A, V = state
            R = _rotation(A, p, q)
            state = _product(R.T, _product(A, R)), _product(V, R)
        return state

    A, V = lax.fori_loop(0, SWEEPS, sweep, (A, jnp.eye(3, dtype=A.dtype)))
    values = jnp.diagonal(A)
    order = jnp.argsort(values)
    return values[order], V[:, order]


@eigh3.defjvp
def _(primals, tangents):
    """With M = V^T dA V: dw_i = M_ii, dV = V F with F_ij = M_ij / (w_j - w_i)."""
    w, V = eigh3(*primals)
    M = _product(V.T, _product(tangents[0], V))
    own = jnp.eye(3, dtype=bool)
    F = jnp.where(own, 0, M / jnp.where(own, 1, w[None, :] - w[:, None]))
    return (w, V), (jnp.diagonal(M), _product(V, F))


def _rotation(A: Array, p: int, q: int) -> Array:
    """[3, 3], which makes A_pq zero."""
    apart, off = A[q, q] - A[p, p], 2 * A[p, q]
    still = off == 0
    cot = apart / jnp.where(still, 1, off)
    t = jnp.where(still, 0, jnp.where(cot < 0, -1, 1) / (jnp.abs(cot) + jnp.sqrt(cot * cot + 1)))
    c = lax.rsqrt(t * t + 1)
    rows = jnp.array([p, q, p, q])
    return jnp.eye(3, dtype=A.dtype).at[rows, jnp.array([p, q, q, p])].set(jnp.stack([c, c, t * c, -t * c]))


def _product(a: Array, b: Array) -> Array:
    return lax.dot(a, b, precision=lax.Precision.HIGHEST)
