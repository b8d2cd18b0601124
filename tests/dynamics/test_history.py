"""Late controls and readings against MuJoCo: every interpolation, delays between steps, periods and phases."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js

XML = """
<mujoco>
  <option timestep=".01"/>
  <worldbody>
    <body><joint name="s" type="slide" axis="1 0 .3"/><geom size=".1"/><site name="a"/>
      <body pos=".2 0 0"><joint name="h" axis="0 1 0" damping=".1"/><geom size=".1" pos=".1 0 0"/><site name="b"/></body></body>
  </worldbody>
  <actuator>
    <orientation site="a" refsite="b" kp=".2"/>
    <motor joint="s" nsample="5" delay=".03" ctrlrange="-1 1"/>
    <motor joint="h" nsample="5" delay=".034" interp="linear"/>
    <position joint="h" nsample="4" delay=".0275" interp="cubic" kp="3"/>
    <motor name="pushes" joint="s" nsample="3"/>
  </actuator>
  <sensor>
    <jointpos joint="h"/>
    <jointpos joint="h" nsample="6" delay=".03"/>
    <accelerometer site="b" nsample="6" delay=".025" interp="linear"/>
    <framepos objtype="site" objname="b" nsample="3" interval=".035" interp="cubic"/>
    <jointvel joint="s" nsample="8" interval=".02 -.013" delay=".041" interp="cubic"/>
    <actuatorfrc actuator="pushes" nsample="4"/>
  </sensor>
</mujoco>
"""
FIELDS = ("time", "history", "sensordata", "actuator_force", "qpos", "qvel")


def test_a_rollout(rng):
    """History, readings and forces of every step, from the start on, when buffers still hold what was put there."""
    mj, model = oracle.pair(mujoco.MjModel.from_xml_string(XML))
    d, data, step = mujoco.MjData(mj), js.make_data(model), jax.jit(js.step)
    oracle.assert_equal(data, d, ("history",), 1e-15)
    for _ in range(40):
        d.ctrl[:] = 2 * rng.standard_normal(mj.nu)
        data = step(model, data.replace(ctrl=jnp.asarray(d.ctrl)))
        mujoco.mj_step(mj, d)
        oracle.assert_equal(data, d, FIELDS)
    d.time = data.time - 0.015  # between samples: a new one drops the oldest
    data = data.replace(time=jnp.asarray(d.time))
    for _ in range(3):
        data = step(model, data)
        mujoco.mj_step(mj, d)
        oracle.assert_equal(data, d, FIELDS)


def test_controls_arrive_after_whole_steps(float32):
    """In single precision too, where the sum of many steps is off by more than mjMINVAL."""
    xml = """<mujoco><option timestep=".001"/><worldbody><body><joint name="j" type="slide"/><geom size=".1"/></body></worldbody>
      <actuator><motor joint="j" nsample="6" delay=".005"/></actuator></mujoco>"""
    model = js.load(xml)
    ctrl = jnp.arange(1.0, 2001.0)[:, None]
    _, force = js.rollout(model, js.make_data(model), ctrl, outputs=_force)
    np.testing.assert_array_equal(force[5:, 0], ctrl[:-5, 0])
    np.testing.assert_array_equal(force[:5, 0], 0)


def _force(data: js.Data) -> jax.Array:
    return data.actuator_force


def test_late_sensors_and_rk4_are_refused():
    with pytest.raises(js.MjcfError, match="delay with RK4"):
        js.load(XML.replace('timestep=".01"', 'integrator="RK4"'))
