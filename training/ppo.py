"""Proximal policy optimisation (Schulman et al. 2017, arXiv:1707.06347).

One iteration steps all worlds `unroll` times with the policy as it is, estimates advantages, and takes `epochs` passes
over those steps in `minibatches` pieces, each a step of Adam on

    - E[min(r A, clip(r, 1 - clip, 1 + clip) A)] + value_weight E[(V - R)^2] - entropy_weight E[H],

r the ratio of the new policy's density to the old one's. Each device has its share of the worlds and shuffles within
it; gradients are averaged over devices, so that all hold the same parameters. An iteration is one compiled program.
"""

import functools
import sys
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax

from jaxsim.devices import WORLDS
from training import collect, networks, normalise
from training.actor_critic import ActorCritic, Windowed, in_one_row
from training.advantage import advantages
from training.config import setting
from training.sharing import mean_over_devices

Array = jax.Array


@dataclass(frozen=True)
class PPO(Windowed):
    """Settings of PPO."""

    by: ClassVar[str] = "ppo"

    epochs: int = setting(4, "passes over the steps of an iteration", least=1)
    learning_rate: float = setting(3e-4, "of Adam", above=0)
    schedule: Literal["constant", "linear"] = setting("linear", "of the learning rate: constant, or linear to zero")
    clip: float = setting(0.2, "largest change of the ratio of densities", above=0)
    value_weight: float = setting(0.5, "of the critic's squared error", least=0)
    entropy_weight: float = setting(0.0, "of the policy's entropy", least=0)


class State(NamedTuple):
    """All that an iteration needs: kept in checkpoints."""

    params: Any  # of policy and critic
    optimiser: Any
    moments: normalise.Moments
    worlds: collect.Worlds
    key: Array


class Batch(NamedTuple):
    """What the objective reads of a step, each [T * worlds, ...]."""

    obs: Array  # normalised
    raw: Array
    log_prob: Array
    advantage: Array  # normalised
    target: Array  # of the critic


class Learner(ActorCritic):
    """PPO on an environment of one world."""

    def __init__(self, config: PPO, env: Any):
        super().__init__(config, env)
        rate = config.learning_rate
        updates = self.iterations * config.epochs * config.minibatches
        falling = optax.linear_schedule(rate, 0.0, updates) if config.schedule == "linear" else rate
        self.optimiser = optax.chain(optax.clip_by_global_norm(config.max_grad_norm), optax.adam(falling, eps=1e-5))

    def init(self, key: Array) -> State:
        """The state before the first iteration."""
        params, moments, worlds, key = self.begin(key)
        return State(params, self.optimiser.init(params), moments, worlds, key)

    def iteration(self, state: State) -> tuple[State, dict[str, Array]]:
        """Collect and update, on one device's worlds."""
        key, acting, shuffling = jax.random.split(state.key, 3)
        acting, shuffling = (jax.random.fold_in(k, lax.axis_index(WORLDS)) for k in (acting, shuffling))
        act = functools.partial(self.sample, state.params["policy"], state.moments)
        worlds, steps, ended = collect.collect(self.env, act, state.worlds, acting, self.config.unroll)
        batch, explained = self._batch(state, steps)

        def one_pass(carry, key):
            return self.minibatches(self._update, carry, batch, key)

        start = state.params, state.optimiser
        (params, optimiser), found = lax.scan(one_pass, start, jax.random.split(shuffling, self.config.epochs))
        metrics = {name: x.mean() for name, x in found.items()} | {
            "explained_variance": lax.pmean(explained, WORLDS),
            "action_std": jnp.exp(params["policy"]["params"]["log_std"]).mean(),
            "reward": lax.pmean(steps.reward.mean(), WORLDS),
        }
        moments = normalise.update(state.moments, steps.obs, WORLDS)
        return State(params, optimiser, moments, worlds, key), metrics | lax.psum(ended, WORLDS)

    def _batch(self, state: State, steps: collect.Steps) -> tuple[Batch, Array]:
        """The steps as the objective needs them, and how much of the returns' variance the critic explains."""
        config = self.config
        value, after = self.values(state.params["critic"], state.moments, steps)
        reward = config.reward_scale * steps.reward
        advantage = advantages(reward, value, after, steps.done, steps.terminated, config.discount, config.trace)
        obs = normalise.normalise(state.moments, steps.obs)
        mean, log_std = networks.apply(self.policy, state.params["policy"], obs)
        log_prob = networks.log_prob(steps.raw, mean, log_std)
        batch = Batch(obs, steps.raw, log_prob, _normalised(advantage), advantage + value)
        explained = 1 - advantage.var() / (batch.target.var() + 1e-8)
        return jax.tree.map(in_one_row, batch), explained

    def _update(self, carry: tuple, batch: Batch) -> tuple[tuple, dict[str, Array]]:
        """One step of Adam."""
        params, optimiser = carry
        gradient, metrics = mean_over_devices(jax.grad(self._loss, has_aux=True)(params, batch))
        updates, optimiser = self.optimiser.update(gradient, optimiser, params)
        metrics["gradient_norm"] = optax.tree.norm(gradient)
        return (optax.apply_updates(params, updates), optimiser), metrics

    def _loss(self, params: Any, batch: Batch) -> tuple[Array, dict[str, Array]]:
        config = self.config
        mean, log_std = networks.apply(self.policy, params["policy"], batch.obs)
        change = networks.log_prob(batch.raw, mean, log_std) - batch.log_prob
        ratio = jnp.exp(change)
        clipped = jnp.clip(ratio, 1 - config.clip, 1 + config.clip)
        policy = -jnp.minimum(ratio * batch.advantage, clipped * batch.advantage).mean()
        value = jnp.square(networks.apply(self.critic, params["critic"], batch.obs) - batch.target).mean()
        entropy = networks.entropy(config.network.squash, batch.raw, mean, log_std).mean()
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
