"""Short-horizon actor-critic (Xu et al. 2022, arXiv:2204.07137): the policy's gradient through the physics.

One iteration steps all worlds `unroll` times with sampled actions and follows the derivative of

    J = E[sum_t discount^t r_t + discount^h V(s_h)] + entropy_weight E[H]

through policy, environment and physics back to the parameters. The critic V stands for what lies beyond the window: it
keeps the window short, where derivatives through contact are still of use. Where an episode ends inside the window the
sum begins anew. The critic then learns from TD(lambda) targets of a slowly following copy of itself.
"""

import functools
import sys
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax

from jaxsim.devices import WORLDS
from training import collect, networks, normalise
from training.actor_critic import ActorCritic, Windowed, in_one_row
from training.advantage import advantages
from training.bounded import Bounded
from training.config import setting
from training.sharing import mean_over_devices

Array = jax.Array


@dataclass(frozen=True)
class SHAC(Windowed):
    """Settings of SHAC; a window of `unroll` steps is differentiated."""

    by: ClassVar[str] = "shac"

    actor_rate: float = setting(2e-3, "learning rate of the policy, falling linearly to zero", above=0)
    critic_rate: float = setting(2e-3, "learning rate of the critic, falling linearly to zero", above=0)
    critic_epochs: int = setting(16, "passes of the critic over a window", least=1)
    actor_trace: float = setting(1.0, "lambda of the sums that the policy follows; below 1 the critic counts", least=0)
    entropy_weight: float = setting(0.0, "of the policy's entropy", least=0)
    state_limit: float = setting(
        10.0, "largest norm of the derivative of a world's sum with respect to its state", above=0
    )
    follow: float = setting(0.2, "part of the way to the critic that its copy goes in an iteration", above=0)


class State(NamedTuple):
    """All that an iteration needs: kept in checkpoints."""

    params: dict[str, Any]  # of policy and critic
    target: Any  # parameters of the critic's copy
    optimiser: dict[str, Any]
    moments: normalise.Moments
    worlds: collect.Worlds
    key: Array


class Learner(ActorCritic):
    """SHAC on an environment of one world."""

    def __init__(self, config: SHAC, env: Any):
        super().__init__(config, env)
        self.env = Bounded(self.env, config.state_limit / config.unroll, of_mean=True)
        of_critic = self.iterations * config.critic_epochs * config.minibatches
        self.optimisers = {
            "policy": _adam(config.actor_rate, self.iterations, config.max_grad_norm),
            "critic": _adam(config.critic_rate, of_critic, config.max_grad_norm),
        }

    def init(self, key: Array) -> State:
        """The state before the first iteration."""
        params, moments, worlds, key = self.begin(key)
        optimiser = {name: each.init(params[name]) for name, each in self.optimisers.items()}
        return State(params, params["critic"], optimiser, moments, worlds, key)

    def iteration(self, state: State) -> tuple[State, dict[str, Array]]:
        """One step of the policy and the critic's passes, on one device's worlds."""
        key, acting, shuffling = jax.random.split(state.key, 3)
        acting, shuffling = (jax.random.fold_in(k, lax.axis_index(WORLDS)) for k in (acting, shuffling))
        objective = jax.value_and_grad(functools.partial(self._objective, state, acting), has_aux=True)
        (loss, (worlds, steps, ended)), gradient = objective(state.params["policy"])
        loss, gradient = mean_over_devices((loss, gradient))
        policy, of_policy = self._apply("policy", gradient, state.optimiser["policy"], state.params["policy"])
        seen = normalise.normalise(state.moments, steps.obs)
        rows = in_one_row(seen), in_one_row(self._returns(state, steps, self.config.trace))

        def one_pass(carry, key):
            return self.minibatches(self._update, carry, rows, key)

        start = state.params["critic"], state.optimiser["critic"]
        (critic, of_critic), value_loss = lax.scan(
            one_pass, start, jax.random.split(shuffling, self.config.critic_epochs)
        )
        metrics = {
            "policy_loss": loss,
            "value_loss": value_loss.mean(),
            "gradient_norm": optax.tree.norm(gradient),
            "action_std": jnp.exp(policy["params"]["log_std"]).mean(),
            "reward": lax.pmean(steps.reward.mean(), WORLDS),
        }
        after = State(
            params={"policy": policy, "critic": critic},
            target=optax.incremental_update(critic, state.target, self.config.follow),
            optimiser={"policy": of_policy, "critic": of_critic},
            moments=normalise.update(state.moments, steps.obs, WORLDS),
            worlds=worlds,
            key=key,
        )
        return after, metrics | lax.psum(ended, WORLDS)

    def _objective(self, state: State, key: Array, params: Any) -> tuple[Array, Any]:
        """-J, and what happened; its derivative runs through every step of the window."""
        act = functools.partial(self.sample, params, state.moments)
        worlds, steps, ended = collect.collect(self.env, act, state.worlds, key, self.config.unroll, remat=True)
        returns = self._returns(state, steps, self.config.actor_trace)
        begins = jnp.concatenate([jnp.ones_like(steps.done[:1]), steps.done[:-1]])  # sums begin here
        happened = lax.stop_gradient((worlds, steps, ended))
        mean, log_std = self._policy(params, state.moments, happened[1].obs)
        entropy = networks.entropy(self.config.network.squash, happened[1].raw, mean, log_std).mean()
        return -(begins * returns).mean() - self.config.entropy_weight * entropy, happened

    def _returns(self, state: State, steps: collect.Steps, trace: float) -> Array:
        """Returns [T, worlds], the critic's copy standing for what lies beyond the window.

        With lambda 1 the values of the states inside cancel, and so do their derivatives. An episode that terminates in
        the window then has no derivative that would tell that it could go on; with a smaller one, values of the states
        before do tell.
        """
        value, after = self.values(state.target, state.moments, steps)
        reward = self.config.reward_scale * steps.reward
        over = advantages(reward, value, after, steps.done, steps.terminated, self.config.discount, trace)
        return over + value

    def _update(self, carry: tuple, rows: tuple[Array, Array]) -> tuple[tuple, Array]:
        """One step of the critic."""
        params, optimiser = carry
        obs, target = rows

        def loss(params):
            return jnp.square(networks.apply(self.critic, params, obs) - target).mean()

        found, gradient = mean_over_devices(jax.value_and_grad(loss)(params))
        return self._apply("critic", gradient, optimiser, params), found

    def _apply(self, name: str, gradient: Any, optimiser: Any, params: Any) -> tuple[Any, Any]:
        updates, optimiser = self.optimisers[name].update(gradient, optimiser, params)
        return optax.apply_updates(params, updates), optimiser


def _adam(rate: float, updates: int, norm: float) -> optax.GradientTransformation:
    return optax.chain(
        optax.clip_by_global_norm(norm), optax.adam(optax.linear_schedule(rate, 0.0, updates), b1=0.7, b2=0.95)
    )


if __name__ == "__main__":
    from training.run import main

    sys.exit(main("shac"))
