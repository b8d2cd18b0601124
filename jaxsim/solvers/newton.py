"""Newton's method on the primal objective (mj_solNewton)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.algebra.blocks import Blocks, times, trace
from jaxsim.constraint.rows import RowValues
from jaxsim.solvers.line_search import line_search
from jaxsim.solvers.linear.spd_solve import spd_solve
from jaxsim.solvers.many_trees import INEXACT, curvature_at, solve_by_trees
from jaxsim.solvers.objective import Problem, Structure, forces, hessian, mul_j, mul_jt
from jaxsim.solvers.primal import Outcome, Settings, Start, begin, norm, objective_along

Array = jax.Array

ROUNDING = 4  # times the precision of what is looked for: shorter steps are noise


class Iterate(NamedTuple):
    """A point x on the way; M x, the residual and the gradient are carried along instead of recomputed."""

    x: Array  # [nv]
    Mx: Array  # [nv]
    residual: RowValues
    gradient: Array  # [nv]
    iteration: Array  # []
    done: Array  # [] bool


def newton(s: Structure, p: Problem, start: Start, options: Settings) -> tuple[Array, Outcome]:
    """Minimise the objective; returns the minimiser [nv] and how the solve ended.

    Begins at the better of the two starts. Stops when the gradient norm or the decrease of the last step falls
    below the tolerance (both scaled by 1 / trace(M)), when the gradient or the step is rounding noise, or when a
    step no longer moves x: then it has converged. A gradient that is not finite never has.
    """
    scale = 1 / trace(p.M)

    def unfinished(here: Iterate):
        return (here.iteration < options.iterations) & ~here.done

    def settle(here: Iterate, decrease: Array, moved: Array) -> Iterate:
        """The gradient at a new iterate, and whether it is good enough."""
        pull = mul_jt(s, p, forces(s, p, here.residual))
        gradient = here.Mx - p.qfrc_smooth - pull
        length = norm(gradient)
        noise = 4 * jnp.finfo(length.dtype).eps * (norm(here.Mx) + norm(p.qfrc_smooth) + norm(pull))
        done = (scale * jnp.minimum(length, decrease) < options.tolerance) | (length <= noise) | ~moved
        return here._replace(gradient=gradient, done=done)

    def iterate(here: Iterate) -> Iterate:
        # in a batch those that are done go on with the others; without a gradient no loop in here waits for them
        here = here._replace(gradient=jnp.where(here.done, 0, here.gradient))
        step = -_newton_step(s, p, here)
        Mstep = times(p.M, step)
        dr = mul_j(s, p, step)
        slope = jnp.sum(here.gradient * step)
        # as exact as MuJoCo asks for near the solution, and to a hundredth before
        goal = options.ls_tolerance * jnp.maximum(options.tolerance * norm(step) / scale, jnp.abs(slope))
        alpha = line_search(
            objective_along(s, p, here.residual, here.Mx, step, Mstep, dr), slope, options.ls_iterations, goal
        )
        x = here.x + alpha * step
        moved = jax.tree.map(lambda a, b: a + alpha * b, here.residual, dr)
        new = Iterate(x, here.Mx + alpha * Mstep, moved, step, here.iteration + 1, here.done)
        still = norm(step) <= ROUNDING * jnp.finfo(x.dtype).eps * norm(x)
        return settle(new, -0.5 * alpha * slope, ~still & jnp.any(x != here.x))

    first = Iterate(*begin(s, p, start), start.smooth, jnp.zeros((), jnp.int32), jnp.zeros((), bool))
    first = settle(first, jnp.full_like(scale, jnp.inf), jnp.ones((), bool))
    last = lax.while_loop(unfinished, iterate, first)
    return last.x, Outcome(last.iteration, last.done, scale * norm(last.gradient))


def _newton_step(s: Structure, p: Problem, here: Iterate) -> Array:
    """H^-1 gradient [nv], nearly so where trees are many."""
    if isinstance(p.M, Blocks):
        return solve_by_trees(s, p, curvature_at(s, p, here.residual), here.gradient, INEXACT)
    return spd_solve(*hessian(s, p, here.residual), here.gradient[:, None])[:, 0]
