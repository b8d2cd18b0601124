"""Forces of a fluid: both models against MuJoCo, their slopes, derivatives, and what is decided at load."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.dynamics import fluid_laws
from jaxsim.dynamics.com import com_pos, com_vel
from jaxsim.dynamics.fluid import fluid_force, fluid_slope
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.dynamics.passive import passive

# a chain and free bodies, of boxes, of ellipsoids, of both, and of bodies without mass; one ellipsoid is tiny
TREE = """<mujoco>
  <option density="{density}" viscosity="{viscosity}" wind="1 -2 .5" integrator="implicitfast"><flag contact="disable"/></option>
  <worldbody>
    <geom size=".1" fluidshape="ellipsoid"/>
    <body><joint type="slide" axis="1 0 .3"/><geom type="box" size=".1 .2 .05"/>
      <body pos=".2 0 0"><joint name="h" axis="0 1 0"/><geom size=".1" pos=".1 0 0" fluidshape="ellipsoid"/>
        <geom type="capsule" size=".05 .2" pos=".1 0 .3" euler="20 30 0" fluidshape="ellipsoid" fluidcoef=".3 .2 1.1 .7 1.3"/>
        <body pos=".3 0 0"><joint type="ball"/><geom type="ellipsoid" size=".1 .2 .03" pos="0 .1 .1" fluidshape="ellipsoid"/>
          <body pos="0 .2 0"><geom type="cylinder" size=".002 .001" euler="0 30 10" fluidshape="ellipsoid"/>
            <body><geom size=".1" mass="0" fluidshape="ellipsoid"/></body><body pos="1 0 0"/></body></body></body></body>
    <body pos="0 1 0"><freejoint/><geom type="box" size=".1 .2 .3"/></body>
    <body pos="0 2 0" euler="10 20 30"><freejoint/><geom type="box" size=".3 .1 .05" fluidshape="ellipsoid"/>
      <body pos=".2 0 0"><geom size=".1" pos=".2 .1 .1"/></body></body>
    <body pos="0 3 0"><freejoint/><geom type="box" size=".3 .1 .05"/>
      <body pos=".3 0 0"><joint axis="0 0 1"/><geom size=".1" pos=".1 0 0" fluidshape="ellipsoid"/></body></body>
  </worldbody></mujoco>"""
SMALL = """<mujoco>
  <option density="{density}" viscosity="{viscosity}" wind="1 -2 .5" integrator="implicit"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody><body><joint type="ball"/><geom type="box" size=".1 .2 .05" pos=".1 0 0"/>
    <body pos=".2 0 0"><joint axis="0 1 0"/><geom type="capsule" size=".05 .2" fluidshape="ellipsoid"/></body></body>
  </worldbody></mujoco>"""


def _model(text: str = SMALL, density: float = 0, viscosity: float = 0) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(text.format(density=density, viscosity=viscosity))


def test_both_models_in_all_media(rng):
    """Forces and steps, of one program for every medium, from rest and in motion."""
    mj, model = oracle.pair(_model(TREE, density=1))
    d, step = mujoco.MjData(mj), jax.jit(js.step)
    for density, viscosity, speed in ((0, 0.7, 2), (1.2, 0, 2), (300, 2, 0), (300, 2, 1)):
        mj.opt.density, mj.opt.viscosity = density, viscosity
        option = model.opt.replace(density=jnp.asarray(float(density)), viscosity=jnp.asarray(float(viscosity)))
        mujoco.mj_resetData(mj, d)
        mujoco.mj_integratePos(mj, d.qpos, 0.3 * rng.standard_normal(mj.nv), 1.0)
        d.qvel[:] = speed * rng.standard_normal(mj.nv)
        data = oracle.put(model, d)
        for _ in range(3):
            mujoco.mj_forward(mj, d)
            force = d.qfrc_passive.copy()
            assert np.abs(force).max() > 0.01
            data = step(model.replace(opt=option), data)
            mujoco.mj_step(mj, d)
            assert oracle.error(data.qfrc_passive, force) < 1e-12
            oracle.assert_equal(data, d, ("qpos", "qvel"), 1e-11)


def test_inverse(rng):
    mj, model = oracle.pair(_model(density=300, viscosity=2))
    d = mujoco.MjData(mj)
    d.qvel[:] = rng.standard_normal(mj.nv)
    d.qacc[:] = rng.standard_normal(mj.nv)
    data = oracle.put(model, d).replace(qacc=jnp.asarray(d.qacc))
    mujoco.mj_inverse(mj, d)
    oracle.assert_equal(jax.jit(js.inverse)(model, data), d, ["qfrc_inverse"], 1e-12)


def test_no_fluid_without_passive_forces():
    mj = _model(density=300, viscosity=2)
    mj.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_SPRING | mujoco.mjtDisableBit.mjDSBL_DAMPER)
    _, model = oracle.pair(mj)
    data = js.make_data(model)
    moved, _ = passive(model, data.replace(cvel=jnp.ones((model.nbody, 6))), jnp.zeros((0, model.nv)))
    assert not np.asarray(moved.qfrc_passive).any()


@pytest.mark.parametrize("seed", range(3))
def test_slopes_are_the_derivatives(seed):
    rng = np.random.default_rng(seed)
    velocity = jnp.asarray(rng.standard_normal((5, 6)) * 10.0 ** -(3 * seed))
    density, viscosity = jnp.asarray(30.0), jnp.asarray(0.3)
    axes, fluid = jnp.asarray(rng.uniform(0.01, 0.3, (5, 3))), jnp.asarray(rng.uniform(0.1, 2, (5, 12)))
    mass = jnp.asarray(rng.uniform(0.1, 1, 5))
    for of in (
        fluid_laws.ellipsoid_coefficients(axes, fluid, density, viscosity),
        fluid_laws.box_coefficients(axes, mass, density, viscosity),
    ):
        exact = jax.vmap(jax.jacfwd(lambda v, of: of.force(v[None])[0]), (0, _axes(of)))(velocity, _rows(of))
        found = of.slope(velocity)
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-12 * float(jnp.abs(exact).max()))


def _axes(of):
    return type(of)(*(0 if x.ndim else None for x in of))


def _rows(of):
    """Every coefficient with an axis more, so that those of one object are again those of objects."""
    return type(of)(*(x[:, None] if x.ndim else x for x in of))


PARAMETERS = ("density", "viscosity", "wind", "geom_fluid", "geom_size", "body_mass", "body_inertia")


def _problem(model: js.Model, rng):
    """A smooth function of state, medium and shapes after a step, and where to differentiate it."""
    weight = [jnp.asarray(rng.standard_normal(n)) for n in (model.nq, model.nv)]
    data = js.make_data(model)

    def loss(x):
        opt = model.opt.replace(**{k: x[k] for k in PARAMETERS[:3]})
        fields = {k: x[k] for k in PARAMETERS[3:]}
        d = js.step(model.replace(opt=opt, **fields), data.replace(qpos=x["qpos"], qvel=x["qvel"]))
        return jnp.sum(weight[0] * d.qpos) + jnp.sum(weight[1] * d.qvel)

    options = {k: getattr(model.opt, k) for k in PARAMETERS[:3]}
    fields = {k: getattr(model, k) for k in PARAMETERS[3:]}
    return loss, {"qpos": data.qpos, "qvel": data.qvel} | options | fields


def test_derivatives(rng):
    """Of a step by implicit, whose matrix has the fluid in it: both modes, and central differences."""
    _, model = oracle.pair(_model(density=30, viscosity=0.3))
    loss, point = _problem(model, rng)
    point |= {k: point[k] + 0.3 * rng.standard_normal(point[k].shape) for k in ("qpos", "qvel")}
    both = jax.jit(jax.value_and_grad(loss))
    _, reverse = both(point)
    forward = jax.jit(lambda t: jax.jvp(loss, (point,), (t,))[1])
    for name in point:
        scale = 1.0 if name in ("qpos", "qvel", "wind") else np.asarray(point[name])
        way = {k: jnp.zeros_like(v) for k, v in point.items()}
        way[name] = jnp.asarray(scale * rng.uniform(0.5, 1, point[name].shape))
        exact = float(jnp.sum(reverse[name] * way[name]))
        assert exact, name
        assert abs(float(forward(way)) - exact) < 1e-10 * (1 + abs(exact)), name
        shifted = [both(jax.tree.map(lambda x, t, e=e: x + e * t, point, way))[0] for e in (1e-5, -1e-5)]
        assert abs(float(shifted[0] - shifted[1]) / 2e-5 - exact) < 1e-6 * abs(exact), name


@pytest.mark.usefixtures("float32")
def test_finite_in_float32_at_rest(rng):
    """No velocity relative to a fluid that rests: the force, its slope, and the derivatives of both."""
    model = js.put_model(_model(density=30, viscosity=0.3))
    _, point = _problem(model, rng)
    point["wind"] = jnp.zeros(3)
    assert point["qvel"].dtype == jnp.float32
    data = js.make_data(model)

    def total(x):
        opt = model.opt.replace(**{k: x[k] for k in PARAMETERS[:3]})
        m = model.replace(opt=opt, **{k: x[k] for k in PARAMETERS[3:]})
        d, _ = com_vel(m, com_pos(m, kinematics(m, data.replace(qpos=x["qpos"], qvel=x["qvel"]))))
        return jnp.sum(fluid_force(m, d)) + jnp.sum(fluid_slope(m, d, np.ones(m.nbody, bool)))

    for x in jax.tree.leaves(jax.jit(jax.value_and_grad(total))(point)):
        assert bool(jnp.isfinite(x).all())


def test_what_was_decided_at_load():
    """A fluid in a model without one is refused, and so is another model of its forces."""
    dry = js.put_model(_model())
    for name in ("density", "viscosity"):
        with pytest.raises(ValueError, match=f"opt.{name}: there was no fluid"):
            dry.replace(opt=dry.opt.replace(**{name: jnp.asarray(1.0)}))
    dry.replace(opt=dry.opt.replace(wind=jnp.ones(3)))
    with pytest.raises(ValueError, match="geom_fluid: whether a geom feels"):
        dry.replace(geom_fluid=dry.geom_fluid.at[0, 0].set(1.0))
