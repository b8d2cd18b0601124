"""A gantry that puts a peg into a hole."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js
from jaxsim.envs import environment

Array = jax.Array


@dataclasses.dataclass(frozen=True)
class Constants(environment.Constants):
    """Numbers of the task.

    Attributes:
        stride: how far an action of 1 moves a target of the servos in a step (m, m, m, rad).
        area: greatest distance of the hole from the middle, along x and y (m).
        yaw: greatest angle by which the block is turned (rad).
        height: of the tip of the peg at the start, above the floor (m); the block is 0.05 high.
        width: distance of the tip from the bottom of the hole at which the reward has fallen by 0.76 (m).
        turned: reward for a peg that is turned as the hole is.
        inside: depth within the block at which the peg counts as inserted (m).
        bonus: reward for that, in every step.
        push: cost of the squared force of the block on the peg (N).
        effort: cost of a squared action.
        noise: half the width of the uniform noise on the servos' joints at the start (m, rad).
    """

    n_substeps: int = 10
    iterations: int | None = 8
    ls_iterations: int | None = 10
    stride: tuple[float, float, float, float] = (0.008, 0.008, 0.008, 0.1)
    area: float = 0.06
    yaw: float = 0.4
    height: float = 0.1
    width: float = 0.05
    turned: float = 0.2
    inside: float = 0.04
    bonus: float = 1.0
    push: float = 1e-3
    effort: float = 0.01
    noise: float = 0.01


class Insert(environment.Environment):
    """Put the square peg into the square hole, wherever it is.

    reward = 1 - tanh(distance / width) + turned * (1 + cos(4 angle)) / 2 + bonus (where inserted) - push * |force|^2
    - effort * |action|^2, with the distance of the tip from the bottom of the hole, the angle between both about the
    vertical (a quarter of a turn makes no difference), and the force at the wrist. Actions move the targets of the
    servos, which stay within their ranges. An episode of 200 steps of 0.02 s is never ended early. The block is placed
    by `data.mocap_pos` and `mocap_quat`. The solver stops after 8 iterations.

    Observation [24]: joints [6] (m, rad), their velocities [6], targets of the servos [4], the way from the tip to the
    bottom of the hole [3] (m), sine and cosine of four times the angle [2], the force at the wrist [3] (N); all that
    is not joints, velocities and targets as it was a substep before.
    """

    source = "peg"
    Constants = Constants
    episode_length = 200

    def start(self, model: js.Model, key: Array) -> tuple[js.Data, dict[str, Any]]:
        c, dtype = self.constants, model.qpos0.dtype
        joints, place = jax.random.split(key)
        x, y, yaw = jax.random.uniform(place, (3,), dtype, -1, 1) * np.array([c.area, c.area, c.yaw], dtype)
        data = js.make_data(model, "ready")
        at = jnp.concatenate([c.noise * jax.random.uniform(joints, (4,), dtype, -1, 1), jnp.zeros(2, dtype)])
        at = at.at[2].add(c.height - 0.16)  # the servo's range ends on the floor
        turn = jnp.stack([jnp.cos(0.5 * yaw), 0 * yaw, 0 * yaw, jnp.sin(0.5 * yaw)])
        moved = {"mocap_pos": jnp.stack([x, y, 0 * x])[None], "mocap_quat": turn[None]}
        return js.forward(model, data.replace(qpos=at, ctrl=at[:4], **moved)), {}

    def control(self, model: js.Model, data: js.Data, action: Array) -> Array:
        target = data.ctrl + np.asarray(self.constants.stride, data.ctrl.dtype) * jnp.clip(action, -1, 1)
        return jnp.clip(target, model.actuator_ctrlrange[:, 0], model.actuator_ctrlrange[:, 1])

    def observe(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        way, turn = data.site("hole").xpos - data.site("peg").xpos, _four_times(data)
        return jnp.concatenate([data.qpos, data.qvel, data.ctrl, way, turn, data.sensor("wrist_force")])

    def reward(
        self, model: js.Model, before: js.Data, data: js.Data, action: Array, info: dict[str, Any]
    ) -> tuple[Array, dict[str, Array]]:
        c, way = self.constants, data.site("hole").xpos - data.site("peg").xpos
        distance, force = jnp.sqrt((way**2).sum() + 1e-12), (data.sensor("wrist_force") ** 2).sum()
        inserted = (way[2] > c.inside - 0.05) & ((way[:2] ** 2).sum() < 0.005**2)
        close = 1 - jnp.tanh(distance / c.width) + 0.5 * c.turned * (1 + _four_times(data)[1])
        reward = close + jnp.where(inserted, c.bonus, 0.0) - c.push * force - c.effort * (action**2).sum()
        return reward, {"distance": distance, "inserted": inserted}


def _four_times(data: js.Data) -> Array:
    """Sine and cosine [2] of four times the angle about the vertical from the peg to the hole."""
    peg, hole = (data.site(name).xmat.reshape(3, 3)[:, 0] for name in ("peg", "hole"))
    sin, cos = peg[0] * hole[1] - peg[1] * hole[0], peg[0] * hole[0] + peg[1] * hole[1]
    sin, cos = 2 * sin * cos, cos**2 - sin**2
    return jnp.stack([2 * sin * cos, cos**2 - sin**2])
