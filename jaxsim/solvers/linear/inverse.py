"""Inverses of small matrices: a primitive, so that its derivative needs no other inverse."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.layout.unstable import Zero, zero_of
from jaxsim.solvers.linear import tiles
from jaxsim.solvers.linear.small_matrices import primitive

Array = jax.Array


def inverse(A: Array) -> Array:
    """A^-1 [..., n, n], differentiable in both modes and nested; numbers that are not finite where A has none."""
    return inverse_p.bind(A)


def _exchanged(A: Array) -> Array:
    """A^-1 [n, n] by Gauss and Jordan's exchange steps with row pivots; one loop, whose body is compiled once.

    Read A as y = A x. A step exchanges x_k for the y_r with the largest coefficient, in place: after n of them the
    table says x in terms of y, with rows and columns in the order of the exchanges.
    """
    n = A.shape[0]

    def exchange(carry: tuple[Array, Array], k: Any) -> tuple[tuple[Array, Array], Array]:
        table, free = carry
        column = table.at[:, k].get(mode="promise_in_bounds")
        r = jnp.argmax(jnp.where(free, jnp.abs(column), -1))
        here = jnp.arange(n, dtype=jnp.int32) == r.astype(jnp.int32)
        there = jnp.arange(n, dtype=jnp.int32) == k
        row = jnp.sum(jnp.where(here[:, None], table, 0), axis=0)
        pivot = jnp.sum(jnp.where(here, column, 0))
        scaled = jnp.where(there, -1, row) / pivot
        column = jnp.where(here, 0, column)
        rest = jnp.where(there[None], 0, table) - column[:, None] * scaled[None]
        return (jnp.where(here[:, None], -scaled[None], rest), free & ~here), here

    (table, _), order = lax.scan(exchange, (A, jnp.ones(n, bool)), np.arange(n, dtype=np.int32))
    P = order.astype(A.dtype)  # [k, r]: x_k is in row r, and column k stands for y_r
    times = lambda a, b: lax.dot(a, b, precision=lax.Precision.HIGHEST)  # noqa: E731
    return times(times(P, table), P)


def _jvp(primals, tangents):
    """dX = -X dA X."""
    (A,), (change,) = primals, tangents
    X = inverse(A)
    if isinstance(change, Zero):
        return X, zero_of(jax.typeof(X))
    times = functools.partial(jnp.matmul, precision=lax.Precision.HIGHEST)
    return X, -times(times(X, change), X)


inverse_p = primitive("matrix_inverse", _exchanged, tiles.inverse, _jvp)
