"""Time integration against MuJoCo: Euler, RK4, implicit and implicitfast."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.core.enums import DisableBit, EnableBit, Integrator
from jaxsim.dynamics.bias_slope import bias_slope
from jaxsim.dynamics.com import com_pos, com_vel, rne
from jaxsim.dynamics.kinematics import kinematics

STATE = ("time", "qpos", "qvel", "act")
TREE = """
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <body><joint name="s" type="slide" axis="1 0 .3" damping=".4"/><geom size=".1"/>
      <body pos=".2 0 0"><joint name="h" axis="0 1 0" damping=".1" range="-60 60"/><geom size=".1" pos=".1 0 0"/>
        <body pos=".3 0 0"><joint name="b" type="ball" damping=".03"/><geom size=".1" pos="0 .1 .1"/></body></body></body>
    <body pos="0 1 0"><freejoint name="f"/><geom type="box" size=".1 .2 .3"/></body>
    <body pos="0 2 0" euler="10 20 30"><freejoint/><geom type="box" size=".3 .1 .05"/><geom size=".1" pos=".2 .1 .1"/></body>
    <body pos="0 3 0"><freejoint/><geom type="box" size=".3 .1 .05"/>
      <body pos=".3 0 0"><joint axis="0 0 1" damping=".2"/><geom size=".1" pos=".1 0 0"/></body></body>
  </worldbody>
  <tendon><fixed name="t" damping=".3" stiffness="2"><joint joint="s" coef="1"/><joint joint="h" coef="-.4"/></fixed></tendon>
  <actuator>{}</actuator>
"""
ACTUATORS = {
    "none": "",
    "servos": '<position joint="h" kp="50" kv="9"/><velocity joint="s" kv="20"/><velocity tendon="t" kv="5"/>',
    "affine-gain": """<general joint="h" gaintype="affine" gainprm="2 .3 -.9" dyntype="filterexact" dynprm=".1"/>
        <general joint="s" biastype="affine" biasprm="0 0 -3" gaintype="affine" gainprm="1 0 2" ctrlrange="-.5 .5"/>""",
    "saturated": """<position joint="h" kp="500" kv="9" forcerange="-1 1"/><velocity joint="s" kv="20"/>""",
    "activation": '<intvelocity joint="h" kp="5" actrange="-1 1"/><general joint="s" dyntype="integrator" biastype="affine" biasprm="0 -1 -2"/>',
}


def _model(integrator: Integrator, name: str = "none", text: str = "", timestep: float = 0.005) -> mujoco.MjModel:
    mj = mujoco.MjModel.from_xml_string(text or f"<mujoco>{TREE.format(ACTUATORS[name])}</mujoco>")
    mj.opt.integrator = int(integrator)
    mj.opt.timestep = timestep
    mj.opt.enableflags = int(EnableBit.ENERGY) if integrator == Integrator.RK4 else 0
    return mj


def _follow(mj: mujoco.MjModel, rng: np.random.Generator, steps: int = 10, tolerance: float = 1e-10) -> None:
    """The same state as MuJoCo after each step."""
    mj, model = oracle.pair(mj)
    d = mujoco.MjData(mj)
    mujoco.mj_integratePos(mj, d.qpos, 0.3 * rng.standard_normal(mj.nv), 1.0)
    d.qvel[:] = 2 * rng.standard_normal(mj.nv)
    data = oracle.put(model, d)
    # what RK4 leaves: the acceleration of the step, and activation rates and energy of its last stage
    fields = (*STATE, "qacc", "act_dot", "energy") if mj.opt.integrator == Integrator.RK4 else STATE
    for _ in range(steps):
        d.ctrl[:] = rng.standard_normal(mj.nu)
        data = js.step(model, data.replace(ctrl=d.ctrl.copy()))
        mujoco.mj_step(mj, d)
        oracle.assert_equal(data, d, fields, tolerance)


@pytest.mark.parametrize(
    "integrator", [Integrator.EULER, Integrator.RK4, Integrator.IMPLICITFAST], ids=lambda i: i.name
)
@pytest.mark.parametrize("name", ACTUATORS)
def test_integrator(integrator, name, rng):
    _follow(_model(integrator, name), rng)


@pytest.mark.parametrize("name", ["servos", "affine-gain"])
def test_implicit(name, rng):
    """With the derivative of the bias force, and in a fluid."""
    mj = _model(Integrator.IMPLICIT, name)
    mj.opt.density, mj.opt.viscosity = 100, 1
    _follow(mj, rng)


def test_slope_of_the_bias_force(rng):
    """Against the derivative that JAX takes."""
    _, model = oracle.pair(_model(Integrator.IMPLICIT))

    @jax.jit
    def both(data):
        d, cdof_dot = com_vel(model, com_pos(model, kinematics(model, data)))
        exact = jax.jacfwd(lambda v: (lambda d, rate: rne(model, d, rate))(*com_vel(model, d.replace(qvel=v))))(d.qvel)
        return bias_slope(model, d, cdof_dot), exact

    data = js.make_data(model)
    qpos = data.qpos + 0.3 * rng.standard_normal(model.nq)
    found, exact = both(data.replace(qpos=qpos, qvel=jnp.asarray(3 * rng.standard_normal(model.nv))))
    assert np.abs(exact).max() > 1
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-12 * float(jnp.abs(exact).max()))


@pytest.mark.parametrize("integrator", [Integrator.EULER, Integrator.IMPLICITFAST, Integrator.IMPLICIT])
def test_discrete_inverse(integrator, rng):
    """What was applied follows from the change of velocity over a step."""
    mj = _model(integrator, "servos")
    mj.opt.density, mj.opt.enableflags = 100, int(EnableBit.INVDISCRETE)
    mj, model = oracle.pair(mj)
    d = mujoco.MjData(mj)
    d.qvel[:] = rng.standard_normal(mj.nv)
    d.qfrc_applied[:] = rng.standard_normal(mj.nv)
    mujoco.mj_forward(mj, d)
    data = js.put_data(model, d)
    given = d.qfrc_applied + d.qfrc_actuator
    mujoco.mj_step(mj, d)
    change = (d.qvel - np.asarray(data.qvel)) / mj.opt.timestep
    back = jax.jit(js.inverse)(model, data.replace(qacc=jnp.asarray(change)))
    assert oracle.error(back.qfrc_inverse, given) < 1e-9
    np.testing.assert_array_equal(back.qacc, change)
    d.qpos, d.qvel, d.qacc = data.qpos, data.qvel, change
    mujoco.mj_inverse(mj, d)
    oracle.assert_equal(back, d, ["qfrc_inverse", "qfrc_constraint"], 1e-9)


def test_discrete_inverse_of_runge_kutta():
    mj = _model(Integrator.RK4)
    mj.opt.enableflags = int(EnableBit.INVDISCRETE)
    _, model = oracle.pair(mj)
    with pytest.raises(ValueError, match="not defined for RK4"):
        js.inverse(model, js.make_data(model))


@pytest.mark.parametrize("bit", [DisableBit.EULERDAMP, DisableBit.DAMPER])
@pytest.mark.parametrize("integrator", [Integrator.EULER, Integrator.IMPLICITFAST], ids=lambda i: i.name)
def test_without_implicit_damping(integrator, bit, rng):
    mj = _model(integrator, "servos", timestep=0.001)
    mj.opt.disableflags = int(bit)
    _follow(mj, rng)


@pytest.mark.parametrize("integrator", [Integrator.IMPLICITFAST, Integrator.DISCRETE], ids=lambda i: i.name)
def test_saturation_by_joint_and_tendon_limits(integrator, rng):
    """What a motor's cogging and bristles add after the tendon's limit counts, with its slopes, but not for the limit."""
    motor = '<dcmotor tendon="t" resistance="2" motorconst=".3" lugre="3 .4 .2 .3 .05" cogging=".9 6 .3"/>'
    text = f"<mujoco>{TREE.format(ACTUATORS['servos'] + motor)}</mujoco>"
    text = text.replace('name="h" ', 'name="h" actuatorfrcrange="-1 1" ')
    text = text.replace('name="t" ', 'name="t" actuatorfrclimited="true" actuatorfrcrange="-.5 .5" ')
    _follow(_model(integrator, text=text), rng)


CONTACT = """<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
  <body pos="0 0 .2"><freejoint/><geom type="capsule" size=".1 .2"/>
  <body pos=".2 0 0"><joint axis="0 1 0" range="-20 20" damping=".1" frictionloss=".1"/><geom size=".08" pos=".1 0 0"/></body>
  </body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    "integrator", [Integrator.EULER, Integrator.RK4, Integrator.IMPLICITFAST], ids=lambda i: i.name
)
def test_with_contacts(integrator, rng):
    _follow(_model(integrator, text=CONTACT), rng, 20)


def test_polynomial_damping(rng):
    text = """<mujoco><worldbody><body><joint name="j" axis="0 1 0" damping=".3 .2 .1" stiffness="3 .4 .2"/>
        <geom size=".1" pos=".2 0 0"/></body></worldbody></mujoco>"""
    for integrator in (Integrator.EULER, Integrator.IMPLICITFAST):
        _follow(_model(integrator, text=text), rng)


SPINNING = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body><freejoint/><geom type="box" size=".1 .2 .3"/></body></worldbody></mujoco>"""


def test_runge_kutta_is_of_order_four():
    """Halving the step divides the error of a tumbling body's orientation by about 16."""

    def end(steps: int) -> np.ndarray:
        _mj, model = oracle.pair(_model(Integrator.RK4, text=SPINNING, timestep=0.4 / steps))
        data = js.make_data(model).replace(qvel=jnp.asarray([0, 0, 0, 3.0, 0.5, 4.0]))
        for _ in range(steps):
            data = js.step(model, data)
        return np.asarray(data.qpos[3:])

    exact = end(64)
    ratio = np.linalg.norm(end(4) - exact) / np.linalg.norm(end(8) - exact)
    assert 12 < ratio < 22
