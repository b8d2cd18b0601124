"""A cart that is pushed, and a pole on it that is to stand."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

import jaxsim as js
from jaxsim.envs import environment
from jaxsim.envs.tolerance import tolerance

Array = jax.Array


@dataclasses.dataclass(frozen=True)
class Constants(environment.Constants):
    """Numbers of both tasks.

    Attributes:
        noise: half the width of the uniform noise on positions (m, rad) and velocities (m/s, rad/s) at the start.
        margin: distance of the cart from the middle at which it earns 0.55 of the reward (m).
        speed: speed of the pole at which it earns 0.55 of the reward (rad/s).
    """

    n_substeps: int = 2
    timestep: float | None = 0.01
    noise: float = 0.05
    margin: float = 1.0
    speed: float = 5.0


class SwingUp(environment.Environment):
    """Swing the hanging pole up and hold it, with a motor too weak to lift it at once.

    reward = upright * (1 + middle) / 2 * (1 + slow) / 2 * (4 + gentle) / 5, each part within [0, 1]: `upright` is
    (1 + cos) / 2 of the pole's angle from the vertical; `middle` falls off with the cart's distance from the middle,
    `slow` with the pole's speed, `gentle` with the action. dm_control's cart-pole has these terms. An episode of
    10 s is never ended early.

    Observation [5]: cart's position (m), cos and sin of the pole's angle from upright, their velocities (m/s, rad/s).
    """

    source = "cart_pole"
    Constants = Constants
    episode_length = 500
    middle = 0.0  # angle of the pole around which an episode starts (rad): hanging

    def start(self, model: js.Model, key: Array) -> tuple[js.Data, dict[str, Any]]:
        noise = self.constants.noise * jax.random.uniform(key, (2, 2), model.qpos0.dtype, -1, 1)
        middle = model.qpos0 + jnp.array([0.0, self.middle], model.qpos0.dtype)
        return js.make_data(model).replace(qpos=middle + noise[0], qvel=noise[1]), {}

    def observe(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        position, angle = data.qpos[0], data.qpos[1]
        place = jnp.stack([position, -jnp.cos(angle), -jnp.sin(angle)])
        return jnp.concatenate([place, data.qvel])

    def reward(
        self, model: js.Model, before: js.Data, data: js.Data, action: Array, info: dict[str, Any]
    ) -> tuple[Array, dict[str, Array]]:
        upright = (1 - jnp.cos(data.qpos[1])) / 2
        middle = tolerance(data.qpos[0], margin=self.constants.margin)
        slow = tolerance(data.qvel[1], margin=self.constants.speed)
        gentle = tolerance(action[0], margin=1, value=0, shape="quadratic")
        reward = upright * (1 + middle) / 2 * (1 + slow) / 2 * (4 + gentle) / 5
        return reward, {"upright": upright, "middle": middle}


class Balance(SwingUp):
    """Hold the pole, which starts upright: the reward of SwingUp, and the episode ends where the pole has fallen.

    It has fallen 0.8 rad from the vertical.
    """

    middle = jnp.pi

    def terminated(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        return -jnp.cos(data.qpos[1]) < jnp.cos(0.8)
