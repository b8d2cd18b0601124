"""The derivative of a point of the central path, by the implicit function theorem at a kappa of its own.

    E' dw + d_theta E dtheta = 0,    c o db + b o dc = 0,    both at w(theta, kappa_gradient)

which is a Newton step, so that what factors and solves there serves here: one factorisation, both modes. The solution
is that at kappa, its derivative that of the solution at kappa_gradient, a few steps further along the path. Derivatives
of derivatives follow, since the point at kappa_gradient is another one of these.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.solvers.interior_point.predictor_corrector import Outcome, Settings, lifted, solve
from jaxsim.solvers.interior_point.problem import Point, Problem

Array = jax.Array


def central_point(
    problem: Problem, theta: Any, start: Point, settings: Settings, kappa_gradient: Array, known: Any = None
) -> tuple[Point, Outcome]:
    """`solve(problem, theta, start, settings)`, differentiated implicitly with respect to theta (and nothing else).

    `kappa_gradient` is []. Where (point, outcome) is `known`, found before, nothing is searched for at kappa.
    """

    @jax.custom_jvp
    def point(theta: Any, start: Any, traced: dict[str, Any], kappa_gradient: Array) -> tuple[Point, Outcome]:
        return solve(problem, theta, start, settings._replace(**traced)) if known is None else start

    @point.defjvp
    def _(primals, tangents):
        theta, _, traced, kappa_gradient = primals
        w, outcome = point(*primals)
        further = settings._replace(**traced)._replace(kappa=kappa_gradient)
        # where the search ended at kappa = 0 it is on the boundary, from which no step leads away
        at, _ = central_point(problem, theta, lifted(problem, theta, w, kappa_gradient), further, kappa_gradient)
        _, change = jax.jvp(lambda theta: problem.residual(theta, at), (theta,), (tangents[0],))
        factors = problem.factor(theta, at)
        step = problem.solve(theta, at, factors, jax.tree.map(jnp.negative, change), jnp.zeros_like(at.b))
        return (w, outcome), (step, jax.tree.map(_no_tangent, outcome))

    begin = start if known is None else known
    traced: dict[str, Any] = {name: getattr(settings, name) for name in ("kappa", "tolerance", "accuracy")}
    return point(theta, lax.stop_gradient(begin), traced, kappa_gradient)


def _no_tangent(x: Array) -> Array | np.ndarray:
    """Zero, in the type that tangents of x have."""
    return jnp.zeros_like(x) if jnp.issubdtype(x.dtype, jnp.inexact) else np.zeros(x.shape, jax.dtypes.float0)
