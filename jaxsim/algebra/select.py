"""Row operations with compiled-in indices: take, put, and products with constant matrices. For arrays of the host
they are numpy's; the rest is about JAX's.

Index arrays are numpy and known at load. A contiguous selection becomes a slice, the identity costs
nothing, and nothing is ever scattered, nor are cotangents: what a row was taken from gets the sum of what its
copies pull, by further takes.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.arrays import Array, on_host
from jaxsim.algebra.pieces import Piece, pieces
from jaxsim.layout.evaluate import one, rule
from jaxsim.layout.unstable import Primitive, Zero, rules, zero_of
from jaxsim.layout.world import World, settled

MOST_COPIES = 4  # of a row; sums of more are products with a constant matrix


class Index:
    """A static integer array [n] that may be a parameter of a primitive: hashable, compared by content."""

    def __init__(self, rows):
        self.rows = np.ascontiguousarray(rows, np.int32)
        self._hash = hash(self.rows.tobytes())

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other) -> bool:
        return isinstance(other, Index) and np.array_equal(self.rows, other.rows)

    def __repr__(self) -> str:
        return f"Index({self.rows.tolist()})"


take_p = Primitive("take_rows")


def take(x: Array, index, axis: int = 0) -> Array:
    """Rows x[index] along an axis, for a static integer index array of rank 1."""
    if on_host(x):
        return x.take(index, axis)
    index = np.asarray(index, np.int32)
    n = len(index)
    if n == x.shape[axis] and np.array_equal(index, np.arange(n)):
        return x
    if n and np.array_equal(index, np.arange(index[0], index[0] + n)):
        return lax.slice_in_dim(x, int(index[0]), int(index[0]) + n, axis=axis)
    if n == 0:
        return jnp.zeros((*x.shape[:axis], 0, *x.shape[axis + 1 :]), x.dtype)
    return take_p.bind(jnp.asarray(x), index=Index(index), axis=axis)


def _take(x: Array, *, index: Index, axis: int) -> Array:
    others = tuple(i for i in range(x.ndim) if i != axis)
    return lax.gather(  # what x[rows] traces to, in a fifth of the time
        x,
        index.rows[:, None],
        lax.GatherDimensionNumbers(offset_dims=others, collapsed_slice_dims=(axis,), start_index_map=(axis,)),
        (*x.shape[:axis], 1, *x.shape[axis + 1 :]),
        unique_indices=len(set(index.rows.tolist())) == len(index.rows),
        mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS,
    )


def _type(x, *, index: Index, axis: int):
    return jax.core.ShapedArray((*x.shape[:axis], len(index.rows), *x.shape[axis + 1 :]), x.dtype)


def _batch(args, dims, *, index: Index, axis: int):
    return take_p.bind(jnp.moveaxis(args[0], dims[0], 0), index=index, axis=axis + 1), 0


def _jvp(primals, tangents, **params):
    out = take_p.bind(*primals, **params)
    dot = tangents[0]
    return out, zero_of(jax.typeof(out)) if isinstance(dot, Zero) else take_p.bind(dot, **params)


def _transpose(cotangent, x, *, index: Index, axis: int):
    if isinstance(cotangent, Zero):
        return [None]
    return [scatter_add(index.rows, cotangent, x.aval.shape[axis], axis)]


rules(take_p, abstract=_type, impl=jax.jit(_take, static_argnames=("index", "axis")), batch=_batch, cpu=_take,
      default=_take, jvp=_jvp, transpose=_transpose)  # fmt: skip


@rule("take_rows", size=one)
def _worlds(eqn, values, n):
    """Worlds stay last, behind the axis that rows are taken along."""
    return [World(settled(lambda x: _take(x, **eqn.params))(values[0].array))]


def put(x: Array, index, rows: Array) -> Array:
    """x [n, ...] with the given distinct rows replaced by `rows` [k, ...], as one concatenation and one take."""
    if on_host(x, rows):
        x = x.copy()
        x[index] = rows
        return x
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
    if on_host(*(rows for _, rows in groups)):
        out = np.zeros((size, *like.shape[1:]), like.dtype)
        for index, rows in groups:
            out[index] = rows
        return out
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
    if on_host(x):
        return (matrix @ x.reshape(len(x), -1)).reshape(-1, *x.shape[1:])
    found = pieces(matrix)
    if found is not None:
        return gather_groups([(p.rows.ravel(), _product_of(p, x)) for p in found], len(matrix))
    constant = jnp.asarray(matrix, x.dtype)
    return lax.dot_general(constant, x, (((1,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)


def _product_of(piece: Piece, x: Array) -> Array:
    """The rows [k a, ...] of a product with a matrix that have the blocks [a, b] of one kind."""
    part = take(x, piece.columns.ravel())
    if piece.block.size == 1 and piece.block == 1:
        return part
    k, b = piece.columns.shape
    part = part.reshape(k, b, *x.shape[1:])
    block = jnp.asarray(piece.block, x.dtype)
    part = lax.dot_general(block, part, (((1,), (1,)), ((), ())), precision=lax.Precision.HIGHEST)
    return jnp.moveaxis(part, 0, 1).reshape(-1, *x.shape[1:])


def matmul(a: Array, b: Array) -> Array:
    """Matrix product of a [..., n, m] and b [m, ...], at full precision; only the host has the dots."""
    return a @ b if on_host(a, b) else lax.dot(a, b, precision=lax.Precision.HIGHEST)


def products(a: Array, b: Array) -> Array:
    """Inner products of the rows of a [n, k] and of b [m, k] -> [n, m], at full precision; worlds come in front."""
    if on_host(a, b):
        return a @ b.T if a.ndim == 2 else a.swapaxes(0, 1) @ b.transpose(1, 2, 0)
    return lax.dot_general(a, b, (((1,), (1,)), ((), ())), precision=lax.Precision.HIGHEST)


def scatter_add(index, x: Array, size: int, axis: int = 0) -> Array:
    """Sum rows of x [n, ...] into [size, ...] at static positions along an axis, without scattering.

    The k-th copies of all rows are placed by one take; rows with many copies are summed by a constant product.
    """
    index = np.asarray(index, int)
    if on_host(x):
        total = np.zeros((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype)
        np.add.at(total.swapaxes(0, axis), index, x.swapaxes(0, axis))
        return total
    if not len(index):
        return jnp.zeros((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype)
    order = np.argsort(index, kind="stable")
    first = np.searchsorted(index[order], np.arange(size))
    count = np.bincount(index, minlength=size)
    if count.max() > MOST_COPIES:
        total = product((np.arange(size)[:, None] == index[None]).astype(float), jnp.moveaxis(x, axis, 0))
        return jnp.moveaxis(total, 0, axis)
    if count.min() < count.max():
        x = lax.concatenate([x, jnp.zeros((*x.shape[:axis], 1, *x.shape[axis + 1 :]), x.dtype)], axis)
    terms = []
    for k in range(count.max()):
        terms.append(take(x, np.where(count > k, order[np.minimum(first + k, len(index) - 1)], len(index)), axis))
    return sum(terms[1:], terms[0])
