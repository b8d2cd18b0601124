"""Symmetric positive definite systems: one primitive for factor and solve, batched safely.

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
from jax.extend import core
from jax.interpreters import batching, mlir

Array = jax.Array

PIECE_WORK = 600_000  # n^3 times matrices per LAPACK call: below the size at which JAX splits a batch
LOOPS = 2  # over pieces, side by side
SPLITS_BATCHES = tuple(map(int, re.findall(r"\d+", jaxlib.__version__)[:3])) < (0, 11, 2)
PIVOT_FLOOR = 1e-6  # relative, on the diagonal in float32

spd_solve_p = core.Primitive("spd_solve")


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


def _in_pieces(H: Array, d: Array, b: Array) -> Array:
    """The batch in two loops over equal pieces; the loops run side by side."""
    n, batch = H.shape[-1], H.shape[:-2]
    if n == 0 or not batch:
        return _one_call(H, d, b)
    H, d, b = H.reshape(-1, n, n), d.reshape(-1, n), b.reshape(-1, *b.shape[-2:])
    count, limit = H.shape[0], max(1, PIECE_WORK // max(1, n * n * max(n, b.shape[-1])))
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


spd_solve_p.def_impl(jax.jit(_in_pieces))
spd_solve_p.def_abstract_eval(lambda H, d, b: jax.core.ShapedArray(b.shape, b.dtype))
mlir.register_lowering(spd_solve_p, mlir.lower_fun(_one_call, multiple_results=False))
mlir.register_lowering(spd_solve_p, mlir.lower_fun(_in_pieces, multiple_results=False), platform="cpu")
batching.primitive_batchers[spd_solve_p] = _batch


def solve(H: Array, b: Array, d: Array | None = None) -> Array:
    """Solve (H + diag(d)) x = b [n], positive definite, differentiably in both modes and nested."""
    d = jnp.zeros_like(b) if d is None else d
    fixed_H, fixed_d = lax.stop_gradient((H, d))
    return lax.custom_linear_solve(
        lambda x: lax.dot(H, x, precision=lax.Precision.HIGHEST) + d * x,
        b,
        solve=lambda _, rhs: spd_solve(fixed_H, fixed_d, rhs[:, None])[:, 0],
        symmetric=True,
    )


@jax.jit
def gram_blocks(J: Array, K: Array) -> Array:
    """sum_c J_c^T K_c J_c [nv, nv], for J [n, dim, nv] and symmetric K [n, dim, dim]."""
    weighted = jnp.sum(K[:, :, :, None] * J[:, None], axis=2)
    nv = J.shape[-1]
    contract = (((0,), (0,)), ((), ()))
    return lax.dot_general(J.reshape(-1, nv), weighted.reshape(-1, nv), contract, precision=lax.Precision.HIGHEST)
