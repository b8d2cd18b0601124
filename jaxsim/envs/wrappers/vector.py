"""Many worlds of one environment."""

from typing import Any

import jax

import jaxsim as js
from jaxsim.envs.state import State
from jaxsim.envs.wrappers.wrapper import Wrapper

Array = jax.Array


class Vector(Wrapper):
    """`reset` takes keys [B] and `step` a State [B] with actions [B, action_size].

    Args:
        env: of one world.
        models: one model for each world, batched along the axes `in_axes`, as `envs.randomise` gives them; by default
            all have the environment's own.
        in_axes: a Model whose leaves are 0 where `models` is batched and None elsewhere. Without `models` it is said of
            those that `reset` and `step` are given.
    """

    def __init__(self, env: Any, models: js.Model | None = None, in_axes: Any = None):
        super().__init__(env)
        self.models, self.in_axes = models, in_axes

    def reset(self, key: Array, model: js.Model | None = None) -> State:
        """The State [B] at the start of an episode of each world, for keys [B]; `model`, if given, is one for all."""
        model, axes = self._models(model)
        return jax.vmap(self.env.reset, (0, axes))(key, model)

    def step(self, state: State, action: Array, model: js.Model | None = None) -> State:
        """The State [B] after actions [B, action_size]; `model`, if given, is one for all."""
        model, axes = self._models(model)
        return jax.vmap(self.env.step, (0, 0, axes))(state, action, model)

    def _models(self, model: js.Model | None) -> tuple[js.Model | None, Any]:
        if model is None:
            return self.models, self.in_axes if self.models is not None else None
        return model, self.in_axes if self.models is None else None
