"""What algorithms with a policy and a critic share: their networks, windows of steps, and minibatches of them."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim import envs
from training import collect, networks, normalise, variants
from training.config import setting
from training.experiment import Experiment
from training.networks import Network

Array = jax.Array


@dataclass(frozen=True)
class Windowed(Experiment):
    """Settings of algorithms that learn from windows of steps, in minibatches."""

    network: Network = field(default_factory=Network)
    unroll: int = setting(32, "steps of each world in an iteration", least=1)
    minibatches: int = setting(8, "pieces into which the steps of an iteration are divided", least=1)
    discount: float = setting(0.99, "of the next step's reward", least=0)
    trace: float = setting(0.95, "lambda of the returns: 0 for one step, 1 for whole ones", least=0)
    max_grad_norm: float = setting(1.0, "largest norm of a gradient", above=0)
    reward_scale: float = setting(1.0, "factor of rewards in training", above=0)

    @property
    def shares(self) -> int:
        """Parts of the worlds whose steps make whole minibatches."""
        return math.gcd(self.worlds, self.worlds * self.unroll // self.minibatches)

    def problems(self) -> list[str]:
        """What does not fit together."""
        rows = self.worlds * self.unroll
        if rows % self.minibatches:
            return [f"worlds x unroll is {rows}, no multiple of the {self.minibatches} minibatches"]
        return super().problems()


class ActorCritic:
    """A policy and a critic on an environment of one world."""

    def __init__(self, config: Any, env: Any, policy: type = networks.Policy, critic: type = networks.Critic):
        self.config, self.length = config, config.episode_length or env.episode_length
        env, self.models = variants.wrapped(env, config.randomise, config.worlds, config.seed)
        self.env: envs.Wrapper = envs.AutoReset(envs.Episode(env, self.length))
        self.policy = policy(config.network, env.action_size)
        self.critic = critic(config.network)
        self.steps = config.worlds * config.unroll  # of the environment in an iteration
        self.iterations = -(-config.steps // self.steps)

    def begin(self, key: Array, *actions: Array) -> tuple[dict[str, Any], normalise.Moments, collect.Worlds, Array]:
        """Parameters of policy and critic, moments of observations, worlds, and a key for what follows.

        Args:
            key: of all random numbers.
            actions: of one world, such as the critic reads beside observations.
        """
        key, of_policy, of_critic, of_worlds = jax.random.split(key, 4)
        worlds = collect.begin(self.env, jax.random.split(of_worlds, self.config.worlds), self.models, self.length)
        obs = worlds.state.obs
        params = {
            "policy": self.policy.init(of_policy, obs[0]),
            "critic": self.critic.init(of_critic, obs[0], *actions),
        }
        return params, normalise.begin(obs.shape[-1], obs.dtype), worlds, key

    def act(self, state: Any, obs: Array) -> Array:
        """The policy's mean action [..., nu]."""
        return self._squash(self._policy(state.params["policy"], state.moments, obs)[0])

    def sample(self, params: Any, moments: normalise.Moments, obs: Array, key: Array) -> tuple[Array, Array]:
        """Actions [worlds, nu] for observations [worlds, n], before they are squashed and after."""
        mean, log_std = self._policy(params, moments, obs)
        raw = networks.sample(key, mean, log_std)
        return raw, self._squash(raw)

    def values(self, params: Any, moments: normalise.Moments, steps: collect.Steps) -> tuple[Array, Array]:
        """The critic's values [T, worlds] before and after each step."""
        seen = (normalise.normalise(moments, x) for x in (steps.obs, steps.following))
        before, after = (networks.apply(self.critic, params, x) for x in seen)
        return before, after

    def minibatches(self, update: Callable, carry: Any, rows: Any, key: Array) -> tuple[Any, Any]:
        """One pass over rows [n, ...] in random order: `update(carry, part)` for each of the minibatches."""
        count = jax.tree.leaves(rows)[0].shape[0]
        order = jax.random.permutation(key, count).reshape(self.config.minibatches, -1)
        return lax.scan(lambda carry, chosen: update(carry, jax.tree.map(lambda x: x[chosen], rows)), carry, order)

    def _policy(self, params: Any, moments: normalise.Moments, obs: Array) -> tuple[Array, Array]:
        return networks.apply(self.policy, params, normalise.normalise(moments, obs))

    def _squash(self, raw: Array) -> Array:
        return networks.squash(self.config.network.squash, raw)


def in_one_row(x: Array) -> Array:
    """Steps [T, worlds, ...] as [T * worlds, ...]."""
    return jnp.reshape(x, (-1, *x.shape[2:]))
