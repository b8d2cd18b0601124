"""A robot and a task of your own, and a policy for it: a ball is kept in the middle of a plate that tilts.

python examples/own_task.py [--steps 300_000] [--out own_task]

The task is the class below. `configs/own_task.yaml` names it as `examples/own_task.py:Balance`, and PPO trains it as
it trains the tasks that come with jaxsim. Writes OUT.html, in which the policy plays. Without it the ball must roll off
the plate, and with it stay near the middle. Needs what the extra `train` installs.
"""

import argparse
import dataclasses
import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import jaxsim as js
from jaxsim import envs

ROOT = Path(__file__).parents[1]
EPISODES = 64
NEAR = 0.02  # m from the middle

PLATE = """
<mujoco model="plate">
  <option timestep="0.01"/>
  <worldbody>
    <light pos="0 0 2"/>
    <body name="plate" pos="0 0 0.5">
      <joint name="roll" axis="1 0 0" range="-20 20" damping="0.3"/>
      <joint name="pitch" axis="0 1 0" range="-20 20" damping="0.3"/>
      <geom name="plate" type="box" size="0.25 0.25 0.01" mass="1" rgba="0.6 0.7 0.8 1"/>
    </body>
    <body name="ball" pos="0 0 0.54">
      <freejoint name="ball"/>
      <geom name="ball" type="sphere" size="0.03" mass="0.1" condim="4" rgba="0.9 0.4 0.2 1"/>
    </body>
  </worldbody>
  <actuator>
    <position name="roll" joint="roll" kp="8" ctrlrange="-0.2 0.2"/>
    <position name="pitch" joint="pitch" kp="8" ctrlrange="-0.2 0.2"/>
  </actuator>
</mujoco>
"""


@dataclasses.dataclass(frozen=True)
class Constants(envs.Constants):
    """Numbers of the task, which a configuration can change: `env: {name: ..., effort: 0.1}`.

    Attributes:
        n_substeps: steps of 0.01 s for each action.
        spread: the ball starts within so many metres of the middle.
        push: deviation of its velocity then (m/s).
        effort: cost of a squared action.
    """

    n_substeps: int = 2
    spread: float = 0.1
    push: float = 0.1
    effort: float = 0.02


class Balance(envs.Environment):
    """Keep the ball in the middle: reward = 1 - (distance / 0.1 m)^2, at least -1, - effort * |action|^2.

    An action says how far the plate is to tilt. An episode ends where the ball has left the plate, or after 250 steps.

    Observation [8]: angles of the plate (rad) and their rates (rad/s), where the ball is (m) and its velocity (m/s).
    """

    source = PLATE
    Constants = Constants
    episode_length = 250

    def start(self, model: js.Model, key: jax.Array) -> tuple[js.Data, dict[str, Any]]:
        place, push = jax.random.split(key)
        data = js.make_data(model)
        aside = jax.random.uniform(place, (2,), data.qpos.dtype, -self.constants.spread, self.constants.spread)
        pushed = self.constants.push * jax.random.normal(push, (2,), data.qpos.dtype)
        qpos = data.qpos.at[2:4].add(aside)  # two hinges, then the ball's position and quaternion
        return data.replace(qpos=qpos, qvel=data.qvel.at[2:4].set(pushed)), {}

    def observe(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> jax.Array:
        return jnp.concatenate([data.qpos[:2], data.qvel[:2], data.qpos[2:4], data.qvel[2:4]])

    def reward(
        self, model: js.Model, before: js.Data, data: js.Data, action: jax.Array, info: dict[str, Any]
    ) -> tuple[jax.Array, dict[str, jax.Array]]:
        near = 1 - ((data.qpos[2:4] / 0.1) ** 2).sum()
        effort = self.constants.effort * (action**2).sum()
        return jnp.maximum(near, -1) - effort, {"effort": effort}

    def terminated(self, model: js.Model, data: js.Data, info: dict[str, Any]) -> jax.Array:
        return data.joint("ball").qpos[2] < 0.4


@functools.partial(jax.jit, static_argnums=(0, 1))
def played(env: envs.Environment, act: Any) -> tuple[jax.Array, jax.Array]:
    """Whether the ball was on the plate to the end, and how far it was from the middle then (m): both [EPISODES]."""

    def step(worlds: envs.State, _: None) -> tuple[envs.State, jax.Array]:
        worlds = jax.vmap(env.step)(worlds, act(worlds.obs))
        return worlds, worlds.done

    begun = jax.vmap(env.reset)(jax.random.split(jax.random.key(1), EPISODES))
    worlds, done = jax.lax.scan(step, begun, length=env.episode_length)
    return ~done.any(0), jnp.linalg.norm(worlds.data.qpos[:, 2:4], axis=1)


def main() -> None:
    """Train it, and try the policy beside a plate that does not move."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", default="300_000", help="of the training")
    parser.add_argument("--out", default="own_task")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as runs:
        run = ["training.ppo", "configs/own_task.yaml", "--steps", args.steps, "--out", runs]
        subprocess.run([sys.executable, "-m", *run], cwd=ROOT, check=True)
        shutil.copy(Path(runs) / "policy.html", args.out + ".html")
        policy = envs.load_policy(Path(runs) / "policy.zip", task=f"{Path(__file__)}:Balance")
    for name, act in (("level plate", lambda obs: jnp.zeros((len(obs), 2))), ("policy", policy.act)):
        stayed, away = played(policy.env, act)
        near = stayed & (away < NEAR)
        print(f"{name}: the ball stayed in {stayed.sum()} of {EPISODES} episodes, {near.sum()} end in the middle")
        assert near.all() if act is policy.act else not near.any()


if __name__ == "__main__":
    main()
