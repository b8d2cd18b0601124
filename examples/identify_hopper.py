"""Identify a hopper from trajectories of MuJoCo C: masses, dampings, armatures and friction, all 10 % off at first.

python examples/identify_hopper.py [--starts 10] [--noise 0.01] [--out identify_hopper.svg]

Every start must find all eleven numbers, within 1e-6 from exact records and within 2 % from noisy ones. Needs `mujoco`.
"""

import argparse
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from picture import Curve, draw

import jaxsim as js
from jaxsim import models
from jaxsim.optimize import identify, log, parameters, windows

WANTED = {f"mass:{body}": log() for body in ("torso", "thigh", "shin", "foot")}
WANTED |= {f"{field}:{joint}": log() for field in ("damping", "armature") for joint in ("hip", "knee", "ankle")}
WANTED |= {"friction:foot": log()}
TRAJECTORIES, STEPS, WINDOW = 64, 100, 50


def record(mj: mujoco.MjModel, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Falls and slides near the floor under random controls, that change every ten steps."""
    shape = TRAJECTORIES, STEPS
    ctrl = rng.uniform(-1, 1, (TRAJECTORIES, STEPS // 10, mj.nu)).repeat(10, axis=1)
    qpos, qvel = np.zeros((TRAJECTORIES, STEPS + 1, mj.nq)), np.zeros((TRAJECTORIES, STEPS + 1, mj.nv))
    d = mujoco.MjData(mj)
    for i in range(shape[0]):
        mujoco.mj_resetData(mj, d)
        d.qpos[:] += rng.uniform(-1, 1, mj.nq) * [0, 0.02, 0.2, 0.2, 0.2, 0.2]
        d.qvel[:] = rng.uniform(-1, 1, mj.nv) * [2, 1, 1, 3, 3, 3]
        for t in range(STEPS + 1):
            qpos[i, t], qvel[i, t] = d.qpos, d.qvel
            if t < STEPS:
                d.ctrl[:] = ctrl[i, t]
                mujoco.mj_step(mj, d)
    return {"qpos": qpos, "qvel": qvel, "ctrl": ctrl}


def main() -> None:
    """Record, and identify from several starts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--noise", type=float, default=0.01, help="deviation, relative to that of each coordinate")
    parser.add_argument("--out", default="identify_hopper.svg")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    mj = mujoco.MjModel.from_xml_path(str(models.path("hopper")))
    mj.opt.tolerance, mj.opt.iterations, mj.opt.ls_iterations = 0, 100, 50
    model, rng = js.put_model(mj), np.random.default_rng(0)
    wanted = parameters(model, WANTED)
    truth = np.asarray(wanted.values(model, jnp.zeros(len(wanted.names))))
    exact = record(mj, rng)
    spread = {name: exact[name].std((0, 1)) for name in ("qpos", "qvel")}
    scale = {name: args.noise * value for name, value in spread.items()}
    noise = {name: scale[name] * rng.standard_normal(exact[name].shape) for name in scale}
    noisy = exact | {name: exact[name] + noise[name] for name in noise}
    worst = {"exact": 0.0, "noisy": 0.0}
    curves: dict[str, list[Curve]] = {"exact": [], "noisy": []}
    for start in range(args.starts):
        off = jnp.asarray(rng.choice([-0.1, 0.1], len(truth)))
        wrong = wanted.apply(model, jnp.log1p(off))
        for kind, recorded in (("exact", exact), ("noisy", noisy)):
            begun = time.perf_counter()
            found = identify(wrong, wanted, windows(model, recorded, WINDOW), scale=scale, fit_start=True)
            error = np.abs(np.array(list(found.values.values())) / truth - 1)
            worst[kind] = max(worst[kind], error.max())
            curves[kind].append(Curve(np.arange(len(found.history)), np.maximum(found.history, 1e-20)))
            print(
                f"start {start}, {kind}: worst error {error.max():.1e} ({wanted.names[error.argmax()]}), "
                f"{found.iterations} iterations, {time.perf_counter() - begun:.1f} s",
                flush=True,
            )
    for name, value in found.values.items():
        print(f"{name:16} {value:.4f} +- {found.deviations[name]:.4f}")
    draw(Path(args.out), "mean square of what is left, in units of the noise", "iteration", curves, logarithmic=True)
    assert worst["exact"] < 1e-6 and worst["noisy"] < 0.02, worst


if __name__ == "__main__":
    main()
