"""Stiff systems that are not symmetric, by the inverses of their triangular factors.

    A = L D U,    A^-1 b = U^-1 (D^-1 (L^-1 b)),    L and U with ones on their diagonals

In float32 a robot's matrix with contacts of 1e5 kg has a condition of 1e8, and products with its inverse leave some
hundredths of b. The inverses of L and U have all of their digits, since what is stiff is in D, and leave the rounding
of A x, as substitution does; but products of matrices are what suits every machine.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.solvers.linear import tiles
from jaxsim.solvers.linear.small_matrices import primitive

Array = jax.Array


class Factors(NamedTuple):
    """A matrix [n, n], and in one table the inverses of its factors: L's below the diagonal, D's on it, U's above."""

    A: Array
    table: Array  # [n, n]


def factored(A: Array) -> Factors:
    """The factors of A [n, n], whose leading minors are not zero: there is no pivoting, as for what is nearly positive
    definite none is needed. Where one is zero, numbers are not finite."""
    return Factors(A, triangles_p.bind(lax.stop_gradient(A)))


def solved(factors: Factors, b: Array) -> Array:
    """x [n] of A x = b [n], differentiable in both modes and nested."""
    A, table = factors.A, lax.stop_gradient(factors.table)
    return lax.custom_linear_solve(
        lambda x: _product(A, x),
        b,
        solve=lambda _, rhs: _solved(table, rhs),
        transpose_solve=lambda _, rhs: _solved(table.T, rhs),
    )


def _solved(table: Array, b: Array) -> Array:
    n = np.arange(len(table))
    below, above = (jnp.where(side, table, 0) for side in (n[:, None] > n, n[:, None] < n))
    x = (b + _product(below, b)) * jnp.diagonal(table)
    return x + _product(above, x)


def _product(A: Array, x: Array) -> Array:
    return lax.dot(A, x, precision=lax.Precision.HIGHEST)


def _table(A: Array) -> Array:
    """The table of A [n, n], in place: one loop, whose body is compiled once.

    Step k takes column k out of the rows below, where L's inverse grows, and of the scaled ones above, where U's does.
    """
    n = A.shape[0]
    along = np.arange(n, dtype=np.int32)

    def take_out(table: Array, k: Any) -> tuple[Array, None]:
        row, column = (table.at[at].get(mode="promise_in_bounds") for at in (k, (slice(None), k)))
        before, here, after = along < k, along == k, along > k
        one = jnp.sum(jnp.where(here, row, 0))
        scaled = row / one
        kept = before[:, None] & before[None]
        rest = table - jnp.where(kept, 0, column[:, None] * scaled[None])
        rest = jnp.where(here[None], jnp.where(after, -column / one, -column)[:, None], rest)
        own = jnp.where(before, row, jnp.where(here, 1 / one, scaled))
        return jnp.where(here[:, None], own[None], rest), None

    return lax.scan(take_out, A, along)[0]


triangles_p = primitive("matrix_triangles", _table, tiles.triangles)
