"""A robot as users write them, read by our own compiler and run freely beside MuJoCo: many features in one program.

Nested default classes, full inertias, priorities and condim 6 at the feet, limits of joint forces, servos with
activations, motors with gears, a step to stand on, sensors of motion, touch and contact, a moving keyframe.
"""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle

import jaxsim as js

ROBOT = """
<mujoco model="quad">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.004" cone="elliptic" impratio="100" iterations="50"/>
  <default>
    <geom type="capsule" contype="0" conaffinity="0" group="2"/>
    <default class="leg">
      <joint damping="2" armature="0.01" frictionloss="0.2"/>
      <motor ctrlrange="-20 20" gear="1.5"/>
      <default class="col"><geom contype="1" conaffinity="1" group="3"/>
        <default class="foot">
          <geom type="sphere" size=".022" priority="1" condim="6" solimp="0.015 1 0.022" friction="0.8 0.02 0.01"/>
          </default></default>
      <default class="hip"><joint axis="1 0 0" range="-0.8 0.8"/></default>
      <default class="thigh"><joint axis="0 1 0" range="-1 3"/></default>
      <default class="knee"><joint axis="0 1 0" range="-2.7 -0.8" actuatorfrcrange="-25 25"/></default>
    </default>
  </default>
  <asset><texture name="g" type="2d" builtin="checker" width="32" height="32"/>
    <material name="g" texture="g"/></asset>
  <worldbody>
    <light directional="true" pos="0 0 2" mode="trackcom"/>
    <geom name="floor" type="plane" size="0 0 .05" material="g" contype="1" conaffinity="1" friction="0.6"/>
    <body name="step" pos=".3 0 0">
      <geom type="box" size=".1 .5 .03" pos="0 0 .03" contype="1" conaffinity="1"/></body>
    <body name="trunk" pos="0 0 .3" childclass="leg">
      <camera name="t" pos="0 -1 .3" mode="track"/>
      <inertial pos="0 0 0.005" mass="5" fullinertia="0.02 0.05 0.06 0.0001 -0.0002 0.0003"/>
      <freejoint name="root"/>
      <geom type="box" size=".18 .08 .05" class="col"/>
      <site name="imu" pos="-.02 0 .03" quat="0.9 0.1 0.2 0.3"/>
      <body name="FR" pos=".18 -.05 0"><joint name="FR_hip" class="hip"/>
        <inertial pos="0 0 0" mass=".5" diaginertia=".0005 .0007 .0006"/>
        <body name="FR_t" pos="0 -.08 0"><joint name="FR_thigh" class="thigh"/>
          <geom fromto="0 0 0 0 0 -.2" size=".02" class="col" mass=".8"/>
          <body name="FR_c" pos="0 0 -.2"><joint name="FR_knee" class="knee"/>
            <geom fromto="0 0 0 0 0 -.2" size=".013" class="col" mass=".15"/>
            <geom name="FR" class="foot" pos="0 0 -.2" mass=".05"/>
            <site name="FR" pos="0 0 -.2" size=".03"/></body></body></body>
      <body name="RL" pos="-.18 .05 0"><joint name="RL_hip" class="hip"/>
        <inertial pos="0 0 0" mass=".5" diaginertia=".0005 .0007 .0006"/>
        <body name="RL_t" pos="0 .08 0"><joint name="RL_thigh" class="thigh"/>
          <geom fromto="0 0 0 0 0 -.2" size=".02" class="col" mass=".8"/>
          <body name="RL_c" pos="0 0 -.2"><joint name="RL_knee" class="knee"/>
            <geom fromto="0 0 0 0 0 -.2" size=".013" class="col" mass=".15"/>
            <geom name="RL" class="foot" pos="0 0 -.2" mass=".05"/></body></body></body>
    </body>
  </worldbody>
  <actuator><motor class="leg" joint="FR_hip"/><motor class="leg" joint="FR_thigh"/>
    <motor class="leg" joint="FR_knee"/><velocity joint="RL_hip" kv="2" ctrlrange="-3 3"/>
    <intvelocity joint="RL_thigh" kp="30" kv="1" actrange="-1 2" ctrlrange="-2 2"/>
    <motor class="leg" joint="RL_knee" forcerange="-10 10"/></actuator>
  <sensor><accelerometer site="imu" noise="0.01"/><gyro site="imu" cutoff="20"/>
    <framequat objtype="site" objname="imu"/><touch site="FR"/><subtreelinvel body="trunk"/>
    <subtreeangmom body="trunk"/><framelinacc objtype="xbody" objname="FR_c"/>
    <contact geom1="floor" geom2="FR" data="found force normal" reduce="maxforce"/></sensor>
  <keyframe><key qpos="0 0 .27 1 0 0 0 0 .9 -1.8 0 .9 -1.8" qvel="0.5 0 0 0 0 0  0 0 0 0 0 0" act="0.9"/>
    </keyframe>
</mujoco>
"""


def test_a_robot_from_its_file_runs_as_in_mujoco(rng):
    mj = oracle.converge(mujoco.MjModel.from_xml_string(ROBOT))
    model = js.load(ROBOT)
    tight = {"iterations": mj.opt.iterations, "ls_iterations": mj.opt.ls_iterations, "tolerance": jnp.zeros(())}
    model = model.replace(opt=model.opt.replace(**tight))
    step, d = jax.jit(js.step), oracle.start(mj)
    data = oracle.put(model, d)
    touched = 0
    for _ in range(60):
        d.ctrl[:] = oracle.random_ctrl(rng, mj)
        mujoco.mj_step(mj, d)
        data = step(model, data.replace(ctrl=jnp.asarray(d.ctrl)))
        oracle.assert_equal(data, d, ["qpos", "qvel", "act", "sensordata", "qfrc_constraint"])
        touched = max(touched, d.ncon)
    assert touched >= 2 and np.abs(d.sensordata[-7:]).max() > 1
