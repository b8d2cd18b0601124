"""An arm at a table: reach a point, and push a box."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js
from jaxsim.envs import environment

Array = jax.Array


@dataclasses.dataclass(frozen=True)
class ReachConstants(environment.Constants):
    """Numbers of the task.

    Attributes:
        stride: how far an action of 1 moves a target of the controllers in a step, in their units (rad, m).
        width: distance at which the reward has fallen by 0.76 (m).
        effort: cost of a squared action.
        low: least coordinates of the points to reach (m).
        high: greatest ones.
        noise: half the width of the uniform noise on the joints at the start (rad).
    """

    n_substeps: int = 10
    timestep: float | None = 0.004
    iterations: int | None = 8
    ls_iterations: int | None = 10
    stride: float = 0.1
    width: float = 0.1
    effort: float = 0.01
    low: tuple[float, float, float] = (0.4, -0.25, 0.45)
    high: tuple[float, float, float] = (0.65, 0.25, 0.75)
    noise: float = 0.05


class Reach(environment.Environment):
    """Bring the point between the fingers to a point above the table, and keep it there.

    reward = 1 - tanh(distance / width) - effort * |action|^2. Actions move the targets of the position controllers,
    which stay within their ranges. An episode of 150 steps of 0.04 s is never ended early. `info["target"]` [3] is the
    point (m).

    Observation [32]: joints [9] (rad, m), their velocities [9], targets of the controllers [8], the point between the
    fingers [3] (m) as it was a substep before, and the way from it to the target [3].
    """

    source = "arm"
    Constants = ReachConstants
    episode_length = 150

    def start(self, model: js.Model, key: Array) -> tuple[js.Data, dict[str, Any]]:
        joints, target = jax.random.split(key)
        data = js.make_data(model, "ready")
        shift = self.constants.noise * jax.random.uniform(joints, (7,), data.qpos.dtype, -1, 1)
        data = data.replace(qpos=data.qpos.at[:7].add(shift), ctrl=data.ctrl.at[:7].add(shift))
        return js.forward(model, data), {"target": self._target(model, target)}

    def control(self, model: js.Model, data: js.Data, action: Array) -> Array:
        target = data.ctrl + self.constants.stride * jnp.clip(action, -1, 1)
        return jnp.clip(target, model.actuator_ctrlrange[:, 0], model.actuator_ctrlrange[:, 1])

    def observe(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        grasp, target = data.site("grasp").xpos, info["target"]
        return jnp.concatenate([data.qpos[:9], data.qvel[:9], data.ctrl, grasp, target - grasp])

    def reward(
        self, model: js.Model, before: js.Data, data: js.Data, action: Array, info: dict[str, Any]
    ) -> tuple[Array, dict[str, Array]]:
        distance = _length(info["target"] - data.site("grasp").xpos)
        effort = self.constants.effort * (action**2).sum()
        return 1 - jnp.tanh(distance / self.constants.width) - effort, {"distance": distance}

    def _target(self, model: js.Model, key: Array) -> Array:
        low, high = (np.asarray(x, model.qpos0.dtype) for x in (self.constants.low, self.constants.high))
        return low + (high - low) * jax.random.uniform(key, low.shape, low.dtype)


@dataclasses.dataclass(frozen=True)
class PushConstants(ReachConstants):
    """Numbers of the task; `low` and `high` bound where the box is to go.

    Attributes:
        approach: reward for having the fingers at the box.
    """

    low: tuple[float, float, float] = (0.42, -0.25, 0.405)
    high: tuple[float, float, float] = (0.68, 0.25, 0.405)
    approach: float = 0.3


class Push(Reach):
    """Push the box to a place on the table.

    reward = 1 - tanh(distance of the box / width) + approach * (1 - tanh(distance of the fingers from it / width))
    - effort * |action|^2. An episode ends where the box has fallen off the table; or after 150 steps of 0.04 s. Actions
    are those of Reach. `info["target"]` [3] is where the centre of the box is to be (m).

    Observation [45]: that of Reach [32] with the way from the box to its place, the box's position [3] from the
    fingers, its quaternion [4], its velocities [6].
    """

    Constants = PushConstants

    def observe(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        grasp, box = data.site("grasp").xpos, data.qpos[9:12]
        arm = (data.qpos[:9], data.qvel[:9], data.ctrl, grasp, info["target"] - box)
        return jnp.concatenate([*arm, box - grasp, data.qpos[12:16], data.qvel[9:15]])

    def terminated(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        return data.qpos[11] < 0.3

    def reward(
        self, model: js.Model, before: js.Data, data: js.Data, action: Array, info: dict[str, Any]
    ) -> tuple[Array, dict[str, Array]]:
        c, box = self.constants, data.qpos[9:12]
        distance, away = _length(info["target"] - box), _length(box - data.site("grasp").xpos)
        close, at_box = 1 - jnp.tanh(distance / c.width), 1 - jnp.tanh(away / c.width)
        reward = close + c.approach * at_box - c.effort * (action**2).sum()
        return reward, {"distance": distance, "away": away}


def _length(x: Array) -> Array:
    """Length of a vector [3], differentiable at zero."""
    return jnp.sqrt((x**2).sum() + 1e-12)
