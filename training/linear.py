"""Searches over the weights of linear policies: whole episodes of many of them at once, and what all searches share."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim import envs
from jaxsim.devices import WORLDS
from training import normalise, variants
from training.collect import Worlds, begin
from training.config import setting
from training.experiment import Experiment

Array = jax.Array


@dataclass(frozen=True)
class LinearSearch(Experiment):
    """Settings of every search."""

    start: float = setting(0.0, "standard deviation of the initial weights", least=0)
    reward_limit: float = setting(0.0, "rewards of a step beyond it are cut off; 0 means none", least=0)


class State(NamedTuple):
    """All that an iteration needs: kept in checkpoints."""

    weights: Array  # [nu, n]
    search: Any  # what the search keeps besides
    moments: normalise.Moments
    worlds: Worlds
    key: Array


class Scores(NamedTuple):
    """Of one episode for each world [worlds]."""

    total: Array  # of rewards as the search sees them
    reward: Array  # of rewards as they are
    length: Array


class Running(NamedTuple):
    """Episodes on their way, one for each world."""

    world: envs.State
    alive: Array  # [worlds] 1 until they end, then 0
    scores: Scores  # so far


class Search:
    """What the searches have in common, on an environment of one world."""

    def __init__(self, config: Any, env: Any):
        self.config, self.length = config, config.episode_length or env.episode_length
        env, self.models = variants.wrapped(env, config.randomise, config.worlds, config.seed)
        self.env: envs.Wrapper = envs.Episode(env, self.length)
        self.steps = config.worlds * self.length  # of the environment in an iteration

    def init(self, key: Array) -> State:
        """The state before the first iteration."""
        key, of_worlds, of_weights = jax.random.split(key, 3)
        worlds = begin(self.env, jax.random.split(of_worlds, self.config.worlds), self.models)
        size = self.env.action_size, worlds.state.obs.shape[-1]
        weights = self.config.start * jax.random.normal(of_weights, size, worlds.state.obs.dtype)
        return State(weights, self.begin(weights), normalise.begin(size[1], weights.dtype), worlds, key)

    def begin(self, weights: Array) -> Any:
        """What the search keeps besides the weights [nu, n], at the beginning."""
        return ()

    def act(self, state: State, obs: Array) -> Array:
        """The policy's action [..., nu]."""
        return act(state.weights, state.moments, obs)

    def episodes(self, state: State, weights: Array, keys: Array) -> tuple[Scores, Array]:
        """One episode of each world under weights of its own.

        Args:
            state: of the search.
            weights: [worlds, nu, n].
            keys: of the starts [worlds].

        Returns:
            The scores, and the observations [T, worlds, n].
        """
        ended, obs = self.part(state, weights, self.starts(state, keys), self.length)
        return ended.scores, obs

    def starts(self, state: State, keys: Array) -> Running:
        """Episodes that begin, from keys [worlds]."""
        world = self.env.reset(keys, state.worlds.models)
        zero = jnp.zeros_like(world.reward)
        return Running(world, zero + 1, Scores(zero, zero, zero))

    def part(
        self, state: State, weights: Array, start: Running, length: int, *, remat: bool = False
    ) -> tuple[Running, Array]:
        """So many steps of each world under weights of its own; differentiable with respect to them.

        Args:
            state: of the search.
            weights: [worlds, nu, n].
            start: of the part.
            length: its steps T.
            remat: whether reverse mode keeps of a step what it read only.

        Returns:
            The episodes where they are then, and the observations [T, worlds, n].
        """
        limit = self.config.reward_limit

        def step(now: Running, _: None) -> tuple[Running, Array]:
            after = self.env.step(now.world, act(weights, state.moments, now.world.obs), state.worlds.models)
            reward = after.reward
            limited = jnp.clip(reward, -limit, limit) if limit else reward
            gained = jax.tree.map(lambda x: now.alive * x, Scores(limited, reward, jnp.ones_like(reward)))
            scores = jax.tree.map(jnp.add, now.scores, gained)
            return Running(after, now.alive * (1 - after.done), scores), now.world.obs

        return lax.scan(jax.checkpoint(step) if remat else step, start, length=length)

    def following(
        self, state: State, weights: Array, search: Any, scores: Scores, obs: Array, key: Array
    ) -> tuple[State, dict[str, Array]]:
        """The next state, and the metrics of all devices."""
        moments = normalise.update(state.moments, obs, WORLDS)
        count = jnp.asarray(scores.length.size, scores.length.dtype)
        ended = {"return": scores.reward.sum(), "score": scores.total.sum(), "length": scores.length.sum()}
        metrics = {"weights_norm": jnp.sqrt(jnp.square(weights).sum())} | lax.psum(ended | {"episodes": count}, WORLDS)
        return State(weights, search, moments, state.worlds, key), metrics


def act(weights: Array, moments: normalise.Moments, obs: Array) -> Array:
    """Actions [..., nu] in [-1, 1] of a linear policy; weights [..., nu, n], observations [..., n]."""
    seen = normalise.normalise(moments, obs)
    product = jnp.broadcast_to(weights, (*seen.shape[:-1], *weights.shape[-2:])) * seen[..., None, :]
    return jnp.clip(product.sum(-1), -1, 1)


def of_all_devices(x: Array, axis: int = 0) -> Array:
    """The parts [..., n, ...] of all devices, one after the other along an axis."""
    return lax.all_gather(x, WORLDS, axis=axis, tiled=True)
