"""A person who stands, walks or runs."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

import jaxsim as js
from jaxsim.envs import environment
from jaxsim.envs.frame import seen_from, up
from jaxsim.envs.start import noisy
from jaxsim.envs.tolerance import tolerance

Array = jax.Array


@dataclasses.dataclass(frozen=True)
class Constants(environment.Constants):
    """Numbers of the three tasks.

    Attributes:
        speed: horizontal speed of the centre of mass that is asked for (m/s); 0 to stand still.
        head: height of the head from which it counts as standing (m); it is at 1.59 in the keyframe.
        lowest: height of the head below which an episode ends (m); 0 for never.
        noise: half the width of the uniform noise on positions, and the deviation of that on velocities, at the start.
    """

    n_substeps: int = 5
    timestep: float | None = 0.005
    iterations: int | None = 6
    ls_iterations: int | None = 10
    speed: float = 0.0
    head: float = 1.45
    lowest: float = 0.8
    noise: float = 0.01


class Stand(environment.Environment):
    """Stand upright and still: reward = standing * upright * (4 + gentle) / 5 * moving, each part within [0, 1].

    `standing` falls off with the head's height below `head`, `upright` with the cosine of the torso's tilt below 0.9,
    `gentle` with the squared actions. Where no speed is asked for, `moving` falls off with the horizontal velocity of
    the centre of mass; else it is (5 fast + 1) / 6, with `fast` the part of `speed` that is reached. dm_control's
    humanoid has these terms; unlike there, an episode ends where the head is below `lowest`. An action is held for
    0.025 s, and an episode lasts 1000 steps. The solver stops after 6 iterations.

    Observation [52]: joints [21] (rad), height of the torso (m), the vertical [3] and the velocity [3] (m/s) in the
    torso's axes, qvel [24] of its rotation and of the joints (rad/s).
    """

    source = "humanoid"
    Constants = Constants

    def start(self, model: js.Model, key: Array) -> tuple[js.Data, dict[str, Any]]:
        return noisy(js.make_data(model, "stand"), key, self.constants.noise), {}

    def observe(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        quat = data.qpos[3:7]
        parts = (data.qpos[7:], data.qpos[2:3], up(quat), seen_from(quat, data.qvel[:3]), data.qvel[3:])
        return jnp.concatenate(parts)

    def terminated(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> Array:
        return self._head(model, data) < self.constants.lowest

    def reward(
        self, model: js.Model, before: js.Data, data: js.Data, action: Array, info: dict[str, Any]
    ) -> tuple[Array, dict[str, Array]]:
        c = self.constants
        standing = tolerance(self._head(model, data), c.head, jnp.inf, margin=c.head / 4)
        upright = tolerance(up(data.qpos[3:7])[2], 0.9, jnp.inf, margin=1.9, value=0, shape="linear")
        gentle = tolerance(action, margin=1, value=0, shape="quadratic").mean()
        velocity = data.sensor("com_velocity")[:2]
        if c.speed == 0:
            moving = tolerance(velocity, margin=2).mean()
        else:
            fast = jnp.sqrt((velocity**2).sum() + 1e-12)  # differentiable at rest
            moving = (5 * tolerance(fast, c.speed, jnp.inf, margin=c.speed, value=0, shape="linear") + 1) / 6
        terms = {"standing": standing, "upright": upright, "moving": moving}
        return standing * upright * (4 + gentle) / 5 * moving, terms

    def _head(self, model: js.Model, data: js.Data) -> Array:
        """Height [] of the head, which the torso carries (m)."""
        return data.qpos[2] + (up(data.qpos[3:7]) * model.geom("head").pos).sum()


class Walk(Stand):
    """Walk at 1 m/s in any direction: see Stand."""

    @dataclasses.dataclass(frozen=True)
    class Constants(Constants):
        """Those of Stand, with a speed."""

        speed: float = 1.0


class Run(Stand):
    """Run at 10 m/s in any direction, as fast as it gets: see Stand."""

    @dataclasses.dataclass(frozen=True)
    class Constants(Constants):
        """Those of Stand, with a speed."""

        speed: float = 10.0
