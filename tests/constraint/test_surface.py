"""Surfaces that move and surfaces that stick, against MuJoCo."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js

# on a belt, on a turntable that is carried about; sticky by geoms, by priority and by a pair, touching or in the gap
MODEL = """<mujoco><option cone="{cone}"/><worldbody>
  <geom type="plane" size="5 5 .1" surfacevel=".5 .2 3 .1 .2 2" condim="1" adhesion="1" euler="0 0 40"/>
  <body pos="-1 .5 .049"><freejoint/><geom type="box" size=".1 .1 .05" condim="4" euler="10 0 30"/></body>
  <body pos="-1 0 .098"><freejoint/><geom type="capsule" size=".1 .1" euler="90 0 0" condim="6" surfacevel=".1 0 0 0 1 0"/>
    <geom type="box" size=".3 .3 .02" pos="0 0 .12" surfacevel="0 0 0 0 0 3"/></body>
  <body pos="-.9 .1 .287"><freejoint/><geom size=".15" condim="4"/></body>
  <body pos="0 0 .099"><freejoint/><geom size=".1" condim="3" adhesion="2"/><site name="a" size=".3"/></body>
  <body pos="0 .5 .12"><freejoint/><geom size=".1" condim="4" gap=".05" adhesion="50" mass=".1"/><site name="b" size=".3"/></body>
  <body pos="0 1 .099"><freejoint/><geom size=".1" condim="3" adhesion="2" priority="1"/><site name="c" size=".3"/></body>
  <body pos="0 1.5 .11"><freejoint/><geom size=".1" condim="6" gap=".02" priority="1" adhesion="0"/></body>
  <body pos="1 0 .3"><joint axis="0 1 0" damping=".1"/><geom name="hand" size=".1" pos=".3 0 0" contype="0" conaffinity="0"/></body>
  <body pos="1.3 0 .099"><freejoint/><geom name="held" size=".1" mass=".2"/></body></worldbody>
  <contact><pair geom1="hand" geom2="held" adhesion="30" gap=".05" condim="4"/></contact>
  <sensor><touch site="a"/><touch site="b"/><touch site="c"/><force site="a"/></sensor></mujoco>"""


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_forces_and_steps(cone, rng):
    mj, model = oracle.pair_of_xml(MODEL.format(cone=cone))
    d, step = mujoco.MjData(mj), jax.jit(js.step)
    d.qvel[:] = 0.1 * rng.standard_normal(mj.nv)
    in_gap = moving = 0
    for _ in range(40):
        data = step(model, oracle.put(model, d))
        mujoco.mj_forward(mj, d)
        oracle.assert_equal(data, d, ("qfrc_passive", "qfrc_constraint", "qacc", "sensordata"), 1e-8)
        assert (int(data.ncon), int(data.nefc)) == (d.ncon, d.nefc)
        np.testing.assert_array_equal(np.sort(data.contact.dim[: d.ncon]), np.sort(d.contact.dim))
        in_gap += int(((d.contact.dist > d.contact.includemargin) & (d.contact.dim == 1)).sum())
        moving += int((d.contact.surfacevel != 0).any(axis=1).sum())
        mujoco.mj_step(mj, d)
        oracle.assert_equal(data, d, ("qpos", "qvel"), 1e-8)
    assert in_gap > 10 and moving > 100
    if cone == "pyramidal":
        _forces_of_contacts(mj, model, d)


def _forces_of_contacts(mj: mujoco.MjModel, model: js.Model, d: mujoco.MjData) -> None:
    """Inverse dynamics, and what acts between the surfaces."""
    mujoco.mj_forward(mj, d)
    back = jax.jit(js.inverse)(model, oracle.put(model, d).replace(qacc=jnp.asarray(d.qacc.copy())))
    mujoco.mj_inverse(mj, d)
    oracle.assert_equal(back, d, ["qfrc_inverse"], 1e-8)
    forces = jax.jit(jax.vmap(js.contact_force, (None, None, 0)))(model, back, jnp.arange(d.ncon))
    of = {tuple(g): f for g, f in zip(np.asarray(back.contact.geom)[: d.ncon].tolist(), np.asarray(forces))}
    for i in np.flatnonzero([(d.contact.geom == g).all(axis=1).sum() == 1 for g in d.contact.geom]):
        net = np.zeros(6)
        mujoco.mj_contactForce(mj, d, i, net)
        assert oracle.error(of[tuple(d.contact.geom[i])], net) < 1e-7


BALL = """<mujoco><worldbody><geom type="plane" size="5 5 .1" {}/><body pos="0 0 .0995"><freejoint/>
  <geom size=".1" condim="4"/></body></worldbody></mujoco>"""


def test_derivatives():
    """By the velocity and the adhesion of surfaces, in both modes, against central differences."""
    _, model = oracle.pair_of_xml(BALL.format('surfacevel="1 .5 .1 .2 .3 .4" adhesion="3"'))
    model = model.replace(opt=model.opt.replace(iterations=100, tolerance=0.0))
    data, weight = js.make_data(model), jnp.arange(1.0, 7.0)

    def loss(x):
        return jnp.sum(weight * js.step(model.replace(**x), data).qvel)

    point = {name: getattr(model, name) for name in ("geom_surfacevel", "geom_adhesion")}
    both = jax.jit(jax.value_and_grad(loss))
    _, reverse = both(point)
    forward = jax.jit(lambda t: jax.jvp(loss, (point,), (t,))[1])
    for name in point:
        way = {k: v if k == name else jnp.zeros_like(v) for k, v in point.items()}
        exact = float(jnp.sum(reverse[name] * way[name]))
        assert exact, name
        assert abs(float(forward(way)) - exact) < 1e-10 * abs(exact), name
        shifted = [both(jax.tree.map(lambda x, t, e=e: x + e * t, point, way))[0] for e in (1e-5, -1e-5)]
        assert abs(float(shifted[0] - shifted[1]) / 2e-5 - exact) < 1e-6 * abs(exact), name


def test_what_was_decided_at_load():
    _, model = oracle.pair_of_xml(BALL.format(""))
    for name, what in (("geom_surfacevel", "surface moved"), ("geom_adhesion", "surface was sticky")):
        with pytest.raises(ValueError, match=f"{name}: no {what} when the model was loaded"):
            model.replace(**{name: getattr(model, name) + 1})
