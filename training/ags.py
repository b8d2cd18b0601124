"""Augmented gradient search (Howell et al. 2022, Dojo, table VI): ARS with the gradient of the physics.

Each iteration runs one episode in every world with weights near the current ones, w + noise d, takes the exact
gradient of its return through the whole episode, and moves the weights by rate * g / |g|_inf, g the sum over worlds.
Episodes through contact are chaotic now and then: a world with an element of its gradient beyond `limit` is left out.
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
    limit: float = setting(1e3, "largest element of a world's gradient that is used", above=0)
    state_limit: float = setting(
        100.0, "largest norm of the derivative of a world's return with respect to its state", above=0
    )


class Learner(linear.Search):
    """AGS on an environment of one world."""

    def __init__(self, config: AGS, env: Any):
        super().__init__(config, env)
        self.env = Bounded(self.env, config.state_limit)

    def iteration(self, state: linear.State) -> tuple[linear.State, dict[str, Array]]:
        """One step of the weights."""
        key, *uses = jax.random.split(state.key, 3)
        of_weights, of_worlds = (jax.random.fold_in(k, lax.axis_index(WORLDS)) for k in uses)
        count = state.worlds.state.done.shape[0]
        keys = jax.random.split(of_worlds, count)
        near = jax.random.normal(of_weights, (count, *state.weights.shape), state.weights.dtype)
        tried = state.weights[None] + self.config.noise * near

        def score(weights):
            scores, obs = self.episodes(state, weights, keys, remat=True)
            return scores.total.sum(), (scores, obs)  # each world has weights of its own: so has its gradient

        slopes, (scores, obs) = jax.grad(score, has_aux=True)(tried)
        used = jnp.abs(slopes).max((1, 2), keepdims=True) < self.config.limit  # false for NaN too
        slope, number = lax.psum((jnp.where(used, slopes, 0).sum(0), used.sum()), WORLDS)
        step = slope / jnp.maximum(jnp.abs(slope).max(), jnp.finfo(slope.dtype).tiny)
        after, metrics = self.following(state, state.weights + self.config.rate * step, (), scores, obs, key)
        return after, metrics | {"worlds_used": number}


if __name__ == "__main__":
    from training.run import main

    sys.exit(main("ags"))
