"""Episodes of a greatest length, and sums over them."""

from typing import Any

import jax
import jax.numpy as jnp

import jaxsim as js
from jaxsim.envs.state import State
from jaxsim.envs.wrappers.wrapper import Wrapper

Array = jax.Array


class Episode(Wrapper):
    """Ends an episode after `length` steps, and says why it ended; each step of what is inside counts `action_repeat`.

    `done` is 1 in both cases; `info["truncation"]` is 1 where only the time was up, so that termination is
    `done * (1 - truncation)`. Besides, `info` has `steps` of this episode, and `episode_metrics`: `length`,
    `sum_reward` and the sum of each metric so far, which are the whole episode's where `info["episode_done"]` is 1.
    The step after the end counts as the first of the next episode. These names are those of Brax.
    """

    def __init__(self, env: Any, length: int, action_repeat: int = 1):
        super().__init__(env)
        self.length, self.action_repeat = length, action_repeat

    def reset(self, key: Array, model: js.Model | None = None) -> State:
        """The State at the start, for a key [], or keys [B]."""
        state = self.env.reset(key, model)
        zero = jnp.zeros_like(state.reward)
        sums = {"length": zero, "sum_reward": zero, **jax.tree.map(jnp.zeros_like, state.metrics)}
        added = {"steps": zero, "truncation": zero, "episode_done": zero, "episode_metrics": sums}
        return state.replace(info={**state.info, **added})

    def step(self, state: State, action: Array, model: js.Model | None = None) -> State:
        """The State after an action [action_size], or actions [B, action_size]."""
        goes_on = 1 - state.done  # 0 where this step is the first of an episode
        next_state = self.env.step(state, action, model)
        sums = state.info["episode_metrics"]
        terms = {
            "length": jnp.full_like(next_state.reward, self.action_repeat),
            "sum_reward": next_state.reward,
            **next_state.metrics,
        }
        steps = state.info["steps"] * goes_on + self.action_repeat
        late = (steps >= self.length).astype(steps.dtype)
        done = jnp.maximum(next_state.done, late)
        added = {
            "steps": steps,
            "truncation": late * (1 - next_state.done),
            "episode_done": done,
            "episode_metrics": {name: sums[name] * goes_on + terms[name] for name in sums},
        }
        return next_state.replace(done=done, info={**next_state.info, **added})
