"""Differentiable solutions of systems that are not symmetric, but close enough to it to need no pivoting."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Array = jax.Array


def solve_general(A: Array, b: Array, known: Array | None = None) -> Array:
    """Solve A x = b, differentiably in both modes and nested.

    Args:
        A: [n, n], as M - h dF/dv with a positive definite M: its leading minors are not zero.
        b: [n].
        known: the solution [n], where it has been found before; then only derivatives are computed.
    """
    if known is not None:
        return _known(lax.stop_gradient(known), A, b)
    fixed = lax.stop_gradient(A)
    return lax.custom_linear_solve(
        lambda x: lax.dot(A, x, precision=lax.Precision.HIGHEST),
        b,
        solve=lambda _, rhs: eliminate(fixed, rhs),
        transpose_solve=lambda _, rhs: eliminate(fixed.T, rhs),
    )


@jax.custom_jvp
def _known(x: Array, A: Array, b: Array) -> Array:
    """x, which solves A x = b."""
    return x


@_known.defjvp
def _(primals, tangents):
    """A dx = db - dA x; what is known has no derivative of its own."""
    x, A, b = primals
    x = _known(x, A, b)
    _, change = jax.jvp(lambda A, b: b - lax.dot(A, x, precision=lax.Precision.HIGHEST), (A, b), tangents[1:])
    return x, solve_general(A, change)


def eliminate(A: Array, b: Array) -> Array:
    """x [n] of A x = b by Gauss and Jordan's elimination without pivoting, for A [n, n] and b [n].

    One loop, whose body is compiled once, and no library, whose kernels may split a batch over threads.
    """
    n = A.shape[0]

    def take_out(rows: Array, k: Any) -> tuple[Array, Any]:
        here = (jnp.arange(n, dtype=jnp.int32) == k)[:, None]
        row, column = (rows.at[at].get(mode="promise_in_bounds") for at in (k[None], (slice(None), k[None])))
        row = row / row.at[:, k[None]].get(mode="promise_in_bounds")
        return jnp.where(here, row, rows - column * row), None

    rows, _ = lax.scan(take_out, jnp.concatenate([A, b[:, None]], axis=1), np.arange(n, dtype=np.int32))
    return rows[:, n]
