"""Batches of a model with every kind of constraint: equal to single steps, and faults stay in their world."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim as js
from jaxsim.core.enums import ConstraintType

# contact with an elliptic cone; limits of a ball, a hinge, a slide and a tendon; a connect, a weld, a joint and a
# tendon equality; dry friction, an activation, a servo
XML = """
<mujoco>
  <option timestep=".004" cone="elliptic" integrator="{integrator}" tolerance="0" iterations="30"/>
  <default><geom contype="0" conaffinity="0"/><joint damping=".1"/></default>
  <worldbody>
    <geom type="plane" size="9 9 .1" contype="1" conaffinity="1"/>
    <body name="stone" pos="0 0 .095">
      <freejoint/> <geom type="sphere" size=".1" mass="1" contype="1" friction=".3"/>
    </body>
    <body name="arm" pos="1 0 .5">
      <joint name="shoulder" type="ball" range="0 20" limited="true"/>
      <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/>
      <body name="hand" pos=".3 0 0">
        <joint name="elbow" axis="0 1 0" range="-5 5" limited="true" frictionloss=".05"/>
        <geom type="capsule" size=".03" fromto="0 0 0 .3 0 .05"/>
        <site name="tip" pos=".3 0 .05"/>
      </body>
    </body>
    <body name="held" pos="1.6 0 .55"> <freejoint/> <geom type="box" size=".05 .04 .03" mass=".5"/> </body>
    <body name="fixed" pos="2 0 .5"> <freejoint/> <geom type="box" size=".05 .04 .03" mass=".5"/> </body>
    <body name="cart" pos="3 0 .5">
      <joint name="rail" type="slide" axis="1 0 0" range="-.02 .02" limited="true"/> <geom size=".05" mass="1"/>
    </body>
    <body name="wheel" pos="3 1 .5"> <joint name="axle" axis="0 1 0"/> <geom size=".1" mass="1"/> </body>
    <body name="crank" pos="3 2 .5"> <joint name="pin" axis="0 1 0"/> <geom size=".1" pos=".2 0 0" mass=".5"/> </body>
  </worldbody>
  <tendon>
    <fixed name="chain" range="-.05 .05" limited="true"><joint joint="axle" coef="1"/><joint joint="rail" coef="-2"/></fixed>
    <fixed name="belt"><joint joint="pin" coef="1"/><joint joint="axle" coef=".5"/></fixed>
  </tendon>
  <equality>
    <connect body1="hand" body2="held" anchor=".3 0 .05"/>
    <weld body1="fixed"/>
    <joint joint1="axle" joint2="rail" polycoef="0 3 .1 0 0"/>
    <tendon tendon1="belt" tendon2="chain" polycoef=".01 .5 0 0 0"/>
  </equality>
  <actuator>
    <general joint="elbow" dyntype="filter" dynprm=".03" gainprm="2" biasprm="0 0 -.5" biastype="affine"/>
    <position joint="rail" kp="50" kv="3"/>
  </actuator>
  <sensor><accelerometer site="tip"/><framepos objtype="body" objname="held"/></sensor>
</mujoco>
"""
WORLDS = 8
CASES = [("implicitfast", "float32"), ("implicitfast", "float64"), ("RK4", "float64")]
# a world of a batch and the same one alone are compiled apart and round apart, and the solver amplifies that by the
# condition number of H: ten thousand, from masses of 1 kg beside inertias of 4e-4 kg m^2
TOLERANCE = {"float32": 1e-3, "float64": 1e-11}


@functools.cache
def _mujoco(integrator: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(XML.format(integrator=integrator))


@functools.cache
def _worlds(integrator: str, precision: str):
    """The model, a batch about a state where all constraints act, and the batch after two steps."""
    mj = _mujoco(integrator)
    model = js.load(XML.format(integrator=integrator))
    data, rng, d = js.make_data(model), np.random.default_rng(0), mujoco.MjData(mj)
    columns = []
    for _ in range(WORLDS):
        d.qpos[:] = mj.qpos0
        change = 0.02 * rng.standard_normal(mj.nv)
        change[mj.joint("shoulder").dofadr[0] :][:3] += 0.35  # further than 20 degrees
        change[mj.joint("elbow").dofadr[0]] += 0.15
        change[mj.joint("rail").dofadr[0]] += 0.05
        mujoco.mj_integratePos(mj, d.qpos, change, 1)
        d.qpos[:3] = [0, 0, 0.098]
        columns.append((d.qpos.copy(), 0.3 * rng.standard_normal(mj.nv), rng.standard_normal(mj.nu)))
    qpos, qvel, ctrl = (jnp.asarray(np.array(x), data.qpos.dtype) for x in zip(*columns))
    batch = jax.vmap(lambda p, v, u: data.replace(qpos=p, qvel=v, ctrl=u))(qpos, qvel, ctrl)
    return model, batch, _two_steps(model, batch)


@jax.jit
def _advance(model, batch):
    return jax.vmap(js.step, in_axes=(None, 0))(model, batch)


def _two_steps(model, batch):
    return _advance(model, _advance(model, batch))


def _pick(tree, i):
    return jax.tree.map(lambda x: x[i], tree)


def _precision(name):
    return jax.enable_x64(name == "float64")


def test_every_kind_of_constraint_acts():
    model, batch, _ = _worlds("implicitfast", "float64")
    rows = js.constraint_rows(model, js.forward(model, _pick(batch, 0))).compact()
    kinds = set(rows.type.tolist())
    assert kinds == {
        ConstraintType.EQUALITY,
        ConstraintType.FRICTION_DOF,
        ConstraintType.LIMIT_JOINT,
        ConstraintType.LIMIT_TENDON,
        ConstraintType.CONTACT_ELLIPTIC,
    }
    assert set(rows.id[rows.type == ConstraintType.EQUALITY].tolist()) == {0, 1, 2, 3}
    joints = [model.joint(name).id for name in ("shoulder", "elbow", "rail")]
    assert set(rows.id[rows.type == ConstraintType.LIMIT_JOINT].tolist()) == set(joints)
    assert np.mean(np.abs(rows.force) > 1e-4) > 0.8


@pytest.mark.parametrize("integrator, precision", CASES)
def test_a_batch_steps_as_its_worlds_do_one_by_one(integrator, precision):
    with _precision(precision):
        model, batch, out = _worlds(integrator, precision)
        assert out.qpos.dtype == precision and np.ptp(np.asarray(out.qacc), axis=0).max() > 1
        for i in range(0, WORLDS, 3):
            one = _pick(batch, i)
            for _ in range(2):
                one = js.step(model, one)
            for name in ("qpos", "qvel", "act", "qacc", "qfrc_constraint", "sensordata", "ten_length", "xpos"):
                a, b = np.asarray(getattr(out, name)[i]), np.asarray(getattr(one, name))
                assert np.abs(a - b).max() < TOLERANCE[precision] * (1 + np.abs(b).max()), (name, i)
            assert (out.nefc[i], out.ncon[i]) == (one.nefc, one.ncon)


@pytest.mark.parametrize("integrator, precision", CASES)
def test_a_bad_world_is_reset_and_the_others_do_not_notice(integrator, precision):
    with _precision(precision):
        model, batch, out = _worlds(integrator, precision)
        bad = _two_steps(model, batch.replace(qvel=batch.qvel.at[3, 7].set(jnp.nan)))
        others = np.arange(WORLDS) != 3
        for a, b in zip(jax.tree.leaves(bad), jax.tree.leaves(out)):
            np.testing.assert_array_equal(a[others], b[others])
        assert all(np.isfinite(x).all() for x in jax.tree.leaves(bad) if x.dtype.kind == "f")
        assert js.warnings_of(bad) == {"BADQVEL": 1}


@pytest.mark.parametrize("integrator", ["implicitfast", "RK4"])
def test_a_batch_steps_as_mujoco_does(integrator):
    _, batch, out = _worlds(integrator, "float64")
    mj = _mujoco(integrator)
    mj.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ISLAND)
    for i in range(0, WORLDS, 4):
        d = mujoco.MjData(mj)
        d.qpos[:], d.qvel[:], d.ctrl[:] = batch.qpos[i], batch.qvel[i], batch.ctrl[i]
        mujoco.mj_step(mj, d, 2)
        np.testing.assert_allclose(out.qpos[i], d.qpos, rtol=0, atol=1e-9)
        np.testing.assert_allclose(out.qvel[i], d.qvel, rtol=0, atol=1e-7)
