"""Short-horizon actor-critic (Xu et al. 2022, arXiv:2204.07137): the policy's gradient through the physics.

One iteration steps all worlds `unroll` times with sampled actions and follows the derivative of

    J = E[sum_t discount^t r_t + discount^h V(s_h)]

through policy, environment and physics back to the parameters. The critic V stands for what lies beyond the window: it
keeps the window short, where derivatives through contact are still of use. Where an episode ends inside the window the
sum begins anew. The critic then learns from TD(lambda) targets of a slowly following copy of itself.
"""

import functools
import sys
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

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
class SHAC(Experiment):
    """Settings of SHAC."""

    by: ClassVar[str] = "shac"

    network: Network = field(default_factory=Network)
    unroll: int = setting(32, "steps of the window that is differentiated", least=1)
    actor_rate: float = setting(2e-3, "learning rate of the policy, falling linearly to zero", above=0)
    critic_rate: float = setting(2e-3, "learning rate of the critic, falling linearly to zero", above=0)
    critic_epochs: int = setting(16, "passes of the critic over a window", least=1)
    minibatches: int = setting(4, "pieces of each pass", least=1)
    discount: float = setting(0.99, "of the next step's reward", least=0)
    trace: float = setting(0.95, "lambda of the critic's targets", least=0)
    follow: float = setting(0.2, "part of the way to the critic that its copy goes in an iteration", above=0)
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

    params: dict[str, Any]  # of policy and critic
    target: Any  # parameters of the critic's copy
    optimiser: dict[str, Any]
    moments: normalise.Moments
    worlds: collect.Worlds
    key: Array


class Learner:
    """SHAC on an environment of one world."""

    def __init__(self, config: SHAC, env: Any):
        self.config, self.length = config, config.episode_length or env.episode_length
        self.env = envs.wrap(env, self.length)
        self.policy = networks.Policy(config.network, env.action_size)
        self.critic = networks.Critic(config.network)
        self.steps = config.worlds * config.unroll
        iterations = -(-config.steps // self.steps)
        of_critic = iterations * config.critic_epochs * config.minibatches
        self.optimisers = {
            "policy": _adam(config.actor_rate, iterations, config.max_grad_norm),
            "critic": _adam(config.critic_rate, of_critic, config.max_grad_norm),
        }

    def init(self, key: Array) -> State:
        """The state before the first iteration."""
        key, of_policy, of_critic, of_worlds = jax.random.split(key, 4)
        worlds = collect.begin(self.env, jax.random.split(of_worlds, self.config.worlds), self.length)
        obs = worlds.state.obs
        params = {"policy": self.policy.init(of_policy, obs[0]), "critic": self.critic.init(of_critic, obs[0])}
        optimiser = {name: each.init(params[name]) for name, each in self.optimisers.items()}
        moments = normalise.begin(obs.shape[-1], obs.dtype)
        return State(params, params["critic"], optimiser, moments, worlds, key)

    def act(self, state: State, obs: Array) -> Array:
        """The policy's mean action [..., nu]."""
        return self._squash(self._policy(state.params["policy"], state.moments, obs)[0])

    def iteration(self, state: State) -> tuple[State, dict[str, Array]]:
        """One step of the policy and the critic's passes, on one device's worlds."""
        key, acting, shuffling = jax.random.split(state.key, 3)
        acting, shuffling = (jax.random.fold_in(k, lax.axis_index(WORLDS)) for k in (acting, shuffling))
        objective = jax.value_and_grad(functools.partial(self._objective, state, acting), has_aux=True)
        (loss, (worlds, steps, ended)), gradient = objective(state.params["policy"])
        loss, gradient = mean_over_devices((loss, gradient))
        policy, of_policy = self._apply("policy", gradient, state.optimiser["policy"], state.params["policy"])
        rows = self._rows(state, steps)
        learn = functools.partial(self._epoch, rows)
        (critic, of_critic), value_loss = lax.scan(
            learn,
            (state.params["critic"], state.optimiser["critic"]),
            jax.random.split(shuffling, self.config.critic_epochs),
        )
        target = optax.incremental_update(critic, state.target, self.config.follow)
        metrics = {
            "policy_loss": loss,
            "value_loss": value_loss.mean(),
            "gradient_norm": optax.tree.norm(gradient),
            "action_std": jnp.exp(policy["params"]["log_std"]).mean(),
            "reward": lax.pmean(steps.reward.mean(), WORLDS),
        }
        after = State(
            {"policy": policy, "critic": critic},
            target,
            {"policy": of_policy, "critic": of_critic},
            normalise.update(state.moments, steps.obs, WORLDS),
            worlds,
            key,
        )
        return after, metrics | lax.psum(ended, WORLDS)

    def _objective(self, state: State, key: Array, params: Any) -> tuple[Array, Any]:
        """-J, and what happened; its derivative runs through every step of the window."""
        act = functools.partial(self._sample, params, state.moments)
        worlds, steps, ended = collect.collect(self.env, act, state.worlds, key, self.config.unroll, remat=True)
        returns = self._returns(state, steps, 1.0)
        begins = jnp.concatenate([jnp.ones_like(steps.done[:1]), steps.done[:-1]])  # sums begin here
        return -(begins * returns).mean(), lax.stop_gradient((worlds, steps, ended))

    def _returns(self, state: State, steps: collect.Steps, trace: float) -> Array:
        """Returns [T, worlds], the critic's copy standing for what lies beyond the window.

        With lambda 1 the values of the states inside cancel, and so do their derivatives.
        """
        obs, following = (normalise.normalise(state.moments, x) for x in (steps.obs, steps.following))
        value, after = (networks.apply(self.critic, state.target, x) for x in (obs, following))
        reward = self.config.reward_scale * steps.reward
        over = advantages(reward, value, after, steps.done, steps.terminated, self.config.discount, trace)
        return over + value

    def _rows(self, state: State, steps: collect.Steps) -> tuple[Array, Array]:
        """Observations and targets of the critic."""
        target = self._returns(state, steps, self.config.trace)
        obs = normalise.normalise(state.moments, steps.obs)
        return obs.reshape(-1, obs.shape[-1]), target.reshape(-1)

    def _epoch(self, rows: tuple[Array, Array], carry: tuple, key: Array) -> tuple[tuple, Array]:
        """One pass of the critic."""
        order = jax.random.permutation(key, rows[1].size).reshape(self.config.minibatches, -1)

        def loss(params, obs, target):
            return jnp.square(networks.apply(self.critic, params, obs) - target).mean()

        def minibatch(carry, chosen):
            params, optimiser = carry
            found, gradient = jax.value_and_grad(loss)(params, rows[0][chosen], rows[1][chosen])
            found, gradient = mean_over_devices((found, gradient))
            return self._apply("critic", gradient, optimiser, params), found

        return lax.scan(minibatch, carry, order)

    def _apply(self, name: str, gradient: Any, optimiser: Any, params: Any) -> tuple[Any, Any]:
        updates, optimiser = self.optimisers[name].update(gradient, optimiser, params)
        return optax.apply_updates(params, updates), optimiser

    def _policy(self, params: Any, moments: normalise.Moments, obs: Array) -> tuple[Array, Array]:
        return networks.apply(self.policy, params, normalise.normalise(moments, obs))

    def _sample(self, params: Any, moments: normalise.Moments, obs: Array, key: Array) -> tuple[Array, Array]:
        mean, log_std = self._policy(params, moments, obs)
        raw = networks.sample(key, mean, log_std[None])
        return raw, self._squash(raw)

    def _squash(self, raw: Array) -> Array:
        return networks.squash(self.config.network.squash, raw)


def _adam(rate: float, updates: int, norm: float) -> optax.GradientTransformation:
    return optax.chain(
        optax.clip_by_global_norm(norm), optax.adam(optax.linear_schedule(rate, 0.0, updates), b1=0.7, b2=0.95)
    )


if __name__ == "__main__":
    from training.run import main

    sys.exit(main("shac"))
