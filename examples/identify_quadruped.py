"""Identify a quadruped that stands, slides and tumbles: masses, dampings, armatures and friction of one of its legs.

python examples/identify_quadruped.py [--trajectories 8] [--starts 1] [--noise 0.01] [--out identify_quadruped.svg]

As identify_hopper.py: trajectories of MuJoCo C in which the feet are on the floor. Noisy records are used where there
are at least 32 of them; of fewer the noise only says what counts as little. Needs `mujoco`.
"""

import jax
import mujoco
import numpy as np
from identify_hopper import Records, arguments, compare, measured, simulated

import jaxsim as js
from jaxsim import models
from jaxsim.optimize import log, parameters, windows

LEG = "front_left"
WANTED = {f"mass:{body}": log() for body in ("trunk", *(f"{part}_{LEG}" for part in ("hip", "thigh", "shin")))}
WANTED |= {f"{f}:{joint}_{LEG}": log() for f in ("damping", "armature") for joint in ("hip", "thigh", "knee")}
WANTED |= {f"friction:foot_{LEG}": log()}
# short windows first: contacts that come and go are told from the first guess before they are many in a window
STEPS, WINDOWS, ITERATIONS = 50, (10, 25), 12
PLENTY = 32


def record(mj: mujoco.MjModel, rng: np.random.Generator, count: int) -> Records:
    """It is thrown onto its feet with some speed, and its joints are sent to and fro."""
    key = mj.key("stand")
    ctrl = key.ctrl + rng.uniform(-0.4, 0.4, (count, STEPS // 10, mj.nu)).repeat(10, axis=1)
    qpos = np.tile(key.qpos, (count, 1))
    qpos[:, 7:] += rng.uniform(-0.1, 0.1, (count, mj.nu))
    qvel = rng.uniform(-1, 1, (count, mj.nv)) * [1.5, 1.5, 0.3, *[1] * 3, *[3] * 12]
    return simulated(mj, np.concatenate([qpos, qvel], 1), ctrl)


def main() -> None:
    """Record, and identify from several starts."""
    args = arguments(__doc__, 8, "identify_quadruped.svg")
    jax.config.update("jax_enable_x64", True)
    mj = mujoco.MjModel.from_xml_path(str(models.path("quadruped")))
    mj.opt.tolerance, mj.opt.iterations, mj.opt.ls_iterations = 0, 100, 50
    model, rng = js.put_model(mj), np.random.default_rng(0)
    exact = record(mj, rng, args.trajectories)
    noisy, scale = measured(model, exact, args.noise, rng)
    records = {"exact": exact} | ({"noisy": noisy} if args.trajectories >= PLENTY else {})
    seen = {kind: [windows(model, record, length) for length in WINDOWS] for kind, record in records.items()}
    compare(parameters(model, WANTED), model, seen, scale, args, ITERATIONS, PLENTY)


if __name__ == "__main__":
    main()
