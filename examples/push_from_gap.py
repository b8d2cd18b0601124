"""Plan a push across a gap, where gradients of contacts are zero: with and without forces at a distance in them.

python examples/push_from_gap.py [--out push_from_gap.svg]

A hand on a rail is 0.1 m from a box, and at rest. What it does has no effect on the box for small changes, so that a
gradient says nothing; `opt.contact_gradient = "distant"` makes the gradient that of a world in which surfaces push each
other weakly from `opt.contact_reach` on. What is simulated stays the same.
"""

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
from picture import Curve, draw

import jaxsim as js
from jaxsim.optimize import Cost, shoot

XML = """
<mujoco>
  <option timestep="0.01" cone="elliptic"/>
  <worldbody>
    <geom type="plane" size="5 5 .1" friction="0.4"/>
    <body pos="0 0 .1">
      <joint name="hand" type="slide" axis="1 0 0" damping="2"/>
      <geom size=".05" mass="1"/>
    </body>
    <body pos=".25 0 .1">
      <joint name="along" type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
      <geom type="box" size=".1 .1 .1" mass="1" friction="0.4"/>
    </body>
  </worldbody>
  <actuator><motor joint="hand" gear="20" ctrllimited="true" ctrlrange="-1 1"/></actuator>
</mujoco>
"""
LENGTH, SUBSTEPS, FAR = 20, 4, 0.3  # 0.8 s, m
ITERATIONS = 80


def pushed() -> Cost:
    """The box comes to rest 0.3 m from where it was; nothing else counts but a little effort."""
    return Cost(
        lambda data, t: 1e-3 * jnp.vdot(data.ctrl, data.ctrl),
        lambda data: 10 * (data.qpos[1] - FAR) ** 2 + 0.1 * data.qvel[1] ** 2,
    )


def main() -> None:
    """Plan with both gradients, check, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="push_from_gap.svg")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    model = js.load(XML)
    start = jax.jit(lambda: js.rollout(model, js.make_data(model), length=50)[0])()  # the box has settled
    none = jnp.zeros((LENGTH, 1))
    curves = {"where it is to go": Curve(np.array([0, LENGTH * 0.04]), np.full(2, FAR), dashed=True)}
    for law in ("own", "distant"):
        m = model.replace(opt=model.opt.replace(contact_gradient=law, contact_reach=0.3))
        plan = jax.jit(
            lambda m: shoot(m, start, none, pushed(), optax.adam(0.1), iterations=ITERATIONS, substeps=SUBSTEPS)
        )
        shot = plan(m)
        path = np.asarray(js.rollout(model, start, shot.ctrl, substeps=SUBSTEPS)[1]["qpos"][:, 1])
        print(f"{law} gradient: the box ends at {path[-1]:.3f} m, cost {shot.history[0]:.3f} to {shot.cost:.3f}")
        curves[f"{law} gradient"] = Curve(0.04 * np.arange(1, LENGTH + 1), path)
        if law == "own":
            assert np.all(shot.ctrl == 0)  # no gradient at all
        else:
            assert abs(path[-1] - FAR) < 0.02, path
    draw(Path(args.out), "where the box is (m)", "time (s)", curves)


if __name__ == "__main__":
    main()
