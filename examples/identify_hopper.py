"""Identify a hopper from trajectories of MuJoCo C: masses, dampings, armatures and friction, all 10 % off at first.

python examples/identify_hopper.py [--trajectories 16] [--starts 1] [--noise 0.01] [--out identify_hopper.svg]

Every start must find all eleven numbers: from exact records within 1e-6; from noisy ones within 2 %, or within four of
the standard deviations that the fit itself states where there are fewer than 64 trajectories. Needs `mujoco`.
"""

import argparse
import time
from collections.abc import Mapping
from pathlib import Path

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from picture import Curve, draw

import jaxsim as js
from jaxsim import models
from jaxsim.optimize import Parameters, Windows, identify, log, parameters, windows

WANTED = {f"mass:{body}": log() for body in ("torso", "thigh", "shin", "foot")}
WANTED |= {f"{field}:{joint}": log() for field in ("damping", "armature") for joint in ("hip", "knee", "ankle")}
WANTED |= {"friction:foot": log()}
STEPS, WINDOW, ITERATIONS = 100, 25, 15
PLENTY = 64  # trajectories from which 2 % is asked for
Records = dict[str, np.ndarray]


def simulated(mj: mujoco.MjModel, start: np.ndarray, ctrl: np.ndarray) -> Records:
    """Trajectories of MuJoCo C from states [N, nq + nv] under controls [N, T, nu]."""
    count, steps = ctrl.shape[:2]
    qpos, qvel = np.zeros((count, steps + 1, mj.nq)), np.zeros((count, steps + 1, mj.nv))
    d = mujoco.MjData(mj)
    for i in range(count):
        mujoco.mj_resetData(mj, d)
        d.qpos[:], d.qvel[:] = np.split(start[i], [mj.nq])
        for t in range(steps + 1):
            qpos[i, t], qvel[i, t] = d.qpos, d.qvel
            if t < steps:
                d.ctrl[:] = ctrl[i, t]
                mujoco.mj_step(mj, d)
    return {"qpos": qpos, "qvel": qvel, "ctrl": ctrl}


def record(mj: mujoco.MjModel, rng: np.random.Generator, count: int) -> Records:
    """Falls and slides near the floor under random controls, that change every ten steps."""
    ctrl = rng.uniform(-1, 1, (count, STEPS // 10, mj.nu)).repeat(10, axis=1)
    qpos = mj.qpos0 + rng.uniform(-1, 1, (count, mj.nq)) * [0, 0.02, 0.2, 0.2, 0.2, 0.2]
    qvel = rng.uniform(-1, 1, (count, mj.nv)) * [2, 1, 1, 3, 3, 3]
    return simulated(mj, np.concatenate([qpos, qvel], 1), ctrl)


def measured(model: js.Model, exact: Records, noise: float, rng: np.random.Generator) -> tuple[Records, Records]:
    """Records with noise relative to the spread of each coordinate, in the tangent space, and its deviations [nv]."""
    one, centre = jnp.ones(()), exact["qpos"][0, 0]
    apart = jax.vmap(lambda q: js.differentiate_pos(model, one, centre, q))(exact["qpos"].reshape(-1, model.nq))
    scale = {"qpos": noise * np.asarray(apart).std(0), "qvel": noise * exact["qvel"].std((0, 1))}
    dq, dv = (x * rng.standard_normal(exact["qvel"].shape) for x in scale.values())
    moved = jax.vmap(jax.vmap(lambda q, v: js.integrate_pos(model, q, v, one)))(exact["qpos"], dq)
    return exact | {"qpos": np.asarray(moved), "qvel": exact["qvel"] + dv}, scale


def arguments(text: str, trajectories: int, out: str) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--trajectories", type=int, default=trajectories)
    parser.add_argument("--starts", type=int, default=1)
    parser.add_argument("--noise", type=float, default=0.01, help="deviation, relative to that of each coordinate")
    parser.add_argument("--out", default=out)
    return parser.parse_args()


def compare(
    wanted: Parameters,
    model: js.Model,
    seen: Mapping[str, Windows | list[Windows]],
    scale: Records,
    args: argparse.Namespace,
    iterations: int = ITERATIONS,
    plenty: int = PLENTY,
):
    """Identify from exact and from noisy windows, from several starts that are 10 % off; check, draw."""
    truth, rng = np.asarray(wanted.values(model, jnp.zeros(len(wanted.names)))), np.random.default_rng(1)
    curves: dict[str, list[Curve]] = {name: [] for name in seen}
    for start in range(args.starts):
        wrong = wanted.apply(model, jnp.log1p(jnp.asarray(rng.choice([-0.1, 0.1], len(truth)))))
        for kind, cut in seen.items():
            begun, worked = time.perf_counter(), time.process_time()
            found = identify(wrong, wanted, cut, scale=scale, fit_start=True, iterations=iterations)
            error = np.abs(np.array(list(found.values.values())) / truth - 1)
            curves[kind].append(Curve(np.arange(found.iterations), np.maximum(found.history, 1e-20)))
            print(
                f"start {start}, {kind}: worst error {error.max():.1e} ({wanted.names[error.argmax()]}), "
                f"{found.iterations} iterations, {time.perf_counter() - begun:.1f} s, "
                f"{time.process_time() - worked:.1f} s of processors",
                flush=True,
            )
            known = np.array(list(found.deviations.values())) / truth
            allowed = 1e-6 if kind == "exact" else 0.02 if args.trajectories >= plenty else 4 * known
            assert (error < allowed).all(), dict(zip(wanted.names, error))
    for name, value in found.values.items():
        print(f"{name:26} {value:.4f} +- {found.deviations[name]:.4f}")
    draw(Path(args.out), "mean square of what is left, in units of the noise", "iteration", curves, logarithmic=True)


def main() -> None:
    """Record, and identify from several starts."""
    args = arguments(__doc__, 16, "identify_hopper.svg")
    jax.config.update("jax_enable_x64", True)
    mj = mujoco.MjModel.from_xml_path(str(models.path("hopper")))
    mj.opt.tolerance, mj.opt.iterations, mj.opt.ls_iterations = 0, 100, 50
    model, rng = js.put_model(mj), np.random.default_rng(0)
    exact = record(mj, rng, args.trajectories)
    noisy, scale = measured(model, exact, args.noise, rng)
    seen = {"exact": windows(model, exact, WINDOW), "noisy": windows(model, noisy, WINDOW)}
    compare(parameters(model, WANTED), model, seen, scale, args)


if __name__ == "__main__":
    main()
