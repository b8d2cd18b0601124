"""Identify a quadruped that stands, slides and tumbles: masses, dampings, armatures and friction of one of its legs.

python examples/identify_quadruped.py [--starts 10] [--noise 0.01] [--out identify_quadruped.svg]

As identify_hopper.py, with trajectories of MuJoCo C in which the feet are on the floor. Needs `mujoco`.
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

LEG = "front_left"
WANTED = {f"mass:{body}": log() for body in ("trunk", *(f"{part}_{LEG}" for part in ("hip", "thigh", "shin")))}
WANTED |= {f"{f}:{joint}_{LEG}": log() for f in ("damping", "armature") for joint in ("hip", "thigh", "knee")}
WANTED |= {f"friction:foot_{LEG}": log()}
TRAJECTORIES, STEPS, WINDOW = 32, 50, 25


def record(mj: mujoco.MjModel, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """It is thrown onto its feet with some speed, and its joints are sent to and fro."""
    d, key = mujoco.MjData(mj), mj.key("stand")
    ctrl = key.ctrl + rng.uniform(-0.4, 0.4, (TRAJECTORIES, STEPS // 10, mj.nu)).repeat(10, axis=1)
    qpos, qvel = np.zeros((TRAJECTORIES, STEPS + 1, mj.nq)), np.zeros((TRAJECTORIES, STEPS + 1, mj.nv))
    for i in range(TRAJECTORIES):
        mujoco.mj_resetDataKeyframe(mj, d, key.id)
        d.qpos[7:] += rng.uniform(-0.1, 0.1, mj.nu)
        d.qvel[:] = rng.uniform(-1, 1, mj.nv) * [1.5, 1.5, 0.3, *[1] * 3, *[3] * 12]
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
    parser.add_argument("--out", default="identify_quadruped.svg")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    mj = mujoco.MjModel.from_xml_path(str(models.path("quadruped")))
    mj.opt.tolerance, mj.opt.iterations, mj.opt.ls_iterations = 0, 100, 50
    model, rng = js.put_model(mj), np.random.default_rng(0)
    wanted = parameters(model, WANTED)
    truth = np.asarray(wanted.values(model, jnp.zeros(len(wanted.names))))
    exact = record(mj, rng)
    one = jnp.ones(())
    apart = jax.vmap(lambda q: js.differentiate_pos(model, one, model.qpos0, q))(exact["qpos"].reshape(-1, mj.nq))
    scale = {"qpos": args.noise * np.asarray(apart).std(0), "qvel": args.noise * exact["qvel"].std((0, 1))}
    dq, dv = (x * rng.standard_normal(exact["qvel"].shape) for x in scale.values())
    moved = jax.vmap(jax.vmap(lambda q, v: js.integrate_pos(model, q, v, one)))(exact["qpos"], dq)
    noisy = exact | {"qpos": np.asarray(moved), "qvel": exact["qvel"] + dv}
    worst = {"exact": 0.0, "noisy": 0.0}
    curves: dict[str, list[Curve]] = {"exact": [], "noisy": []}
    for start in range(args.starts):
        wrong = wanted.apply(model, jnp.log1p(jnp.asarray(rng.choice([-0.1, 0.1], len(truth)))))
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
        print(f"{name:26} {value:.4f} +- {found.deviations[name]:.4f}")
    draw(Path(args.out), "mean square of what is left, in units of the noise", "iteration", curves, logarithmic=True)
    assert worst["exact"] < 1e-6 and worst["noisy"] < 0.02, worst


if __name__ == "__main__":
    main()
