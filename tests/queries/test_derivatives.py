"""transition_jacobians and inverse_jacobians against MuJoCo's finite differences and against each other."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js

# a floating body on the floor, a ball joint, an activation, a limit, a servo
XML = """
<mujoco>
  <option integrator="{integrator}" cone="{cone}"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="base" pos="0 0 .099">
      <freejoint/>
      <geom type="sphere" size=".1" friction=".4"/>
      <body pos=".2 0 .1">
        <joint name="swivel" type="ball" damping=".1" frictionloss=".05"/>
        <geom type="capsule" size=".03" fromto="0 0 0 .2 0 0"/>
        <body pos=".2 0 0">
          <joint name="wrist" axis="0 1 0" range="-1 .1" limited="true" stiffness="2"/>
          <geom type="sphere" size=".04"/>
          <site name="tip"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <general joint="wrist" dyntype="filter" dynprm=".03" gainprm="2"/>
    <position joint="wrist" kp="5"/>
    <motor joint="swivel" gear="1 0 0"/>
  </actuator>
  <sensor><framepos objtype="site" objname="tip"/><accelerometer site="tip"/></sensor>
</mujoco>
"""


@functools.cache
def scene(integrator="Euler", cone="pyramidal"):
    mj, model = oracle.pair_of_xml(XML.format(integrator=integrator, cone=cone))
    d = mujoco.MjData(mj)
    rng = np.random.default_rng(0)
    d.qpos[mj.joint("wrist").qposadr[0]] = 0.12
    d.qpos[7:11] = [0.9, 0.3, -0.2, 0.1]
    mujoco.mj_normalizeQuat(mj, d.qpos)
    d.qvel[:] = 0.3 * rng.standard_normal(mj.nv)
    d.ctrl[:] = 0.3 * rng.standard_normal(mj.nu)
    d.act[:] = 0.2
    mujoco.mj_forward(mj, d)
    assert d.ncon and d.nefc > 5
    d.qacc_warmstart[:] = d.qacc
    return mj, d, model, oracle.put(model, d)


CASES = [("Euler", "pyramidal"), ("implicitfast", "elliptic")]  # MuJoCo does not differentiate RK4


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
def test_transition(case):
    mj, d, model, data = scene(*case)
    nx = 2 * mj.nv + mj.na
    shapes = ((nx, nx), (nx, mj.nu), (mj.nsensordata, nx), (mj.nsensordata, mj.nu))
    theirs = [np.zeros(s) for s in shapes]
    mujoco.mjd_transitionFD(mj, d, 1e-6, True, *theirs)
    ours = js.transition_jacobians(model, data)
    for name, a, b in zip("ABCD", ours, theirs):
        assert np.abs(np.asarray(a) - b).max() < 1e-5 * (1 + np.abs(b).max()), name


AT_LIMITS = """
<mujoco>
  <worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos="0 0 -.2"/></body></worldbody>
  <actuator>
    {}<motor joint="j" ctrlrange="-1 1"/><motor joint="j" ctrlrange="-1 1"/><motor joint="j" ctrlrange="0 2"/>
  </actuator>
</mujoco>
"""
MUSCLE = '<muscle joint="j" ctrlrange="0 1" lengthrange="-1 2"/>'


@pytest.mark.parametrize("level", [0.0, 0.4, 1.0])
def test_at_the_end_of_its_range_a_control_acts_inwards(level):
    """As MuJoCo's differences have it there; and a muscle whose activation has come to its control is at a kink."""
    mj, model = oracle.pair_of_xml(AT_LIMITS.format(3 * MUSCLE))
    d = mujoco.MjData(mj)
    d.ctrl[:] = level, min(level, 0.2), 0.9, -1, 1, 0
    d.act[:] = level, 0, 1
    mujoco.mj_forward(mj, d)
    a, b = np.zeros((5, 5)), np.zeros((5, 6))
    mujoco.mjd_transitionFD(mj, d, 1e-7, True, a, b, None, None)
    ours = js.transition_jacobians(model, oracle.put(model, d))
    np.testing.assert_allclose(ours[0], a, atol=2e-7 * np.abs(a).max())
    np.testing.assert_allclose(ours[1], b, atol=2e-7 * np.abs(b).max())
    assert np.abs(b).max(0).min() > 1e-4  # each of them acts


def test_transition_predicts_the_step():
    """Independent of MuJoCo: the first-order error of the linearised step falls with the square of its size."""
    _, _, model, data = scene("RK4")
    A = np.asarray(js.transition_jacobians(model, data).A)
    rng = np.random.default_rng(0)
    nv = model.nv
    dx = rng.standard_normal(2 * nv + model.na)
    end, errors = js.step(model, data), []
    for size in (1e-4, 1e-5):
        x = size * dx
        moved = data.replace(
            qpos=js.integrate_pos(model, data.qpos, jnp.asarray(x[:nv]), 1.0),
            qvel=data.qvel + x[nv : 2 * nv],
            act=data.act + x[2 * nv :],
        )
        other = js.step(model, moved)
        dq = js.differentiate_pos(model, 1.0, end.qpos, other.qpos)
        found = np.concatenate([dq, other.qvel - end.qvel, other.act - end.act])
        errors.append(np.abs(found - A @ x).max())
    assert errors[0] < 1e-4 and errors[1] < 0.03 * errors[0]


def test_inverse():
    mj, d, model, data = scene()
    mujoco.mj_forward(mj, d)
    data = data.replace(qacc=jnp.asarray(d.qacc))
    sizes = [(mj.nv, mj.nv)] * 3 + [(mj.nv, mj.nsensordata)] * 3
    theirs = [np.zeros(s) for s in sizes]
    mujoco.mjd_inverseFD(mj, d, 1e-6, False, *theirs, None)  # without the forces of actuators
    ours = js.inverse_jacobians(model, data)
    for name, a, b in zip(ours._fields, ours, theirs):
        assert np.abs(np.asarray(a) - b.T).max() < 1e-5 * (1 + np.abs(b).max()), name
    dq = np.random.default_rng(0).standard_normal(mj.nv)
    step = 1e-6
    ends = [
        js.forward(model, data.replace(qpos=js.integrate_pos(model, data.qpos, jnp.asarray(dq), s))).qM
        for s in (step, -step)
    ]
    assert oracle.error(ours.DmDq @ dq, (ends[0] - ends[1]) / (2 * step)) < 1e-7


def test_yielding_rows_add_their_stiffness_to_the_inertia():
    """The force's slope in acceleration is M + J^T D J; at rest on no row it would be M alone."""
    mj, _, model, data = scene()
    d = mujoco.MjData(mj)
    d.qpos[:], d.qvel[:], d.qacc[:] = data.qpos, data.qvel, data.qacc_warmstart
    d.qacc[2], d.qacc[-1] = d.qacc[2] - 50, d.qacc[-1] + 50  # into the floor and into the limit
    mujoco.mj_inverse(mj, d)
    M = np.zeros((mj.nv, mj.nv))
    mujoco.mj_fullM(mj, d, M)
    J, yields = d.efc_J.reshape(d.nefc, mj.nv), d.efc_state == mujoco.mjtConstraintState.mjCNSTRSTATE_QUADRATIC
    assert 0 < yields.sum() < d.nefc
    ours = js.inverse_jacobians(model, data.replace(qacc=jnp.asarray(d.qacc)))
    assert oracle.error(ours.DfDa, M + J[yields].T @ (d.efc_D[yields, None] * J[yields])) < 1e-9
    assert oracle.error(ours.DfDa, M) > 0.1


def test_batched():
    _, _, model, data = scene()
    batch = jax.tree.map(lambda x: jnp.stack([x, x]), data)
    batch = batch.replace(qvel=batch.qvel.at[0].multiply(0.5))
    A = jax.vmap(js.transition_jacobians, (None, 0))(model, batch).A
    assert oracle.error(A[1], js.transition_jacobians(model, data).A) < 1e-9
    assert oracle.error(A[0], A[1]) > 1e-6


def test_degenerate_states_are_finite_in_float32(float32):
    """Rest, exact touch and identity rotations."""
    model = js.load(XML.format(integrator="Euler", cone="elliptic").replace(".099", ".1"))
    found = js.transition_jacobians(model, js.make_data(model))
    assert all(bool(jnp.isfinite(x).all()) for x in found)
    assert found.A.dtype == jnp.float32
