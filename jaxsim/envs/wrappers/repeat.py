"""The same action for several steps of an environment."""

from typing import Any

import jax
import jax.numpy as jnp

import jaxsim as js
from jaxsim.envs.state import State
from jaxsim.envs.wrappers.wrapper import Wrapper

Array = jax.Array


class Repeat(Wrapper):
    """Takes each action `count` times and adds up the rewards and metrics, up to the step that ends an episode.

    Simulation steps between observations are better chosen as the environment's `n_substeps`, which evaluates rewards
    and observations only once. Here each of the steps counts, as where frames are skipped.
    """

    def __init__(self, env: Any, count: int):
        super().__init__(env)
        if count < 1:
            raise ValueError(f"count is {count}, expected at least 1")
        self.count = count

    def step(self, state: State, action: Array, model: js.Model | None = None) -> State:
        """The State after `count` steps with an action [action_size], or actions [B, action_size]."""

        def once(carry: tuple[State, Any], _: None) -> tuple[tuple[State, Any], None]:
            state, sums = carry
            stepped = self.env.step(state, action, model)
            terms = (stepped.reward, stepped.metrics)
            sums = jax.tree.map(lambda total, term: total + jnp.where(state.done > 0, 0, term), sums, terms)
            return (js.where(state.done > 0, state, stepped), sums), None

        zeros = jax.tree.map(jnp.zeros_like, (state.reward, state.metrics))
        begin = state.replace(done=jnp.zeros_like(state.done))
        (state, (reward, metrics)), _ = jax.lax.scan(once, (begin, zeros), length=self.count)
        return state.replace(reward=reward, metrics=metrics)

    @property
    def dt(self) -> float:
        """Time between actions (s)."""
        return self.env.dt * self.count
