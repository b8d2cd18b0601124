"""MuJoCo C as the oracle: the same model and state in both engines, and comparisons between them."""

import functools
import os
import warnings
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

import jaxsim as js
from jaxsim.collision.shape import NO_CONTACT
from jaxsim.collision.slots import ContactSlots, pairs_of

STATE = ("time", "qpos", "qvel", "act", "ctrl", "qacc_warmstart", "qfrc_applied", "xfrc_applied")
MOCAP = ("eq_active", "mocap_pos", "mocap_quat")


class Pair(NamedTuple):
    """One model in MuJoCo and here, both solving to convergence."""

    mj: mujoco.MjModel
    model: js.Model


def converge(mj: mujoco.MjModel) -> mujoco.MjModel:
    """Let MuJoCo solve exactly: by Newton, dense, no islands, to rounding."""
    mj.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    mj.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    mj.opt.tolerance = 0
    mj.opt.iterations = max(mj.opt.iterations, 100)
    mj.opt.ls_iterations = max(mj.opt.ls_iterations, 50)
    mj.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ISLAND)
    return mj


def pair(mj: mujoco.MjModel, **put) -> Pair:
    """The same model here; an MjcfError if it cannot be simulated, since what a test needs must be."""
    converge(mj)
    return Pair(mj, js.put_model(mj, **put))


@functools.cache
def pair_of_file(path: os.PathLike) -> Pair:
    """The model of a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some third-party files use deprecated attributes
        return pair(mujoco.MjModel.from_xml_path(str(Path(path))))


@functools.cache
def pair_of_xml(xml: str) -> Pair:
    """The model of an XML string."""
    return pair(mujoco.MjModel.from_xml_string(xml))


def put(model: js.Model, d: mujoco.MjData) -> js.Data:
    """MuJoCo's state and inputs as Data; derived fields are zero."""
    data = js.make_data(model)
    values = {name: np.array(getattr(d, name)) for name in (*STATE, *MOCAP)}
    return data.replace(**{n: jnp.asarray(v, getattr(data, n).dtype) for n, v in values.items()})


def start(mj: mujoco.MjModel) -> mujoco.MjData:
    """MuJoCo's data at the first keyframe, or at qpos0."""
    d = mujoco.MjData(mj)
    if mj.nkey:
        mujoco.mj_resetDataKeyframe(mj, d, 0)
    return d


def random_ctrl(rng: np.random.Generator, mj: mujoco.MjModel) -> np.ndarray:
    """Controls in the middle of their ranges, or of [-1, 1]."""
    limited = np.asarray(mj.actuator_ctrllimited, bool)[:, None]
    span = np.where(limited, mj.actuator_ctrlrange, [[-1.0, 1.0]])
    return span[:, 0] + (span[:, 1] - span[:, 0]) * rng.uniform(0.3, 0.7, mj.nu)


def states(mj: mujoco.MjModel, rng: np.random.Generator, steps=(0, 40, 80)):
    """MuJoCo's data, forwarded, after each of the given numbers of further steps with random controls."""
    d = start(mj)
    for i, n in enumerate(steps):
        for _ in range(n):
            d.ctrl[:] = random_ctrl(rng, mj)
            mujoco.mj_step(mj, d)
        if i == 0:
            d.qvel[:] += 0.1 * rng.standard_normal(mj.nv)
        d.ctrl[:] = random_ctrl(rng, mj)
        mujoco.mj_forward(mj, d)
        yield d


def error(ours, theirs) -> float:
    """Largest difference relative to 1 + the largest value."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    assert ours.shape == theirs.shape, f"shape {ours.shape}, MuJoCo's is {theirs.shape}"
    if not theirs.size:
        return 0.0
    return float(np.abs(ours - theirs).max() / (1 + np.abs(theirs).max())) if np.isfinite(ours).all() else np.inf


def assert_equal(data: js.Data, d: mujoco.MjData, fields, tolerance: float = 1e-9) -> None:
    """The given fields agree; all that do not are named."""
    errors = {name: error(getattr(data, name), getattr(d, name)) for name in fields}
    wrong = {name: f"{e:.1e}" for name, e in errors.items() if not e < tolerance}
    assert not wrong, f"differ from MuJoCo: {wrong}"


def single(tree):
    """Floating point leaves in float32."""
    return jax.tree.map(lambda x: x.astype(jnp.float32) if x.dtype.kind == "f" else x, tree)


def slots_of(model: js.Model, d: mujoco.MjData, size: int) -> ContactSlots:
    """MuJoCo's contacts in slots [size] of which pairs are chosen at run time, as colliders would have found them."""
    table, idle = pairs_of(model), size - d.ncon
    pair_of = {(a, b): i for i, (a, b) in enumerate(zip(table.geom1, table.geom2))}
    pair = np.array([*(pair_of[tuple(c.geom)] for c in d.contact), *[0] * idle], np.int32)
    dist, pos, frame = (
        np.concatenate([getattr(d.contact, name), np.full((idle, *shape), NO_CONTACT)])
        for name, shape in (("dist", ()), ("pos", (3,)), ("frame", (9,)))
    )
    return ContactSlots(dist, pos, frame.reshape(-1, 3, 3), pair, None, None, None)
