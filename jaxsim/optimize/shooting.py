"""Trajectory optimisation by gradients of whole rollouts, with any optimiser that has optax's interface."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

import jaxsim as js
from jaxsim.optimize.cost import Cost, total_cost
from jaxsim.optimize.trajectory import within_limits

Array = jax.Array


class Shot(NamedTuple):
    """The cheapest controls that were met, [T, nu], their cost [], and the cost before each iteration [iterations]."""

    ctrl: Array
    cost: Array
    history: Array


def shoot(
    model: js.Model,
    data: js.Data,
    ctrl: Array,
    cost: Cost,
    optimiser: Any,
    *,
    iterations: int = 100,
    substeps: int = 1,
) -> Shot:
    """Improve controls along the gradient of their cost; after each update they are clipped to their limits.

    Call it under `jax.jit`; problems in parallel by `jax.vmap`. A goal of the cost is not looked at.

    Args:
        model: the model; its actuator_ctrlrange limits the controls.
        data: the initial state and inputs.
        ctrl: first guess [T, nu].
        cost: what to make small.
        optimiser: `optax.adam(0.05)`, for example: an object with `init(ctrl)` and `update(gradient, state, ctrl)`.
        iterations: how many gradients to take.
        substeps: steps for each control.
    """
    slope = jax.value_and_grad(lambda u: total_cost(cost, model, data, u, substeps))

    def iterate(now: tuple[Array, Any, Shot], _: None) -> tuple[tuple[Array, Any, Shot], Array]:
        ctrl, memory, best = now
        here, gradient = slope(ctrl)
        better = here < best.cost
        best = best._replace(ctrl=jnp.where(better, ctrl, best.ctrl), cost=jnp.where(better, here, best.cost))
        usable = jnp.all(jnp.isfinite(gradient))
        change, memory = optimiser.update(jnp.where(usable, gradient, 0), memory, ctrl)
        return (within_limits(model, ctrl + change), memory, best), here

    ctrl = within_limits(model, ctrl)
    nothing = Shot(ctrl, jnp.asarray(jnp.inf, ctrl.dtype), jnp.zeros(0, ctrl.dtype))
    (_, _, best), history = lax.scan(iterate, (ctrl, optimiser.init(ctrl), nothing), None, length=iterations)
    return best._replace(history=history)
