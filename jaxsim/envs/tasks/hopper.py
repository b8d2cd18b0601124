"""A planar leg that hops."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

import jaxsim as js
from jaxsim.envs import environment
from jaxsim.envs.start import noisy

Array = jax.Array

FASTEST = 10.0  # velocities beyond this many m/s or rad/s are not told apart in an observation, as in gymnasium


@dataclasses.dataclass(frozen=True)
class Constants(environment.Constants):
    """Numbers of the task.

    Attributes:
        forward: reward for each m/s forward.
        effort: cost of a squared action.
        healthy: reward of every step that does not end the episode.
        lowest: height of the torso below which the hopper has fallen (m); it starts at 1.21.
        steepest: pitch of the torso beyond which it has fallen (rad).
        noise: half the width of the uniform noise on positions, and the deviation of that on velocities, at the start.
    """

    n_substeps: int = 4
    iterations: int | None = 6
    ls_iterations: int | None = 10
    forward: float = 1.0
    effort: float = 1e-3
    healthy: float = 1.0
    lowest: float = 0.8
    steepest: float = 0.4
    noise: float = 0.005


class Hop(environment.Environment):
    """Hop forward without falling: reward = healthy + forward * velocity - effort * |action|^2.

    These are the terms of gymnasium's Hopper. The velocity is that of the torso over the step of 0.016 s. An episode
    ends where the torso is below `lowest` or pitched beyond `steepest`, without the reward for health; or after 1000
    steps. The solver stops after 6 iterations.

    Observation [11]: qpos [5] (m, rad) without the distance, qvel [6] (m/s, rad/s) within 10.
    """

    source = "hopper"
    Constants = Constants

    def start(self, model: js.Model, key: Array) -> tuple[js.Data, dict[str, Any]]:
        return noisy(js.make_data(model), key, self.constants.noise), {}

    def observe(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        return jnp.concatenate([data.qpos[1:], jnp.clip(data.qvel, -FASTEST, FASTEST)])

    def terminated(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        height = model.body("torso").pos[2] + data.joint("root_z").qpos
        return (height < self.constants.lowest) | (jnp.abs(data.joint("root_pitch").qpos) > self.constants.steepest)

    def reward(
        self, model: js.Model, before: js.Data, data: js.Data, action: Array, info: dict[str, Any]
    ) -> tuple[Array, dict[str, Array]]:
        c = self.constants
        velocity = (data.qpos[0] - before.qpos[0]) / self.dt
        effort = c.effort * (action**2).sum()
        healthy = jnp.where(self.terminated(model, data, info), 0, c.healthy)
        return healthy + c.forward * velocity - effort, {"velocity": velocity, "effort": effort}
