"""A hand that turns a cube."""

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
        stride: how far an action of 1 moves a target of the servos in a step (rad).
        turn: greatest angle between the cube and a new goal (rad).
        tilt: greatest angle between the axis of that turn and the vertical (rad).
        width: angle at which the reward for it has fallen by 0.76 (rad).
        reached: angle at which a goal counts as reached (rad).
        bonus: reward for reaching one.
        away: cost of the distance of the cube from the middle of the palm (m).
        effort: cost of a squared action.
        drop: height of the cube's centre below which an episode ends (m); on the palm it is at 0.23.
        noise: half the width of the uniform noise on the servos' joints at the start (rad).
    """

    n_substeps: int = 5
    iterations: int | None = 8
    ls_iterations: int | None = 10
    stride: float = 0.15
    turn: float = 1.5
    tilt: float = 0.0
    width: float = 0.4
    reached: float = 0.1
    bonus: float = 5.0
    away: float = 2.0
    effort: float = 0.01
    drop: float = 0.2
    noise: float = 0.05


class Turn(environment.Environment):
    """Turn the cube to an orientation, and then to the next.

    reward = 1 - tanh(angle / width) + bonus (where the goal is reached) - away * distance - effort * |action|^2, with
    the angle between the cube and its goal and its distance from the middle of the palm. Actions move the targets of
    the servos, which stay within their ranges. A goal is the cube's orientation, turned by up to `turn` about an axis
    within `tilt` of the vertical; where it is reached, there is a new one. An episode ends where the cube has fallen
    off; or after 300 steps of 0.02 s. `info["goal"]` [4] is the quaternion, `info["count"]` says how many were reached.
    The solver stops after 8 iterations.

    Observation [43]: joints [9] (rad), their velocities [9], targets of the servos [9], the cube's position [3] (m)
    from the middle of the palm, its quaternion [4], its velocities [6], the turn from it to its goal, in the palm's
    axes, as a rotation vector [3] (rad).
    """

    source = "hand"
    Constants = Constants
    episode_length = 300

    def start(self, model: js.Model, key: Array) -> tuple[js.Data, dict[str, Any]]:
        joints, rng = jax.random.split(key)
        data = js.make_data(model, "ready")
        shift = self.constants.noise * jax.random.uniform(joints, (9,), data.qpos.dtype, -1, 1)
        data = data.replace(qpos=data.qpos.at[:9].add(shift), ctrl=data.ctrl + shift)
        goal = self._goal(jax.random.fold_in(rng, 0), data.qpos[12:16])
        return data, {"rng": rng, "goal": goal, "count": jnp.zeros((), jnp.int32), "new": jnp.zeros((), bool)}

    def control(self, model: js.Model, data: js.Data, action: Array) -> Array:
        target = data.ctrl + self.constants.stride * jnp.clip(action, -1, 1)
        return jnp.clip(target, model.actuator_ctrlrange[:, 0], model.actuator_ctrlrange[:, 1])

    def advance(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> dict[str, Any]:
        new = _length(_between(data.qpos[12:16], info["goal"])) < self.constants.reached
        count = info["count"] + new.astype(jnp.int32)
        goal = self._goal(jax.random.fold_in(info["rng"], count), data.qpos[12:16])
        return {"goal": jnp.where(new, goal, info["goal"]), "count": count, "new": new}

    def observe(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        cube, turn = data.qpos[9:12] - model.site("palm").pos, _between(data.qpos[12:16], info["goal"])
        fingers = (data.qpos[:9], data.qvel[:9], data.ctrl)
        return jnp.concatenate([*fingers, cube, data.qpos[12:16], data.qvel[9:15], turn])

    def terminated(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        return data.qpos[11] < self.constants.drop

    def reward(
        self, model: js.Model, before: js.Data, data: js.Data, action: Array, info: dict[str, Any]
    ) -> tuple[Array, dict[str, Array]]:
        c, new = self.constants, info["new"]
        angle = jnp.where(new, 0, _length(_between(data.qpos[12:16], info["goal"])))
        distance = _length(data.qpos[9:12] - model.site("palm").pos)
        gained = 1 - jnp.tanh(angle / c.width) + jnp.where(new, c.bonus, 0.0)
        reward = gained - c.away * distance - c.effort * (action**2).sum()
        return reward, {"angle": angle, "distance": distance, "count": info["count"]}

    def _goal(self, key: Array, quat: Array) -> Array:
        """An orientation [4] near one [4]."""
        c, dtype = self.constants, quat.dtype
        angle, lean, way = jax.random.uniform(key, (3,), dtype, -1, 1) * np.array([c.turn, c.tilt, np.pi], dtype)
        axis = jnp.stack([jnp.sin(lean) * jnp.cos(way), jnp.sin(lean) * jnp.sin(way), jnp.cos(lean)])
        turn = jnp.concatenate([jnp.cos(0.5 * angle)[None], jnp.sin(0.5 * angle) * axis])
        return _product(turn, quat)


def _product(p: Array, q: Array) -> Array:
    """Product [4] of quaternions [4]."""
    vector = p[0] * q[1:] + q[0] * p[1:] + jnp.cross(p[1:], q[1:])
    return jnp.concatenate([(p[0] * q[0] - p[1:] @ q[1:])[None], vector])


def _between(quat: Array, goal: Array) -> Array:
    """The rotation vector [3] (rad), at most pi long, that turns one orientation [4] into another; smooth at none."""
    turn = _product(goal, quat * jnp.array([1, -1, -1, -1], quat.dtype))
    turn = jnp.where(turn[0] < 0, -turn, turn)
    half = _length(turn[1:])
    return 2 * jnp.arctan2(half, turn[0]) / half * turn[1:]


def _length(x: Array) -> Array:
    """Length of a vector [3], differentiable at zero."""
    return jnp.sqrt((x**2).sum() + 1e-12)
