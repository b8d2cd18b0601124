"""Symmetric positive definite systems: one primitive for factor and solve, batched safely on every platform.

In a batch of worlds on a CPU the systems are factored side by side (`lanes`), on an NVIDIA GPU small ones each in a
tile of registers (`tiles`). Elsewhere they go to LAPACK or its like.

Before jaxlib 0.11.2, JAX's batched LAPACK kernels split a large batch over the CPU's thread pool and wait there;
two such calls at the same time can wait for each other for ever (seen with 0.10 on two cores). So a batch goes
through in pieces too small to be split. Two streams of pieces run side by side.
"""

import re

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
from jax import lax

from jaxsim.layout.evaluate import fallback, rule
from jaxsim.layout.unstable import Primitive, rules
from jaxsim.layout.world import World, one_kernel, spread
from jaxsim.solvers.linear import lanes, tiles

Array = jax.Array

PIECE_WORK = 200_000  # per LAPACK call, as JAX counts it: from there on it splits a batch (GetLapackBatchChunkSize)
LOOPS = 2  # over pieces, side by side
SPLITS_BATCHES = tuple(map(int, re.findall(r"\d+", jaxlib.__version__)[:3])) < (0, 11, 2)
PIVOT_FLOOR = 1e-6  # relative, on the diagonal in float32

spd_solve_p = Primitive("spd_solve")


def spd_solve(H: Array, d: Array, b: Array) -> Array:
    """Solve (H + diag(d)) x = b for positive definite H + diag(d). Has no derivative rule.

    Args:
        H: [..., n, n], symmetric.
        d: [..., n].
        b: [..., n, k].

    In float32 the diagonal gets a relative PIVOT_FLOOR, so that no pivot falls to zero.
    """
    return spd_solve_p.bind(H, d, b)


def _factor_and_solve(H: Array, b: Array) -> Array:
    """Cholesky factor and two triangular solves for all leading dimensions at once."""
    L = lax.linalg.cholesky(H, symmetrize_input=False)
    y = lax.linalg.triangular_solve(L, b, left_side=True, lower=True)
    return lax.linalg.triangular_solve(L, y, left_side=True, lower=True, transpose_a=True)


def _with_diagonal(H: Array, d: Array) -> Array:
    full = H + d[..., None]
    if H.dtype == jnp.float32:
        full = full * np.float32(1 + PIVOT_FLOOR)
    return lax.select(jnp.broadcast_to(np.eye(H.shape[-1], dtype=bool), H.shape), full, H)


def _one_call(H: Array, d: Array, b: Array) -> Array:
    return _factor_and_solve(_with_diagonal(H, d), b)


def _in_tiles(H: Array, d: Array, b: Array) -> Array:
    """The batch in one kernel, if its matrices are small."""
    n, columns = b.shape[-2:]
    if not b.size or not tiles.fit(n + columns):
        return _one_call(H, d, b)
    return tiles.solve(_with_diagonal(H, d), b)


def work_of_each(n: int, columns: int) -> int:
    """The larger of JAX's counts for a Cholesky factor [n, n] and for solutions [n, columns] by a triangle."""
    return max(n**3 // 3, n * n * columns)


def _in_pieces(H: Array, d: Array, b: Array) -> Array:
    """The batch in two loops over equal pieces; the loops run side by side."""
    n, batch = H.shape[-1], H.shape[:-2]
    if n == 0 or not batch:
        return _one_call(H, d, b)
    H, d, b = H.reshape(-1, n, n), d.reshape(-1, n), b.reshape(-1, *b.shape[-2:])
    count, limit = H.shape[0], max(1, (PIECE_WORK - 1) // max(1, work_of_each(n, b.shape[-1])))
    if not SPLITS_BATCHES:
        limit = max(limit, -(-count // LOOPS))
    if count <= limit:
        return _one_call(H, d, b).reshape(*batch, *b.shape[1:])
    least = -(-count // (LOOPS * limit))
    pieces = next((k for k in range(least, 2 * least) if count % (LOOPS * k) == 0), least)
    size = -(-count // (LOOPS * pieces))
    fill = LOOPS * pieces * size - count

    def split(x):
        if not fill:
            return x.reshape(LOOPS, pieces, size, *x.shape[1:])
        copies = jnp.broadcast_to(x[:1], (fill, *x.shape[1:]))
        return jnp.concatenate([x, copies]).reshape(LOOPS, pieces, size, *x.shape[1:])

    parts = split(H), split(d), split(b)
    if pieces == 1:
        x = jnp.stack([_one_call(*[p[i, 0] for p in parts])[None] for i in range(LOOPS)])
    else:
        x = jnp.stack([lax.map(lambda part: _one_call(*part), [p[i] for p in parts]) for i in range(LOOPS)])
    return x.reshape(-1, *x.shape[3:])[:count].reshape(*batch, *x.shape[3:])


def _batch(args, dims):
    """A batch of right-hand sides of one matrix becomes more columns; else a leading dimension is added."""
    (H, d, b), (dh, dd, db) = args, dims
    if dh is None and dd is None:
        b = jnp.moveaxis(b, db, -1)
        x = spd_solve(H, d, b.reshape(*b.shape[:-2], -1))
        return x.reshape(b.shape), b.ndim - 1
    size = H.shape[dh] if dh is not None else d.shape[dd]
    return spd_solve(*(_lead(x, axis, size) for x, axis in zip(args, dims))), 0


def _lead(x: Array, axis: int | None, size: int) -> Array:
    """The batch axis first, broadcast if there is none."""
    return jnp.broadcast_to(x[None], (size, *x.shape)) if axis is None else jnp.moveaxis(x, axis, 0)


rules(
    spd_solve_p,
    abstract=lambda H, d, b: jax.core.ShapedArray(b.shape, b.dtype),
    impl=jax.jit(spd_solve),
    batch=_batch,
    cpu=_in_pieces,
    default=_one_call,
    cuda=_in_tiles,
)


def _size(eqn, batched: list[bool]) -> int | None:
    return 60 if any(batched[:2]) and eqn.invars[0].aval.shape[-1] <= lanes.LARGEST else None


@rule("spd_solve", size=_size, apart=True)
def _worlds(eqn, values, n):
    """The systems of a chunk of worlds, side by side."""
    if _size(eqn, [isinstance(v, World) for v in values]) is None:
        return fallback(eqn, values, n)
    floor = PIVOT_FLOOR if eqn.invars[0].aval.dtype == jnp.float32 else 0
    solve = one_kernel(lambda H, d, b: _in_lanes(H, d, b, floor))
    return [World(solve(*[spread(v, n) for v in values]))]


def _in_lanes(H: Array, d: Array, b: Array, floor: float) -> Array:
    """Systems [..., n, n, W] of each world, side by side with those of the W worlds."""
    lead, last = H.shape[:-3], b.shape[-3:]
    if not lead:
        return lanes.solve(H, d, b, floor)

    def as_lanes(x, rank):
        inner = x.shape[len(lead) : len(lead) + rank]
        return jnp.moveaxis(x.reshape(-1, *inner, x.shape[-1]), 0, -2).reshape(*inner, -1)

    x = lanes.solve(as_lanes(H, 2), as_lanes(d, 1), as_lanes(b, 2), floor)
    return jnp.moveaxis(x.reshape(*last[:2], -1, last[2]), -2, 0).reshape(*lead, *last)
