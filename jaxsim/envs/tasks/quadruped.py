"""A dog that follows a joystick, on the level and on rough ground."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js
from jaxsim.envs import environment
from jaxsim.envs.frame import seen_from, up
from jaxsim.envs.start import noisy

Array = jax.Array


@dataclasses.dataclass(frozen=True)
class Constants(environment.Constants):
    """Numbers of the task. Costs are of the squared quantity.

    Attributes:
        reach: how far an action of 1 moves a joint's target from the pose in which it stands (rad).
        forward, sideways, turn: greatest speeds that are asked for (m/s, m/s, rad/s).
        hold: steps between two commands.
        still: share of the commands that ask to stand.
        width: error of the velocity at which its reward has fallen to 1/e (m/s, rad/s).
        tracking: reward for the horizontal velocity that is asked for.
        turning: reward for the rate of turning that is asked for.
        bounce: cost of vertical velocity (m/s).
        roll: cost of rolling and pitching (rad/s).
        tilt: cost of the trunk's tilt, as the sine of the angle.
        torque: cost of the actuators' torques (N m).
        jerk: cost of the change of the targets from one step to the next (rad).
        lowest: height of the trunk below which an episode ends (m); it stands at 0.32.
        noise: half the width of the uniform noise on positions, and the deviation of that on velocities, at the start.
    """

    n_substeps: int = 5
    iterations: int | None = 6
    ls_iterations: int | None = 10
    reach: float = 0.5
    forward: float = 1.5
    sideways: float = 0.6
    turn: float = 1.0
    hold: int = 250
    still: float = 0.1
    width: float = 0.5
    tracking: float = 1.0
    turning: float = 0.5
    bounce: float = 0.5
    roll: float = 0.05
    tilt: float = 1.0
    torque: float = 1e-4
    jerk: float = 0.05
    lowest: float = 0.18
    noise: float = 0.02


class Joystick(environment.Environment):
    """Walk at a velocity and turn at a rate that change every 5 s.

    reward = tracking * exp(-|v - asked|^2 / width^2) + turning * exp(-(turn - asked)^2 / width^2), less the costs of
    the constants, but never below 0: to fall is not to pay, however much the legs thrash at first. Actions move the
    targets of the position controllers around the standing pose. An episode ends where the trunk is lower than
    `lowest` or tilted by 60 degrees; or after 1000 steps of 0.02 s. `info["command"]` [3] is what is asked for (m/s,
    m/s, rad/s), in the trunk's axes. The solver stops after 6 iterations.

    Observation [48]: the vertical [3], velocity [3] (m/s) and rate of rotation [3] (rad/s) in the trunk's axes, joints
    [12] (rad) from the standing pose, their velocities [12] (rad/s), the last targets [12] (rad) from it, command [3].
    """

    source = "quadruped"
    Constants = Constants

    def start(self, model: js.Model, key: Array) -> tuple[js.Data, dict[str, Any]]:
        state, rng = jax.random.split(key)
        info = {"rng": rng, "command": self._command(rng, model.qpos0.dtype), "held": jnp.zeros((), jnp.int32)}
        return noisy(js.make_data(model, "stand"), state, self.constants.noise), info

    def control(self, model: js.Model, data: js.Data, action: Array) -> Array:
        target = model.key_ctrl[0] + self.constants.reach * jnp.clip(action, -1, 1)
        return jnp.clip(target, model.actuator_ctrlrange[:, 0], model.actuator_ctrlrange[:, 1])

    def advance(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> dict[str, Any]:
        held = info["held"] + 1
        due = held >= self.constants.hold
        rng = jax.random.fold_in(info["rng"], held)
        command = jnp.where(due, self._command(rng, data.qpos.dtype), info["command"])
        return {"command": command, "held": jnp.where(due, 0, held), "rng": js.where(due, rng, info["rng"])}

    def observe(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        quat, stand = data.qpos[3:7], model.key_ctrl[0]
        body = (up(quat), seen_from(quat, data.qvel[:3]), data.qvel[3:6])
        return jnp.concatenate([*body, data.qpos[7:] - stand, data.qvel[6:], data.ctrl - stand, info["command"]])

    def terminated(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        return (data.qpos[2] < self.constants.lowest) | (up(data.qpos[3:7])[2] < 0.5)

    def reward(
        self, model: js.Model, before: js.Data, data: js.Data, action: Array, info: dict[str, Any]
    ) -> tuple[Array, dict[str, Array]]:
        c, asked = self.constants, info["command"]
        velocity, rotation = seen_from(data.qpos[3:7], data.qvel[:3]), data.qvel[3:6]
        tracking = jnp.exp(-((velocity[:2] - asked[:2]) ** 2).sum() / c.width**2)
        turning = jnp.exp(-((rotation[2] - asked[2]) ** 2) / c.width**2)
        cost = (
            c.bounce * velocity[2] ** 2
            + c.roll * (rotation[:2] ** 2).sum()
            + c.tilt * (up(data.qpos[3:7])[:2] ** 2).sum()
            + c.torque * (data.actuator_force**2).sum()
            + c.jerk * ((data.ctrl - before.ctrl) ** 2).sum()
        )
        terms = {"tracking": tracking, "turning": turning, "cost": cost}
        return jnp.maximum(c.tracking * tracking + c.turning * turning - cost, 0), terms

    def _command(self, key: Array, dtype: Any) -> Array:
        c = self.constants
        draw, still = jax.random.split(key)
        most = np.array([c.forward, c.sideways, c.turn], dtype)
        command = most * jax.random.uniform(draw, (3,), dtype, -1, 1)
        return jnp.where(jax.random.uniform(still, (), dtype) < c.still, 0, command)


@dataclasses.dataclass(frozen=True)
class TerrainConstants(Constants):
    """Numbers of the task.

    Attributes:
        rough: height of the highest bump above the lowest hollow (m), at most 0.1.
        bumps: least length of their waves (m).
        seed: of the ground.
        lowest: height of the trunk above the lowest ground below which an episode ends (m).
    """

    rough: float = 0.06
    bumps: float = 0.8
    seed: int = 0
    lowest: float = 0.2


class Terrain(Joystick):
    """The same on rough ground: a height field of 20 m by 20 m, level where the dog starts, that only its feet touch.

    The ground is one for all worlds; `model.replace(hfield_data=...)` gives others, and `envs.randomise` changes them.
    """

    source = "quadruped_terrain"
    Constants = TerrainConstants

    def configured(self, model: js.Model) -> js.Model:
        model = super().configured(model)
        return model.replace(hfield_data=jnp.asarray(self._elevations(model), model.qpos0.dtype))

    def _elevations(self, model: js.Model) -> np.ndarray:
        """Elevations [nrow * ncol] within [0, 1] of the height field: a sum of waves, faded out round the middle."""
        c, size = self.constants, np.asarray(model.hfield("terrain").size)
        rows, cols = int(model.hfield("terrain").nrow), int(model.hfield("terrain").ncol)
        y, x = np.meshgrid(np.linspace(-size[1], size[1], rows), np.linspace(-size[0], size[0], cols), indexing="ij")
        rng, waves = np.random.default_rng(c.seed), np.zeros_like(x)
        for length, way, phase in rng.uniform([c.bumps, 0, 0], [4 * c.bumps, 2 * np.pi, 2 * np.pi], (12, 3)):
            waves += np.sin(2 * np.pi / length * (np.cos(way) * x + np.sin(way) * y) + phase)
        waves = (waves - waves.min()) / np.ptp(waves)
        return (waves * np.clip(np.hypot(x, y) - 0.5, 0, 1) * min(c.rough / size[2], 1)).ravel()
