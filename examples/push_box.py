"""Push a box to the right along the floor, and lift it: two tasks of table III of "Dojo" by iLQR.

python examples/push_box.py [--out push_box.svg]

As in that paper: hard contacts, ten steps of 0.1 s, impulses on the centre of mass, cost and goal on position and
velocity.
"""

import argparse
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from picture import Curve, draw

import jaxsim as js
from jaxsim.optimize import Cost, Plan, Settings, difference, ilqr

STEP = 0.1
XML = """
<mujoco model="box">
  <option timestep="0.1" cone="elliptic"/>
  <worldbody>
    <light pos="0 0 3"/>
    <site name="origin"/>
    <geom name="floor" type="plane" size="5 5 .1" friction="0.5"/>
    <body name="box" pos="0 0 0.25">
      <freejoint/>
      <geom name="box" type="box" size=".25 .25 .25" mass="1" friction="0.5"/>
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
GOALS = {"right": (1.0, 0.0, 0.25), "up": (0.0, 0.0, 1.25)}
LENGTH = 10


def main() -> None:
    """Plan both tasks in parallel, and check where they end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="push_box.svg")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    model = js.load(XML, contact="hard")
    model = model.replace(opt=model.opt.replace(kappa_gradient=3e-4))

    @jax.jit
    @jax.vmap
    def plan(place: jax.Array) -> Plan:
        data = js.make_data(model)
        end = data.replace(qpos=data.qpos.at[:3].set(place))
        apart = lambda data: difference(model, end, data)  # noqa: E731

        def running(data: js.Data, t: jax.Array) -> jax.Array:
            return jnp.sqrt(2.0) * jnp.concatenate([apart(data), 0.1 * STEP * data.ctrl])  # impulses

        cost = Cost(running, lambda data: jnp.sqrt(2.0) * apart(data), apart)
        settings = Settings(goal_tolerance=5e-3, tolerance=1e-4)
        return ilqr(model, data, jnp.zeros((LENGTH, model.nu)), cost, settings=settings)

    begun = time.perf_counter()
    plans = jax.block_until_ready(plan(jnp.array(list(GOALS.values()))))
    print(f"{time.perf_counter() - begun:.1f} s")
    for i, name in enumerate(GOALS):
        print(
            f"{name}: cost {plans.cost[i]:.2f}, violation {plans.violation[i]:.1e}, {plans.iterations[i]} iterations, "
            f"ends at {np.round(plans.states['qpos'][i, -1, :3], 3)}"
        )
    seconds, places = STEP * np.arange(LENGTH + 1), np.asarray(plans.states["qpos"])
    curves = {"right, along the floor": places[0, :, 0], "up, above the floor": places[1, :, 2] - 0.25}
    draw(Path(args.out), "way of the box (m)", "time (s)", {k: Curve(seconds, x) for k, x in curves.items()})
    assert np.all(plans.converged)


if __name__ == "__main__":
    main()
