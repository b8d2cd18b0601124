"""Row operations with compiled-in indices: take, put, and products with constant matrices.

Index arrays are numpy and known at load. A contiguous selection becomes a slice, the identity costs
nothing, and nothing is ever scattered.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Array = jax.Array


def take(x: Array, index) -> Array:
    """Rows x[index] along axis 0, for a static integer index array of rank 1."""
    index = np.asarray(index, np.int32)
    n = len(index)
    if n == x.shape[0] and np.array_equal(index, np.arange(n)):
        return x
    if n and np.array_equal(index, np.arange(index[0], index[0] + n)):
        return lax.slice_in_dim(x, int(index[0]), int(index[0]) + n)
    if n == 0:
        return jnp.zeros((0, *x.shape[1:]), x.dtype)
    return x.at[index].get(mode="promise_in_bounds", unique_indices=len(set(index.tolist())) == n)


def put(x: Array, index, rows: Array) -> Array:
    """x with the given distinct rows replaced, as one concatenation and one take."""
    index = np.asarray(index, np.int32)
    if len(index) == 0:
        return x
    if len(index) == x.shape[0] and np.array_equal(index, np.arange(len(index))):
        return rows
    source = np.arange(x.shape[0])
    source[index] = x.shape[0] + np.arange(len(index))
    return take(lax.concatenate([x, rows], 0), source)


def gather_groups(groups: list[tuple[np.ndarray, Array]], size: int) -> Array:
    """Assemble [size, ...] from (indices, rows) groups; rows of no group are zero."""
    like = groups[0][1]
    covered = sum(len(i) for i, _ in groups)
    parts = [rows for _, rows in groups]
    if covered < size:
        parts.append(jnp.zeros((1, *like.shape[1:]), like.dtype))
    source = np.full(size, covered)
    start = 0
    for index, rows in groups:
        source[np.asarray(index, int)] = start + np.arange(len(index))
        start += rows.shape[0]
    return take(lax.concatenate(parts, 0) if len(parts) > 1 else parts[0], source)


def product(matrix: np.ndarray, x: Array) -> Array:
    """Constant matrix [m, n] times x [n, ...] -> [m, ...] at full precision."""
    constant = jnp.asarray(matrix, x.dtype)
    return lax.dot_general(constant, x, (((1,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)


def scatter_add(index, x: Array, size: int) -> Array:
    """Sum rows of x [n, ...] into [size, ...] at static positions, as a constant product."""
    index = np.asarray(index, int)
    if len(index) == size and np.array_equal(index, np.arange(size)):
        return x
    if len(set(index.tolist())) == len(index):
        return gather_groups([(index, x)], size) if len(index) else jnp.zeros((size, *x.shape[1:]), x.dtype)
    return product((np.arange(size)[:, None] == index[None]).astype(float), x)
