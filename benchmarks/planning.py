"""The planning tasks of table III of "Dojo" by iLQR, under both contact laws: one JSON line per task.

python benchmarks/planning.py [--tasks right,up,hopper,quadruped] [--laws soft,hard] [--out DIR]

As in that paper: costs, goals, masses and times between controls; controls are impulses. The models are our own, of the
same masses and sizes; the soft law takes several short steps for each control, the hard one a single long one.
Published with Dojo: box right 14.5 in 30 iterations, box up 14.5 in 106, hopper 8.9 in 96, quadruped 2e-2 in 20.
"""

import argparse
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js
from jaxsim import models
from jaxsim.optimize import Cost, Plan, Settings, difference, ilqr

Array = jax.Array

BOX = """
<mujoco model="box">
  <option timestep="{timestep}" cone="elliptic"/>
  <worldbody>
    <site name="origin"/>
    <geom type="plane" size="5 5 .1" friction="0.5"/>
    <body pos="0 0 0.25">
      <freejoint/>
      <geom type="box" size=".25 .25 .25" mass="1" friction="0.5"/>
      <site name="centre"/>
    </body>
  </worldbody>
  <actuator>
    <motor site="centre" refsite="origin" gear="1 0 0 0 0 0"/>
    <motor site="centre" refsite="origin" gear="0 1 0 0 0 0"/>
    <motor site="centre" refsite="origin" gear="0 0 1 0 0 0"/>
  </actuator>
</mujoco>
"""
# a body that turns by torques, and pushes itself off a foot along its own axis
HOPPER = """
<mujoco model="raibert_hopper">
  <option timestep="{timestep}" cone="elliptic"/>
  <default><geom friction="0.5"/></default>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 0.55">
      <freejoint/>
      <geom type="sphere" size=".1" mass="4.18" contype="0"/>
      <site name="body"/>
      <body pos="0 0 -0.5">
        <joint name="leg" type="slide" axis="0 0 -1" damping="0.1"/>
        <geom type="sphere" size=".05" mass="0.52"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor site="body" gear="0 0 0 1 0 0"/>
    <motor site="body" gear="0 0 0 0 1 0"/>
    <motor joint="leg"/>
  </actuator>
</mujoco>
"""
SETTINGS = Settings(iterations=300, tolerance=1e-4, goal_tolerance=5e-3)
GRAVITY = 9.81


class Task(NamedTuple):
    """A problem: what `ilqr` takes."""

    model: js.Model
    data: js.Data
    guess: Array
    cost: Cost
    substeps: int


def loaded(xml: str, law: str, step: float, substeps: int) -> tuple[js.Model, int]:
    """A model under one of the laws, and how many of its steps make one of the paper's (s)."""
    substeps = substeps if law == "soft" else 1
    model = js.load(xml.replace("{timestep}", str(step / substeps)), contact=law)
    return model.replace(opt=model.opt.replace(kappa_gradient=3e-4)), substeps


def tracking(
    model: js.Model, goals: js.Data, weights: Array, effort: float, step: float, held: Callable[[Array], Array]
) -> Cost:
    """Squares of the distance to goals [T + 1, ...] weighted by [nx], effort times squared impulses, a last goal."""
    root = jnp.sqrt(2 * weights)

    def apart(data: js.Data, t: Array | int) -> Array:
        return difference(model, jax.tree.map(lambda x: x[t], goals), data)

    def running(data: js.Data, t: Array) -> Array:
        return jnp.concatenate([root * apart(data, t), jnp.sqrt(2 * effort) * step * data.ctrl])

    return Cost(running, lambda data: root * apart(data, -1), lambda data: held(apart(data, -1)))


def box(law: str, goal: tuple[float, float, float]) -> Task:
    """Push a box of 1 kg for 1 s with impulses on its centre, to rest at a place."""
    step, length = 0.1, 10
    model, substeps = loaded(BOX, law, step, 5)
    data = js.make_data(model)
    end = data.replace(qpos=data.qpos.at[:3].set(jnp.asarray(goal)))
    goals = jax.tree.map(lambda x: jnp.broadcast_to(x, (length + 1, *x.shape)), end)
    cost = tracking(model, goals, jnp.ones(2 * model.nv), 1e-2, step, lambda dx: dx)
    return Task(model, data, jnp.zeros((length, model.nu)), cost, substeps)


def hopper(law: str) -> Task:
    """Hop half a metre up and aside, 0.5 m each, and come down to rest after 1 s."""
    step, length = 0.05, 20
    model, substeps = loaded(HOPPER, law, step, 10)
    data = js.make_data(model)
    shift = np.zeros((length + 1, model.nq))
    shift[:, :3] = 0.5
    shift[10:, 2] = 0
    goals = jax.vmap(lambda dq: data.replace(qpos=data.qpos + dq))(jnp.asarray(shift))
    pose, speed = [1] * 3 + [0.1] * 3 + [1], [0.01] * 7
    cost = tracking(model, goals, jnp.array([*pose, *speed]), 1e-2, step, lambda dx: dx[: model.nv])
    guess = jnp.broadcast_to(jnp.array([0, 0, 4.18 * GRAVITY]), (length, 3))
    return Task(model, data, guess, cost, substeps)


def quadruped(law: str) -> Task:
    """Two cycles of a slow trot in 2 s, by torques of the twelve joints."""
    step, length = 0.05, 40
    model, substeps = loaded(with_torques(Path(models.path("quadruped")).read_text()), law, step, 5)
    qpos = trot(np.arange(length + 1) / 20)
    apart = jax.vmap(lambda a, b: js.differentiate_pos(model, jnp.asarray(step), a, b))
    qvel = apart(jnp.asarray(qpos[:-1]), jnp.asarray(qpos[1:]))
    qvel = jnp.concatenate([qvel, qvel[-1:]])
    data = js.make_data(model).replace(qpos=jnp.asarray(qpos[0]))
    goals = jax.vmap(lambda q, v: data.replace(qpos=q, qvel=v))(jnp.asarray(qpos), qvel)
    pose, speed = [0.3, 0.05, 0.05] + [0.01] * 3 + [0.2] * 12, [0.01] * 6 + [0.001] * 12
    cost = tracking(model, goals, step * jnp.array([*pose, *speed]), 0.01 * step, step, lambda dx: dx[:3])
    return Task(model, data, jnp.broadcast_to(standing_torques(), (length, 12)), cost, substeps)


def with_torques(xml: str) -> str:
    """The bundled quadruped with torques in place of servos, and the paper's damping and friction."""
    xml = re.sub(r"\s*<position (kp|ctrlrange).*/>", "", xml)
    xml = re.sub(r'<position name="(\w+)" class="\w+" joint="\w+"/>', r'<motor joint="\1"/>', xml)
    xml = re.sub(r"<sensor>.*</sensor>|<keyframe>.*</keyframe>", "", xml, flags=re.DOTALL)
    xml = xml.replace('damping="0.4" armature="0.012" frictionloss="0.1"', 'damping="5"')
    xml = xml.replace('timestep="0.004"', 'timestep="{timestep}"').replace('friction="0.9 ', 'friction="0.8 ')
    # the feet alone touch the floor
    return xml.replace('type="capsule" condim="3"', 'type="capsule" contype="0"').replace(
        'size="0.024"', 'contype="1" size="0.024"'
    )


def trot(cycles: np.ndarray) -> np.ndarray:
    """Poses [n, 19] by phase [n]: feet 0.05 m before and behind their hips, lifted by 0.025 m."""
    radius, link, height = 0.05, 0.2, 0.29
    poses = np.zeros((len(cycles), 19))
    poses[:, 0] = 4 * radius * cycles
    poses[:, 2], poses[:, 3] = height + 0.024, 1
    for leg in range(4):
        phase = (cycles + (0.5 if leg in (1, 2) else 0.0)) % 1  # diagonal legs move together
        stance = phase < 0.5
        swing = 2 * np.pi * (phase - 0.5)
        x = np.where(stance, radius * (1 - 4 * phase), -radius * np.cos(swing))
        z = -height + np.where(stance, 0, 0.025 * np.sin(swing))
        knee = -2 * np.arccos(np.hypot(x, z) / (2 * link))
        poses[:, 7 + 3 * leg + 1] = np.arctan2(-x, -z) - knee / 2
        poses[:, 7 + 3 * leg + 2] = knee
    return poses


def standing_torques() -> Array:
    """What the servos of the bundled model hold it up with, [12] N m."""
    model = js.load("quadruped")
    stand = js.make_data(model).replace(qpos=jnp.asarray(trot(np.zeros(1))[0]))
    stand = stand.replace(ctrl=stand.qpos[7:])
    return js.rollout(model, stand, length=250)[0].actuator_force


TASKS: dict[str, Callable[[str], Task]] = {
    "right": lambda law: box(law, (1.0, 0.0, 0.25)),
    "up": lambda law: box(law, (0.0, 0.0, 1.25)),
    "hopper": hopper,
    "quadruped": quadruped,
}


def main() -> None:
    """Plan every task under every law."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--laws", default="soft,hard")
    parser.add_argument("--out", default="", help="folder for the plans' states and controls, as .npz")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    for name in args.tasks.split(","):
        for law in args.laws.split(","):
            plan, result = planned(TASKS[name](law))
            print(json.dumps({"task": name, "contact": law} | result), flush=True)
            if args.out:
                np.savez(Path(args.out) / f"{name}_{law}.npz", ctrl=plan.ctrl, costs=plan.history, **plan.states)


def planned(task: Task) -> tuple[Plan, dict[str, float]]:
    """The plan, and what it took."""
    run = jax.jit(
        lambda data, guess: ilqr(task.model, data, guess, task.cost, substeps=task.substeps, settings=SETTINGS)
    )
    begun = time.perf_counter()
    program = run.lower(task.data, task.guess).compile()
    compiled = time.perf_counter()
    plan = jax.block_until_ready(program(task.data, task.guess))
    seconds = time.perf_counter() - compiled
    return plan, {
        "cost": round(float(plan.cost), 4),
        "violation": float(f"{plan.violation:.1e}"),
        "iterations": int(plan.iterations),
        "converged": bool(plan.converged),
        "compile_s": round(compiled - begun, 1),
        "plan_s": round(seconds, 1),
    }


if __name__ == "__main__":
    main()
