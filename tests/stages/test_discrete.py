"""The integrator discrete against MuJoCo: every term of its metric, softened rows, inverse dynamics, derivatives."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.core.enums import Solver
from jaxsim.dynamics.passive import tendon_slopes

XML = """
<mujoco>
  <option integrator="discrete" timestep=".005" cone="{cone}" impratio="3" density="20" viscosity=".1"/>
  <default><default class="still"><geom contype="0" conaffinity="0"/></default></default>
  <worldbody>
    <geom type="plane" size="3 3 .1" surfacevel=".2 0 0"/><site name="w" pos="2 .5 1"/>
    <body pos="0 0 .097"><freejoint/><geom size=".1" condim="4" friction=".7 .1 .01" solref=".003 1.2" adhesion="2"/></body>
    <body pos="1 0 .9"><freejoint/><geom type="ellipsoid" size=".1 .2 .3" fluidshape="ellipsoid"/></body>
    <body pos="2 0 .15"><joint name="s" type="slide" axis="0 .2 1" stiffness="200 9 8" damping="3 .5 .4" frictionloss=".2"/>
      <joint name="h" axis="0 1 0" stiffness="9" damping=".2" range="-.1 .1" solreflimit=".002 .8"/>
      <geom type="capsule" size=".1 .1" condim="3" margin=".05" gap=".02"/>
      <body name="b" pos=".3 0 0" childclass="still"><joint name="b" type="ball" stiffness="2 1" range="0 .3"/>
        <geom type="box" size=".1 .15 .1" pos=".1 .05 0"/><site name="p" pos=".1 .2 .1"/>
        <body pos=".3 0 0"><joint name="e" axis="1 0 1" armature=".02"/><geom size=".05" pos=".1 0 0"/>
          <site name="q" pos=".2 .1 0"/></body></body></body>
  </worldbody>
  <tendon>
    <spatial name="t" stiffness="30 2" damping=".4 .1" springlength=".3 .8" range=".2 .9" frictionloss=".1"><site site="w"/><site site="q"/></spatial>
    <fixed name="f" stiffness="8" damping=".2"><joint joint="s" coef="2"/><joint joint="e" coef=".5"/></fixed>
  </tendon>
  <equality><connect body1="b" anchor=".1 .1 .1" solref=".001 1" solimp=".9 .9999 .001"/></equality>
  <actuator>
    <position joint="h" kp="40" kv="2" forcerange="-9 9"/><muscle tendon="t" lengthrange=".2 1.2" force="40"/>
    <dcmotor joint="e" motorconst=".3" resistance="2" input="pos vel" controller="3 0 .5" inductance="0 .02" cogging=".2 6 2"/>
    <general joint="s" gaintype="affine" gainprm="1 -2 -3" biastype="affine" biasprm=".1 9 -1"/>
    <pid joint="e" kp="20" kv="2" ki="5" input="pos vel"/><orientation joint="b" kp="2" kv=".1"/>
    <position site="q" refsite="w" gear="1 0 .5 0 0 0" kp="5"/><motor joint="h" damping=".3" gear="2"/>
  </actuator>
</mujoco>
"""
FIELDS = ("qacc_smooth", "qacc", "qfrc_smooth", "qfrc_constraint", "nefc", "qpos", "qvel", "act")


def _states(mj: mujoco.MjModel, rng: np.random.Generator):
    for _ in range(4):
        d = mujoco.MjData(mj)
        mujoco.mj_integratePos(mj, d.qpos, 0.03 * rng.standard_normal(mj.nv), 1.0)
        d.qvel[:] = 0.5 * rng.standard_normal(mj.nv)
        d.act[:] = 0.2 + 0.2 * rng.uniform(size=mj.na)
        d.ctrl[:] = 0.3 * rng.standard_normal(mj.nu)
        d.qfrc_applied[:] = rng.standard_normal(mj.nv)
        yield d


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_steps_are_those_of_mujoco(cone, rng):
    mj, model = oracle.pair_of_xml(XML.format(cone=cone))
    step, touching = jax.jit(js.step), 0
    for d in _states(mj, rng):
        data = oracle.put(model, d)
        mujoco.mj_step(mj, d)
        oracle.assert_equal(step(model, data), d, FIELDS)
        touching += d.ncon
    assert touching


LIMITED = """
<mujoco><option integrator="discrete" timestep=".005"><flag fwdinv="enable"/></option><worldbody>
  <body><joint name="s" type="slide" stiffness="20 9" damping="1 .5" range="-.1 .1" frictionloss=".2"/><geom size=".1"/>
    <body pos="0 0 .3"><joint name="h" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body></body></worldbody>
  <tendon><fixed stiffness="8" damping=".2"><joint joint="s" coef="2"/><joint joint="h" coef=".5"/></fixed></tendon>
  <actuator><position joint="h" kp="40" kv="2"/></actuator></mujoco>
"""


def test_derivatives_and_fwdinv():
    """By velocity, control and stiffness, on a limit."""
    model = js.load(LIMITED)
    data = js.make_data(model).replace(qpos=jnp.asarray([0.11, 0.2]))
    way = jnp.asarray([0.3, -0.7])

    def stepped(step):
        changed = model.replace(jnt_stiffness=model.jnt_stiffness * (1 + step))
        after = js.step(changed, data.replace(qvel=way + step * way, ctrl=data.ctrl + step))
        return after.qvel, after.solver_fwdinv, after.qfrc_constraint

    after = jax.jit(stepped)
    _, slope = jax.jit(lambda x: jax.jvp(lambda y: stepped(y)[0], (x,), (1.0,)))(0.0)
    assert oracle.error(slope, (after(1e-6)[0] - after(-1e-6)[0]) / 2e-6) < 1e-6
    _, difference, force = after(0.0)
    assert force[0] < -1 and jnp.all(difference < 1e-9)


@pytest.mark.parametrize("single", [True, False])
def test_a_tendon_at_its_rest_but_for_rounding_is_not_stiff(single):
    """As in MuJoCo, whose lengths at qpos0 are the rests bit for bit."""
    model = js.load(XML.format(cone="elliptic"))
    model, data = oracle.single((model, js.make_data(model))) if single else (model, js.make_data(model))
    rest = model.tendon_lengthspring[:, 0]
    rounding = float(jnp.finfo(rest.dtype).eps)
    for off, stiff in ((-3 * rounding, False), (0, False), (3 * rounding, False), (-1e-3, True)):
        data = data.replace(ten_length=rest * (1 + off))
        assert (tendon_slopes(model, data)[0][0] > 0) == stiff


def test_inverse_dynamics():
    """Of any acceleration; for MuJoCo after forward dynamics, since it takes the actuators' forces as they were."""
    mj, model = oracle.pair_of_xml(LIMITED)
    d = mujoco.MjData(mj)
    d.qpos[:], d.qvel[:], d.ctrl[:] = (0.11, 0.2), (0.3, -0.7), 0.4
    mujoco.mj_forward(mj, d)
    d.qacc[:] = 3, -5
    data = oracle.put(model, d).replace(qacc=jnp.asarray([3.0, -5.0]))
    mujoco.mj_inverse(mj, d)
    oracle.assert_equal(js.inverse(model, data), d, ["qfrc_inverse", "qfrc_constraint"])


@pytest.mark.parametrize("option", [{"solver": Solver.PGS}, {"noslip_iterations": 3}, {"contact": "hard"}])
def test_what_needs_a_factorisation_is_refused(option):
    model = js.load(LIMITED)
    with pytest.raises(ValueError, match="the integrator discrete is simulated with the solvers Newton and CG"):
        jax.eval_shape(js.step, model.replace(opt=model.opt.replace(**option)), js.make_data(model))
