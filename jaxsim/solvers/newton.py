"""Newton's method on the primal objective (mj_solNewton)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.solvers.line_search import line_search
from jaxsim.solvers.linear.spd_solve import spd_solve
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
    """An iterate x; M x, the residual and the gradient are carried along instead of recomputed."""

    x: Array
    Mx: Array
    residual: Residual
    gradient: Array
    iteration: Array
    done: Array


class Start(NamedTuple):
    """Where to begin: the unconstrained acceleration [nv], and, unless warm starts are off, the previous one [nv]."""

    smooth: Array
    warm: Array | None


class Settings(NamedTuple):
    """Solver options: iteration bounds are static, tolerances traced."""

    iterations: int
    ls_iterations: int
    tolerance: Array
    ls_tolerance: Array


def newton(s: Structure, p: Problem, start: Start, options: Settings) -> tuple[Array, Array]:
    """Minimise the objective; returns the minimiser [nv] and the number of iterations.

    Begins at the better of the two starts. Stops when the gradient norm or the decrease of the last step falls
    below the tolerance (both scaled by 1 / trace(M)), when the gradient is rounding noise, or when a step no
    longer moves x.
    """
    scale = 1 / jnp.trace(p.M)

    def unfinished(state: State):
        return (state.iteration < options.iterations) & ~state.done

    def settle(state: State, decrease: Array, moved: Array) -> State:
        """The gradient at a new iterate, and whether it is good enough."""
        pull = mul_jt(s, p, forces(s, p, state.residual))
        gradient = state.Mx - p.qfrc_smooth - pull
        length = _norm(gradient)
        noise = 4 * jnp.finfo(length.dtype).eps * (_norm(state.Mx) + _norm(p.qfrc_smooth) + _norm(pull))
        done = (scale * jnp.minimum(length, decrease) < options.tolerance) | (length <= noise) | ~moved
        return state._replace(gradient=gradient, done=done)

    def iterate(state: State) -> State:
        step = -spd_solve(*hessian(s, p, state.residual), state.gradient[:, None])[:, 0]
        Mstep = lax.dot(p.M, step, precision=lax.Precision.HIGHEST)
        dr = mul_j(s, p, step)
        slope = jnp.sum(state.gradient * step)
        # as exact as MuJoCo asks for near the solution, and to a hundredth before
        goal = options.ls_tolerance * jnp.maximum(options.tolerance * _norm(step) / scale, jnp.abs(slope))
        alpha = line_search(_line(s, p, state, step, Mstep, dr), slope, options.ls_iterations, goal)
        x = state.x + alpha * step
        moved = jax.tree.map(lambda a, b: a + alpha * b, state.residual, dr)
        new = State(x, state.Mx + alpha * Mstep, moved, step, state.iteration + 1, state.done)
        return settle(new, -0.5 * alpha * slope, jnp.any(x != state.x))

    first = State(*_begin(s, p, start), start.smooth, jnp.zeros((), jnp.int32), jnp.zeros((), bool))
    first = settle(first, jnp.full_like(scale, jnp.inf), jnp.ones((), bool))
    last = lax.while_loop(unfinished, iterate, first)
    return last.x, last.iteration


def _begin(s: Structure, p: Problem, start: Start) -> tuple[Array, Array, Residual]:
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


def _line(s: Structure, p: Problem, state: State, step: Array, Mstep: Array, dr: Residual):
    """The objective along the Newton direction: step length -> slope and curvature."""
    gauss_slope = jnp.sum(step * (state.Mx - p.qfrc_smooth))
    gauss_curvature = jnp.sum(step * Mstep)
    penalties = along(s, p, state.residual, dr)

    def at(alpha: Array) -> tuple[Array, Array]:
        slope, curvature = penalties(alpha)
        return gauss_slope + alpha * gauss_curvature + slope, gauss_curvature + curvature

    return at


def _norm(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(x * x))
