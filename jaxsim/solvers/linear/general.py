"""Differentiable solutions of systems that are not symmetric, but close enough to it to need no pivoting."""

import jax
from jax import lax

from jaxsim.solvers.linear.triangles import factored, solved

Array = jax.Array


def solve_general(A: Array, b: Array, known: Array | None = None) -> Array:
    """Solve A x = b, differentiably in both modes and nested.

    Args:
        A: [n, n], as M - h dF/dv with a positive definite M: its leading minors are not zero.
        b: [n].
        known: the solution [n], where it has been found before; then only derivatives are computed.
    """
    if known is not None:
        return _known(lax.stop_gradient(known), A, b)
    return solved(factored(A), b)


@jax.custom_jvp
def _known(x: Array, A: Array, b: Array) -> Array:
    """x, which solves A x = b."""
    return x


@_known.defjvp
def _(primals, tangents):
    """A dx = db - dA x; what is known has no derivative of its own."""
    x, A, b = primals
    x = _known(x, A, b)
    _, change = jax.jvp(lambda A, b: b - lax.dot(A, x, precision=lax.Precision.HIGHEST), (A, b), tangents[1:])
    return x, solve_general(A, change)
