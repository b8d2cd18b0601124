"""Small systems on an NVIDIA GPU, each in the registers of a warp or of a few: one kernel for a batch, and no library.

A library takes three calls for a factorisation with its solutions, each of some 60 us for 8,192 matrices of 27 rows,
and chooses kernels by the size of the batch, with other roundings. Here a matrix is a tile, of which rows and columns
are sums over masks, since registers have no index; tiles have 8, 16, 32 or 64 rows, and zeros beyond the matrix.

The kernels are Pallas programs on Triton, which JAX has deprecated (0.11): where that is gone, or the GPU is not known
when a program is lowered, the library serves.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.layout.unstable import triton

Array = jax.Array

LEAST, LARGEST = 8, 64  # rows of a tile
INVERTED = 32  # of one that is inverted: larger ones, shared by warps, were not shown to be right on a GPU
WARPS = {8: 1, 16: 1, 32: 1, 64: 4}


def fit(rows: int) -> bool:
    """Whether tiles of so many rows are possible, on the GPU that a program is lowered for."""
    return 0 < rows <= LARGEST and triton() is not None


def _side(rows: int) -> int:
    return max(LEAST, 1 << (rows - 1).bit_length())


def solve(H: Array, b: Array, interpret: bool = False) -> Array:
    """x [..., n, k] of H x = b, for positive definite H [..., n, n] and b [..., n, k]; `fit(n + k)` is asked before.

    Where H is not definite there are numbers, not NaN. `interpret` runs the kernel's program on any platform.
    """
    n, k, lead = *b.shape[-2:], b.shape[:-2]
    side, columns = _side(n + k), 1 << (k - 1).bit_length()
    above = jnp.concatenate([H, b], axis=-1)
    below = jnp.concatenate([jnp.swapaxes(b, -1, -2), jnp.zeros((*lead, k, k), b.dtype)], axis=-1)
    tiles = _padded(jnp.concatenate([above, below], axis=-2).reshape(-1, n + k, n + k), side)
    out = jax.ShapeDtypeStruct((len(tiles), columns, side), b.dtype)
    x = _each(functools.partial(_solve, n=n), [out], interpret)(tiles)[0]
    return jnp.swapaxes(x[:, :k, :n], 1, 2).reshape(*lead, n, k)


def inverse(A: Array, interpret: bool = False) -> Array:
    """A^-1 [..., n, n], by exchange steps with row pivots (see `inverse.py`); `fit` and INVERTED are asked before."""
    n, lead = A.shape[-1], A.shape[:-2]
    side, count = _side(n), A.size // (n * n)
    order = jax.ShapeDtypeStruct((count, side), jnp.int32)
    outs = [jax.ShapeDtypeStruct((count, side, side), A.dtype), order, order]
    tiles = _padded(A.reshape(-1, n, n), side)
    table, rows, columns = [x[:, :n] for x in _each(functools.partial(_invert, n=n), outs, interpret)(tiles)]
    table = jnp.take_along_axis(table[:, :, :n], rows[:, :, None], axis=1, mode="clip")
    return jnp.take_along_axis(table, columns[:, None], axis=2, mode="clip").reshape(*lead, n, n)


def triangles(A: Array, interpret: bool = False) -> Array:
    """The table of A [..., n, n] (see `triangles.py`); `fit` and INVERTED are asked before."""
    n = A.shape[-1]
    out = jax.ShapeDtypeStruct((A.size // (n * n), _side(n), _side(n)), A.dtype)
    tiles = _padded(A.reshape(-1, n, n), _side(n))
    table = _each(functools.partial(_factor, n=n), [out], interpret)(tiles)[0]
    return table[:, :n, :n].reshape(A.shape)


def _padded(x: Array, side: int) -> Array:
    more = side - x.shape[-1]
    return jnp.pad(x, ((0, 0), (0, more), (0, more)))


def _each(kernel: Callable, outs: list[jax.ShapeDtypeStruct], interpret: bool) -> Callable[[Array], list[Array]]:
    """A program that runs the kernel for each of the first axis."""
    pallas, backend = triton(interpret)

    def block(x) -> Any:
        rest = x.shape[1:]
        return pallas.BlockSpec((None, *rest), lambda world: (world, *[0] * len(rest)))

    def run(tiles: Array) -> list[Array]:
        params = None if interpret else backend.CompilerParams(num_warps=WARPS[tiles.shape[-1]], num_stages=1)
        return pallas.pallas_call(
            kernel, out_shape=outs, grid=(len(tiles),), in_specs=[block(tiles)], out_specs=[block(x) for x in outs],
            compiler_params=params, interpret=interpret,
        )(tiles)  # fmt: skip

    return run


def _places(side: int) -> tuple[Array, Array]:
    """Numbers of rows and of columns of a tile [side, side]."""
    return lax.broadcasted_iota(jnp.int32, (side, side), 0), lax.broadcasted_iota(jnp.int32, (side, side), 1)


def _solve(tile_ref, x_ref, *, n: int) -> None:
    """Solutions [k, side] of a tile [[H, b], [b', 0]]: eliminated as it is, symmetric, then from the last row on."""
    side, columns = tile_ref.shape[-1], x_ref.shape[-2]
    down, _ = _places(side)
    along = lax.iota(jnp.int32, side)

    def row_of(tile: Array, j: Array) -> tuple[Array, Array]:
        """A row of the tile, and what of it is on the diagonal."""
        row = jnp.sum(jnp.where(down == j, tile, 0), axis=0)
        return row, jnp.sum(jnp.where(along == j, row, 0))

    def eliminate(j: Array, tile: Array) -> Array:
        row, pivot = row_of(tile, j)
        share = jnp.where(along > j, row / pivot, 0)
        return tile - share[:, None] * row[None, :]

    tile = lax.fori_loop(jnp.int32(0), jnp.int32(n), eliminate, tile_ref[...])
    which = lax.broadcasted_iota(jnp.int32, (columns, side), 0)
    place = lax.broadcasted_iota(jnp.int32, (columns, side), 1)

    def substitute(count: Array, x: Array) -> Array:
        j = n - 1 - count
        row, pivot = row_of(tile, j)
        rest = jnp.sum(jnp.where(place > j, x * row[None, :], 0), axis=1)
        return jnp.where(place == j, -(rest / pivot)[:, None], x)

    # each solution has -1 at its own right-hand side, so that a row with it sums to zero
    first = jnp.where(place == which + n, -1, 0).astype(tile.dtype)
    x_ref[...] = lax.fori_loop(jnp.int32(0), jnp.int32(n), substitute, first)


def _invert(tile_ref, table_ref, rows_ref, columns_ref, *, n: int) -> None:
    """The table of A^-1, the row [side] in which each unknown is, and the unknown whose column each row has."""
    side = tile_ref.shape[-1]
    down, across = _places(side)
    along = lax.iota(jnp.int32, side)

    def exchange(k: Array, carry: tuple) -> tuple:
        table, rows, columns, free = carry
        column = jnp.sum(jnp.where(across == k, table, 0), axis=1)
        r = lax.argmax(jnp.where(free > 0, jnp.abs(column), -1), 0, jnp.int32)
        row = jnp.sum(jnp.where(down == r, table, 0), axis=0)
        pivot = jnp.sum(jnp.where(along == k, row, 0))
        scaled = jnp.where(along == k, -1, row) / pivot
        column = jnp.where(along == r, 0, column)
        rest = jnp.where(across == k, 0, table) - column[:, None] * scaled[None, :]
        table = jnp.where(down == r, -scaled[None, :], rest)
        return table, jnp.where(along == k, r, rows), jnp.where(along == r, k, columns), jnp.where(along == r, 0, free)

    begin = (tile_ref[...], along, along, jnp.where(along < n, 1, 0))
    table, rows, columns, _ = lax.fori_loop(jnp.int32(0), jnp.int32(n), exchange, begin)
    table_ref[...], rows_ref[...], columns_ref[...] = table, rows, columns


def _factor(tile_ref, table_ref, *, n: int) -> None:
    """The inverses of the triangular factors of a tile."""
    side = tile_ref.shape[-1]
    down, across = _places(side)
    along = lax.iota(jnp.int32, side)

    def take_out(k: Array, table: Array) -> Array:
        column = jnp.sum(jnp.where(across == k, table, 0), axis=1)
        row = jnp.sum(jnp.where(down == k, table, 0), axis=0)
        pivot = jnp.sum(jnp.where(along == k, row, 0))
        scaled = row / pivot
        rest = table - jnp.where((down < k) & (across < k), 0, column[:, None] * scaled[None, :])
        rest = jnp.where(across == k, -jnp.where(along > k, column / pivot, column)[:, None], rest)
        own = jnp.where(along < k, row, jnp.where(along == k, 1 / pivot, scaled))
        return jnp.where(down == k, own[None, :], rest)

    table_ref[...] = lax.fori_loop(jnp.int32(0), jnp.int32(n), take_out, tile_ref[...])
