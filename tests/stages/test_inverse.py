"""Inverse dynamics against MuJoCo, and as the inverse of the forward dynamics."""

import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js


def test_inverse(models, rng):
    mj, model = models
    for d in oracle.states(mj, rng, (0, 60)):
        data = oracle.put(model, d).replace(qacc=d.qacc.copy())
        mujoco.mj_inverse(mj, d)
        inverse = js.inverse(model, data)
        oracle.assert_equal(inverse, d, ["qfrc_inverse", "qfrc_constraint"])


def test_inverse_of_any_acceleration(models, rng):
    mj, model = models
    for d in oracle.states(mj, rng, (20,)):
        d.qacc[:] = d.qacc + rng.standard_normal(mj.nv)
        data = oracle.put(model, d).replace(qacc=d.qacc.copy())
        mujoco.mj_inverse(mj, d)
        oracle.assert_equal(js.inverse(model, data), d, ["qfrc_inverse"])


def test_inverse_returns_what_forward_was_given(models, rng):
    mj, model = models
    d = next(oracle.states(mj, rng, (30,)))
    given = rng.standard_normal(mj.nv)
    data = oracle.put(model, d).replace(qfrc_applied=jnp.asarray(given))
    moved = js.forward(model, data)
    inverse = js.inverse(model, moved)
    total = np.asarray(moved.qfrc_smooth + moved.qfrc_bias - moved.qfrc_passive)
    assert oracle.error(inverse.qfrc_inverse, total) < 1e-9


FWDINV = """
<mujoco>
  <option {option}><flag fwdinv="enable" {flag}/></option>
  <worldbody><geom type="plane" size="1 1 1"/>
    <body pos="0 0 .099"><freejoint/><geom type="box" size=".1 .2 .1"/>
      <body pos="0 0 .1"><joint name="hinge" axis="1 0 0" range="-.1 .1" damping=".3"/>
        <geom type="capsule" size=".02" fromto="0 0 0 0 .3 .3"/></body></body>
  </worldbody>
  <actuator><motor joint="hinge"/></actuator>
</mujoco>
"""


@pytest.mark.parametrize(
    ("option", "flag"),
    [('solver="CG" iterations="3" tolerance="0"', ""), ('cone="elliptic"', 'invdiscrete="enable"')],
)
def test_solver_fwdinv(option, flag):
    """Inverse dynamics does not find what a search found that was ended early, nor what qacc means to an integrator."""
    xml = FWDINV.format(option=option, flag=flag)
    mj, model = mujoco.MjModel.from_xml_string(xml), js.load(xml)
    d = mujoco.MjData(mj)
    d.qvel[:], d.ctrl[:], d.qfrc_applied[0], d.xfrc_applied[2, 1] = [0.003, 0, -0.002, 0, 0.005, 0, 2], 1, 0.7, -0.4
    data = oracle.put(model, d).replace(
        ctrl=d.ctrl.copy(), qfrc_applied=d.qfrc_applied.copy(), xfrc_applied=d.xfrc_applied.copy()
    )
    mujoco.mj_step(mj, d)
    assert d.solver_fwdinv.max() > 1e-3, "nothing to compare"
    np.testing.assert_allclose(js.step(model, data).solver_fwdinv, d.solver_fwdinv, rtol=1e-6, atol=1e-9)
