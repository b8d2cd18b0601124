"""The bundled MJCF models: found by name, of the promised size, at rest and stable in MuJoCo C."""

import numpy as np
import pytest

from jaxsim import models

mujoco = pytest.importorskip("mujoco")


def compiled(name):
    return mujoco.MjModel.from_xml_path(str(models.path(name)))


def test_unknown_name_lists_the_closest():
    with pytest.raises(KeyError, match="no bundled model is called 'humanoit'; closest: humanoid"):
        models.path("humanoit")


def test_sizes():
    sizes = {n: (compiled(n).nv, compiled(n).nu) for n in models.names()}
    assert sizes == {
        "ant": (14, 8), "arm": (15, 8), "box_stack": (36, 0), "cart_pole": (2, 1), "half_cheetah": (9, 6), "hand": (15, 9),
        "hopper": (6, 3), "humanoid": (27, 21), "peg": (6, 4), "quadruped": (18, 12),
        "quadruped_terrain": (18, 12),
    }  # fmt: skip


@pytest.mark.parametrize("name", models.names())
def test_every_start_is_within_limits_and_hardly_penetrates(name):
    m = compiled(name)
    for key in range(-1, m.nkey):
        d = mujoco.MjData(m)
        if key >= 0:
            mujoco.mj_resetDataKeyframe(m, d, key)
        mujoco.mj_forward(m, d)
        assert d.contact.dist.min(initial=0) > -0.002
        scalar = (m.jnt_limited == 1) & (m.jnt_type >= 2)
        q = d.qpos[m.jnt_qposadr[scalar]]
        assert np.all(q >= m.jnt_range[scalar, 0]) and np.all(q <= m.jnt_range[scalar, 1])


@pytest.mark.parametrize("name", models.names())
def test_stable_under_random_controls(name):
    m = compiled(name)
    d = mujoco.MjData(m)
    rng = np.random.default_rng(0)
    for i in range(1000):
        if m.nu and i % 10 == 0:
            d.ctrl[:] = rng.uniform(*m.actuator_ctrlrange.T)
        mujoco.mj_step(m, d)
    assert sum(w.number for w in d.warning) == 0
    assert np.abs(d.qvel).max() < 80


def test_the_arm_can_lift_its_box():
    m = compiled("arm")
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, m.key("ready").id)
    # shoulder, elbow and wrist pitch: above the box, around it, close, up
    for pitch, opening, steps in [
        ((0.983, 1.481, 0.677), 0.08, 700),
        ((0.983, 1.481, 0.677), 0.02, 500),
        ((0.644, 1.406, 1.091), 0.02, 1500),
    ]:
        d.ctrl[[1, 3, 5]], d.ctrl[7] = pitch, opening
        mujoco.mj_step(m, d, steps)
    assert d.body("box").xpos[2] > 0.5


def test_the_gantry_can_put_its_peg_into_a_hole_that_is_aside_and_turned():
    m = compiled("peg")
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    d.mocap_pos[0], d.mocap_quat[0] = (0.04, -0.03, 0), (np.cos(0.15), 0, 0, np.sin(0.15))
    for z, error in [(-0.06, 0.001), (-0.16, 0.001)]:  # above the hole, a millimetre aside, and down
        d.ctrl[:] = 0.04 + error, -0.03, z, 0.3
        mujoco.mj_step(m, d, 300)
    assert np.linalg.norm(d.sensor("peg_position").data) < 0.004
    d.ctrl[:3] = 0.06, -0.03, -0.06  # and not into the block
    mujoco.mj_step(m, d, 300)
    d.ctrl[2] = -0.16
    mujoco.mj_step(m, d, 300)
    assert d.sensor("peg_position").data[2] > 0.04


def test_the_hand_can_turn_its_cube():
    m = compiled("hand")
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    d.ctrl[:] = [0, -0.2, 1.9] * 3
    mujoco.mj_step(m, d, 100)
    d.ctrl[::3] = 0.5
    mujoco.mj_step(m, d, 100)
    assert abs(2 * np.arcsin(d.joint("cube").qpos[6])) > 0.2 and d.joint("cube").qpos[2] > 0.225
