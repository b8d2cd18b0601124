"""Augmented gradient search (Howell et al. 2022, Dojo, table VI): ARS with the gradient of the physics.

Each iteration runs one episode in every world with weights near the current ones, w + noise d, takes the exact
gradient of its return through the whole episode, and moves the weights by rate * g / |g|_inf, g the sum over worlds.
Episodes through contact are chaotic now and then: a world with an element of its gradient beyond `limit` is left out.
With a `window` the weights move after every so many steps of the episode already, by the gradient of what these gained:
more and shorter ways, each less chaotic, that do not see what comes after.
"""

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.devices import WORLDS
from training import linear
from training.bounded import Bounded
from training.config import setting

Array = jax.Array


@dataclass(frozen=True)
class AGS(linear.LinearSearch):
    """Settings of AGS; each world is one episode of an iteration."""

    by: ClassVar[str] = "ags"

    rate: float = setting(0.02, "step size", above=0)
    noise: float = setting(0.0, "deviation of the weights among worlds", least=0)
    window: int = setting(0, "steps of an episode between moves of the weights; 0 means all", least=0)
    limit: float = setting(1e3, "largest element of a world's gradient that is used", above=0)
    state_limit: float = setting(
        100.0, "largest norm of the derivative of a world's return with respect to its state", above=0
    )

    def problems(self) -> list[str]:
        """What does not fit together."""
        found, length = super().problems(), self.episode_length
        if self.window and (not length or length % self.window):
            found.append(f"window is {self.window}; it must divide episode_length, which is {length or 'not given'}")
        return found


class Learner(linear.Search):
    """AGS on an environment of one world."""

    def __init__(self, config: AGS, env: Any):
        super().__init__(config, env)
        self.env = Bounded(self.env, config.state_limit)

    def iteration(self, state: linear.State) -> tuple[linear.State, dict[str, Array]]:
        """One episode of each world, with a step of the weights after each of its windows."""
        key, *uses = jax.random.split(state.key, 3)
        of_weights, of_worlds = (jax.random.fold_in(k, lax.axis_index(WORLDS)) for k in uses)
        count, length = state.worlds.state.done.shape[0], self.config.window or self.length
        start = self.starts(state, jax.random.split(of_worlds, count))

        def window(carry, key):
            now, weights = carry
            near = jax.random.normal(key, (count, *weights.shape), weights.dtype)

            def score(tried):
                after, obs = self.part(state, tried, now, length, remat=True)
                return after.scores.total.sum(), (after, obs)  # weights of a world's own: so is its gradient

            slopes, (after, obs) = jax.grad(score, has_aux=True)(weights[None] + self.config.noise * near)
            step, number = self._step(slopes)
            return (after, weights + step), (obs, number)

        keys = jax.random.split(of_weights, self.length // length)
        (ended, weights), (obs, numbers) = lax.scan(window, (start, state.weights), keys)
        after, metrics = self.following(state, weights, (), ended.scores, obs, key)
        return after, metrics | {"worlds_used": numbers.mean()}

    def _step(self, slopes: Array) -> tuple[Array, Array]:
        """The change of the weights [nu, n] by the gradients of all worlds [.., nu, n], and how many of these count."""
        used = jnp.abs(slopes).max((1, 2), keepdims=True) < self.config.limit  # false for NaN too
        slope, number = lax.psum((jnp.where(used, slopes, 0).sum(0), used.sum()), WORLDS)
        return self.config.rate * slope / jnp.maximum(jnp.abs(slope).max(), jnp.finfo(slope.dtype).tiny), number


if __name__ == "__main__":
    from training.run import main

    sys.exit(main("ags"))
