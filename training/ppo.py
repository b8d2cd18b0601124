"""Proximal policy optimisation (Schulman et al. 2017, arXiv:1707.06347).

One iteration steps all worlds `unroll` times with the policy as it is, estimates advantages, and takes `epochs` passes
over those steps in `minibatches` pieces, each a step of Adam on

    - E[min(r A, clip(r, 1 - clip, 1 + clip) A)] + value_weight E[(V - R)^2] - entropy_weight E[H],

r the ratio of the new policy's density to the old one's. Each device has its share of the worlds and shuffles within
it; gradients are averaged over devices, so that all hold the same parameters. An iteration is one compiled program.
"""

import functools
import sys
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax

from jaxsim import envs
from jaxsim.devices import WORLDS
from training import collect, networks, normalise
from training.advantage import advantages
from training.config import setting
from training.experiment import Experiment
from training.networks import Network
from training.sharing import mean_over_devices

Array = jax.Array


@dataclass(frozen=True)
class PPO(Experiment):
    """Settings of PPO."""

    by: ClassVar[str] = "ppo"

    network: Network = field(default_factory=Network)
    unroll: int = setting(32, "steps of each world in an iteration", least=1)
    epochs: int = setting(4, "passes over the steps of an iteration", least=1)
    minibatches: int = setting(8, "pieces of each pass", least=1)
    learning_rate: float = setting(3e-4, "of Adam", above=0)
    schedule: Literal["constant", "linear"] = setting("linear", "of the learning rate: constant, or linear to zero")
    discount: float = setting(0.99, "of the next step's reward", least=0)
    trace: float = setting(0.95, "lambda of the advantages", least=0)
    clip: float = setting(0.2, "largest change of the ratio of densities", above=0)
    value_weight: float = setting(0.5, "of the critic's squared error", least=0)
    entropy_weight: float = setting(0.0, "of the policy's entropy", least=0)
    max_grad_norm: float = setting(1.0, "largest norm of a gradient", above=0)
    reward_scale: float = setting(1.0, "factor of rewards in training", above=0)

    def problems(self) -> list[str]:
        """What does not fit together."""
        found = super().problems()
        if self.worlds * self.unroll % self.minibatches:
            found.append(
                f"worlds x unroll is {self.worlds * self.unroll}, no multiple of the {self.minibatches} minibatches"
            )
        return found


class State(NamedTuple):
    """All that an iteration needs: kept in checkpoints."""

    params: Any  # of policy and critic
    optimiser: Any
    moments: normalise.Moments
    worlds: collect.Worlds
    key: Array


class Batch(NamedTuple):
    """What the objective reads of a step."""

    obs: Array  # normalised
    raw: Array
    log_prob: Array
    advantage: Array  # normalised
    target: Array  # of the critic


class Learner:
    """PPO on an environment of one world."""

    def __init__(self, config: PPO, env: Any):
        self.config, self.length = config, config.episode_length or env.episode_length
        self.env = envs.wrap(env, self.length)
        self.policy = networks.Policy(config.network, env.action_size)
        self.critic = networks.Critic(config.network)
        self.steps = config.worlds * config.unroll  # of the environment in an iteration
        self.optimiser = optax.chain(
            optax.clip_by_global_norm(config.max_grad_norm), optax.adam(self._learning_rate(), eps=1e-5)
        )

    def init(self, key: Array) -> State:
        """The state before the first iteration."""
        key, of_policy, of_critic, of_worlds = jax.random.split(key, 4)
        worlds = collect.begin(self.env, jax.random.split(of_worlds, self.config.worlds), self.length)
        obs = worlds.state.obs
        params = {"policy": self.policy.init(of_policy, obs[0]), "critic": self.critic.init(of_critic, obs[0])}
        moments = normalise.begin(self.env.observation_size, obs.dtype)
        return State(params, self.optimiser.init(params), moments, worlds, key)

    def act(self, state: State, obs: Array) -> Array:
        """The policy's mean action [..., nu]."""
        mean, _ = networks.apply(self.policy, state.params["policy"], normalise.normalise(state.moments, obs))
        return networks.squash(self.config.network.squash, mean)

    def iteration(self, state: State) -> tuple[State, dict[str, Array]]:
        """Collect and update, on one device's worlds."""
        key, acting, shuffling = jax.random.split(state.key, 3)
        acting, shuffling = (jax.random.fold_in(k, lax.axis_index(WORLDS)) for k in (acting, shuffling))
        act = functools.partial(self._sample, state)
        worlds, steps, ended = collect.collect(self.env, act, state.worlds, acting, self.config.unroll)
        batch, explained = self._batch(state, steps)
        update = functools.partial(self._epoch, batch)
        (params, optimiser), found = lax.scan(
            update, (state.params, state.optimiser), jax.random.split(shuffling, self.config.epochs)
        )
        metrics = {name: x.mean() for name, x in found.items()} | {
            "explained_variance": lax.pmean(explained, WORLDS),
            "action_std": jnp.exp(params["policy"]["params"]["log_std"]).mean(),
            "reward": lax.pmean(steps.reward.mean(), WORLDS),
        }
        moments = normalise.update(state.moments, steps.obs, WORLDS)
        return State(params, optimiser, moments, worlds, key), metrics | lax.psum(ended, WORLDS)

    def _learning_rate(self) -> Any:
        config = self.config
        if config.schedule == "constant":
            return config.learning_rate
        updates = -(-config.steps // self.steps) * config.epochs * config.minibatches
        return optax.linear_schedule(config.learning_rate, 0.0, updates)

    def _sample(self, state: State, obs: Array, key: Array) -> tuple[Array, Array]:
        mean, log_std = networks.apply(self.policy, state.params["policy"], normalise.normalise(state.moments, obs))
        raw = networks.sample(key, mean, log_std[None])
        return raw, networks.squash(self.config.network.squash, raw)

    def _batch(self, state: State, steps: collect.Steps) -> tuple[Batch, Array]:
        """The steps as the objective needs them, in one row, and how much of the returns the critic explains."""
        config = self.config
        obs, following = (normalise.normalise(state.moments, x) for x in (steps.obs, steps.following))
        value, after = (networks.apply(self.critic, state.params["critic"], x) for x in (obs, following))
        reward = config.reward_scale * steps.reward
        advantage = advantages(reward, value, after, steps.done, steps.terminated, config.discount, config.trace)
        mean, log_std = networks.apply(self.policy, state.params["policy"], obs)
        log_prob = networks.log_prob(steps.raw, mean, log_std[None, None])
        batch = Batch(obs, steps.raw, log_prob, _normalised(advantage), advantage + value)
        explained = 1 - advantage.var() / (batch.target.var() + 1e-8)
        return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), batch), explained

    def _epoch(self, batch: Batch, carry: tuple, key: Array) -> tuple[tuple, dict[str, Array]]:
        """One pass over the steps, in minibatches."""
        order = jax.random.permutation(key, batch.advantage.size).reshape(self.config.minibatches, -1)

        def minibatch(carry, rows):
            params, optimiser = carry
            gradient, metrics = jax.grad(self._loss, has_aux=True)(params, jax.tree.map(lambda x: x[rows], batch))
            gradient, metrics = mean_over_devices((gradient, metrics))
            updates, optimiser = self.optimiser.update(gradient, optimiser, params)
            metrics["gradient_norm"] = optax.tree.norm(gradient)
            return (optax.apply_updates(params, updates), optimiser), metrics

        return lax.scan(minibatch, carry, order)

    def _loss(self, params: Any, batch: Batch) -> tuple[Array, dict[str, Array]]:
        config = self.config
        mean, log_std = networks.apply(self.policy, params["policy"], batch.obs)
        change = networks.log_prob(batch.raw, mean, log_std[None]) - batch.log_prob
        ratio = jnp.exp(change)
        clipped = jnp.clip(ratio, 1 - config.clip, 1 + config.clip)
        policy = -jnp.minimum(ratio * batch.advantage, clipped * batch.advantage).mean()
        value = jnp.square(networks.apply(self.critic, params["critic"], batch.obs) - batch.target).mean()
        entropy = networks.entropy(config.network.squash, batch.raw, mean, log_std[None]).mean()
        loss = policy + config.value_weight * value - config.entropy_weight * entropy
        kl = (ratio - 1 - change).mean()  # an estimate that is never negative
        clip_fraction = (jnp.abs(ratio - 1) > config.clip).astype(ratio.dtype).mean()
        names = ("policy_loss", "value_loss", "entropy", "kl", "clip_fraction")
        return loss, dict(zip(names, (policy, value, entropy, kl, clip_fraction)))


def _normalised(x: Array) -> Array:
    """Numbers with mean 0 and deviation 1 over all devices."""
    x = x - lax.pmean(x.mean(), WORLDS)
    return x * lax.rsqrt(lax.pmean(jnp.square(x).mean(), WORLDS) + 1e-8)


if __name__ == "__main__":
    from training.run import main

    sys.exit(main("ppo"))
