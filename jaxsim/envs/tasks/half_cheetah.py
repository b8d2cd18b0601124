"""A planar runner on two legs."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

import jaxsim as js
from jaxsim.envs import environment
from jaxsim.envs.start import noisy

Array = jax.Array


@dataclasses.dataclass(frozen=True)
class Constants(environment.Constants):
    """Numbers of the task, with gymnasium's values.

    Attributes:
        forward: reward for each m/s forward.
        effort: cost of a squared action.
        noise: half the width of the uniform noise on positions, and the deviation of that on velocities, at the start.
    """

    n_substeps: int = 5
    timestep: float | None = 0.01
    iterations: int | None = 6
    ls_iterations: int | None = 10
    forward: float = 1.0
    effort: float = 0.1
    noise: float = 0.1


class Run(environment.Environment):
    """Run forward as fast as possible: reward = forward * velocity - effort * |action|^2, as gymnasium's HalfCheetah.

    The velocity is that of the torso over the step. An action is held for 0.05 s; an episode of 1000 steps is never
    ended early. The solver stops after 6 iterations, which starting from the last step's solution it seldom needs.

    Observation [17]: qpos [8] (m, rad) without the distance run, qvel [9] (m/s, rad/s).
    """

    source = "half_cheetah"
    Constants = Constants

    def start(self, model: js.Model, key: Array) -> tuple[js.Data, dict[str, Any]]:
        return noisy(js.make_data(model), key, self.constants.noise), {}

    def observe(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        return jnp.concatenate([data.qpos[1:], data.qvel])

    def reward(
        self, model: js.Model, before: js.Data, data: js.Data, action: Array, info: dict[str, Any]
    ) -> tuple[Array, dict[str, Array]]:
        velocity = (data.qpos[0] - before.qpos[0]) / self.dt
        effort = self.constants.effort * (action**2).sum()
        return self.constants.forward * velocity - effort, {"velocity": velocity, "effort": effort}
