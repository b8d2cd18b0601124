"""Newton's method on the primal objective (mj_solNewton)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.constraint.rows import RowValues
from jaxsim.solvers.line_search import line_search
from jaxsim.solvers.linear.spd_solve import spd_solve
from jaxsim.solvers.objective import (
    Problem,
    Structure,
    along,
    cost,
    forces,
    hessian,
    mul_j,
    mul_jt,
    residual,
)

Array = jax.Array


class Iterate(NamedTuple):
    """A point x on the way; M x, the residual and the gradient are carried along instead of recomputed."""

    x: Array  # [nv]
    Mx: Array  # [nv]
    residual: RowValues
    gradient: Array  # [nv]
    iteration: Array  # []
    done: Array  # [] bool


class Start(NamedTuple):
    """Where to begin: the unconstrained acceleration [nv], and, unless warm starts are off, the previous one [nv]."""

    smooth: Array
    warm: Array | None


class Outcome(NamedTuple):
    """How a solve ended: for people and for reports, never differentiated."""

    iterations: Array  # [] int
    converged: Array  # [] bool: a stopping criterion was met; false if the iterations ran out
    residual: Array  # [] |gradient| / trace(M), what the criterion compares with the tolerance


class Settings(NamedTuple):
    """Solver options: iteration bounds are static, tolerances traced."""

    iterations: int
    ls_iterations: int
    tolerance: Array
    ls_tolerance: Array


def newton(s: Structure, p: Problem, start: Start, options: Settings) -> tuple[Array, Outcome]:
    """Minimise the objective; returns the minimiser [nv] and how the solve ended.

    Begins at the better of the two starts. Stops when the gradient norm or the decrease of the last step falls
    below the tolerance (both scaled by 1 / trace(M)), when the gradient is rounding noise, or when a step no
    longer moves x: then it has converged. A gradient that is not finite never has.
    """
    scale = 1 / jnp.trace(p.M)

    def unfinished(here: Iterate):
        return (here.iteration < options.iterations) & ~here.done

    def settle(here: Iterate, decrease: Array, moved: Array) -> Iterate:
        """The gradient at a new iterate, and whether it is good enough."""
        pull = mul_jt(s, p, forces(s, p, here.residual))
        gradient = here.Mx - p.qfrc_smooth - pull
        length = _norm(gradient)
        noise = 4 * jnp.finfo(length.dtype).eps * (_norm(here.Mx) + _norm(p.qfrc_smooth) + _norm(pull))
        done = (scale * jnp.minimum(length, decrease) < options.tolerance) | (length <= noise) | ~moved
        return here._replace(gradient=gradient, done=done)

    def iterate(here: Iterate) -> Iterate:
        step = -spd_solve(*hessian(s, p, here.residual), here.gradient[:, None])[:, 0]
        Mstep = lax.dot(p.M, step, precision=lax.Precision.HIGHEST)
        dr = mul_j(s, p, step)
        slope = jnp.sum(here.gradient * step)
        # as exact as MuJoCo asks for near the solution, and to a hundredth before
        goal = options.ls_tolerance * jnp.maximum(options.tolerance * _norm(step) / scale, jnp.abs(slope))
        alpha = line_search(_line(s, p, here, step, Mstep, dr), slope, options.ls_iterations, goal)
        x = here.x + alpha * step
        moved = jax.tree.map(lambda a, b: a + alpha * b, here.residual, dr)
        new = Iterate(x, here.Mx + alpha * Mstep, moved, step, here.iteration + 1, here.done)
        return settle(new, -0.5 * alpha * slope, jnp.any(x != here.x))

    first = Iterate(*_begin(s, p, start), start.smooth, jnp.zeros((), jnp.int32), jnp.zeros((), bool))
    first = settle(first, jnp.full_like(scale, jnp.inf), jnp.ones((), bool))
    last = lax.while_loop(unfinished, iterate, first)
    return last.x, Outcome(last.iteration, last.done, scale * _norm(last.gradient))


def _begin(s: Structure, p: Problem, start: Start) -> tuple[Array, Array, RowValues]:
    """The start of lower cost, with M times it and its residual; M smooth is qfrc_smooth."""
    smooth, warm = start
    cold = (smooth, p.qfrc_smooth, residual(s, p, smooth))
    if warm is None:
        return cold
    Mx = lax.dot(p.M, warm, precision=lax.Precision.HIGHEST)
    previous = (warm, Mx, residual(s, p, warm))
    gauss = 0.5 * jnp.sum((warm - smooth) * (Mx - p.qfrc_smooth))
    better = gauss + cost(s, p, previous[2]) < cost(s, p, cold[2])
    return jax.tree.map(lambda a, b: jnp.where(better, a, b), previous, cold)


def _line(s: Structure, p: Problem, here: Iterate, step: Array, Mstep: Array, dr: RowValues):
    """The objective along the Newton direction: step length -> slope and curvature."""
    gauss_slope = jnp.sum(step * (here.Mx - p.qfrc_smooth))
    gauss_curvature = jnp.sum(step * Mstep)
    penalties = along(s, p, here.residual, dr)

    def at(alpha: Array) -> tuple[Array, Array]:
        slope, curvature = penalties(alpha)
        return gauss_slope + alpha * gauss_curvature + slope, gauss_curvature + curvature

    return at


def _norm(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(x * x))
