"""Augmented random search (Mania et al. 2018, arXiv:1803.07055), version V2-t, on linear policies.

Each iteration tries `worlds / 2` directions d both ways, one episode each, and moves the weights by

    rate / (b s) * sum over the b best directions of (R(w + noise d) - R(w - noise d)) d,

s the deviation of those 2 b returns. Observations are normalised by their running moments.
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
class ARS(Experiment):
    """Settings of ARS; `worlds` is twice the number of directions."""

    by: ClassVar[str] = "ars"

    best: int = setting(0, "directions that are followed; 0 takes all", least=0)
    rate: float = setting(0.02, "step size", above=0)
    noise: float = setting(0.03, "length of a direction", above=0)
    start: float = setting(0.0, "standard deviation of the initial weights", least=0)
    reward_limit: float = setting(0.0, "rewards of a step beyond it are cut off; 0 means none", least=0)

    @property
    def shares(self) -> int:
        """Directions: both ways are tried on the same device."""
        return self.worlds // 2

    def problems(self) -> list[str]:
        """What does not fit together."""
        found = super().problems()
        if self.worlds % 2:
            found.append(f"worlds is {self.worlds}; it must be even, two for each direction")
        if self.best > self.worlds // 2:
            found.append(f"best is {self.best}, but {self.worlds} worlds try {self.worlds // 2} directions")
        return found


class State(NamedTuple):
    """All that an iteration needs: kept in checkpoints."""

    weights: Array  # [nu, n]
    moments: normalise.Moments
    worlds: Worlds
    key: Array


class Learner:
    """ARS on an environment of one world."""

    def __init__(self, config: ARS, env: Any):
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
        """One step of the weights, from this device's directions and those of all others."""
        config = self.config
        key, of_directions, of_worlds = jax.random.split(state.key, 3)
        device = lax.axis_index(WORLDS)
        pairs = state.worlds.state.done.shape[0] // 2
        keys = jax.random.split(jax.random.fold_in(of_worlds, device), pairs)
        world = self.env.reset(jnp.concatenate([keys, keys]))  # both ways from the same start
        mine = jax.random.normal(
            jax.random.fold_in(of_directions, device), (pairs, *state.weights.shape), state.weights.dtype
        )
        tried = state.weights[None] + config.noise * jnp.concatenate([mine, -mine])
        scores, obs = linear.episodes(self.env, tried, state.moments, world, self.length, config.reward_limit)
        ways = scores.total.reshape(2, pairs)
        every = lambda x, axis: lax.all_gather(x, WORLDS, axis=axis, tiled=True)  # noqa: E731
        weights = state.weights + self._move(every(ways, 1), every(mine, 0))
        ended = {"return": scores.reward.sum(), "length": scores.length.sum(), "episodes": jnp.float32(2 * pairs)}
        moments = normalise.update(state.moments, obs, WORLDS)
        metrics = {"weights_norm": jnp.sqrt(jnp.square(weights).sum())}
        return State(weights, moments, state.worlds, key), metrics | lax.psum(ended, WORLDS)

    def _move(self, ways: Array, directions: Array) -> Array:
        """The change of the weights [nu, n] from returns [2, directions] both ways along directions [.., nu, n]."""
        best = self.config.best or ways.shape[1]
        chosen = lax.top_k(ways.max(0), best)[1]
        ways, directions = ways[:, chosen], directions[chosen]
        slope = jnp.tensordot(ways[0] - ways[1], directions, 1, precision=lax.Precision.HIGHEST)
        return self.config.rate / (best * (ways.std() + 1e-6)) * slope


if __name__ == "__main__":
    from training.run import main

    sys.exit(main("ars"))
