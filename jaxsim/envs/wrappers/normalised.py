"""Observations of mean 0 and variance 1."""

import dataclasses
from typing import Any, Self

import jax
import jax.numpy as jnp

import jaxsim as js
from jaxsim.envs.state import State
from jaxsim.envs.wrappers.wrapper import Wrapper

Array = jax.Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Statistics:
    """Running mean and variance of observations: a pytree, to be kept and saved with a policy's parameters.

    Attributes:
        count: [] observations so far.
        mean: [n] of them.
        squares: [n] sum of their squared distances from the mean.
    """

    count: Array
    mean: Array
    squares: Array

    @classmethod
    def zero(cls, size: int) -> Self:
        """Statistics of no observations yet, of `size` numbers each; they leave what they normalise as it is."""
        return cls(jnp.zeros(()), jnp.zeros(size), jnp.zeros(size))

    def update(self, obs: Array) -> Self:
        """With a batch of observations [..., n] more (Chan, Golub and LeVeque's formula for joining two samples)."""
        flat = obs.reshape(-1, obs.shape[-1])
        count = self.count + flat.shape[0]
        mean = flat.mean(0)
        away = mean - self.mean
        squares = ((flat - mean[None]) ** 2).sum(0) + away**2 * self.count * (flat.shape[0] / count)
        return type(self)(count, self.mean + away * (flat.shape[0] / count), self.squares + squares)

    def normalise(self, obs: Array, most: float = 10.0) -> Array:
        """Observations [..., n] less the mean, over the standard deviation, within [-most, most]."""
        # a number that has not changed so far is not blown up when it does
        deviation = jnp.sqrt(jnp.maximum(self.squares / jnp.maximum(self.count, 1), 1e-6))
        deviation = jnp.where(self.count > 0, deviation, 1)
        lead = (1,) * (obs.ndim - 1)
        return jnp.clip((obs - self.mean.reshape(*lead, -1)) / deviation.reshape(*lead, -1), -most, most)


class Normalised(Wrapper):
    """Observations normalised by given statistics, as a policy saw them when it was trained.

    While training goes on the statistics change, and so belong to the training's state: `statistics.update(obs)` with
    every batch of `state.obs`, and `statistics.normalise(obs)` before the networks.
    """

    def __init__(self, env: Any, statistics: Statistics):
        super().__init__(env)
        self.statistics = statistics

    def reset(self, key: Array, model: js.Model | None = None) -> State:
        """The State at the start, for a key [], or keys [B]."""
        return self._seen(self.env.reset(key, model))

    def step(self, state: State, action: Array, model: js.Model | None = None) -> State:
        """The State after an action [action_size], or actions [B, action_size]."""
        return self._seen(self.env.step(state, action, model))

    def _seen(self, state: State) -> State:
        info = state.info
        if "final_obs" in info:
            info = {**info, "final_obs": self.statistics.normalise(info["final_obs"])}
        return state.replace(obs=self.statistics.normalise(state.obs), info=info)
