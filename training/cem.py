"""Cross-entropy method (Rubinstein 1999) on linear policies.

Each iteration draws weights for every world from independent normal distributions, runs one episode with each, and
moves mean and deviation to those of the best. `extra` is added to the deviation and falls linearly to zero, so that
the search does not settle too early (Szita and Lorincz 2006).
"""

import sys
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.devices import WORLDS
from training import linear
from training.config import setting

Array = jax.Array


@dataclass(frozen=True)
class CEM(linear.LinearSearch):
    """Settings of CEM; each world tries one policy in an iteration."""

    by: ClassVar[str] = "cem"

    best: int = setting(16, "policies that the next distribution is fitted to", least=2)
    deviation: float = setting(0.5, "of the weights at the beginning", above=0)
    extra: float = setting(0.1, "added to the deviation at the beginning", least=0)

    def problems(self) -> list[str]:
        """What does not fit together."""
        found = super().problems()
        if self.best > self.worlds:
            found.append(f"best is {self.best}, but {self.worlds} worlds try as many policies")
        return found


class Spread(NamedTuple):
    """Deviation of the weights [nu, n], and the number of iterations so far []."""

    deviation: Array
    iterations: Array


class Learner(linear.Search):
    """CEM on an environment of one world."""

    def begin(self, weights: Array) -> Spread:
        """The deviation of weights [nu, n] at the beginning."""
        return Spread(jnp.full_like(weights, self.config.deviation), jnp.zeros((), weights.dtype))

    def iteration(self, state: linear.State) -> tuple[linear.State, dict[str, Array]]:
        """One fit, to the best policies of all devices."""
        config = self.config
        key, *uses = jax.random.split(state.key, 3)
        of_weights, of_worlds = (jax.random.fold_in(k, lax.axis_index(WORLDS)) for k in uses)
        count = state.worlds.state.done.shape[0]
        noise = jax.random.normal(of_weights, (count, *state.weights.shape), state.weights.dtype)
        left = jnp.maximum(1 - state.search.iterations * self.steps / config.steps, 0)
        deviation = state.search.deviation + config.extra * left
        tried = state.weights[None] + deviation[None] * noise
        scores, obs = self.episodes(state, tried, jax.random.split(of_worlds, count))
        best = lax.top_k(linear.of_all_devices(scores.total), config.best)[1]
        chosen = linear.of_all_devices(tried)[best]
        spread = Spread(chosen.std(0), state.search.iterations + 1)
        after, metrics = self.following(state, chosen.mean(0), spread, scores, obs, key)
        return after, metrics | {"deviation": deviation.mean()}


if __name__ == "__main__":
    from training.run import main

    sys.exit(main("cem"))
