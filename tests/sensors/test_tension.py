"""Force and torque sensors of bodies that spatial tendons pull at: their tension counts as acting from outside."""

import jax
import mujoco
import numpy as np
import oracle

import jaxsim as js

# a floating body, an arm on it and a hand on that; all that can act along a tendon does so along one of them
XML = """
<mujoco>
  <worldbody>
    <site name="hook" pos="0 0 2"/><site name="ring" pos="1 .2 1.8"/>
    <geom name="roll" type="cylinder" size=".05 .3" pos=".1 0 1.5" euler="90 0 0" contype="0" conaffinity="0"/>
    <body name="base" pos=".3 0 1">
      <freejoint/><geom size=".1"/><site name="s" pos="0 .05 .02"/>
      <body name="arm" pos=".3 0 0">
        <joint name="shoulder" axis="0 1 0" stiffness="3"/><geom size=".08" mass="1"/><site name="t" pos=".02 .03 0"/>
        <body name="hand" pos=".2 0 0"><joint axis="0 0 1"/><geom size=".05"/><site name="u" pos=".05 .01 .02"/></body>
      </body>
    </body>
  </worldbody>
  <tendon>
    <spatial name="motor"><site site="hook"/><site site="t"/><site site="u"/></spatial>
    <spatial name="spring" stiffness="10" springlength="0"><site site="hook"/><geom geom="roll"/><site site="s"/></spatial>
    <spatial name="heavy" armature="3" damping="2"><site site="ring"/><site site="t"/></spatial>
    <spatial name="rough" frictionloss="3"><site site="ring"/><site site="u"/></spatial>
    <spatial name="short" limited="true" range="0 .5">
      <site site="ring"/><site site="s"/><pulley divisor="2"/><site site="hook"/><site site="u"/>
    </spatial>
    <spatial name="tied"><site site="s"/><site site="u"/></spatial>
    <fixed name="sum"><joint joint="shoulder" coef="2"/></fixed>
  </tendon>
  <equality><tendon tendon1="tied" tendon2="sum" polycoef=".1 2 1 0 0"/></equality>
  <actuator>
    <general tendon="motor" gear="3" gainprm="2" biastype="affine" biasprm="1 2 3"/>
    <motor tendon="heavy" armature=".2" damping=".3"/><motor tendon="sum"/><motor joint="shoulder"/>
  </actuator>
  <sensor>
    <force site="s"/><torque site="s"/><force site="t"/><torque site="t"/><force site="u"/><torque site="u"/>
    <force site="hook"/>
  </sensor>
</mujoco>
"""


def test_loads_under_tension():
    mj, model = oracle.pair_of_xml(XML)
    forward, d = jax.jit(js.forward), mujoco.MjData(mj)
    d.qvel[:], d.ctrl[:] = np.linspace(-0.4, 0.5, mj.nv), [1, -2, 0.5, 0.3]
    for steps in (0, 25):
        for _ in range(steps):
            mujoco.mj_step(mj, d)
        mujoco.mj_forward(mj, d)
        data = forward(model, oracle.put(model, d))
        assert np.abs(d.cfrc_ext).max() > 10, "nothing pulls"
        assert oracle.error(data.sensordata, d.sensordata) < 1e-9
