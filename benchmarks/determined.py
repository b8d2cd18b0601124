"""How near the forward dynamics of models are to MuJoCo C's, and how near C's are to its own: one JSON line each.

python benchmarks/determined.py MODEL...

In float64, at the first keyframe and after 40 and 120 steps with random controls, of joint forces, accelerations and
sensors, as shares of one more than the largest: `ours` beside C's, `turned` C's own after qpos moves by up to 1e-9 (the
most of ten times), and `finer` at a ccd_tolerance of 1e-10 and 1e-15 in place of the model's. Where one of these is as
large, C's result says no more: a contact is there or not, or one of many equal ones is taken, by rounding.
"""

import argparse
import json

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

import jaxsim as js

COMPARED = ("qfrc_constraint", "qacc", "sensordata")
STEPS = (0, 40, 80)
TURN = 1e-9
FINER = (1e-10, 1e-15)


def oracle(path: str) -> mujoco.MjModel:
    """A model whose constraint solver does not stop early."""
    mj = mujoco.MjModel.from_xml_path(path)
    mj.opt.jacobian, mj.opt.tolerance = mujoco.mjtJacobian.mjJAC_DENSE, 0
    mj.opt.iterations, mj.opt.ls_iterations = max(mj.opt.iterations, 100), max(mj.opt.ls_iterations, 50)
    mj.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ISLAND)
    return mj


def states(mj: mujoco.MjModel):
    """MjData after each of STEPS more steps, forward dynamics done."""
    rng = np.random.default_rng(1)
    bounded = mj.actuator_ctrllimited[:, None].astype(bool)
    low, high = np.where(bounded, mj.actuator_ctrlrange, [-1.0, 1.0]).T
    d = mujoco.MjData(mj)
    if mj.nkey:
        mujoco.mj_resetDataKeyframe(mj, d, 0)
    for count in STEPS:
        for _ in range(count):
            d.ctrl[:] = low + (high - low) * rng.uniform(0.3, 0.7, mj.nu)
            mujoco.mj_step(mj, d)
        mujoco.mj_forward(mj, d)
        yield d


def apart(one, other) -> float:
    """The largest difference of what is compared; infinite where one is not finite."""
    worst = 0.0
    for name in COMPARED:
        x, y = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        if x.size:
            worst = np.fmax(worst, np.nan_to_num(np.abs(x - y).max() / (1 + np.abs(x).max()), nan=np.inf))
    return float(worst)


def beside(mj: mujoco.MjModel, d: mujoco.MjData, move: float = 0.0, tolerance: float | None = None, seed: int = 0):
    """C's forward dynamics of a state that is moved a little, or at another tolerance of its search for contacts."""
    e = mujoco.MjData(mj)
    mujoco.mj_copyData(e, mj, d)
    mujoco.mj_integratePos(mj, e.qpos, move * np.random.default_rng(seed).uniform(-1, 1, mj.nv), 1.0)
    was = mj.opt.ccd_tolerance, mj.opt.ccd_iterations
    if tolerance is not None:
        mj.opt.ccd_tolerance, mj.opt.ccd_iterations = tolerance, 500
    mujoco.mj_forward(mj, e)
    mj.opt.ccd_tolerance, mj.opt.ccd_iterations = was
    return e


def measured(path: str) -> dict:
    """The line of a model."""
    mj, m = oracle(path), js.load(path)
    # the solver, too, goes on until nothing changes
    m = m.replace(opt=m.opt.replace(iterations=100, ls_iterations=50, tolerance=jnp.zeros(())))
    start, forward = js.make_data(m), jax.jit(js.forward)
    inputs = ("qpos", "qvel", "act", "ctrl", "qacc_warmstart", "mocap_pos", "mocap_quat", "time")
    line: dict = {"model": path, "ours": [], "turned": [], "finer": []}
    for d in states(mj):
        given = {x: jnp.asarray(np.array(getattr(d, x))).reshape(getattr(start, x).shape) for x in inputs}
        line["ours"].append(apart(d, forward(m, start.replace(**given))))
        line["turned"].append(max(apart(d, beside(mj, d, TURN, seed=i)) for i in range(10)))
        line["finer"].append(max(apart(d, beside(mj, d, tolerance=x)) for x in FINER))
    return line


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    for path in args.models:
        print(json.dumps(measured(path)), flush=True)


if __name__ == "__main__":
    main()
