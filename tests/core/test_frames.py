"""Frames that almost coincide: kinematics takes those that MuJoCo takes."""

import jax
import mujoco
import numpy as np

import jaxsim as js

# each geom and site is off its body's frame, or that of the inertia, by less than MuJoCo's 1e-6
ALMOST = """
<mujoco>
  <worldbody>
    <body pos="0 0 1">
      <freejoint/>
      <inertial pos="0.1 -0.2 0.3" quat="0.5 0.5 -0.5 0.5" mass="1" diaginertia="0.1 0.2 0.25"/>
      <geom type="box" size="0.1 0.2 0.3" pos="4e-7 0 -3e-7" quat="1 3e-7 -4e-7 0"/>
      <geom type="box" size="0.1 0.2 0.3" pos="1 0 0" quat="-1 3e-7 -4e-7 0"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0.1000004 -0.2 0.3" quat="0.5000002 0.5 -0.5 0.5"/>
      <site pos="0.5 0 0" quat="-0.5 -0.5000004 0.5 -0.5"/>
      <site pos="0.5 0 0" quat="-0.5 -0.51 0.5 -0.5"/>
      <body>
        <inertial pos="3e-7 0 0" quat="1 0 5e-7 0" mass="1" diaginertia="0.1 0.2 0.25"/>
        <joint axis="0 1 0"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def test_poses_equal_mujocos():
    with jax.enable_x64(True):
        reference, model = mujoco.MjModel.from_xml_string(ALMOST), js.load(ALMOST)
        state = mujoco.MjData(reference)
        state.qpos[:] = [0.3, -0.2, 1, 0.8, 0.1, -0.5, 0.32, 0.7]
        mujoco.mj_forward(reference, state)
        data = js.forward(model, js.make_data(model).replace(qpos=state.qpos))
        assert set(reference.geom_sameframe) | set(reference.site_sameframe) == {0, 1, 2, 3, 4}
        for name in ("geom_xpos", "geom_xmat", "site_xpos", "site_xmat", "xipos", "ximat"):
            np.testing.assert_allclose(getattr(data, name), getattr(state, name), atol=1e-14, err_msg=name)
        for name in ("geom_pos", "geom_quat", "site_quat", "body_iquat"):
            np.testing.assert_allclose(getattr(model, name), getattr(reference, name), atol=1e-14, err_msg=name)
