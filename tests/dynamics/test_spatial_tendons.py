"""Simulation with spatial tendons against MuJoCo: springs, limits, friction, inertia, equalities, wrapping."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js

# an arm on a ball joint and a hinge, a free body; paths that are straight, over pulleys, round both kinds of geoms
SCENE = """
<mujoco>
  <option integrator="{integrator}" timestep=".002"><flag energy="enable"/></option>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <site name="w" pos="-.1 .1 .2"/><site name="v" pos=".3 -.2 .3"/><site name="high" pos=".2 0 .8"/>
    <geom name="pole" type="cylinder" size=".05 .3" pos=".1 .05 .1" euler="90 0 0"/>
    <body name="arm"><joint name="b" type="ball" damping=".05"/>
      <geom name="limb" type="capsule" fromto="0 0 0 .3 0 0" size=".04" mass="1"/>
      <site name="p" pos=".15 .02 .06"/><site name="beside" pos=".3 0 .2"/>
      <body name="hand" pos=".3 0 0"><joint name="h" axis="0 1 0" damping=".02"/>
        <geom type="capsule" fromto="0 0 0 .2 0 0" size=".03" mass=".5"/><geom name="knob" size=".05"/>
        <site name="q" pos=".1 0 .05"/><site name="tip" pos=".2 0 0"/></body></body>
    <body name="load" pos=".5 .3 0"><freejoint/><geom type="box" size=".05 .06 .07" mass=".6"/>
      <site name="l" pos=".05 0 .02"/></body>
  </worldbody>
  <tendon>
    <spatial name="spring" stiffness="60" springlength=".2 .25" damping="2" limited="true" range="0 .27" margin=".01">
      <site site="w"/><site site="p"/></spatial>
    <spatial name="heavy" armature=".3" frictionloss=".4"><site site="v"/><site site="q"/><site site="l"/></spatial>
    <spatial name="pulleys" armature=".2" stiffness="20 3 4" damping=".3 .2 .1"><site site="high"/><site site="p"/>
      <pulley divisor="2"/><site site="p"/><site site="tip"/><pulley divisor="3"/><site site="tip"/><site site="v"/></spatial>
    <spatial name="over" actuatorfrclimited="true" actuatorfrcrange="-3 1" stiffness="30" springlength=".3">
      <site site="w"/><geom geom="pole"/><site site="p"/><geom geom="knob" sidesite="beside"/><site site="q"/></spatial>
    <spatial name="loop" stiffness="40" springlength=".1"><site site="high"/><geom geom="knob"/><site site="tip"/></spatial>
    <fixed name="sum" limited="true" range="-.02 .02"><joint joint="h" coef=".7"/></fixed>
  </tendon>
  <equality><tendon tendon1="spring" tendon2="sum" polycoef=".1 .5 .2 0 0"/><tendon tendon1="loop" active="false"/></equality>
  <actuator>
    <motor tendon="over" gear="2"/><motor tendon="over" gear="-1"/><position tendon="heavy" kp="20" armature=".1" damping=".3"/>
    <motor joint="h" gear=".3"/><general joint="b" gear="0 0 1"/>
  </actuator>
  <sensor>
    <tendonpos tendon="over"/><tendonvel tendon="loop"/><tendonlimitfrc tendon="spring"/><tendonactuatorfrc tendon="over"/>
  </sensor>
</mujoco>
"""
FIELDS = (
    "ten_length", "ten_velocity", "actuator_length", "qfrc_bias", "qfrc_passive", "actuator_force", "qfrc_actuator",
    "qfrc_constraint", "qacc", "sensordata", "energy", "qvel", "qpos",
)  # fmt: skip


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
def test_steps(integrator, rng):
    """Every path bends and lies straight, every limit holds and does not, somewhere among the states."""
    mj, model = oracle.pair(mujoco.MjModel.from_xml_string(SCENE.format(integrator=integrator)))
    step, d = jax.jit(js.step), mujoco.MjData(mj)
    wrapped, rows = set(), set()
    for k in range(12):
        if k % 3 == 0:
            mujoco.mj_resetData(mj, d)
            mujoco.mj_integratePos(mj, d.qpos, 0.7 * rng.standard_normal(mj.nv), 1.0)
            d.qvel[:] = rng.standard_normal(mj.nv)
        for _ in range(10):
            d.ctrl[:] = 2 * rng.standard_normal(mj.nu)
            data = oracle.put(model, d)
            mujoco.mj_step(mj, d)
        oracle.assert_equal(step(model, data), d, FIELDS)
        wrapped |= set(enumerate(d.ten_wrapnum.tolist()))
        rows.add(d.nefc)
    assert {n for i, n in wrapped if i == 3} >= {3, 5} and len(rows) > 1


def test_inverse(rng):
    mj, model = oracle.pair(mujoco.MjModel.from_xml_string(SCENE.format(integrator="Euler")))
    d = mujoco.MjData(mj)
    mujoco.mj_integratePos(mj, d.qpos, 0.5 * rng.standard_normal(mj.nv), 1.0)
    d.qvel[:] = rng.standard_normal(mj.nv)
    mujoco.mj_forward(mj, d)
    data = jax.jit(js.inverse)(model, oracle.put(model, d).replace(qacc=jnp.asarray(d.qacc)))
    mujoco.mj_inverse(mj, d)
    oracle.assert_equal(data, d, ("qfrc_inverse", "qfrc_bias"))
    assert oracle.error(data.qfrc_inverse, d.qfrc_actuator) < 1e-8


def test_inertia_on_a_wrapped_tendon_is_refused():
    """MuJoCo stops with an error when it comes to the rate of such a tendon's Jacobian."""
    actuator = '<motor name="m" tendon="over" armature=".1"/>'
    text = SCENE.format(integrator="Euler").replace("<actuator>", f"<actuator>{actuator}")
    with pytest.raises(js.MjcfError, match=r"'over': armature .* on a tendon that wraps around a geom"):
        js.load(text)


DEGENERATE = """
<mujoco>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <site name="here" pos=".2 0 0"/><site name="far" pos=".5 0 0"/>
    <body><joint name="x" type="slide" axis="1 0 0"/><joint name="y" axis="0 1 0"/><geom name="ball" size=".1"/>
      <site name="same" pos=".2 0 0"/><site name="edge" pos=".1 0 0"/></body>
    <body pos=".3 0 0"><joint name="z" axis="0 0 1"/><geom size=".1" pos=".1 0 0"/><site name="end" pos=".1 0 0"/></body>
  </worldbody>
  <tendon>
    <spatial name="zero" stiffness="3" damping="1" armature=".1"><site site="here"/><site site="same"/></spatial>
    <spatial stiffness="3" damping="1" armature=".1"><site site="far"/><site site="same"/><site site="end"/></spatial>
    <spatial stiffness="3" damping="1"><site site="far"/><geom geom="ball"/><site site="edge"/></spatial>
  </tendon>
  <actuator>
    <muscle tendon="zero" lengthrange="0 1"/><motor site="end" refsite="far" gear="1 0 0 0 0 1"/>
    <general cranksite="end" slidersite="far" cranklength=".1"/>
    <dcmotor joint="z" motorconst=".4" resistance="2" lugre="30 .4 .2 .3 .05" input="pos" controller="3 2 .5"/>
    <pid joint="x" kp="3" ki="1" slewmax="1"/>
  </actuator>
</mujoco>
"""


def test_degenerate_states_are_finite(float32):
    """A tendon of no length, straight ones, ends on the surface of what they wrap around, at rest and moving."""
    model = js.load(DEGENERATE)
    data = js.make_data(model)

    def end(qpos, qvel, scale):
        changed = model.replace(geom_size=model.geom_size * scale, site_pos=model.site_pos * scale)
        d = js.step(changed, data.replace(qpos=qpos, qvel=qvel, ctrl=data.ctrl + 0.5))
        return jnp.sum(d.qvel) + jnp.sum(d.act)

    slopes = jax.jit(jax.grad(end, (0, 1, 2)))
    for speed in (0.0, 1.0):
        for slope in slopes(data.qpos, data.qvel + speed, jnp.float32(1)):
            assert np.isfinite(slope).all()
