"""Positive definite systems of a chunk of worlds on a CPU, factored side by side with the worlds as lanes.

LAPACK takes small matrices one by one: a matrix of 27 rows costs it 2 us. The same arithmetic written over
worlds, each operation on a run of worlds, is three times as fast. XLA must make one kernel of it (`one_kernel`),
since it consists of many short loops.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Array = jax.Array

BLOCK = 14  # columns eliminated together: rows above a block are left alone
LARGEST = 64  # rows of a matrix; larger ones are LAPACK's


def solve(H: Array, d: Array, b: Array, floor: float) -> Array:
    """x of (H + diag(d)) x = b, for H [n, n, W], d [n, W] and b [n, k, W], by H = S D^-1 S^T.

    The diagonal gets the relative `floor`. Without pivoting, and without a test of definiteness: where LAPACK gives
    nan, this gives numbers.
    """
    n = H.shape[0]
    on_diagonal = H[np.arange(n), np.arange(n)]
    added = d + floor * (on_diagonal + d)
    edges = range(0, n, BLOCK)
    done: list[tuple] = []  # blocks of columns: their first row, S [c, n - first, W], right-hand sides and 1 / D
    for start in edges:
        stop = min(start + BLOCK, n)
        A, B = H[start:stop, start:], b[start:stop]
        for first, S, T, inverse in done:
            A, B = _eliminate_block(A, B, start - first, S, T, inverse)
        done.append((start, *_factor_block(A, B, added[start:stop])))
    return _substitute(done)


def _row(x: Array, i: Array | int) -> Array:
    return lax.dynamic_index_in_dim(x, i, 0, keepdims=False)


def _minus(A: Array, multiplier: Array, column: Array) -> Array:
    """A - multiplier column^T, for A [c, m, W], multiplier [c, W] and column [m, W]."""
    return A - multiplier[:, None] * column[None]


def _eliminate_block(A: Array, B: Array, offset: int, S: Array, T: Array, inverse: Array) -> tuple[Array, Array]:
    """Take the columns S of an earlier block out of the columns A and right-hand sides B."""

    def eliminate(k, state):
        A, B = state
        column = _row(S, k)[offset:]
        multiplier = column[: A.shape[0]] * _row(inverse, k)[None]
        return _minus(A, multiplier, column), _minus(B, multiplier, _row(T, k))

    return lax.fori_loop(0, S.shape[0], eliminate, (A, B))


def _factor_block(A: Array, B: Array, added: Array) -> tuple[Array, Array, Array]:
    """Columns S and right-hand sides of a block, each column with the earlier ones taken out, and 1 / D."""
    count = A.shape[0]
    later = np.arange(count)

    def eliminate(j, state):
        A, B, inverse = state
        column = _row(A, j)
        inv = 1 / (_row(column, j) + _row(added, j))
        multiplier = jnp.where((later > j)[:, None], column[:count] * inv[None], 0)
        inverse = lax.dynamic_update_index_in_dim(inverse, inv, j, 0)
        return _minus(A, multiplier, column), _minus(B, multiplier, _row(B, j)), inverse

    return lax.fori_loop(0, count, eliminate, (A, B, jnp.zeros_like(added)))


def _substitute(done: list) -> Array:
    """Solve S^T x = rhs from the last column to the first."""
    solved: list[tuple[int, Array]] = []
    for first, S, T, inverse in reversed(done):
        for begin, x in solved:
            columns = jnp.moveaxis(S[:, begin - first : begin - first + x.shape[0]], 1, 0)
            T = lax.fori_loop(
                0, x.shape[0], lambda i, T, columns=columns, x=x: _minus(T, _row(columns, i), _row(x, i)), T
            )
        count = S.shape[0]

        def back(q, state, S=S, inverse=inverse, count=count):
            T, x = state
            j = count - 1 - q
            xj = _row(T, j) * _row(inverse, j)[None]
            T = _minus(T, lax.dynamic_index_in_dim(S, j, 1, keepdims=False), xj)
            return T, lax.dynamic_update_index_in_dim(x, xj, j, 0)

        _, x = lax.fori_loop(0, count, back, (T, jnp.zeros_like(T)))
        solved.append((first, x))
    return jnp.concatenate([x for _, x in reversed(solved)])
