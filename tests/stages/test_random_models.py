"""Random models beside MuJoCo: the compiled fields, and every stage of a step from random states."""

import jax
import mujoco
import numpy as np
import oracle
import pytest
import random_models

import jaxsim as js
from jaxsim.checks.parity import STAGES, converged, field_errors

SEEDS = (300, 304, 1024, 1033)
ILL_POSED = 1e10  # rows of which D is larger hold what nothing can move
STEP = ("qpos", "qvel", "act", "qacc", "act_dot", "energy", "sensordata", "nefc", "ncon")
FIELDS = (*STAGES, *STEP)


def _state(mj: mujoco.MjModel, rng: np.random.Generator, scale: float) -> mujoco.MjData:
    d = mujoco.MjData(mj)
    mujoco.mj_integratePos(mj, d.qpos, scale * rng.standard_normal(mj.nv), 1.0)
    d.act[:] = 0.3 * rng.standard_normal(mj.na)
    d.xfrc_applied[1:] = rng.standard_normal((mj.nbody - 1, 6))
    for field in (d.qvel, d.ctrl, d.qfrc_applied):
        field[:] = rng.standard_normal(len(field))
    return d


@pytest.mark.parametrize("seed", SEEDS)
def test_steps(seed):
    xml = random_models.random_model(seed)
    mj, rng = mujoco.MjModel.from_xml_string(xml), np.random.default_rng(seed)
    model = js.load(xml)
    wrong = {k: e for k, e in field_errors(model, mj).items() if isinstance(e, str) or e > 1e-9}
    assert not wrong
    model, compared = converged(model, mj), 0
    step = jax.jit(js.step)
    for scale in (0.0, 0.2, 0.5, 1.0):
        d = _state(mj, rng, scale)
        data = oracle.put(model, d)
        mujoco.mj_step(mj, d)
        if not d.efc_D.size or d.efc_D.max() < ILL_POSED:
            oracle.assert_equal(step(model, data), d, FIELDS)
            compared += 1
    assert compared > 1
