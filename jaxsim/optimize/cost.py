"""Costs of a trajectory as functions of Data, their sums, and their expansions in the tangent space.

A function that gives a number is a cost, and is expanded with its exact Hessian. One that gives a vector [n] gives
residuals: the cost is half of the sum of their squares, expanded without second derivatives (Gauss-Newton), which is
cheaper and never indefinite.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

import jaxsim as js
from jaxsim.optimize.trajectory import States, displaced, faultless, state_of

Array = jax.Array


class Cost(NamedTuple):
    """What a plan is to make small: the sum of `running` over its T control steps, and `final` of its last state.

    The functions see Data with the state (time, qpos, qvel, act ...), and before a step the controls chosen there.
    Derived fields are stale: take `js.forward(model, data)` for those. Goals and weights that differ between the
    problems of a batch are what the functions close over, inside of the `vmap`.

    Attributes:
        running: `running(data, t)` of the state before control step t [] and its controls: [] or residuals [n].
        final: `final(data)` of the last state: [] or residuals [n].
        goal: `goal(data)` [n], to be zero at the last state; what is not a matter of more or less. Of ilqr only.
    """

    running: Callable[[js.Data, Array], Array]
    final: Callable[[js.Data], Array]
    goal: Callable[[js.Data], Array] | None = None


class Expansion(NamedTuple):
    """Gradient [n] and Hessian [n, n] of a cost with respect to a tangent vector."""

    slope: Array
    curvature: Array


def value(of: Array) -> Array:
    """The cost [] that a function's result stands for: itself, or half of the squares of residuals [n]."""
    of = jnp.asarray(of)
    return 0.5 * jnp.vdot(of, of) if of.ndim else of


def running_costs(cost: Cost, data: js.Data, states: States, ctrl: Array) -> Array:
    """The costs [T] of control steps from states qpos [T, nq] ... with controls [T, nu]."""
    one = lambda state, u, t: value(cost.running(data.replace(**state, ctrl=u), t))  # noqa: E731
    return jax.vmap(one)(states, ctrl, jnp.arange(len(ctrl)))


def final_cost(cost: Cost, data: js.Data, state: States) -> Array:
    """The cost [] of the last state."""
    return value(cost.final(data.replace(**state)))


def total_cost(cost: Cost, model: js.Model, data: js.Data, ctrl: Array, substeps: int = 1) -> Array:
    """The cost [] of a rollout with controls [T, nu]; infinite where the world had to be reset on the way."""
    end, after = js.rollout(model, data, ctrl, outputs=state_of, substeps=substeps)
    before = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest[:-1]]), state_of(data), after)
    running = jnp.sum(running_costs(cost, data, before, ctrl))
    return jnp.where(faultless(data, end), running + final_cost(cost, data, state_of(end)), jnp.inf)


def expand_running(model: js.Model, cost: Cost, data: js.Data, states: States, ctrl: Array) -> Expansion:
    """Expansions of the running costs in state and control, [T, nx + nu] and [T, nx + nu, nx + nu]."""
    nx = 2 * model.nv + model.na

    def one(state: States, u: Array, t: Array) -> Expansion:
        here = data.replace(**state, ctrl=u)

        def moved(dz: Array) -> Array:
            return cost.running(displaced(model, here, dz[:nx]).replace(ctrl=u + dz[nx:]), t)

        return expand(moved, jnp.zeros(nx + len(u), u.dtype))

    return jax.vmap(one)(states, ctrl, jnp.arange(len(ctrl)))


def expand_final(model: js.Model, function: Callable[[js.Data], Array], data: js.Data) -> Expansion:
    """Expansion of a function of the last state, [nx] and [nx, nx]."""
    none = jnp.zeros(2 * model.nv + model.na, data.qpos.dtype)
    return expand(lambda dx: function(displaced(model, data, dx)), none)


def expand(function: Callable[[Array], Array], at: Array) -> Expansion:
    """Gradient and Hessian of a cost at a vector [n]; of residuals those of Gauss and Newton."""
    if jax.eval_shape(function, at).ndim:
        residuals, slopes = function(at), jax.jacfwd(function)(at)
        return Expansion(residuals @ slopes, slopes.T @ slopes)
    return Expansion(jax.grad(function)(at), jax.hessian(function)(at))
