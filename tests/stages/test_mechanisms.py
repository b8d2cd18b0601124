"""What people build, side by side in one world, for 500 steps beside MuJoCo C: an arm and a leg with muscles, a hand
driven by tendons, a quadrotor, a swimmer and a fish in a fluid, a car, a gripper that adheres, a servo with a delay.
"""

import jax
import mujoco
import numpy as np
import oracle

import jaxsim as js

ARM = """
<geom name="ball" type="sphere" size=".03" pos="0 0 1.4" contype="0" conaffinity="0"/>
<site name="chest" pos=".07 0 1.46"/><site name="blade" pos="-.08 0 1.42"/>
<body name="arm" pos="0 0 1.4">
  <joint name="shoulder" axis="0 1 0" damping=".2" range="-100 40"/><geom type="capsule" size=".03" fromto="0 0 0 0 0 -.3"/>
  <geom name="drum" type="cylinder" size=".024 .03" pos="0 0 -.31" euler="90 0 0" contype="0" conaffinity="0"/>
  <site name="front" pos=".035 0 -.11"/><site name="back" pos="-.035 0 -.12"/><site name="behind" pos="-.05 0 -.31"/>
  <body pos="0 0 -.31"><joint axis="0 1 0" damping=".2" range="-130 -5"/>
    <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.25"/>
    <site name="inside" pos=".026 0 -.06"/><site name="outside" pos="-.028 0 -.03"/></body></body>
"""
LEG = """
<body name="leg" pos="1 0 .82"><joint type="slide" axis="0 0 1"/><geom type="box" size=".1 .08 .05" mass="6"/>
  <site name="hip_front" pos=".08 0 0"/><site name="hip_back" pos="-.08 0 0"/>
  <body><joint name="hip" axis="0 1 0" range="-70 40" damping=".5"/><geom type="capsule" size=".045" fromto="0 0 -.05 0 0 -.38"/>
    <site name="thigh" pos=".05 0 -.2"/><site name="thigh_back" pos="-.05 0 -.2"/>
    <body pos="0 0 -.4"><joint axis="0 1 0" range="2 120" damping=".5"/>
      <geom name="knee" type="cylinder" size=".04 .04" euler="90 0 0" contype="0" conaffinity="0" mass=".1"/>
      <geom type="capsule" size=".035" fromto="0 0 -.05 0 0 -.36"/><geom size=".045" pos="0 0 -.38" condim="4"/>
      <site name="shin" pos=".04 0 -.1"/><site name="calf" pos="-.04 0 -.1"/></body></body></body>
"""
FINGER = """
<body pos="0 {y} .1"><joint name="{n}" axis="0 {s} 0" range="-10 95" damping=".02" stiffness=".1"/>
  <geom type="capsule" size=".01" fromto="0 0 0 .05 0 0"/><site name="{n}0" pos=".01 0 -.012"/><site name="{n}1" pos=".04 0 -.012"/>
  <body pos=".05 0 0"><joint axis="0 {s} 0" range="-10 95" damping=".02" stiffness=".1"/>
    <geom type="capsule" size=".009" fromto="0 0 0 .04 0 0"/><site name="{n}2" pos=".02 0 -.01"/></body></body>
"""
HAND = f"""
<site name="palm" pos="1.95 0 .09"/><site name="wrist" pos="2 0 .09"/>
<body name="hand" pos="2 0 0">
  {FINGER.format(y=-0.03, s=1, n="finger")}{FINGER.format(y=0.03, s=1, n="thumb")}</body>
<body name="egg" pos="2.06 0 .03"><freejoint/><geom type="ellipsoid" size=".03 .025 .025" mass=".05"/></body>
"""
QUADROTOR = """
<body name="quadrotor" pos="3 0 1"><freejoint name="rotors"/><geom type="box" size=".06 .06 .02" mass=".4"/>
  <site name="r1" pos=".12 .12 0"/><site name="r2" pos="-.12 .12 0"/><site name="r3" pos="-.12 -.12 0"/><site name="r4" pos=".12 -.12 0"/></body>
"""
SWIMMER = """
<body name="swimmer" pos="4 0 1" gravcomp="1">
  <joint name="ahead" type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint axis="0 0 1"/>
  <geom type="capsule" size=".03" fromto="0 0 0 .2 0 0"/>
  <body><joint name="tail1" axis="0 0 1" range="-80 80" damping=".01"/><geom type="capsule" size=".03" fromto="0 0 0 -.2 0 0"/>
    <body pos="-.2 0 0"><joint name="tail2" axis="0 0 1" range="-80 80" damping=".01"/>
      <geom type="capsule" size=".03" fromto="0 0 0 -.2 0 0"/></body></body></body>
"""
FISH = """
<body name="fish" pos="5 0 1" gravcomp=".9"><freejoint/><geom type="ellipsoid" size=".12 .03 .05" fluidshape="ellipsoid"/>
  <body pos="-.12 0 0"><joint name="fin" axis="0 0 1" range="-50 50" damping=".002"/>
    <geom type="ellipsoid" size=".05 .006 .04" pos="-.05 0 0" fluidshape="ellipsoid" fluidcoef=".4 .2 1.2 .8 1.1"/></body></body>
"""
CAR = """
<body name="car" pos="6 0 .055"><freejoint name="wheels"/><geom type="box" size=".12 .06 .02" mass="1"/>
  <geom size=".02" pos="-.1 0 -.034" condim="1" mass=".05"/>
  <body pos=".06 .08 0" euler="90 0 0"><joint name="left" axis="0 0 -1"/><geom type="cylinder" size=".05 .015" mass=".2"/></body>
  <body pos=".06 -.08 0" euler="90 0 0"><joint name="right" axis="0 0 -1"/><geom type="cylinder" size=".05 .015" mass=".2"/></body></body>
"""
GRIPPER = """
<body name="gripper" pos="7 0 .2"><joint name="lift" type="slide" axis="0 0 1" damping="5"/>
  <body name="cup"><geom type="box" size=".04 .04 .02" mass=".3" margin=".002" gap=".002"/></body></body>
<body name="load" pos="7 0 .05" gravcomp=".2"><freejoint name="load"/><geom type="box" size=".05 .05 .05" mass=".5"/></body>
"""
SERVO = """
<body name="servo" pos="8 0 .5"><joint name="swing" axis="0 1 0" damping=".1"/><geom type="capsule" size=".02" fromto="0 0 0 .2 0 -.1"/></body>
"""
XML = f"""
<mujoco>
  <option timestep=".002" density="80" viscosity=".02" wind=".3 .1 0" integrator="implicitfast"/>
  <default><default class="muscle"><muscle ctrlrange="0 1" force="150"/></default><default class="rotor"><motor ctrlrange="0 4"/></default></default>
  <worldbody><geom type="plane" size="0 0 .1"/>{ARM}{LEG}{HAND}{QUADROTOR}{SWIMMER}{FISH}{CAR}{GRIPPER}{SERVO}</worldbody>
  <tendon>
    <spatial name="raise"><site site="chest"/><geom geom="ball"/><site site="front"/></spatial>
    <spatial name="lower"><site site="blade"/><geom geom="ball"/><site site="back"/></spatial>
    <spatial name="bend"><site site="front"/><geom geom="drum"/><site site="inside"/></spatial>
    <spatial name="stretch"><site site="back"/><geom geom="drum" sidesite="behind"/><site site="outside"/></spatial>
    <spatial name="flex"><site site="hip_front"/><site site="thigh"/></spatial>
    <spatial name="extend"><site site="hip_back"/><site site="thigh_back"/></spatial>
    <spatial name="quad"><site site="hip_front"/><site site="thigh"/><geom geom="knee"/><site site="shin"/></spatial>
    <spatial name="close" springlength=".05" stiffness="20" damping=".2">
      <site site="palm"/><site site="wrist"/><pulley divisor="2"/><site site="finger0"/><site site="finger1"/><site site="finger2"/>
      <pulley divisor="2"/><site site="thumb0"/><site site="thumb1"/><site site="thumb2"/></spatial>
    <fixed name="forward"><joint joint="left" coef=".5"/><joint joint="right" coef=".5"/></fixed>
    <fixed name="turn"><joint joint="left" coef="-.5"/><joint joint="right" coef=".5"/></fixed>
  </tendon>
  <actuator>
    <muscle class="muscle" tendon="raise"/><muscle class="muscle" tendon="lower"/><muscle class="muscle" tendon="bend"/><muscle class="muscle" tendon="stretch"/>
    <muscle class="muscle" tendon="flex"/><muscle class="muscle" tendon="extend"/><muscle class="muscle" tendon="quad" force="600"/>
    <motor tendon="close" gear="-8"/>
    <motor class="rotor" site="r1" gear="0 0 1 0 0 .02"/><motor class="rotor" site="r2" gear="0 0 1 0 0 -.02"/>
    <motor class="rotor" site="r3" gear="0 0 1 0 0 .02"/><motor class="rotor" site="r4" gear="0 0 1 0 0 -.02"/>
    <motor joint="tail1" gear="1"/><motor joint="tail2" gear="1"/><position joint="fin" kp=".05"/>
    <velocity tendon="forward" kv="2"/><motor tendon="turn" gear=".05"/>
    <adhesion body="cup" ctrlrange="0 1" gain="300"/><position joint="lift" kp="300" kv="20"/>
    <position joint="swing" kp="4" kv=".2" delay=".03" nsample="20" interp="linear"/>
  </actuator>
  <sensor><jointpos joint="swing" delay=".01" nsample="8"/><accelerometer site="r1"/><tendonpos tendon="close"/></sensor>
</mujoco>
"""
STEPS = 500
MOVED = ("shoulder", "hip", "finger", "rotors", "ahead", "fin", "wheels", "lift", "swing")  # joints


def test_mechanisms_move_as_in_mujoco_for_500_steps():
    mj, model = oracle.pair_of_xml(XML)
    d, data = mujoco.MjData(mj), js.make_data(model)
    time = mj.opt.timestep * np.arange(STEPS)[:, None]
    wave = np.sin(time * np.linspace(4, 9, mj.nu) + np.arange(mj.nu))
    ctrl = 0.5 + 0.5 * wave
    ctrl[:, 8:12] = 1.0 + 0.05 * wave[:, 8:12]  # the rotors, about what keeps it in the air
    ctrl[:, 15] = 10  # rad/s of the car's wheels
    ctrl[:, -3] = 1  # the gripper sticks, goes down and comes up again
    ctrl[:, -2] = np.where(time[:, 0] < 0.5, -0.1, 0.2)
    final, path = jax.jit(lambda x, u: js.rollout(model, x, u, outputs=lambda y: (y.qpos, y.sensordata)))(data, ctrl)
    theirs = np.empty((STEPS, mj.nq + mj.nsensordata))
    for u, row in zip(ctrl, theirs):
        d.ctrl[:] = u
        mujoco.mj_step(mj, d)
        row[:] = *d.qpos, *d.sensordata
    assert final.ncon == d.ncon and not np.asarray(final.warning).any()
    np.testing.assert_allclose(np.concatenate(path, axis=1), theirs, rtol=1e-9, atol=1e-9)

    moved = {name: np.ptp(theirs[:, mj.joint(name).qposadr]) for name in MOVED}
    assert np.ptp(theirs[:, mj.joint("load").qposadr[0] + 2]) > 0.1 and min(moved.values()) > 0.03, moved
