"""Augmented random search (Mania et al. 2018, arXiv:1803.07055), version V2-t, on linear policies.

Each iteration tries `worlds / 2` directions d both ways, one episode each, and moves the weights by

    rate / (b s) * sum over the b best directions of (R(w + noise d) - R(w - noise d)) d,

s the deviation of those 2 b returns. Observations are normalised by their running moments.
"""

import sys
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.devices import WORLDS
from training import linear
from training.config import setting

Array = jax.Array


@dataclass(frozen=True)
class ARS(linear.LinearSearch):
    """Settings of ARS; `worlds` is twice the number of directions."""

    by: ClassVar[str] = "ars"

    best: int = setting(0, "directions that are followed; 0 takes all", least=0)
    rate: float = setting(0.02, "step size", above=0)
    noise: float = setting(0.03, "length of a direction", above=0)

    @property
    def shares(self) -> int:
        """Directions: both ways are tried on the same device."""
        return self.worlds // 2

    def problems(self) -> list[str]:
        """What does not fit together."""
        found = super().problems()
        if self.worlds % 2:
            found.append(f"worlds is {self.worlds}; it must be even, two for each direction")
        if self.best > self.worlds // 2:
            found.append(f"best is {self.best}, but {self.worlds} worlds try {self.worlds // 2} directions")
        return found


class Learner(linear.Search):
    """ARS on an environment of one world."""

    def iteration(self, state: linear.State) -> tuple[linear.State, dict[str, Array]]:
        """One step of the weights, from this device's directions and those of all others."""
        key, *uses = jax.random.split(state.key, 3)
        of_directions, of_worlds = (jax.random.fold_in(k, lax.axis_index(WORLDS)) for k in uses)
        pairs = state.worlds.state.done.shape[0] // 2
        keys = jax.random.split(of_worlds, pairs)
        mine = jax.random.normal(of_directions, (pairs, *state.weights.shape), state.weights.dtype)
        tried = state.weights[None] + self.config.noise * jnp.concatenate([mine, -mine])
        worlds = state.worlds._replace(
            models=jax.tree.map(lambda x: jnp.concatenate([x[:pairs]] * 2), state.worlds.models)
        )
        # both ways in the same worlds, from the same start
        scores, obs = self.episodes(state._replace(worlds=worlds), tried, jnp.concatenate([keys, keys]))
        ways = linear.of_all_devices(scores.total.reshape(2, pairs), 1)
        weights = state.weights + self._move(ways, linear.of_all_devices(mine))
        return self.following(state, weights, (), scores, obs, key)

    def _move(self, ways: Array, directions: Array) -> Array:
        """The change of the weights [nu, n] from returns [2, directions] both ways along directions [.., nu, n]."""
        best = self.config.best or ways.shape[1]
        chosen = lax.top_k(ways.max(0), best)[1]
        ways, directions = ways[:, chosen], directions[chosen]
        slope = jnp.tensordot(ways[0] - ways[1], directions, 1, precision=lax.Precision.HIGHEST)
        return self.config.rate / (best * (ways.std() + 1e-6)) * slope


if __name__ == "__main__":
    from training.run import main

    sys.exit(main("ars"))
