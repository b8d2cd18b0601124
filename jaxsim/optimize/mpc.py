"""Model predictive control: plan, follow the plan for a while, shift it, plan again."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

import jaxsim as js
from jaxsim.optimize.trajectory import state_of

Array = jax.Array
Planner = Callable[[js.Data, Array, Array], Array]


def mpc(
    model: js.Model,
    data: js.Data,
    ctrl: Array,
    planner: Planner,
    key: Array,
    *,
    length: int,
    every: int = 1,
    substeps: int = 1,
    outputs: Callable[[js.Data], Any] = state_of,
) -> tuple[js.Data, Any]:
    """Control a world by plans that are renewed as it moves.

    Call it under `jax.jit`; worlds in parallel by `jax.vmap`. The world's model may be another one than that of the
    planner, which knows its own.

    Args:
        model: the world's model.
        data: the world's state.
        ctrl: first guess of a plan [T, nu].
        planner: `planner(data, ctrl, key)` returns a plan [T, nu] from the latest one, shifted: for example
            `lambda data, ctrl, key: mppi(model, data, ctrl, cost, key).ctrl`.
        key: random key, split between the plans.
        length: how many plans to make.
        every: how many controls of a plan to use.
        substeps: steps for each control.
        outputs: `outputs(data)` is recorded after each control: by default time, qpos, qvel, act ...

    Returns:
        The last Data, and what was recorded, [length * every, ...].

    Raises:
        ValueError: a plan has fewer controls than are to be used.
    """
    if not 1 <= every <= len(ctrl):
        raise ValueError(f"every is {every}, expected 1 to {len(ctrl)}, the controls of a plan")

    def follow(now: tuple[js.Data, Array], key: Array) -> tuple[tuple[js.Data, Array], Any]:
        data, ctrl = now
        ctrl = planner(data, ctrl, key)
        data, outs = js.rollout(model, data, ctrl[:every], substeps=substeps, outputs=outputs)
        rest = jnp.broadcast_to(ctrl[-1:], (every, ctrl.shape[1]))
        return (data, jnp.concatenate([ctrl[every:], rest])), outs

    (data, _), outs = lax.scan(follow, (data, ctrl), jax.random.split(key, length))
    return data, jax.tree.map(lambda x: x.reshape(length * every, *x.shape[2:]), outs)
