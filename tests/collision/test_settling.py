"""Scenes of benchmarks/settling.py in single precision, for a while: as high as in MuJoCo C, at rest, all contacts found."""

import mujoco
import numpy as np
import pytest
from settling_scenes import SCENES

import jaxsim as js

STEPS = 300  # 0.6 s


def _height(qpos: np.ndarray) -> np.ndarray:
    return qpos.reshape(-1, 7)[:, 2]


@pytest.mark.parametrize("name", ["stack of 10 boxes", "capsule Jenga"])
def test_they_stay_where_they_are(float32, name):
    """The bound is a hundredth of the height; these scenes stay as they are built, and so are far within it."""
    xml = SCENES[name]()
    mj = mujoco.MjModel.from_xml_string(xml)
    theirs = mujoco.MjData(mj)
    mujoco.mj_step(mj, theirs, STEPS)
    model = js.load(xml)
    here, _ = js.rollout(model, js.make_data(model), length=STEPS)
    assert not any(js.warnings_of(here).values()), "every contact has room by default"
    np.testing.assert_allclose(_height(here.qpos), _height(theirs.qpos), rtol=1e-4)
    assert abs(theirs.qvel).max() < 1e-3 and abs(np.asarray(here.qvel)).max() < 1e-3
    assert int(here.ncon) == theirs.ncon and here.qpos.dtype == np.float32


@pytest.mark.parametrize("name", [name for name in SCENES if "nut" not in name])
def test_all_contacts_of_a_heap_have_room(name):
    """More slots than MuJoCo C ever has contacts while it settles."""
    xml = SCENES[name]()
    mj = mujoco.MjModel.from_xml_string(xml)
    d, most = mujoco.MjData(mj), 0
    for _ in range(1000):
        mujoco.mj_step(mj, d)
        most = max(most, d.ncon)
    assert most < js.load(xml).nconmax
