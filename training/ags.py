"""Augmented gradient search (Howell et al. 2022, Dojo, table VI): ARS with the gradient of the physics.

Each iteration runs one episode in every world with weights near the current ones, w + noise d, takes the exact
gradient of its return through the whole episode, and moves the weights by rate * g / |g|_inf, g the sum over worlds.
Episodes through contact are chaotic now and then: a world with an element of its gradient beyond `limit` is left out.
"""

import sys
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim import envs
from jaxsim.devices import WORLDS
from training import linear, normalise
from training.collect import Worlds, begin
from training.config import setting
from training.experiment import Experiment

Array = jax.Array


@dataclass(frozen=True)
class AGS(Experiment):
    """Settings of AGS; each world is one episode of an iteration."""

    by: ClassVar[str] = "ags"

    rate: float = setting(0.02, "step size", above=0)
    noise: float = setting(0.0, "deviation of the weights among worlds", least=0)
    start: float = setting(0.1, "standard deviation of the initial weights", least=0)
    limit: float = setting(1e3, "largest gradient that is used", above=0)
    reward_limit: float = setting(0.0, "rewards of a step beyond it are cut off; 0 means none", least=0)


class State(NamedTuple):
    """All that an iteration needs: kept in checkpoints."""

    weights: Array  # [nu, n]
    moments: normalise.Moments
    worlds: Worlds
    key: Array


class Learner:
    """AGS on an environment of one world."""

    def __init__(self, config: AGS, env: Any):
        self.config, self.length = config, config.episode_length or env.episode_length
        self.env = envs.Episode(envs.Vector(env), self.length)
        self.steps = config.worlds * self.length

    def init(self, key: Array) -> State:
        """The state before the first iteration."""
        key, of_worlds, of_weights = jax.random.split(key, 3)
        worlds = begin(self.env, jax.random.split(of_worlds, self.config.worlds))
        size = self.env.action_size, worlds.state.obs.shape[-1]
        weights = self.config.start * jax.random.normal(of_weights, size, worlds.state.obs.dtype)
        return State(weights, normalise.begin(size[1], weights.dtype), worlds, key)

    def act(self, state: State, obs: Array) -> Array:
        """The policy's action [..., nu]."""
        return linear.act(state.weights, state.moments, obs)

    def iteration(self, state: State) -> tuple[State, dict[str, Array]]:
        """One step of the weights."""
        config = self.config
        key, *uses = jax.random.split(state.key, 3)
        noise, start = (jax.random.fold_in(k, lax.axis_index(WORLDS)) for k in uses)
        count = state.worlds.state.done.shape[0]
        world = self.env.reset(jax.random.split(start, count))
        shape = (count, *state.weights.shape)
        tried = state.weights[None] + config.noise * jax.random.normal(noise, shape, state.weights.dtype)

        def score(weights):
            scores, obs = linear.episodes(
                self.env, weights, state.moments, world, self.length, config.reward_limit, remat=True
            )
            return scores.total.sum(), (scores, obs)  # each world has weights of its own: so has its gradient

        slopes, (scores, obs) = jax.grad(score, has_aux=True)(tried)
        used = jnp.abs(slopes).max((1, 2), keepdims=True) < config.limit  # false for NaN too
        slope, number = lax.psum((jnp.where(used, slopes, 0).sum(0), used.sum()), WORLDS)
        step = slope / jnp.maximum(jnp.abs(slope).max(), jnp.finfo(slope.dtype).tiny)
        weights = state.weights + config.rate * step
        ended = {"return": scores.reward.sum(), "length": scores.length.sum(), "episodes": jnp.float32(count)}
        metrics = {"worlds_used": number, "weights_norm": jnp.sqrt(jnp.square(weights).sum())}
        moments = normalise.update(state.moments, obs, WORLDS)
        return State(weights, moments, state.worlds, key), metrics | lax.psum(ended, WORLDS)


if __name__ == "__main__":
    from training.run import main

    sys.exit(main("ags"))
