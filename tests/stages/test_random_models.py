"""Random models beside MuJoCo: the compiled fields, and every stage of a step from random states."""

import jax
import mujoco
import numpy as np
import oracle
import pytest
import random_models

import jaxsim as js
from jaxsim.checks.parity import STAGES, converged, field_errors
from jaxsim.collision import broadphase, compact
from jaxsim.collision.slots import are_many
from jaxsim.dynamics import trees

SEEDS = (300, 304, 1024, 1033)
LARGE_SEEDS = (53, 57)  # with energy, tendons and several contacts; 57 with adhesion and elliptic cones
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
    mj = mujoco.MjModel.from_xml_string(xml)
    model = js.load(xml)
    wrong = {k: e for k, e in field_errors(model, mj).items() if isinstance(e, str) or e > 1e-9}
    assert not wrong
    assert _compared(mj, model, seed) > 1


@pytest.mark.parametrize("seed", LARGE_SEEDS)
def test_steps_as_large_scenes_make_them(seed, monkeypatch):
    """Tree by tree, pairs through tiles, room for contacts chosen: what small models never meet."""
    for module, name, value in (
        (trees, "MANY", 2),
        (trees, "SHARE", 1),
        (broadphase, "MANY", 1),
        (compact, "SMALL", 4),
    ):
        monkeypatch.setattr(module, name, value)
    xml = random_models.random_model(seed)
    mj, model = mujoco.MjModel.from_xml_string(xml), js.load(xml)
    assert trees.trees_of(model) is not None and are_many(model)
    assert _compared(mj, model, seed) > 1


def _compared(mj: mujoco.MjModel, model: js.Model, seed: int) -> int:
    """In how many states all stages of a step agree; raises where one does not."""
    model, compared, rng = converged(model, mj), 0, np.random.default_rng(seed)
    step = jax.jit(js.step)
    for scale in (0.0, 0.2, 0.5, 1.0):
        d = _state(mj, rng, scale)
        data = oracle.put(model, d)
        mujoco.mj_step(mj, d)
        if not d.efc_D.size or d.efc_D.max() < ILL_POSED:
            oracle.assert_equal(step(model, data), d, FIELDS)
            compared += 1
    return compared
