"""The hopper of table III of "Dojo" by iLQR: one JSON line per contact law.

python benchmarks/planning.py [--laws hard,soft] [--out DIR]

As in that paper: goals, masses and times between controls; controls are impulses. The model is our own, in joint
coordinates, of the same masses and sizes, so that turns and the leg count otherwise in the cost; the soft law takes ten
short steps for each control, the hard one a single long one. Published with Dojo: cost 8.9 in 96 iterations. The box
tasks are in examples/push_box.py.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

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


def main() -> None:
    """Plan under every law."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--laws", default="hard")
    parser.add_argument("--out", default="", help="folder for the plans' states and controls, as .npz")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    for law in args.laws.split(","):
        plan, result = planned(hopper(law))
        print(json.dumps({"task": "hopper", "contact": law} | result), flush=True)
        if args.out:
            np.savez(Path(args.out) / f"hopper_{law}.npz", ctrl=plan.ctrl, costs=plan.history, **plan.states)


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
