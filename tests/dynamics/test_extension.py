"""Functions of the user's, beside MuJoCo's callbacks."""

import contextlib

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim as js

SCENE = """
<mujoco>
  <size nuserdata="2"/>
  <option timestep=".01"/>
  <worldbody>
    <body><joint name="a" axis="0 1 0" damping=".1"/><geom size=".1" pos=".3 0 0"/>
      <body pos=".5 0 0"><joint name="b" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body></body>
  </worldbody>
  <actuator>
    <motor joint="a"/>
    <general joint="a" dyntype="user" actdim="2" gaintype="user" biastype="user"/>
    <general joint="b" dyntype="user" actdim="1" gaintype="fixed" gainprm="2"/>
    <general joint="b" gaintype="user" biastype="affine" biasprm="0 -1"/>
  </actuator>
  <sensor><user dim="2"/><jointpos joint="b"/><user dim="1"/></sensor>
</mujoco>
"""


def control(m, d):
    return jnp.concatenate([-3 * d.qvel[:1], jnp.sin(d.qpos), d.ctrl[3:] + d.userdata[:1]])


def passive(m, d):
    return -d.qpos * d.qpos * d.qpos - d.userdata[1] * d.qvel


def act_dyn(m, d):
    return jnp.stack([d.act[1], -4 * d.act[0] + d.ctrl[1], (d.ctrl[2] - d.act[2]) / 0.3])


def act_gain(m, d):
    return jnp.stack([1 + d.actuator_length[1], 2 - d.actuator_length[3]])


def act_bias(m, d):
    return 0.5 * d.actuator_velocity[1:2]


def sensor(m, d):
    return jnp.stack([d.qacc[0], d.qfrc_passive[1], d.actuator_force[0]])


FUNCTIONS = {
    "control": control,
    "passive": passive,
    "act_dyn": act_dyn,
    "act_gain": act_gain,
    "act_bias": act_bias,
    "sensor": sensor,
}


@contextlib.contextmanager
def callbacks():
    """MuJoCo calls the same functions."""

    def of_actuator(function, order):
        return lambda m, d, i: float(function(m, d)[order.index(i)])

    states = {1: [0, 1], 2: [2]}

    def dynamics(m, d, i):  # MuJoCo asks for the rate of the last state, and for the others in d.act_dot
        rates = np.asarray(act_dyn(m, d))
        d.act_dot[states[i]] = rates[states[i]]
        return float(rates[states[i][-1]])

    def read(m, d, stage):
        if stage == mujoco.mjtStage.mjSTAGE_ACC:
            d.sensordata[[0, 1, 3]] = sensor(m, d)

    mujoco.set_mjcb_control(lambda m, d: d.ctrl.__setitem__(slice(None), np.asarray(control(m, d))))
    mujoco.set_mjcb_passive(lambda m, d: d.qfrc_passive.__iadd__(np.asarray(passive(m, d))))
    mujoco.set_mjcb_act_dyn(dynamics)
    mujoco.set_mjcb_act_gain(of_actuator(act_gain, [1, 3]))
    mujoco.set_mjcb_act_bias(of_actuator(act_bias, [1]))
    mujoco.set_mjcb_sensor(read)
    try:
        yield
    finally:
        for name in FUNCTIONS:
            getattr(mujoco, f"set_mjcb_{name}")(None)


def test_steps_are_those_of_mujoco_with_callbacks(rng):
    mj = mujoco.MjModel.from_xml_string(SCENE)
    d, model = mujoco.MjData(mj), js.extend(js.load(SCENE), **FUNCTIONS)
    d.qpos[:], d.qvel[:], d.act[:], d.userdata[:] = (
        rng.normal(size=2),
        rng.normal(size=2),
        rng.normal(size=3),
        (0.3, 0.2),
    )
    data = js.put_data(model, d)
    step = jax.jit(js.step)
    for _ in range(20):
        with callbacks():
            mujoco.mj_step(mj, d)
        data = step(model, data)
        for name in ("qpos", "qvel", "act", "ctrl", "qfrc_passive", "actuator_force", "sensordata"):
            np.testing.assert_allclose(getattr(data, name), getattr(d, name), rtol=1e-10, atol=1e-10, err_msg=name)


def test_they_are_differentiated_and_batched(rng):
    model = js.extend(js.load(SCENE), control=control)
    model = js.extend(model, **{name: f for name, f in FUNCTIONS.items() if name != "control"})
    states = jnp.asarray(rng.normal(size=(3, 9)))

    def after(x):
        data = js.make_data(model).replace(qpos=x[:2], qvel=x[2:4], act=x[4:7], userdata=x[7:])
        end = js.step(model, data)
        return jnp.concatenate([end.qpos, end.qvel, end.act, end.sensordata])

    jacobians = jax.jit(jax.vmap(jax.jacrev(after)))(states)
    forward, h = jax.jit(jax.vmap(jax.jacfwd(after)))(states), 1e-6
    np.testing.assert_allclose(jacobians, forward, rtol=1e-9, atol=1e-9)
    run = jax.jit(jax.vmap(after))
    for i in range(9):
        step = h * np.eye(9)[i][None]
        np.testing.assert_allclose(
            forward[:, :, i], (run(states + step) - run(states - step)) / (2 * h), rtol=1e-6, atol=1e-6
        )


def test_what_does_not_fit_is_refused():
    model = js.load(SCENE)
    with pytest.raises(ValueError, match=r"control gives float64\[2\], expected float64\[4\]"):
        js.extend(model, control=lambda m, d: d.qvel)
    with pytest.raises(ValueError, match="nothing that sensor is for"):
        js.extend(
            js.load("<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"), sensor=sensor
        )


COUPLED = """
<mujoco><compiler angle="radian"/><option timestep=".01"/><worldbody>
  <body><joint name="a" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
    <body pos=".5 0 0"><joint name="b" axis="0 1 0" {}/><geom size=".1" pos=".3 0 0"/></body></body>
  <body pos="1 0 0"><joint name="c" type="slide"/><geom size=".1"/></body></worldbody>{}</mujoco>
"""
RANGE = 'range="-.2 .3" solreflimit=".03 1" margin=".01"'
EQUALITY = '<equality><joint joint1="c" joint2="a" polycoef=".1 1" solref=".04 .8" solimp=".8 .9 .01 .5 2"/></equality>'


def coupling(m, d):
    row = {"pos": d.qpos[2:] - d.qpos[:1] - 0.1, "J": jnp.asarray([[-1.0, 0.0, 1.0]], d.qpos.dtype)}
    return row | {"solref": jnp.asarray([0.04, 0.8]), "solimp": jnp.asarray([[0.8, 0.9, 0.01, 0.5, 2.0]])}


def bounds(m, d):
    pos = jnp.stack([d.qpos[1] + 0.2, 0.3 - d.qpos[1]])
    J = jnp.asarray([[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]], d.qpos.dtype)
    return {"pos": pos, "J": J, "solref": jnp.asarray([0.03, 1.0]), "margin": jnp.asarray(0.01)}


def test_rows_are_those_of_an_equality_and_a_limit():
    """Steps beside MuJoCo, which has the same as elements; in a batch, and differentiated by the state."""
    mj = mujoco.MjModel.from_xml_string(COUPLED.format(RANGE, EQUALITY))
    mj.opt.tolerance = 0
    model = js.extend(js.load(COUPLED.format("", "")), equality=coupling, limit=bounds)
    model = model.replace(opt=model.opt.replace(tolerance=0.0))
    step, d, pushed = jax.jit(jax.vmap(js.step, (None, 0))), mujoco.MjData(mj), 0
    d.qpos[:], d.qvel[:] = (0.1, 0.25, 0.05), (0.3, 2, -0.4)
    start = js.make_data(model).replace(qpos=jnp.asarray(d.qpos[:]), qvel=jnp.asarray(d.qvel[:]))
    worlds = jax.tree.map(lambda x: jnp.stack([x, x]), start)
    for _ in range(20):
        mujoco.mj_step(mj, d)
        worlds = step(model, worlds)
        pushed += int(d.nefc > 1)
        np.testing.assert_array_equal(worlds.nefc, d.nefc)
        for name in ("qpos", "qvel", "qfrc_constraint"):
            np.testing.assert_allclose(getattr(worlds, name)[1], getattr(d, name), rtol=1e-9, atol=1e-9, err_msg=name)
    assert 0 < pushed < 20

    def velocity(x):
        return js.step(model, start.replace(qpos=x[:3], qvel=x[3:])).qvel

    x, h = jnp.asarray([0.1, 0.31, 0.05, 0.3, 0.5, -0.4]), 1e-6
    slope, after = jax.jit(jax.jacrev(velocity))(x), jax.jit(velocity)
    differences = [(after(x + h * e) - after(x - h * e)) / (2 * h) for e in jnp.eye(6)]
    np.testing.assert_allclose(slope, np.stack(differences, 1), rtol=1e-6, atol=1e-6)


def test_rows_that_do_not_fit_are_refused():
    model = js.load(COUPLED.format("", ""))
    with pytest.raises(ValueError, match=r"J of limit has the shape \(1, 2\), expected \[1, 3\]"):
        js.extend(model, limit=lambda m, d: {"pos": d.qpos[:1], "J": jnp.zeros((1, 2))})
    with pytest.raises(ValueError, match=r"equality gives \['Jacobian', 'pos'\], expected a dict with"):
        js.extend(model, equality=lambda m, d: {"pos": d.qpos[:1], "Jacobian": jnp.zeros((1, 3))})
