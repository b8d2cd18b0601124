"""The hopper and the quadruped of table III of "Dojo" by iLQR: one JSON line per task and contact law.

python benchmarks/planning.py [--tasks hopper,quadruped] [--laws hard,soft] [--out DIR]

As in that paper: goals, weights and times between controls; controls are impulses. The hopper is our own, in joint
coordinates, of the same masses and sizes, so that turns and the leg count otherwise in the cost. The quadruped is the
bundled one, of an A1's size, with motors, dampers of 5 N m s/rad and feet that alone touch the floor; it follows two
cycles of a trot, and its trunk ends where the trot does. Its search starts from what servos do that follow the trot,
Dojo's from torques against gravity. The soft law takes ten short steps for each control, the hard one a single long
one. Published with Dojo: cost 8.9 in 96 iterations, and 2e-2 in 20. The box tasks are in examples/push_box.py.
"""

import argparse
import itertools
import json
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jaxsim as js
from jaxsim.optimize import Cost, Plan, Settings, difference, ilqr

Array = jax.Array

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
EXACT = SETTINGS._replace(goal_tolerance=3e-4)  # what Dojo's quadruped comes to, of the same 5e-3 that it asks for
GRAVITY = 9.81
STEP = 0.05  # between controls (s)

# the trot: steps of a cycle; how far a foot goes from its middle, how high the trunk and a foot are (m)
CYCLE, REACH, HEIGHT, LIFT = 20, 0.05, 0.29, 0.025
LEG, RADIUS = 0.2, 0.024  # of the bundled quadruped: thigh and shin, a foot's radius (m)
DAMPING, STIFFNESS = 5.0, 200.0  # of its joints (N m s/rad), and of the servos that begin (N m/rad)


class Task(NamedTuple):
    """A problem: what `ilqr` takes."""

    model: js.Model
    data: js.Data
    guess: Array
    cost: Cost
    substeps: int
    settings: Settings = SETTINGS


def loaded(xml: str, law: str) -> tuple[js.Model, int]:
    """A model under one of the laws, and how many of its steps make one of the paper's."""
    substeps = {"soft": 10, "hard": 1}[law]
    model = js.load(xml.replace("{timestep}", str(STEP / substeps)), contact=law)
    return model.replace(opt=model.opt.replace(kappa_gradient=3e-4)), substeps


def tracking(model: js.Model, goals: js.Data, weights: Array, effort: float, held: Callable[[Array], Array]) -> Cost:
    """Squares of the distance to goals [T + 1, ...] weighted by [nx], effort times squared impulses, a last goal."""
    root = jnp.sqrt(2 * weights)

    def apart(data: js.Data, t: Array | int) -> Array:
        return difference(model, jax.tree.map(lambda x: x[t], goals), data)

    def running(data: js.Data, t: Array) -> Array:
        return jnp.concatenate([root * apart(data, t), jnp.sqrt(2 * effort) * STEP * data.ctrl])

    return Cost(running, lambda data: root * apart(data, -1), lambda data: held(apart(data, -1)))


def hopper(law: str) -> Task:
    """Hop half a metre up and aside, 0.5 m each, and come down to rest after 1 s."""
    length = 20
    model, substeps = loaded(HOPPER, law)
    data = js.make_data(model)
    shift = np.zeros((length + 1, model.nq))
    shift[:, :3] = 0.5
    shift[10:, 2] = 0
    goals = jax.vmap(lambda dq: data.replace(qpos=data.qpos + dq))(jnp.asarray(shift))
    pose, speed = [1] * 3 + [0.1] * 3 + [1], [0.01] * 7
    cost = tracking(model, goals, jnp.array([*pose, *speed]), 1e-2, lambda dx: dx[: model.nv])
    guess = jnp.broadcast_to(jnp.array([0, 0, 4.18 * GRAVITY]), (length, 3))
    return Task(model, data, guess, cost, substeps)


def trotter() -> str:
    """MJCF of the bundled quadruped with motors and dampers, whose feet alone touch the floor."""
    root = ElementTree.parse(Path(js.__file__).parent / "models" / "quadruped.xml").getroot()
    root.find("option").set("timestep", "{timestep}")
    for default in root.iter("default"):
        for servo in default.findall("position"):
            default.remove(servo)
    joint = root.find("default/joint")
    joint.attrib |= {"damping": str(DAMPING), "armature": "0", "frictionloss": "0"}
    for geom in root.iter("geom"):
        if not geom.get("name", "floor").startswith(("floor", "foot")):
            geom.attrib |= {"contype": "0", "conaffinity": "0"}
    for servo in root.findall("actuator/position"):
        servo.tag = "motor"
        servo.attrib.pop("class")
    root.remove(root.find("keyframe"))
    return ElementTree.tostring(root, encoding="unicode")


def trot(model: js.Model) -> tuple[np.ndarray, np.ndarray]:
    """Poses [2 CYCLE, nq] and speeds [2 CYCLE, nv]: feet on diagonals go together, half a cycle after the others."""
    half = CYCLE // 2
    swing = np.pi * (1 - np.cos(np.pi * np.arange(half) / half)) / 2
    back = np.linspace(REACH, -REACH, half, endpoint=False)
    path = np.stack(
        [np.concatenate([back, -REACH * np.cos(swing)]), np.concatenate([0 * back, LIFT * np.sin(swing)])], -1
    )
    place = np.stack([np.roll(path, shift, 0) for shift in (0, half, half, 0)], 1)  # [CYCLE, leg, (x, z)]
    x, z = place[..., 0], place[..., 1] - (HEIGHT - RADIUS)
    bend = np.arccos(np.hypot(x, z) / (2 * LEG))
    thigh = bend - np.arctan2(x, -z)
    angles = np.stack([0 * thigh, thigh, -2 * bend], -1).reshape(CYCLE, 12)
    rates = (np.roll(angles, -1, 0) - angles) / STEP
    length = 2 * CYCLE
    qpos, qvel = np.zeros((length, model.nq)), np.zeros((length, model.nv))
    advance = 2 * REACH / half
    qpos[:, 0], qpos[:, 2], qpos[:, 3] = advance * np.arange(length), HEIGHT, 1
    qpos[:, 7:], qvel[:, 6:] = np.tile(angles, (2, 1)), np.tile(rates, (2, 1))
    qvel[:, 0] = advance / STEP
    return qpos, qvel


def standing(model: js.Model, data: js.Data) -> Array:
    """The torques [nu] that hold a quadruped still on four feet, which push straight up."""
    data = js.forward(model, data.replace(qvel=jnp.zeros_like(data.qvel)))
    feet = [int(g) for g in model.ids("geom", "foot_*")]
    lift = jnp.stack([js.jac_geom(model, data, foot)[0][2] for foot in feet])  # [foot, nv]
    share = jnp.linalg.lstsq(lift[:, :6].T, data.qfrc_bias[:6])[0]
    return (data.qfrc_bias - share @ lift)[6:]


def followed(model: js.Model, data: js.Data, goals: js.Data, substeps: int) -> Array:
    """The torques [T - 1, nu] of servos that follow goals [T, ...], with what holds a quadruped and moves dampers."""
    hold = standing(model, data)

    def control(data: js.Data, goal: tuple[Array, Array]) -> tuple[js.Data, Array]:
        (angles, rates), now = goal, data.qpos[-model.nu :]
        data = data.replace(ctrl=hold + DAMPING * rates + STIFFNESS * (angles - now))
        return lax.fori_loop(0, substeps, lambda _, d: js.step(model, d), data), data.ctrl

    return lax.scan(control, data, (goals.qpos[1:, -model.nu :], goals.qvel[:-1, -model.nu :]))[1]


def quadruped(law: str) -> Task:
    """Trot 0.4 m in 2 s."""
    model, substeps = loaded(trotter(), law)
    qpos, qvel = trot(model)
    data = js.make_data(model)
    goals = jax.vmap(lambda q, v: data.replace(qpos=q, qvel=v))(jnp.asarray(qpos), jnp.asarray(qvel))
    weights = STEP * jnp.array([0.3, 0.05, 0.05, *[0.01] * 3, *[0.2] * 12, *[0.01] * 6, *[0.001] * 12])
    cost = tracking(model, goals, weights, STEP * 0.01, lambda dx: dx[:3])
    begin = jax.tree.map(lambda x: x[0], goals)
    guess = jax.jit(followed, static_argnums=3)(model, begin, goals, substeps)
    return Task(model, begin, guess, cost, substeps, EXACT)


TASKS = {"hopper": hopper, "quadruped": quadruped}


def _names(text: str) -> list[str]:
    if unknown := set(text.split(",")) - set(TASKS):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))} is none of {', '.join(TASKS)}")
    return text.split(",")


def main() -> None:
    """Plan every task under every law."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", default="hopper,quadruped", type=_names, help=f"of {', '.join(TASKS)}")
    parser.add_argument("--laws", default="hard")
    parser.add_argument("--out", default="", help="folder for the plans' states and controls, as .npz")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    for name, law in itertools.product(args.tasks, args.laws.split(",")):
        plan, result = planned(TASKS[name](law))
        print(json.dumps({"task": name, "contact": law} | result), flush=True)
        if args.out:
            np.savez(Path(args.out) / f"{name}_{law}.npz", ctrl=plan.ctrl, costs=plan.history, **plan.states)


def planned(task: Task) -> tuple[Plan, dict[str, float]]:
    """The plan, and what it took."""
    run = jax.jit(
        lambda data, guess: ilqr(task.model, data, guess, task.cost, substeps=task.substeps, settings=task.settings)
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
