"""Newton's method on the equations of a step, and its derivative by the implicit function theorem."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.maximal.bodies import FASTEST
from jaxsim.maximal.equations import Begin, Unknowns, begin, guess, linearised, residual
from jaxsim.maximal.factor import factor, solve_bordered
from jaxsim.maximal.forces import Forces
from jaxsim.maximal.impacts import Theta, impact_problem, start_of, touch_of
from jaxsim.maximal.mechanism import Mechanism, State
from jaxsim.solvers.interior_point.implicit import central_point
from jaxsim.solvers.interior_point.predictor_corrector import Outcome, Settings
from jaxsim.solvers.interior_point.problem import Point

Array = jax.Array

ITERATIONS = 25
ROUNDS, HALVINGS = 100, 10  # of the interior-point solver; where sliding ends it may take 50


class Solved(NamedTuple):
    """How a step's solve ended."""

    iterations: Array  # []
    residual: Array  # [] the largest, in N s, m or rad, before the last of Newton's steps
    converged: Array  # [] bool


def largest(u: Unknowns) -> Array:
    """The largest magnitude [] of residuals."""
    return jnp.maximum(jnp.max(jnp.abs(u.link), initial=0), jnp.max(jnp.abs(u.loop), initial=0))


class _Search(NamedTuple):
    at: Unknowns
    done: Array  # [] steps
    size: Array  # of the residual at the point before


def newton(mechanism: Mechanism, state: State, b: Begin, start: Unknowns) -> tuple[Unknowns, Solved]:
    """The unknowns [n, 12 + width], [rows] of a step: the step that starts from a residual near the square root of
    rounding is the last, which leaves rounding."""
    t, small = mechanism.model.topology, 0.1 * jnp.sqrt(jnp.finfo(state.pos.dtype).eps)

    def searching(s: _Search) -> Array:
        return (s.size > small) & (s.done < ITERATIONS)

    def improved(s: _Search) -> _Search:
        error, derivative = linearised(mechanism, state, b, s.at)
        change = solve_bordered(t, factor(t, derivative), error)
        at = _slowed(mechanism, jax.tree.map(jnp.subtract, s.at, change))
        return _Search(at, s.done + 1, largest(error))

    infinite = jnp.full((), jnp.inf, state.pos.dtype)
    end = lax.while_loop(searching, improved, _Search(start, jnp.zeros((), jnp.int32), infinite))
    return end.at, Solved(end.done, end.size, end.size <= small)


def _slowed(mechanism: Mechanism, u: Unknowns) -> Unknowns:
    """Unknowns whose links turn less than half a turn in a step."""
    h = mechanism.model.opt.timestep
    square = 0.25 * h * h * jnp.sum(u.ang * u.ang, axis=1, keepdims=True)
    share = jnp.sqrt(FASTEST / jnp.maximum(square, FASTEST))
    return u._replace(link=u.link.at[:, 3:6].multiply(share))


@jax.custom_jvp
def solved(mechanism: Mechanism, state: State, forces: Forces) -> tuple[Unknowns, Solved]:
    """The unknowns [n, 12 + width], [rows] of a step, differentiable in both modes with respect to everything."""
    b = begin(mechanism, state, forces)
    return newton(mechanism, state, b, guess(mechanism, state))


@solved.defjvp
def _(primals, tangents):
    mechanism = primals[0]
    unknowns, how = solved(*primals)

    _, change = jax.jvp(lambda m, s, f: residual(m, s, f, unknowns), primals, tangents)
    _, derivative = linearised(mechanism, primals[1], begin(*primals), unknowns)
    t = mechanism.model.topology
    moved = solve_bordered(t, factor(t, derivative), jax.tree.map(jnp.negative, change))
    nothing = jax.tree.map(
        lambda x: jnp.zeros(x.shape, x.dtype if jnp.issubdtype(x.dtype, jnp.inexact) else jax.dtypes.float0), how
    )
    return (unknowns, how), (moved, nothing)


def pressed(mechanism: Mechanism, state: State, forces: Forces) -> tuple[Point, Outcome]:
    """The unknowns of a step with contacts or limits, and variables of the cones [size]; differentiable in both modes,
    at opt.kappa_gradient."""
    m = mechanism.model
    theta = Theta(mechanism, state, begin(mechanism, state, forces), touch_of(mechanism, state))
    start = start_of(theta, guess(mechanism, state))
    eps = jnp.finfo(state.pos.dtype).eps
    accuracy = jnp.asarray(max(1e-6, 1e4 * float(eps)), state.pos.dtype)
    settings = Settings(m.opt.kappa, 0.1 * jnp.sqrt(eps), accuracy, ROUNDS, HALVINGS)
    return central_point(impact_problem(m), theta, start, settings, m.opt.kappa_gradient)
