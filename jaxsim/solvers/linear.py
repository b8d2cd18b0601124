"""Symmetric positive definite systems: one primitive for factor and solve, batched safely.

JAX's batched LAPACK kernels split a large batch over the CPU's thread pool and wait there; two such calls
at the same time can wait for each other for ever (seen with JAX 0.10 on two cores). So a batch goes through
in pieces too small to be split; independent pieces still run side by side.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend import core
from jax.interpreters import batching, mlir

Array = jax.Array

PIECE_WORK = 600_000  # n^3 times matrices per LAPACK call: below the size at which JAX splits a batch
MOST_PIECES = 16  # more pieces than this are looped over instead of being written out

spd_solve_p = core.Primitive("spd_solve")


def spd_solve(H: Array, b: Array) -> Array:
    """Solve H x = b for symmetric positive definite H [..., n, n] and b [..., n, k]. Has no derivative rule.

    In float32 the diagonal gets a relative 1e-6, a floor under the pivots.
    """
    return spd_solve_p.bind(H, b)


def _one_call(H: Array, b: Array) -> Array:
    """Cholesky factor and two triangular solves for all leading dimensions at once."""
    n = H.shape[-1]
    if H.dtype == jnp.float32:
        H = H + jnp.diagonal(H, axis1=-2, axis2=-1)[..., None] * jnp.eye(n, dtype=H.dtype) * 1e-6
    L = lax.linalg.cholesky(H, symmetrize_input=False)
    y = lax.linalg.triangular_solve(L, b, left_side=True, lower=True)
    return lax.linalg.triangular_solve(L, y, left_side=True, lower=True, transpose_a=True)


def _in_pieces(H: Array, b: Array) -> Array:
    """The batch in pieces; few are written out (and run in parallel), many are looped over."""
    if H.ndim == 2 or H.shape[-1] == 0:
        return _one_call(H, b)
    n, batch = H.shape[-1], H.shape[:-2]
    H, b = H.reshape(-1, n, n), b.reshape(-1, *b.shape[-2:])
    count, piece = H.shape[0], max(1, PIECE_WORK // (n * n * max(n, b.shape[-1])))
    if count <= piece:
        x = _one_call(H, b)
    elif count <= piece * MOST_PIECES:
        cuts = [slice(i, min(i + piece, count)) for i in range(0, count, piece)]
        x = jnp.concatenate([_one_call(H[c], b[c]) for c in cuts])
    else:
        x = lax.map(lambda a: _one_call(*(v[None] for v in a))[0], (H, b), batch_size=None if piece == 1 else piece)
    return x.reshape(*batch, *x.shape[1:])


def _batch(args, dims):
    """A batch of right-hand sides of one matrix becomes more columns; else a leading dimension is added."""
    (H, b), (dh, db) = args, dims
    if dh is None:
        b = jnp.moveaxis(b, db, -1)
        x = spd_solve(H, b.reshape(*b.shape[:-2], -1))
        return x.reshape(b.shape), b.ndim - 1
    H = jnp.moveaxis(H, dh, 0)
    b = jnp.broadcast_to(b[None], (H.shape[0], *b.shape)) if db is None else jnp.moveaxis(b, db, 0)
    return spd_solve(H, b), 0


spd_solve_p.def_impl(jax.jit(_in_pieces))
spd_solve_p.def_abstract_eval(lambda H, b: jax.core.ShapedArray(b.shape, b.dtype))
mlir.register_lowering(spd_solve_p, mlir.lower_fun(_one_call, multiple_results=False))
mlir.register_lowering(spd_solve_p, mlir.lower_fun(_in_pieces, multiple_results=False), platform="cpu")
batching.primitive_batchers[spd_solve_p] = _batch


def solve(H: Array, b: Array) -> Array:
    """Solve H x = b [n] for a symmetric positive definite H [n, n], differentiably in both modes and nested."""
    fixed = lax.stop_gradient(H)
    return lax.custom_linear_solve(
        lambda x: lax.dot(H, x, precision=lax.Precision.HIGHEST),
        b,
        solve=lambda _, rhs: spd_solve(fixed, rhs[:, None])[:, 0],
        symmetric=True,
    )
