"""The base of what goes around an environment."""

from typing import Any

import jax

import jaxsim as js
from jaxsim.envs.state import State

Array = jax.Array


class Wrapper:
    """An environment, or a batch of it, that does what `env` does; subclasses do something else besides."""

    def __init__(self, env: Any):
        self.env = env

    def reset(self, key: Array, model: js.Model | None = None) -> State:
        """The State at the start of an episode, drawn with a key []; in a batch, keys [B]."""
        return self.env.reset(key, model)

    def step(self, state: State, action: Array, model: js.Model | None = None) -> State:
        """The State after an action [action_size]; in a batch, actions [B, action_size]."""
        return self.env.step(state, action, model)

    @property
    def model(self) -> js.Model:
        """The model of the environment."""
        return self.env.model

    @property
    def n_substeps(self) -> int:
        """Simulation steps for each action."""
        return self.env.n_substeps

    @property
    def dt(self) -> float:
        """Time between actions (s)."""
        return self.env.dt

    @property
    def action_size(self) -> int:
        """Number of controls."""
        return self.env.action_size

    @property
    def observation_size(self) -> int:
        """Length of an observation."""
        return self.env.observation_size

    @property
    def episode_length(self) -> int:
        """Steps after which `wrap` ends an episode."""
        return self.env.episode_length

    @property
    def unwrapped(self) -> Any:
        """The environment inside of all wrappers."""
        return self.env.unwrapped
