"""Errors of single precision, stage by stage, are what PRECISION.md states."""

import functools
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest
from test_conservation import XML as SMOOTH
from test_mechanisms import XML as MECHANISMS

import jaxsim as js
from jaxsim.core.enums import Integrator, Solver

TABLE = Path(js.__file__).parent / "stages" / "PRECISION.md"
FIELDS = {
    "kinematics": ("xpos", "xmat", "site_xpos"),
    "com_pos": ("subtree_com", "cinert", "cdof"),
    "tendon": ("ten_length", "ten_velocity"),
    "transmission": ("actuator_length", "actuator_velocity"),
    "crb": ("qM",),
    "com_vel": ("cvel",),
    "rne": ("qfrc_bias",),
    "passive": ("qfrc_passive",),
    "actuation": ("act_dot", "actuator_force", "qfrc_actuator"),
    "fwd_acceleration": ("qacc_smooth",),
    "constraint": ("qfrc_constraint", "qacc"),
    "sensor": ("sensordata",),
}
STATES = 8


def _states(mj: mujoco.MjModel, steps: int) -> list[np.ndarray]:
    """States [STATES, ...] that MuJoCo comes to under random controls: qpos, qvel, act, ctrl."""
    rng, d, found = np.random.default_rng(0), mujoco.MjData(mj), []
    for _ in range(STATES):
        low, high = np.where(mj.actuator_ctrllimited[:, None], mj.actuator_ctrlrange, (-1, 1)).T
        d.ctrl[:] = rng.uniform(low, high)
        mujoco.mj_step(mj, d, steps)
        found.append((d.qpos.copy(), d.qvel.copy(), d.act.copy(), d.ctrl.copy()))
    return [np.array(x) for x in zip(*found)]


def _evaluated(mj: mujoco.MjModel, states: list[np.ndarray], double: bool, fun) -> dict[str, np.ndarray]:
    with jax.enable_x64(double):
        model = js.put_model(mj)

        def one(qpos, qvel, act, ctrl):
            return fun(model, js.make_data(model).replace(qpos=qpos, qvel=qvel, act=act, ctrl=ctrl))

        real = jnp.float64 if double else jnp.float32
        found = jax.jit(jax.vmap(one))(*(jnp.asarray(x, real) for x in states))
        return {name: np.asarray(x, float) for name, x in found.items()}


def _assert_as_stated(names: dict[str, str], single: dict, double: dict) -> None:
    """Largest error relative to the largest value: at most what the table says, and not far below it."""
    text, wrong = TABLE.read_text(), []
    for name, row in names.items():
        error = np.abs(single[name] - double[name]).max() / np.abs(double[name]).max()
        found = re.search(rf"^\| {re.escape(row)} \| (\S+) \|$", text, re.MULTILINE)
        stated = float(found.group(1)) if found else 0.0
        if not stated / 20 <= error <= stated:
            wrong.append(f"{row}: {error:.1e}, stated {stated:.0e}")
    assert not wrong, wrong


def test_stages():
    """All that a forward evaluation gives, of the mechanisms of the test beside this one."""
    mj = oracle.converge(mujoco.MjModel.from_xml_string(MECHANISMS))
    states = _states(mj, 40)
    names = [name for group in FIELDS.values() for name in group]

    def run(model, data):
        done = js.forward(model, data)
        return {name: getattr(done, name) for name in names}

    double, single = (_evaluated(mj, states, x, run) for x in (True, False))
    _assert_as_stated({n: f"{stage} | {n}" for stage, group in FIELDS.items() for n in group}, single, double)


@functools.cache
def _robot():
    mj = mujoco.MjModel.from_xml_path(str(Path(js.__file__).parent / "models" / "quadruped.xml"))
    return mj, _states(mj, 50)


def _solved(solver: Solver, double: bool) -> dict[str, np.ndarray]:
    mj, states = _robot()
    mj.opt.solver, mj.opt.iterations, mj.opt.tolerance = int(solver), 100, 1e-12 if double else 1e-8
    return _evaluated(mj, states, double, lambda m, d: {solver.name.lower(): js.forward(m, d).qacc})


def test_solvers():
    """Accelerations of a walking quadruped, beside Newton's in double precision."""
    double = _solved(Solver.NEWTON, True)["newton"]
    for solver in (Solver.NEWTON, Solver.CG, Solver.PGS):
        name = solver.name.lower()
        _assert_as_stated({name: f"solver {name} | qacc"}, _solved(solver, False), {name: double})


@pytest.mark.parametrize("integrator", Integrator, ids=lambda i: i.name)
def test_integrators(integrator):
    """What a hundred steps of smooth motion add up to."""
    mj = mujoco.MjModel.from_xml_string(SMOOTH)
    mj.opt.integrator, mj.opt.timestep = int(integrator), 0.002
    rng = np.random.default_rng(0)
    states = [
        np.tile(mj.qpos0, (STATES, 1)),
        rng.standard_normal((STATES, mj.nv)),
        np.zeros((STATES, 0)),
        np.zeros((STATES, 0)),
    ]

    def run(model, data):
        data = jax.lax.fori_loop(0, 100, lambda _, x: js.step(model, x), data)
        return {"qpos": data.qpos, "qvel": data.qvel}

    double, single = (_evaluated(mj, states, x, run) for x in (True, False))
    name = integrator.name.lower()
    _assert_as_stated({n: f"100 steps, {name} | {n}" for n in ("qpos", "qvel")}, single, double)
