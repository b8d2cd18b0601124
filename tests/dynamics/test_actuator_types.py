"""Actuators of every kind beyond fixed and affine ones on joints, against MuJoCo: muscles, motors, servos, adhesion."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.dynamics import muscle

SCENE = """
<mujoco>
  <option integrator="implicitfast" timestep=".005"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <site name="w" pos=".1 .2 .1" euler="10 20 30"/><site name="o" pos="0 -.3 .2"/>
    <body><joint name="s" type="slide" axis="1 0 .3"/><geom size=".1"/>
      <site name="p" pos="0 .1 .15" euler="5 6 7"/><geom name="ball" size=".05" pos=".1 0 .05"/>
      <body pos=".2 0 0"><joint name="h" axis="0 1 0"/><geom size=".1" pos=".1 0 0"/>
        <site name="q" pos=".1 .05 .12"/>
        <body pos=".3 0 0"><joint name="b" type="ball"/><geom size=".1" pos="0 .1 .1"/>
          <site name="r" pos=".1 .1 .1" euler="40 50 60"/></body></body></body>
    <body pos="0 1 0"><freejoint name="f"/><geom type="box" size=".1 .2 .1"/></body>
  </worldbody>
  <tendon>
    <spatial name="t"><site site="w"/><geom geom="ball"/><site site="q"/></spatial>
    <spatial name="u" damping=".2"><site site="o"/><site site="p"/><site site="q"/></spatial>
  </tendon>
  <actuator>{}</actuator>
</mujoco>
"""
FIELDS = (
    "actuator_length", "actuator_velocity", "actuator_force", "act_dot", "qfrc_actuator", "qacc", "act", "qvel", "qpos",
)  # fmt: skip
MUSCLE = 'lengthrange=".2 .7"'
LUGRE, THERMAL = 'lugre="30 .4 .2 .3 .05"', 'thermal="3 .5 0 .004 20 25"'
ACTUATORS = {
    "muscles and sites": f"""
        <muscle tendon="t" {MUSCLE}/>
        <muscle tendon="u" {MUSCLE} force="30" range=".6 1.2" lmin=".4" lmax="1.8" vmax="2" fpmax="1.1" fvmax="1.4"/>
        <muscle joint="h" gear="2" lengthrange="-2 2" timeconst=".02 .06" tausmooth=".3" scale="80"/>
        <general tendon="u" gaintype="muscle" biastype="affine" biasprm="1 2 -.5" gainprm=".75 1.05 -1 200 .5 1.6 1.5 1.3 1.2"
          dyntype="filter" dynprm=".1" actearly="true" {MUSCLE}/>
        <general joint="s" gear="-1" biastype="muscle" biasprm=".5 1 20 1 .5 1.6 1.5 1.3 1.2" lengthrange="-.5 .4"/>
        <motor site="r" gear="1 2 3 .4 .5 .6"/><motor site="r" refsite="w" gear="1 2 3 .4 .5 .6"/>
        <position cranksite="q" slidersite="w" cranklength=".9" gear="2" kp="8"/>
        <velocity site="q" refsite="p" gear="0 1 0 0 0 0" kv="3"/>
        <general joint="h" dyntype="user" gaintype="user" biastype="user" actdim="2" gainprm="3"/>""",
    "motors and servos": f"""
        <dcmotor joint="h" motorconst=".4" resistance="2"/>
        <dcmotor joint="s" motorconst=".3 .5" resistance="1.5" inductance="0 .01" saturation="0 0 4" gear="3"/>
        <dcmotor joint="h" motorconst=".4" resistance="2" {THERMAL} cogging=".2 6 .3"/>
        <dcmotor joint="s" motorconst=".4" resistance="2" {LUGRE} inductance="0 .02" {THERMAL} saturation=".3"/>
        <dcmotor tendon="u" motorconst=".4" resistance="2" input="pos vel" controller="3 2 .5 .4 .05 1"/>
        <dcmotor joint="h" motorconst=".4" resistance="2" input="pos vel ff voltage" controller="3 2 .5 9 0 0"
          {LUGRE} {THERMAL} inductance="0 .02"/>
        <dcmotor joint="s" motorconst=".4" resistance="2" input="none"/>
        <pid joint="h" kp="20" kv="2"/>
        <pid joint="s" kp="20" kv="2" ki="5" imax=".1" slewmax=".5" input="pos vel ff" velrange="-1 1"/>
        <pid joint="b" gear=".1 .2 .3" kp="9" kv=".3" ki="2" slewmax="2" input="pos"/>
        <pid site="r" refsite="w" gear="0 0 0 .3 .5 .1" kp="7" kv=".3" input="pos ff"/>
        <position joint="b" gear=".3 .2 0" kp="5" kv=".2"/>
        <position site="r" refsite="p" gear="0 0 0 0 .5 0" kp="5"/>
        <intvelocity joint="b" gear="0 .2 .4" kp="5" actrange="-9 9"/>
        <position site="r" refsite="p" gear="1 0 .5 0 0 0" kp="5"/>""",
    "orientations": """
        <orientation joint="b" kp="3" kv=".2"/>
        <orientation joint="b" kp="3" kv=".2" input="quat" forcerange="0 1"/>
        <orientation site="r" refsite="w" kp="2" kv=".1" forcerange="0 90"/>
        <general joint="b" gaintype="so3" biastype="so3" gainprm="2" biasprm="0 -2 -.1" dyntype="integrator"/>
        <general joint="b" gaintype="so3" biastype="so3" gainprm="2" biasprm="0 -2 -.1" dyntype="integrator" actearly="true"/>
        <motor joint="h" gear="2" damping=".3" armature=".1"/>""",
}


def random_state(mj: mujoco.MjModel, rng: np.random.Generator, turn: float) -> mujoco.MjData:
    """Far from qpos0, with activations and controls beyond what they saturate at."""
    d = mujoco.MjData(mj)
    mujoco.mj_integratePos(mj, d.qpos, turn * rng.standard_normal(mj.nv), 1.0)
    d.qvel[:] = rng.standard_normal(mj.nv)
    d.act[:] = 0.5 * rng.standard_normal(mj.na)
    d.ctrl[:] = 2 * rng.standard_normal(mj.nu)
    return d


@pytest.mark.parametrize("name", ACTUATORS)
def test_steps(name, rng):
    """Forces and activations at the start, and what implicit integration makes of them.

    For MuJoCo rounding decides whether a torque scaled to its bound counts as bounded: there Euler's method serves.
    """
    text = SCENE.format(ACTUATORS[name])
    text = text.replace("implicitfast", "Euler") if name == "orientations" else text
    mj, model = oracle.pair(mujoco.MjModel.from_xml_string(text))
    step, most = jax.jit(js.step), np.zeros(mj.nout)
    for k in range(8):
        d = random_state(mj, rng, 0.1 if k < 4 else 1.5)
        for _ in range(3):
            data = oracle.put(model, d)
            mujoco.mj_step(mj, d)
            oracle.assert_equal(step(model, data), d, FIELDS)
            most = np.maximum(most, np.abs(d.actuator_force))
    assert (most > 0).all()


ADHESION = """
<mujoco>
  <option cone="{}" integrator="implicitfast"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="a" pos="0 0 .098"><freejoint/><geom size=".1" condim="{}"/>
      <body name="c" pos=".15 0 0"><joint name="h" axis="0 1 0"/><geom size=".1" condim="4" margin=".01" gap=".02"/></body></body>
    <body name="far" pos="0 0 2"><freejoint/><geom size=".1"/></body>
  </worldbody>
  <actuator>
    <adhesion body="a" ctrlrange="0 2" gain="30"/><adhesion body="c" ctrlrange="0 2" gain="20"/>
    <adhesion body="far" ctrlrange="0 2" gain="20"/><motor joint="h"/>
  </actuator>
</mujoco>
"""


@pytest.mark.parametrize(("cone", "condim"), [("pyramidal", 3), ("elliptic", 1)])
def test_adhesion(cone, condim, rng):
    """Bodies with a contact, with one in the gap, and with none."""
    mj, model = oracle.pair(mujoco.MjModel.from_xml_string(ADHESION.format(cone, condim)))
    d, step, holding = mujoco.MjData(mj), jax.jit(js.step), []
    for height in (0.0, 0.012, 0.1):
        d.qpos[2] = 0.098 + height
        d.qvel[:] = 0.1 * rng.standard_normal(mj.nv)
        d.ctrl[:] = (1, 0.7, 1, 0.1)
        data = oracle.put(model, d)
        mujoco.mj_step(mj, d)
        oracle.assert_equal(step(model, data), d, FIELDS)
        holding.append((d.moment_rownnz[:3] > 0).tolist())
    assert holding == [[True, True, False], [False, True, False], [False, False, False]]


def test_activation_of_muscles_switches_and_blends(float32):
    """The rate is that of MuJoCo's function, and finite in value and derivative where the time constant switches."""
    prm = np.zeros((6, 10), np.float32)
    prm[:, :3] = [
        (0.01, 0.04, 0),
        (0.01, 0.04, 0.2),
        (0.01, 0.04, 0),
        (0.3, 0.04, 0.5),
        (0.01, 0.04, 0),
        (0.01, 0.04, 1),
    ]
    ctrl, act = np.float32([0.5, 0.5, 1.5, 0.2, -1, 0.3]), np.float32([0.5, 0.5, 0.2, 0.9, 1.2, -0.1])
    ours, slope = jax.jvp(
        lambda a: muscle.activation_rate(jnp.asarray(ctrl), a, jnp.asarray(prm)), (jnp.asarray(act),), (jnp.ones(6),)
    )
    theirs = [mujoco.mju_muscleDynamics(*x) for x in zip(ctrl, act, prm[:, :3])]
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert np.isfinite(slope).all()
