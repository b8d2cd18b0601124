"""Conjugate gradients on the primal objective, preconditioned by the inertia matrix (mj_solCG).

    step_k = -M^-1 g_k + beta_k step_k-1,    y = g_k - g_k-1,    g the gradient

with beta of Hager and Zhang, bounded from below, and an exact line search along each step:

    beta = (y^T M^-1 g_k - 2 (y^T M^-1 y) (step^T g_k) / (step^T y)) / (step^T y)

An iteration costs no factorisation. There are many more of them than of Newton's.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.algebra.blocks import times, trace
from jaxsim.constraint.rows import RowValues
from jaxsim.core.enums import MINVAL
from jaxsim.solvers.line_search import line_search
from jaxsim.solvers.linear.solve import inverse_of
from jaxsim.solvers.objective import Problem, Structure, forces, mul_j, mul_jt
from jaxsim.solvers.primal import Outcome, Settings, Start, begin, norm, objective_along

Array = jax.Array
LEAST_ANGLE = 0.01  # eta of Hager and Zhang
SHARP = 1e3  # rounding errors of the slope at which a line search is exact


class Iterate(NamedTuple):
    """A point x on the way, with what is carried along instead of recomputed, and the next direction."""

    x: Array  # [nv]
    Mx: Array  # [nv]
    residual: RowValues
    gradient: Array  # [nv]
    Mgrad: Array  # [nv] M^-1 gradient
    step: Array  # [nv]
    iteration: Array  # []
    done: Array  # [] bool


def cg(s: Structure, p: Problem, start: Start, options: Settings) -> tuple[Array, Outcome]:
    """Minimise the objective; returns the minimiser [nv] and how the solve ended.

    Stops as Newton's method does, and at once if 1/2 g^T M^-1 g, which bounds how far the cost is from its least, is
    below the tolerance (with the scale 1 / trace(M)).
    """
    scale = 1 / trace(p.M)
    inverse = inverse_of(p.M)

    def slope_at(Mx: Array, r: RowValues) -> tuple[Array, Array]:
        """The gradient [nv], and the size [] of its rounding errors."""
        pull = mul_jt(s, p, forces(s, p, r))
        noise = 4 * jnp.finfo(Mx.dtype).eps * (norm(Mx) + norm(p.qfrc_smooth) + norm(pull))
        return Mx - p.qfrc_smooth - pull, noise

    def iterate(here: Iterate) -> Iterate:
        step, dr = here.step, mul_j(s, p, here.step)
        Mstep, slope = times(p.M, step), jnp.sum(here.gradient * step)
        alpha = _exact(s, p, here, Mstep, dr, slope, scale, options)
        x, Mx = here.x + alpha * step, here.Mx + alpha * Mstep
        r = jax.tree.map(lambda a, b: a + alpha * b, here.residual, dr)
        gradient, noise = slope_at(Mx, r)
        length, decrease = norm(gradient), -0.5 * alpha * slope
        done = (scale * length < options.tolerance) | (length <= noise) | ~jnp.any(x != here.x)
        done = done | ((decrease > 0) & (scale * decrease < options.tolerance))
        Mgrad = times(inverse, gradient)
        step = -Mgrad + _beta(here, gradient, Mgrad) * step
        # in a batch those that are done go on with the others; without a step no line search waits for them
        return Iterate(x, Mx, r, gradient, Mgrad, jnp.where(done, 0, step), here.iteration + 1, done)

    x, Mx, r = begin(s, p, start)
    gradient, noise = slope_at(Mx, r)
    Mgrad = times(inverse, gradient)
    done = (0.5 * scale * jnp.sum(gradient * Mgrad) < options.tolerance) | (norm(gradient) <= noise)
    first = Iterate(x, Mx, r, gradient, Mgrad, jnp.where(done, 0, -Mgrad), jnp.zeros((), jnp.int32), done)
    last = lax.while_loop(lambda here: (here.iteration < options.iterations) & ~here.done, iterate, first)
    return last.x, Outcome(last.iteration, last.done, scale * norm(last.gradient))


def _exact(
    s: Structure, p: Problem, here: Iterate, Mstep: Array, dr: RowValues, slope: Array, scale: Array, options: Settings
) -> Array:
    """How far to go along the step []: to where the slope is zero, found from the minimum of the parabola at x."""
    line = objective_along(s, p, here.residual, here.Mx, here.step, Mstep, dr)
    _, curvature = line(jnp.zeros_like(slope))
    first = -slope / jnp.where(curvature > 0, curvature, 1)
    sharp = SHARP * jnp.finfo(slope.dtype).eps * jnp.abs(slope)
    goal = jnp.maximum(options.tolerance * options.ls_tolerance * norm(here.step) / scale, sharp)
    return line_search(line, slope, options.ls_iterations, goal, first)


def _beta(before: Iterate, gradient: Array, Mgrad: Array) -> Array:
    """How much of the last step [] the next one keeps; none of it where the gradient did not grow along it."""
    change, Mchange = gradient - before.gradient, Mgrad - before.Mgrad
    grown = jnp.sum(before.step * change)
    safe = jnp.where(grown < MINVAL, 1, grown)
    along = jnp.sum(before.step * gradient)
    beta = (jnp.sum(change * Mgrad) - 2 * jnp.sum(change * Mchange) / safe * along) / safe
    least = -1 / jnp.maximum(MINVAL, norm(before.step) * jnp.minimum(LEAST_ANGLE, norm(gradient)))
    return jnp.where(grown < MINVAL, 0, jnp.maximum(least, beta))
