"""A four-legged crawler."""

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
        healthy: reward of every step that does not end the episode.
        lowest: height of the torso below which the ant has fallen (m); it stands at 0.44, and lies at 0.23.
        highest: height above which it has taken off (m).
        noise: half the width of the uniform noise on positions, and the deviation of that on velocities, at the start.
        damping: of the legs' joints (N m s/rad); None is as in the model.
        stiffness: of their springs (N m/rad); likewise.
    """

    n_substeps: int = 5
    timestep: float | None = 0.01
    iterations: int | None = 6
    ls_iterations: int | None = 10
    forward: float = 1.0
    effort: float = 0.5
    healthy: float = 1.0
    lowest: float = 0.2
    highest: float = 1.0
    noise: float = 0.1
    damping: float | None = None
    stiffness: float | None = None


class Run(environment.Environment):
    """Run along x without falling: reward = healthy + forward * velocity - effort * |action|^2, as gymnasium's Ant.

    The velocity is that of the torso over the step of 0.05 s. Gymnasium's cost of contact forces, 5e-4 times the sum of
    their squares within 1, is left out: with ten bodies it is at most 0.03 a step. An episode ends where the torso is
    below `lowest` or above `highest`, without the reward for health; or after 1000 steps. The solver stops after 6
    iterations.

    Observation [27]: height (m), quaternion, joints [8] (rad), qvel [14] (m/s, rad/s).
    """

    source = "ant"
    Constants = Constants

    def configured(self, model: js.Model) -> js.Model:
        model, c = super().configured(model), self.constants
        for field, value in (("dof_damping", c.damping), ("jnt_stiffness", c.stiffness)):
            for joint in ("hip_*", "knee_*"):
                model = model if value is None else model.set(field, joint, value)
        return model

    def start(self, model: js.Model, key: Array) -> tuple[js.Data, dict[str, Any]]:
        return noisy(js.make_data(model, "stand"), key, self.constants.noise), {}

    def observe(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        return jnp.concatenate([data.qpos[2:], data.qvel])

    def terminated(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        return (data.qpos[2] < self.constants.lowest) | (data.qpos[2] > self.constants.highest)

    def reward(
        self, model: js.Model, before: js.Data, data: js.Data, action: Array, info: dict[str, Any]
    ) -> tuple[Array, dict[str, Array]]:
        c = self.constants
        velocity = (data.qpos[0] - before.qpos[0]) / self.dt
        effort = c.effort * (action**2).sum()
        healthy = jnp.where(self.terminated(model, data, info), 0, c.healthy)
        return healthy + c.forward * velocity - effort, {"velocity": velocity, "effort": effort}
