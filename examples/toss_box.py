"""Find the corners of a tossed box and its friction from how it tumbles, as in figure 12 of "Dojo".

python examples/toss_box.py [--out toss_box.svg]

The paper's 570 tosses are of a real cube (ContactNets). These are of MuJoCo C's box at their settings: 0.37 kg, half
sides of 53.5 mm, friction 0.2, 148 frames a second, poses to about half a millimetre. The model that is fitted is no
box: eight points on a body, each with three unknown coordinates, first guessed 10 to 50 % too far out, and a friction
first guessed twice too large. Needs `mujoco`.
"""

import argparse
import itertools
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from picture import Curve, draw

import jaxsim as js
from jaxsim.optimize import identify, linear, log, parameters, windows

HALF, FRICTION, RATE = 0.0535, 0.2, 148  # m, 1, Hz
CORNERS = {"".join(s): [HALF * (1 if c == "p" else -1) for c in s] for s in itertools.product("pn", repeat=3)}
SCENE = """
<mujoco>
  <option timestep="{step}" cone="elliptic"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1" friction="{friction}"/>
    <body name="box">
      <freejoint/>
      <inertial pos="0 0 0" mass="0.37" diaginertia="0.00081 0.00081 0.00081"/>
      {geoms}
    </body>
  </worldbody>
</mujoco>
"""
CUBE = f'<geom type="box" size="{HALF} {HALF} {HALF}" friction="0"/>'
POINTS = "".join(
    f'<geom name="{name}" size="1e-5" friction="0" pos="{x} {y} {z}"/>' for name, (x, y, z) in CORNERS.items()
)
TOSSES, HELD_OUT, STEPS, WINDOW = 40, 10, 80, 16
NOISE: dict[str, Any] = {"qpos": np.repeat([5e-4, 5e-3], 3), "qvel": np.repeat([0.02, 0.2], 3)}  # m, rad; m/s, rad/s


def scene(geoms: str) -> str:
    """MJCF of the floor and of a body with these geoms."""
    return SCENE.format(step=1 / RATE, friction=FRICTION, geoms=geoms)


def tossed(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Tosses of MuJoCo C's box, from the hand until it has come to rest."""
    mj = mujoco.MjModel.from_xml_string(scene(CUBE))
    d = mujoco.MjData(mj)
    qpos, qvel = np.zeros((count, STEPS + 1, 7)), np.zeros((count, STEPS + 1, 6))
    for i in range(count):
        mujoco.mj_resetData(mj, d)
        d.qpos[2] = rng.uniform(0.12, 0.2)
        d.qpos[3:] = rng.standard_normal(4)
        d.qvel[:] = rng.uniform(-1, 1, 6) * [1.5, 1.5, 0.5, 8, 8, 8]
        mujoco.mj_normalizeQuat(mj, d.qpos)
        for t in range(STEPS + 1):
            qpos[i, t], qvel[i, t] = d.qpos, d.qvel
            mujoco.mj_step(mj, d)
    return {"qpos": qpos, "qvel": qvel, "ctrl": np.zeros((count, STEPS, 0))}


def measured(model: js.Model, exact: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """With noise, of poses in the tangent space."""
    dq, dv = (scale * rng.standard_normal((*exact["qvel"].shape[:2], 6)) for scale in NOISE.values())
    moved = jax.vmap(jax.vmap(lambda q, v: js.integrate_pos(model, q, v, jnp.ones(()))))
    return exact | {"qpos": np.asarray(moved(exact["qpos"], dq)), "qvel": exact["qvel"] + dv}


def main() -> None:
    """Toss, fit, check on tosses that were held out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="toss_box.svg")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(0)
    model = js.load(scene(POINTS))
    exact = tossed(rng, TOSSES + HELD_OUT)
    records = measured(model, exact, rng)
    bounds = {"p": linear(0.05 * HALF, 1.6 * HALF, HALF), "n": linear(-1.6 * HALF, -0.05 * HALF, HALF)}
    wanted = {"friction:floor": log(0.01, 0.8)}
    for axis, side in itertools.product(range(3), "pn"):
        wanted[f"geom_pos[{axis}]:" + "?" * axis + side + "?" * (2 - axis)] = bounds[side]
    found = parameters(model, wanted)
    truth = found.values(model, jnp.zeros(len(found.names)))
    off = jnp.asarray(np.r_[2.0, rng.uniform(1.1, 1.5, len(found.names) - 1)])
    wrong = found.apply(model, found.theta(model, truth * off))
    seen = windows(model, {name: x[:TOSSES] for name, x in records.items()}, WINDOW)
    begun = time.perf_counter()
    fit = identify(wrong, found, seen, scale=NOISE, fit_start=True)
    corners = [model.ids("geom", name)[0] for name in CORNERS]
    errors = np.linalg.norm(np.asarray(fit.model.geom_pos - model.geom_pos)[corners], axis=1) / HALF
    friction = fit.values["friction:floor"]
    print(f"{fit.iterations} iterations, {time.perf_counter() - begun:.0f} s, noise {fit.noise:.2f} of what is given")
    print(f"corners off by {errors.mean():.1%} of the half side, at most {errors.max():.1%}; friction {friction:.3f}")

    run = jax.jit(jax.vmap(lambda m, d: js.rollout(m, d, length=STEPS)[1]["qpos"], (None, 0)))
    begin = {name: jnp.asarray(exact[name][TOSSES:, 0]) for name in ("qpos", "qvel")}
    start = jax.vmap(lambda state: js.make_data(model).replace(**state))(begin)
    paths = {name: np.asarray(run(m, start)) for name, m in {"first guess": wrong, "found": fit.model}.items()}
    kept = exact["qpos"][TOSSES:, 1:]
    for name, path in paths.items():
        apart = np.linalg.norm((path - kept)[:, :, :3], axis=-1) / HALF
        print(
            f"{name}: held-out tosses {apart.mean():.1%} of the half side off, at rest at most {apart[:, -1].max():.1%}"
        )
    seconds = np.arange(1, STEPS + 1) / RATE
    lines = {name: [Curve(seconds, p[:, 2]) for p in path[:3]] for name, path in paths.items()}
    lines["MuJoCo C"] = [Curve(seconds, p[:, 2], dashed=True) for p in kept[:3]]
    draw(Path(args.out), "height of three tosses that were held out (m)", "time (s)", lines)
    assert errors.max() < 0.05 and abs(friction / FRICTION - 1) < 0.05


if __name__ == "__main__":
    main()
