"""Differentiable solutions of positive definite systems."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.algebra.blocks import Blocks, Matrix, eye_like, times
from jaxsim.algebra.structured import product
from jaxsim.solvers.linear.spd_solve import spd_solve

Array = jax.Array


class Known(NamedTuple):
    """The solution of a system, found before, and how to multiply by its matrix (see `structured.product`)."""

    x: Array  # [n]
    apply: Callable[[Any, Array], Array]
    factors: Any


def solve(H: Matrix, b: Array, d: Array | None = None, known: Known | None = None) -> Array:
    """Solve (H + diag(d)) x = b, differentiably in both modes and nested.

    Args:
        H: [n, n], symmetric, dense or in blocks; positive definite together with d.
        b: [n].
        d: [n], by default zero.
        known: the solution, where it has been found before; then only derivatives are computed.
    """
    d = jnp.zeros_like(b) if d is None else d
    if known is not None:
        return _known(known.apply, lax.stop_gradient(known.x), H, known.factors, d, b)
    fixed_H, fixed_d = lax.stop_gradient((H, d))
    return lax.custom_linear_solve(
        lambda x: times(H, x) + d * x,
        b,
        solve=lambda _, rhs: factor_and_solve(fixed_H, fixed_d, rhs),
        symmetric=True,
    )


def factor_and_solve(H: Matrix, d: Array, b: Array) -> Array:
    """x of (H + diag(d)) x = b [n], without a derivative rule."""
    if not isinstance(H, Blocks):
        return spd_solve(H, d, b[:, None])[:, 0]
    every = zip(H.parts, H.groups.split(d), H.groups.split(b))
    return H.groups.join([spd_solve(part, own, rhs[:, :, None])[:, :, 0] for part, own, rhs in every])


def inverse_of(H: Matrix) -> Matrix:
    """H^-1, without a derivative rule."""
    if not isinstance(H, Blocks):
        return spd_solve(H, jnp.zeros_like(H[0]), jnp.eye(len(H), dtype=H.dtype))
    return Blocks(H.groups, tuple(spd_solve(x, jnp.zeros_like(x[:, 0]), eye_like(x)) for x in H.parts))


def solve_columns(H: Array, B: Array) -> Array:
    """Solve H X = B for several columns B [n, k] and a symmetric positive definite H [n, n], differentiably."""
    fixed = lax.stop_gradient(H)
    return lax.custom_linear_solve(
        lambda X: lax.dot(H, X, precision=lax.Precision.HIGHEST),
        B,
        solve=lambda _, rhs: spd_solve(fixed, jnp.zeros_like(fixed[0]), rhs),
        symmetric=True,
    )


def weights(H: Matrix, J: Array) -> Array:
    """Diagonal [n] of J H^-1 J^T for rows J [n, m] and H [m, m], dense or in blocks, differentiably."""
    if not isinstance(H, Blocks):
        return jnp.sum(J.T * solve_columns(H, J.T), axis=0)
    total = jnp.zeros(len(J), J.dtype)
    for part, own in zip(H.parts, jax.vmap(H.groups.split, out_axes=-1)(J)):
        total = total + jnp.sum(own * jax.vmap(solve_columns)(part, own), axis=(0, 1))
    return total


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _known(apply: Callable, x: Array, H: Matrix, factors: Any, d: Array, b: Array) -> Array:
    """x, which solves (H + diag(d)) x = b."""
    return x


@_known.defjvp
def _(apply, primals, tangents):
    """(H + D) dx = db - (dH + dD) x; what is known has no derivative of its own."""
    x = _known(apply, *primals)
    _, H, _, d, _ = primals

    def change(H, factors, d, b):
        return b - product(apply, H, factors, x) - d * x

    _, rhs = jax.jvp(change, primals[1:], tangents[1:])
    return x, solve(H, rhs, d)


def damped(H: Matrix, x: Array, d: Array, known: Known) -> Array:
    """y, which is known, with (H + diag(d)) y = H x: differentiated from x, wherever that came from.

    Args:
        H: [n, n], symmetric; positive definite together with d.
        x: [n].
        d: [n].
        known: y, and how to multiply by H.
    """
    return _damped(known.apply, lax.stop_gradient(known.x), H, known.factors, d, x)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _damped(apply: Callable, y: Array, H: Matrix, factors: Any, d: Array, x: Array) -> Array:
    """y, which solves (H + diag(d)) y = H x."""
    return y


@_damped.defjvp
def _(apply, primals, tangents):
    """(H + D) dy = H dx + dH (x - y) - dD y; one product with H serves both sides."""
    y = _damped(apply, *primals)
    _, H, _, d, _ = primals

    def change(H, factors, d, x):
        return product(apply, H, factors, x - y) - d * y

    _, rhs = jax.jvp(change, primals[1:], tangents[1:])
    return y, solve(H, rhs, d)
