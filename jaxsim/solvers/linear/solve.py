"""Differentiable solutions of positive definite systems."""

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.solvers.linear.spd_solve import spd_solve

Array = jax.Array


def solve(H: Array, b: Array, d: Array | None = None, known: Array | None = None) -> Array:
    """Solve (H + diag(d)) x = b, differentiably in both modes and nested.

    Args:
        H: [n, n], symmetric; positive definite together with d.
        b: [n].
        d: [n], by default zero.
        known: the solution [n], where it has been found before; then only derivatives are computed.
    """
    d = jnp.zeros_like(b) if d is None else d
    if known is not None:
        return _known(lax.stop_gradient(known), H, d, b)
    fixed_H, fixed_d = lax.stop_gradient((H, d))
    return lax.custom_linear_solve(
        lambda x: _product(H, d, x),
        b,
        solve=lambda _, rhs: spd_solve(fixed_H, fixed_d, rhs[:, None])[:, 0],
        symmetric=True,
    )


def _product(H: Array, d: Array, x: Array) -> Array:
    return lax.dot(H, x, precision=lax.Precision.HIGHEST) + d * x


@jax.custom_jvp
def _known(x: Array, H: Array, d: Array, b: Array) -> Array:
    """x, which solves (H + diag(d)) x = b."""
    return x


@_known.defjvp
def _(primals, tangents):
    """(H + D) dx = db - (dH + dD) x; what is known has no derivative of its own."""
    x = _known(*primals)
    _, change = jax.jvp(lambda H, d, b: b - _product(H, d, x), primals[1:], tangents[1:])
    return x, solve(primals[1], change, primals[2])
