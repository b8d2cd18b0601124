"""Bodies that turn about their own centre of mass and are pressed on, to which MuJoCo gives forces of up to 1e18 N."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js

# a turntable that its base squeezes, with an arm on it, and a wheel on an axle beside a wall
PIVOTS = """<mujoco><option cone="{cone}"/><worldbody><geom type="box" size=".2 .2 .1" pos="0 0 .1" euler="0 0 25"/>
  <body pos="0 0 .2499"><joint axis="0 0 1" damping=".1"/><geom type="cylinder" size=".1 .05"/>
    <body pos="0 0 .1"><joint axis="0 1 0" damping=".1"/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 .1"/></body></body>
  <body pos="1 0 .5" euler="20 30 40"><joint axis="0 1 0"/><geom type="sphere" size=".1"/></body>
  <geom type="box" size=".1 1 1" pos="1.199 0 0"/></worldbody></mujoco>"""


def _expected(mj: mujoco.MjModel, d: mujoco.MjData) -> np.ndarray:
    """The velocity [nv] after a step of Euler's with MuJoCo's qacc.

    MuJoCo's own is off by what rounding leaves of its qfrc_constraint: here up to 1 N m.
    """
    mujoco.mj_forward(mj, d)
    M, h = np.zeros((mj.nv, mj.nv)), mj.opt.timestep
    mujoco.mj_fullM(mj, d, M)
    return d.qvel + h * np.linalg.solve(M + h * np.diag(mj.dof_damping.ravel()), M @ d.qacc)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_what_presses_on_them_holds_them(cone):
    mj, model = oracle.pair_of_xml(PIVOTS.format(cone=cone))
    d, step = mujoco.MjData(mj), jax.jit(js.step)
    d.qvel[:] = 1, 2, 3
    assert model.haspivots
    for _ in range(40):
        expected = _expected(mj, d)
        assert np.abs(d.efc_force).max() > 1e14
        data = step(model, oracle.put(model, d))
        assert data.solver_converged and oracle.error(data.qvel, expected) < 1e-9
        oracle.assert_equal(data, d, ["qacc"], 1e-9)
        mujoco.mj_step(mj, d)
    assert np.abs(d.qvel[[0, 2]]).max() < 0.02


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_in_float32_too(float32, cone):
    mj = mujoco.MjModel.from_xml_string(PIVOTS.format(cone=cone))
    model, d, step = js.load(PIVOTS.format(cone=cone)), mujoco.MjData(mj), jax.jit(js.step)
    d.qvel[:] = 1, 2, 3
    for _ in range(40):
        expected = _expected(mj, d)
        data = step(model, oracle.put(model, d))
        assert data.qvel.dtype == np.float32 and oracle.error(data.qvel, expected) < 1e-5
        mujoco.mj_step(mj, d)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_float32_comes_to_rest(float32, cone):
    model, step = js.load(PIVOTS.format(cone=cone)), jax.jit(js.step)
    data = js.make_data(model)
    data = data.replace(qvel=data.qvel + 1)
    for _ in range(100):
        data = step(model, data)
    assert not js.warnings_of(data) and np.abs(np.asarray(data.qvel)[[0, 2]]).max() < 1e-3


def test_others_have_none():
    assert not js.load("humanoid").haspivots


# boxes that turn about their centres and hit each other beside their axes; MuJoCo's come to 3e16 rad/s
BESIDE = """<mujoco><option cone="{cone}" integrator="implicitfast"/><worldbody>
  <body><joint axis="0 0 1" damping=".01"/><geom type="box" size=".1 .1 .1" mass=".1"/></body>
  <body pos=".215 .03 0"><joint axis="0 0 1" damping=".01"/><geom type="box" size=".1 .1 .1" mass=".1"/></body>
  <body pos=".43 0 0"><joint type="ball" damping=".01"/><geom type="box" size=".1 .1 .1" mass=".1"/></body>
  </worldbody></mujoco>"""


@pytest.mark.parametrize("cone, double", [("pyramidal", False), ("elliptic", False), ("pyramidal", True)])
def test_those_that_hit_each_other_are_not_thrown(cone, double):
    with jax.enable_x64(double):
        model, step = js.load(BESIDE.format(cone=cone)), jax.jit(js.step)
        data = js.make_data(model)
        data = data.replace(qvel=data.qvel + np.array([3, 4, 1, 2, 5], data.qvel.dtype))
        fastest, met = 0, 0
        for _ in range(150):
            data = step(model, data)
            fastest, met = max(fastest, float(np.abs(data.qvel).max())), met + int(data.ncon)
    assert not js.warnings_of(data) and met > 0
    assert fastest < 5


def test_cones_keep_their_proportions(float32):
    """Else a contact's force jumps where it begins to slide, and Newton's method comes to no end there."""
    xml = BESIDE.format(cone="elliptic").replace("integrator=", 'impratio="10" integrator=')
    model, step, rows = js.load(xml), jax.jit(js.step), js.constraint_rows
    d, data = mujoco.MjData(mj := mujoco.MjModel.from_xml_string(xml)), js.make_data(model)
    data = data.replace(qvel=data.qvel + np.array([3, 4, 1, 2, 5], data.qvel.dtype))
    softened = 0
    for _ in range(150):
        data = step(model, data)
        assert data.solver_converged and data.solver_niter < 50
        if softened or not data.ncon:
            continue
        slope = jax.grad(lambda q, d=data: jnp.sum(js.step(model, d.replace(qpos=q)).qvel))(data.qpos)
        assert np.isfinite(slope).all()
        d.qpos[:], d.qvel[:] = data.qpos, data.qvel
        mujoco.mj_forward(mj, d)
        here = rows(model, js.forward(model, data)).compact()
        D = here.D[here.type == mujoco.mjtConstraint.mjCNSTR_CONTACT_ELLIPTIC].reshape(-1, 3)
        assert np.allclose(D[:, 1:], 10 * D[:, :1], rtol=1e-5)
        softened += d.efc_D.max() > 1e3 * D.max()
    assert softened
