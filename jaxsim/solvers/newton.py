"""Newton's method on the primal objective (mj_solNewton)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.solvers.linear import spd_solve
from jaxsim.solvers.line_search import line_search
from jaxsim.solvers.objective import (
    Problem,
    Residual,
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


class State(NamedTuple):
    """An iterate x, with M x and the residual carried along instead of recomputed."""

    x: Array
    Mx: Array
    residual: Residual
    iteration: Array
    done: Array


class Settings(NamedTuple):
    """Solver options: iteration bounds are static, tolerances traced."""

    iterations: int
    ls_iterations: int
    tolerance: Array
    ls_tolerance: Array


def newton(s: Structure, p: Problem, start: Array, options: Settings) -> tuple[Array, Array]:
    """Minimise the objective from `start` [nv]; returns the minimiser and the number of iterations.

    Stops when the gradient norm, or the decrease that the quadratic model predicts, falls below the
    tolerance (both scaled by 1 / trace(M)), or when the gradient is rounding noise.
    """
    scale = 1 / jnp.trace(p.M)

    def unfinished(state: State):
        return (state.iteration < options.iterations) & ~state.done

    def iterate(state: State) -> State:
        pull = mul_jt(s, p, forces(s, p, state.residual))
        gradient = state.Mx - p.qfrc_smooth - pull
        step = -spd_solve(*hessian(s, p, state.residual), gradient[:, None])[:, 0]
        Mstep = lax.dot(p.M, step, precision=lax.Precision.HIGHEST)
        dr = mul_j(s, p, step)
        alpha = _step_length(s, p, state, gradient, step, Mstep, dr, options)
        decrease = -0.5 * jnp.sum(gradient * step)
        noise = 4 * jnp.finfo(gradient.dtype).eps * (_norm(state.Mx) + _norm(p.qfrc_smooth) + _norm(pull))
        small = jnp.minimum(scale * decrease, scale * _norm(gradient)) < options.tolerance
        x = state.x + alpha * step
        done = small | (_norm(gradient) <= noise) | jnp.all(x == state.x)
        moved = Residual(*(None if a is None else a + alpha * b for a, b in zip(state.residual, dr)))
        return State(x, state.Mx + alpha * Mstep, moved, state.iteration + 1, done)

    x, Mx = start, lax.dot(p.M, start, precision=lax.Precision.HIGHEST)
    first = State(x, Mx, residual(s, p, x), jnp.zeros((), jnp.int32), jnp.zeros((), bool))
    last = lax.while_loop(unfinished, iterate, first)
    return last.x, last.iteration


def _step_length(s, p, state: State, gradient, step, Mstep, dr: Residual, options: Settings) -> Array:
    """Exact line search along the Newton direction."""
    gauss_slope = jnp.sum(step * (state.Mx - p.qfrc_smooth))
    gauss_curvature = jnp.sum(step * Mstep)

    def slope_curvature(alpha):
        here = Residual(*(None if a is None else a + alpha * b for a, b in zip(state.residual, dr)))
        slope, curvature = along(s, p, here, dr)
        return gauss_slope + alpha * gauss_curvature + slope, gauss_curvature + curvature

    return line_search(slope_curvature, jnp.sum(gradient * step), options.ls_iterations, options.ls_tolerance)


def _norm(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(x * x))


def warm_start(s: Structure, p: Problem, warm: Array, smooth: Array) -> Array:
    """The better of the previous acceleration and the unconstrained one, by cost."""

    def total(x):
        offset = x - smooth
        gauss = 0.5 * jnp.sum(offset * lax.dot(p.M, offset, precision=lax.Precision.HIGHEST))
        return gauss + cost(s, p, residual(s, p, x))

    return jnp.where(total(warm) < total(smooth), warm, smooth)
