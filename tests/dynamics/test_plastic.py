"""Springs that yield, against MuJoCo."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js

# every spring that can yield, beside one that cannot; tendons slack from zero up, with a dead band, and without
MODEL = """<mujoco><compiler angle="radian"/><option integrator="{}" timestep=".01"><flag energy="enable"/></option>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody><site name="o" pos="0 .5 1"/>
    <body><joint name="h" axis="0 1 0" stiffness="7 1 2" springref=".1" springyield=".05"/><geom size=".1" pos=".1 0 0"/>
      <body><joint name="e" axis="1 0 0" stiffness="9"/><geom size=".1" pos=".1 0 0"/><site name="p" pos=".1 .2 .1"/></body></body>
    <body pos="1 0 0"><joint name="s" type="slide" axis="0 1 .2" stiffness="7" springyield=".05"/><geom size=".1"/></body>
    <body pos="2 0 0"><joint name="b" type="ball" stiffness="7" springyield=".05"/><geom size=".1" pos=".1 0 0"/></body>
  </worldbody>
  <tendon><fixed springlength="-.1 .1" stiffness="3" springyield=".02"><joint joint="h" coef="1"/></fixed>
    <fixed springlength="0 .1" stiffness="3" springyield=".02"><joint joint="s" coef="1"/></fixed>
    <fixed springlength=".3" stiffness="3"><joint joint="s" coef="1"/></fixed>
    <fixed stiffness="3 1" springyield=".02"><joint joint="s" coef="2"/><joint joint="h" coef="1"/></fixed></tendon></mujoco>"""


def _pair(integrator: str) -> oracle.Pair:
    return oracle.pair_of_xml(MODEL.format(integrator))


@pytest.mark.parametrize("integrator", ["implicitfast", "RK4"])
def test_rest_positions_follow(integrator, rng):
    """To both sides, from random rest positions and back to those of the model; energy and forces with them."""
    mj, model = _pair(integrator)
    d, step = mujoco.MjData(mj), jax.jit(js.step)
    np.testing.assert_array_equal(js.make_data(model).plastic, d.plastic)
    for way in (1, -1, 3):
        mujoco.mj_integratePos(mj, d.qpos, way * 0.3 * rng.standard_normal(mj.nv), 1.0)
        d.qvel[:] = way * rng.standard_normal(mj.nv)
        data = oracle.put(model, d).replace(plastic=jnp.asarray(d.plastic.copy()))
        before = d.plastic.copy()
        for _ in range(20):
            data = step(model, data)
            mujoco.mj_step(mj, d)
            oracle.assert_equal(data, d, ("qpos", "qvel", "plastic"), 1e-10)
            if integrator != "RK4":  # whose last stage is what remains
                oracle.assert_equal(data, d, ("qfrc_passive", "energy"), 1e-10)
        assert (d.plastic != before).sum() > 4


def test_derivatives_and_reset(rng):
    """By state, yield and rest position, in both modes; a world that went wrong starts with springs as new."""
    _, model = _pair("implicitfast")
    data = js.make_data(model)
    bad = js.step(model, data.replace(qpos=data.qpos * jnp.nan, plastic=data.plastic + 1))
    np.testing.assert_allclose(bad.plastic, js.step(model, data).plastic)
    weight = [jnp.asarray(rng.standard_normal(n)) for n in (model.nq, model.nplastic)]

    def loss(x):
        m = model.replace(jnt_springyield=x["jnt_springyield"], tendon_springyield=x["tendon_springyield"])
        d = js.step(m, data.replace(**{k: x[k] for k in ("qpos", "qvel", "plastic")}))
        return jnp.sum(weight[0] * d.qpos) + jnp.sum(weight[1] * d.plastic)

    point = {
        k: getattr(data, k) + 0.3 * rng.standard_normal(getattr(data, k).shape) for k in ("qpos", "qvel", "plastic")
    }
    point |= {k: getattr(model, k) for k in ("jnt_springyield", "tendon_springyield")}
    both = jax.jit(jax.value_and_grad(loss))
    _, reverse = both(point)
    forward = jax.jit(lambda t: jax.jvp(loss, (point,), (t,))[1])
    for name in point:
        way = {k: jnp.zeros_like(v) for k, v in point.items()}
        way[name] = jnp.asarray(rng.uniform(0.5, 1, point[name].shape))
        exact = float(jnp.sum(reverse[name] * way[name]))
        assert exact, name
        assert abs(float(forward(way)) - exact) < 1e-10 * (1 + abs(exact)), name
        shifted = [both(jax.tree.map(lambda x, t, e=e: x + e * t, point, way))[0] for e in (1e-5, -1e-5)]
        assert abs(float(shifted[0] - shifted[1]) / 2e-5 - exact) < 1e-6 * abs(exact), name
    _, at_rest = both(point | {k: getattr(data, k) for k in ("qpos", "qvel", "plastic")})
    assert all(bool(jnp.isfinite(x).all()) for x in jax.tree.leaves(at_rest))


def test_what_was_decided_at_load():
    _, model = _pair("implicitfast")
    with pytest.raises(ValueError, match="jnt_springyield: the springs of some joints could not yield"):
        model.replace(jnt_springyield=model.jnt_springyield + 1)
    with pytest.raises(ValueError, match="tendon_springyield: the springs of some tendons could not yield"):
        model.replace(tendon_springyield=model.tendon_springyield + 1)
