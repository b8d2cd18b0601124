"""Find the corners of a tossed box and its friction from how it tumbles, as in figure 12 of "Dojo".

python examples/identify_toss_box.py [--tosses 40] [--out identify_toss_box.svg]

The paper's 570 tosses are of a real cube (ContactNets). These are of MuJoCo C's box at their settings: 0.37 kg, half
sides of 53.5 mm, friction 0.2, 148 frames a second, poses to about half a millimetre. The model that is fitted is no
box: eight points on a body, each with three unknown coordinates, first guessed 10 to 50 % too far out, and a friction
first guessed twice too large. Corners must be found within 5 % of half a side and friction within 5 %, which takes
about forty tosses: some corners seldom touch the floor. Needs `mujoco`.

Steps are a quarter of a frame: in a step as long as a frame the floor takes most of a corner's speed at once or not at
all, and the start of a window, known to half a millimetre, does not tell which.
"""

import argparse
import itertools
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from picture import Curve, draw

import jaxsim as js
from jaxsim.optimize import Parameters, identify, linear, log, parameters, windows

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
    f'<geom name="{name}" size="1e-9" friction="0" pos="{x} {y} {z}"/>' for name, (x, y, z) in CORNERS.items()
)
HELD_OUT, STEPS, WINDOW, SUBSTEPS, ITERATIONS = 10, 80, 8, 4, 40
NOISE: dict[str, Any] = {"qpos": np.repeat([5e-4, 5e-3], 3), "qvel": np.repeat([0.02, 0.2], 3)}  # m, rad; m/s, rad/s
Records = dict[str, np.ndarray]


def scene(geoms: str) -> str:
    """MJCF of the floor and of a body with these geoms."""
    return SCENE.format(step=1 / RATE / SUBSTEPS, friction=FRICTION, geoms=geoms)


def tossed(rng: np.random.Generator, count: int) -> Records:
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
            mujoco.mj_step(mj, d, SUBSTEPS)
    return {"qpos": qpos, "qvel": qvel, "ctrl": np.zeros((count, STEPS, 0))}


def measured(model: js.Model, exact: Records, rng: np.random.Generator) -> Records:
    """With noise, of poses in the tangent space."""
    dq, dv = (scale * rng.standard_normal((*exact["qvel"].shape[:2], 6)) for scale in NOISE.values())
    moved = jax.vmap(jax.vmap(lambda q, v: js.integrate_pos(model, q, v, jnp.ones(()))))
    return exact | {"qpos": np.asarray(moved(exact["qpos"], dq)), "qvel": exact["qvel"] + dv}


def unknown(model: js.Model) -> Parameters:
    """Friction, and all coordinates of all corners, none of which changes sides."""
    bounds = {"p": linear(0.05 * HALF, 1.6 * HALF, HALF), "n": linear(-1.6 * HALF, -0.05 * HALF, HALF)}
    wanted = {"friction:floor": log(0.01, 0.8)}
    for axis, side in itertools.product(range(3), "pn"):
        wanted[f"geom_pos[{axis}]:" + "?" * axis + side + "?" * (2 - axis)] = bounds[side]
    return parameters(model, wanted)


def corners(values: Mapping[str, float]) -> np.ndarray:
    """Distances [8] of the corners from those of the box, in halves of a side."""
    place = [[values[f"geom_pos:{name}[{axis}]"] for axis in range(3)] for name in CORNERS]
    return np.linalg.norm(np.array(place) - list(CORNERS.values()), axis=1) / HALF


def replayed(models: dict[str, js.Model], kept: Records) -> dict[str, np.ndarray]:
    """Poses [N, STEPS, 7] of tosses, from their first states on, in several models."""

    def toss(model: js.Model, qpos: jax.Array, qvel: jax.Array) -> jax.Array:
        start = js.make_data(model).replace(qpos=qpos, qvel=qvel)
        return js.rollout(model, start, length=STEPS * SUBSTEPS)[1]["qpos"][SUBSTEPS - 1 :: SUBSTEPS]

    run = jax.jit(jax.vmap(toss, (None, 0, 0)))
    return {name: np.asarray(run(model, kept["qpos"][:, 0], kept["qvel"][:, 0])) for name, model in models.items()}


def main() -> None:
    """Toss, fit, check; show tosses that were held out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tosses", type=int, default=40)
    parser.add_argument("--out", default="identify_toss_box.svg")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(0)
    model = js.load(scene(POINTS))
    exact = tossed(rng, args.tosses + HELD_OUT)
    records = measured(model, exact, rng)
    wanted = unknown(model)
    truth = wanted.values(model, jnp.zeros(len(wanted.names)))
    off = np.r_[2.0, rng.uniform(1.1, 1.5, len(wanted.names) - 1)]
    wrong = wanted.apply(model, wanted.theta(model, truth * off))
    seen = windows(model, {name: x[: args.tosses] for name, x in records.items()}, WINDOW, substeps=SUBSTEPS)
    begun = time.process_time()
    found = identify(wrong, wanted, seen, scale=NOISE, fit_start=True, iterations=ITERATIONS)
    print(f"{found.iterations} iterations, {time.process_time() - begun:.0f} s of processors")

    kept = {name: x[args.tosses :] for name, x in exact.items()}
    paths = replayed({"first guess": wrong, "found": found.model}, kept)
    for name, path in paths.items():
        apart = np.linalg.norm((path - kept["qpos"][:, 1:])[:, :, :3], axis=-1) / HALF
        print(f"{name}: held-out tosses {apart.mean():.1%} of half a side off, at most {apart.max():.1%}")
    seconds = np.arange(1, STEPS + 1) / RATE
    lines = {name: [Curve(seconds, p[:, 2]) for p in path[:3]] for name, path in paths.items()}
    lines["MuJoCo C"] = [Curve(seconds, p[1:, 2], dashed=True) for p in kept["qpos"][:3]]
    draw(Path(args.out), "height of three tosses that were held out (m)", "time (s)", lines)
    before = corners(dict(zip(wanted.names, np.asarray(truth) * off)))
    errors, friction = corners(found.values), found.values["friction:floor"]
    exactly = dict(zip(wanted.names, np.asarray(truth)))
    ratios = np.array([(found.values[name] - exactly[name]) / found.deviations[name] for name in wanted.names])
    print(f"errors are {np.sqrt(np.mean(ratios**2)):.1f} stated deviations, at most {np.abs(ratios).max():.1f}")
    print(f"noise {found.noise:.2f} of what is given; friction {friction:.3f}")
    print(f"corners off by {errors.mean():.1%} of half a side, at most {errors.max():.1%}; before {before.mean():.1%}")
    assert errors.max() < 0.05 and abs(friction / FRICTION - 1) < 0.05


if __name__ == "__main__":
    main()
