"""The derivative of the converged solve, by the implicit function theorem.

At the solution g(x, theta) = 0 with g the gradient of the objective, so

    H dx = - d_theta g dtheta,    H = M + J^T s'' J.

The rule needs only x, so it serves any solver, forward and reverse mode, and derivatives of derivatives.
Which rows are active is held fixed, as it is almost everywhere.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.blocks import Blocks
from jaxsim.solvers.linear.solve import solve
from jaxsim.solvers.many_trees import curvature_at, solve_exactly
from jaxsim.solvers.objective import Problem, Structure, gradient, hessian, residual

Array = jax.Array


def implicit_minimum(
    s: Structure,
    minimise: Callable[[Problem, Any, Any], tuple[Array, Any]],
    p: Problem,
    start: Any,
    tolerances: Any,
    known: Any = None,
) -> tuple[Array, Any]:
    """`minimise(p, start, tolerances) -> (x, aux)`, differentiated implicitly with respect to p (and to nothing else).

    x is the minimiser [nv]; aux is any pytree that says how it was found, and counts as constant. Where (x, aux) is
    `known`, found before, nothing is searched for: only derivatives follow from p. Every traced number must be an
    argument: a custom derivative cannot close over what is differentiated.
    """

    @jax.custom_jvp
    def minimum(p: Problem, start: Any, tolerances: Any) -> tuple[Array, Any]:
        return minimise(p, start, tolerances) if known is None else start

    @minimum.defjvp
    def _(primals, tangents):
        p = primals[0]
        x, aux = minimum(*primals)
        _, g_dot = jax.jvp(lambda q: gradient(s, q, x), (p,), (tangents[0],))
        return (x, aux), (_solved(s, p, x, -g_dot), jax.tree.map(_no_tangent, aux))

    return minimum(p, start if known is None else lax.stop_gradient(known), tolerances)


def _solved(s: Structure, p: Problem, x: Array, b: Array) -> Array:
    """H^-1 b [nv], with the curvature H of the objective at x."""
    r = residual(s, p, x)
    if isinstance(p.M, Blocks):
        return solve_exactly(s, p, curvature_at(s, p, r), b)
    H, diagonal = hessian(s, p, r)
    return solve(H, b, diagonal)


def _no_tangent(x: Array) -> Array | np.ndarray:
    """Zero, in the type that tangents of x have."""
    return jnp.zeros_like(x) if jnp.issubdtype(x.dtype, jnp.inexact) else np.zeros(x.shape, jax.dtypes.float0)
