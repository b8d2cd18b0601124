"""Soft actor-critic whose critics learn derivatives of the physics too.

As in MAGE (D'Oro and Jaskowski 2020, arXiv:2004.14309) the critics Q learn, of steps s, a, r, s' that were taken at any
time, not only the value

    y = r + discount V(s'),    V(s') = Q(s', a') + temperature H(s'),    a' of the policy,

but also its derivative with respect to the action, dr/da + discount dV/ds' ds'/da; here dr/da and ds'/da are exact:
those of the simulation. Q(s', a') is the least value of several critics, against values that grow by being believed,
or their mean, or between (`caution`). The policy follows the critics' derivatives and is paid for its entropy H, whose
temperature keeps it at a target (Haarnoja et al. 2018, arXiv:1812.05905). So one step of the environment says 1 + nu
numbers, and it says them each time that it is drawn from the replay.
"""

import math
import sys
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax

from jaxsim.devices import WORLDS
from training import collect, networks, normalise, replay
from training.actor_critic import ActorCritic
from training.config import setting
from training.experiment import Experiment
from training.networks import Network
from training.sharing import mean_over_devices

Array = jax.Array

CRITICS = 2


@dataclass(frozen=True)
class MAGE(Experiment):
    """Settings of MAGE."""

    by: ClassVar[str] = "mage"

    network: Network = field(default_factory=Network)
    unroll: int = setting(8, "steps of each world in an iteration", least=1)
    updates: int = setting(64, "steps of all networks in an iteration", least=1)
    batch: int = setting(256, "steps of the environment that an update reads", least=1)
    kept: int = setting(400_000, "latest steps of the environment to learn from", least=1)
    warm_up: int = setting(5_000, "steps with random actions before anything is learnt", least=0)
    rate: float = setting(3e-4, "learning rate", above=0)
    discount: float = setting(0.99, "of the next step's reward", least=0)
    reward_scale: float = setting(1.0, "factor of rewards in training", above=0)
    slope_weight: float = setting(1.0, "of the errors of the critics' derivatives beside those of values", least=0)
    slope_limit: float = setting(10.0, "largest norm of a derivative that they learn; longer ones are cut", above=0)
    entropy: float = setting(-1.0, "of each action, which the temperature is to keep")
    temperature: float = setting(0.2, "of entropy, at the beginning", above=0)
    caution: float = setting(1.0, "1 takes the least of the critics' values of the next step, 0 their mean", least=0)
    caution_end: float | None = setting(None, "the same after all steps, if it changes until then", least=0)
    caution_from: float = setting(0.0, "part of all steps after which it begins to change, evenly", least=0)
    follow: float = setting(0.005, "part of the way to the critics that their copies go in an update", above=0)

    def problems(self) -> list[str]:
        """What does not fit together."""
        found = super().problems()
        if self.kept < self.worlds * self.unroll:
            found.append(f"kept is {self.kept}, less than the {self.worlds * self.unroll} steps of an iteration")
        for name in ("caution", "caution_end"):
            value = getattr(self, name)
            if value is not None and value > 1:
                found.append(f"{name} is {value:g}; it must be in 0 to 1")
        if self.caution_from >= 1:
            found.append(f"caution_from is {self.caution_from:g}; it must be less than 1")
        least, most = map(math.exp, networks.LOG_STD)
        if not least < self.network.deviation < most:
            found.append(f"deviation is {self.network.deviation:g}; it must be in {least:.2g} to {most:.2g}")
        return found

    def cautious(self, part: Array) -> Array:
        """The caution [] after a part [] of all steps."""
        end = self.caution if self.caution_end is None else self.caution_end
        way = jnp.clip((part - self.caution_from) / (1 - self.caution_from), 0, 1)
        return self.caution + (end - self.caution) * way

    @property
    def shares(self) -> int:
        """Parts of the worlds which have a part of each batch too."""
        return math.gcd(self.worlds, self.batch)


class Taken(NamedTuple):
    """Steps as they are kept, each [..., ...]; see `collect.Steps`."""

    obs: Array
    action: Array  # squashed [nu]
    reward: Array
    terminated: Array
    following: Array
    slopes: Array


class Learnt(NamedTuple):
    """What an update changes."""

    params: dict[str, Any]  # of policy and critics, and the temperature's logarithm
    target: Any  # parameters of the critics' copies
    optimiser: Any


class Given(NamedTuple):
    """What an update reads only."""

    target: Any  # parameters of the critics' copies
    moments: normalise.Moments
    caution: Array  # []


class State(NamedTuple):
    """All that an iteration needs: kept in checkpoints."""

    learnt: Learnt
    moments: normalise.Moments
    worlds: collect.Worlds
    replay: Taken  # [worlds, length, ...]
    taken: Array  # steps of each world []
    key: Array

    @property
    def params(self) -> dict[str, Any]:
        """Of all networks."""
        return self.learnt.params


class Learner(ActorCritic):
    """MAGE on an environment of one world."""

    def __init__(self, config: MAGE, env: Any):
        super().__init__(config, env, networks.VaryingPolicy, networks.ActionCritics)
        self.optimiser = optax.adam(config.rate)

    def init(self, key: Array) -> State:
        """The state before the first iteration."""
        params, moments, worlds, key = self.begin(key, jnp.zeros((CRITICS, self.env.action_size)))
        params["temperature"] = jnp.log(jnp.asarray(self.config.temperature, moments.mean.dtype))
        learnt, taken = Learnt(params, params["critic"], self.optimiser.init(params)), jnp.zeros((), jnp.int32)
        steps = jax.eval_shape(lambda *args: self._collect(*args)[1], params, moments, worlds, taken, key)
        length = self.config.kept // self.steps * self.config.unroll
        return State(learnt, moments, worlds, replay.begin(steps, self.config.worlds, length), taken, key)

    def iteration(self, state: State) -> tuple[State, dict[str, Array]]:
        """Steps of one device's worlds, and updates from what it keeps of them."""
        config = self.config
        key, acting, learning = jax.random.split(state.key, 3)
        acting = jax.random.fold_in(acting, lax.axis_index(WORLDS))
        worlds, steps, ended = self._collect(state.params, state.moments, state.worlds, state.taken, acting)
        kept, taken = replay.add(state.replay, steps, state.taken), state.taken + config.unroll
        moments = normalise.update(state.moments, steps.obs, WORLDS)
        share = config.batch // lax.axis_size(WORLDS)
        caution = config.cautious(taken.astype(moments.mean.dtype) * (config.worlds / config.steps))

        def update(learnt: Learnt, key: Array) -> tuple[Learnt, dict[str, Array]]:
            drawing, acting = jax.random.split(jax.random.fold_in(key, lax.axis_index(WORLDS)))
            given = Given(learnt.target, moments, caution)
            return self._update(learnt, given, replay.sample(kept, taken, share, drawing), acting)

        def learn(learnt: Learnt) -> tuple[Learnt, dict[str, Array]]:
            return lax.scan(update, learnt, jax.random.split(learning, config.updates))

        def wait(learnt: Learnt) -> tuple[Learnt, dict[str, Array]]:
            return learnt, jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(learn, learnt)[1])

        learnt, found = lax.cond(taken > config.warm_up // config.worlds, learn, wait, state.learnt)
        metrics = {name: x.mean() for name, x in found.items()}  # 0 where nothing was learnt yet
        metrics["reward"] = lax.pmean(steps.reward.mean(), WORLDS)
        return State(learnt, moments, worlds, kept, taken, key), metrics | lax.psum(ended, WORLDS)

    def _collect(
        self, params: Any, moments: normalise.Moments, worlds: collect.Worlds, taken: Array, key: Array
    ) -> tuple[collect.Worlds, Taken, dict[str, Array]]:
        """One iteration's steps, with random actions in the beginning."""
        at_random = taken < -(-self.config.warm_up // self.config.worlds)  # a product with all worlds could overflow

        def act(obs: Array, key: Array) -> tuple[Array, Array]:
            of_policy, uniform = jax.random.split(key)
            action = self.sample(params["policy"], moments, obs, of_policy)[1]
            action = jnp.where(at_random, jax.random.uniform(uniform, action.shape, action.dtype, -1, 1), action)
            return action, action

        worlds, steps, ended = collect.collect(self.env, act, worlds, key, self.config.unroll, slopes=True)
        kept = Taken(steps.obs, steps.raw, steps.reward, steps.terminated, steps.following, steps.slopes)
        return worlds, kept, ended

    def _update(self, learnt: Learnt, given: Given, steps: Taken, key: Array) -> tuple[Learnt, dict[str, Array]]:
        """One step of Adam for policy, critics and temperature, from steps [batch, ...]."""
        gradient = jax.grad(self._loss, has_aux=True)(learnt.params, given, steps, key)
        gradient, metrics = mean_over_devices(gradient)
        updates, optimiser = self.optimiser.update(gradient, learnt.optimiser, learnt.params)
        params = optax.apply_updates(learnt.params, updates)
        target = optax.incremental_update(params["critic"], learnt.target, self.config.follow)
        return Learnt(params, target, optimiser), metrics

    def _loss(self, params: dict[str, Any], given: Given, steps: Taken, key: Array) -> tuple[Array, dict[str, Array]]:
        """The sum of three objectives, none of which depends on the parameters of another."""
        fixed, (before, after) = lax.stop_gradient(params), jax.random.split(key)
        obs = normalise.normalise(given.moments, steps.obs)
        aim, slope, known = self._aims(fixed, given, steps, after)
        values, back = jax.vjp(lambda a: networks.apply(self.critic, params["critic"], obs, a), _each(steps.action))
        slopes = back(jnp.ones_like(values))[0]  # a critic's value of a step depends on its own action only
        value_loss = jnp.square(values - aim[None]).mean()
        slope_loss = (known[None] * jnp.square(slopes - slope[None]).sum(-1)).mean()
        action, entropy = self._drawn(params["policy"], obs, before)
        temperature = jnp.exp(fixed["temperature"])
        worth = networks.apply(self.critic, fixed["critic"], obs, _each(action)).mean(0) + temperature * entropy
        excess = lax.stop_gradient(entropy).mean() - self.config.entropy * self.env.action_size
        critic = CRITICS * (value_loss + self.config.slope_weight * slope_loss)
        loss = critic - worth.mean() + jnp.exp(params["temperature"]) * excess
        metrics = {"value_loss": value_loss, "slope_loss": slope_loss, "value": values.mean()}
        metrics |= {"entropy": entropy.mean(), "temperature": temperature, "caution": given.caution}
        return loss, metrics

    def _aims(self, params: dict[str, Any], given: Given, steps: Taken, key: Array) -> tuple[Array, Array, Array]:
        """What the critics are to give [batch], its derivatives [batch, nu], and 0 where those are not finite."""
        config = self.config

        def value(following: Array) -> Array:
            seen = normalise.normalise(given.moments, following)
            action, entropy = self._drawn(params["policy"], seen, key)
            worth = networks.apply(self.critic, given.target, seen, _each(action))
            worth = given.caution * worth.min(0) + (1 - given.caution) * worth.mean(0)
            return worth + jnp.exp(params["temperature"]) * entropy

        later, back = jax.vjp(value, steps.following)
        counts = config.discount * (1 - steps.terminated)
        along = jnp.einsum("bn,bna->ba", back(jnp.ones_like(later))[0], steps.slopes[:, 1:])
        slope = config.reward_scale * steps.slopes[:, 0] + counts[:, None] * along
        length = jnp.sqrt(jnp.square(slope).sum(-1))
        known = jnp.isfinite(length)
        slope = slope * (config.slope_limit / jnp.maximum(length, config.slope_limit))[:, None]
        slope = jnp.where(known[:, None], slope, 0)
        return config.reward_scale * steps.reward + counts * later, slope, known.astype(slope.dtype)

    def _drawn(self, params: Any, seen: Array, key: Array) -> tuple[Array, Array]:
        """Actions [batch, nu] of the policy for normalised observations, and their entropy [batch]."""
        mean, log_std = networks.apply(self.policy, params, seen)
        raw = networks.sample(key, mean, log_std)
        return self._squash(raw), networks.entropy(self.config.network.squash, raw, mean, log_std)


def _each(action: Array) -> Array:
    """Actions [batch, nu] for each of the critics [CRITICS, batch, nu]."""
    return jnp.broadcast_to(action, (CRITICS, *action.shape))


if __name__ == "__main__":
    from training.run import main

    sys.exit(main("mage"))
