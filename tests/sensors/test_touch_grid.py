"""Touch grids beside MuJoCo's plugin, and their derivatives beside differences."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.sensors.touch_grid import edges

GRID = '<config key="nchannel" value="{}"/><config key="size" value="{}"/><config key="fov" value="{}"/>'
# a hand whose palm has a body before it and a finger welded to it, things that fall on it, and the floor
XML = f"""
<mujoco>
  <option cone="elliptic" tolerance="0" iterations="200"/>
  <extension><plugin plugin="mujoco.sensor.touch_grid"><instance name="all">
    {GRID.format(6, "3 2", "180 90")}</instance></plugin></extension>
  <worldbody>
    <geom type="plane" size="1 1 1" pos="0 0 -.3"/>
    <site name="ground" pos="0 0 .3"/>
    <body pos="0 0 .25"><freejoint/><geom size=".07" condim="6" mass="2"/></body>
    <body name="palm">
      <joint type="slide" axis="0 0 1" stiffness="300" damping="3"/><joint axis="1 .3 0" stiffness="5" damping=".3"/>
      <geom type="box" size=".2 .15 .03" mass="1"/>
      <site name="above" pos="0 0 .2"/><site name="turned" pos=".1 0 .3" euler="20 -10 30"/>
      <body pos="0 .25 0"><geom type="box" size=".08 .1 .02" mass=".2"/></body>
    </body>
    <body pos=".08 .03 .12" euler="20 0 0"><freejoint/><geom type="box" size=".04 .05 .03" condim="4" mass="1"/></body>
    <body pos="-.09 -.03 .15"><freejoint/><geom type="capsule" size=".03 .05" euler="90 0 0" mass="1"/></body>
    <body pos="0 .26 .1"><freejoint/><geom type="box" size=".03 .03 .03" condim="1" mass=".5"/></body>
  </worldbody>
  <sensor>
    <gyro site="above"/>
    <plugin name="image" plugin="mujoco.sensor.touch_grid" objtype="site" objname="above">
      {GRID.format(3, "7 5", "120 80")}<config key="gamma" value=".4"/></plugin>
    <plugin instance="all" objtype="site" objname="turned" cutoff="4"/>
    <plugin plugin="mujoco.sensor.touch_grid" objtype="site" objname="ground">
      {GRID.format(0, "4 4", "100 90")}</plugin>
    <plugin plugin="mujoco.sensor.touch_grid" objtype="site" objname="above">
      {GRID.format(3, "7 5", "60 40")}</plugin>
  </sensor>
</mujoco>
"""


def test_images_are_those_of_the_plugin():
    mj, model = mujoco.MjModel.from_xml_string(XML), js.load(XML)
    np.testing.assert_array_equal(model.sensor_dim, mj.sensor_dim)
    np.testing.assert_array_equal(model.sensor_adr, mj.sensor_adr)
    d, forward = mujoco.MjData(mj), jax.jit(js.forward)
    used = np.zeros(mj.nsensordata, bool)
    for k in range(8):
        mujoco.mj_step(mj, d, 40)
        mujoco.mj_forward(mj, d)
        state = {name: jnp.array(getattr(d, name)) for name in ("qpos", "qvel", "qacc_warmstart")}
        ours = forward(model, js.make_data(model).replace(**state))
        assert oracle.error(ours.sensordata, d.sensordata) < 1e-8, k
        used |= d.sensordata != 0
    each = [used[a : a + n] for a, n in zip(mj.sensor_adr, mj.sensor_dim)]
    assert [n.sum() >= least for n, least in zip(each, (1, 12, 12, 1, 1))] == [True] * 5, [n.sum() for n in each]
    assert np.all(np.abs(d.sensordata[mj.sensor_adr[2] :][: mj.sensor_dim[2]]) <= 4)
    assert ours.sensor("image").shape == (105,)


def test_forces_have_their_derivatives():
    model = js.load(XML)
    data = js.make_data(model)
    step = jax.jit(js.step)
    for _ in range(320):
        data = step(model, data)
    weight = jnp.asarray(np.random.default_rng(0).normal(size=model.nsensordata))

    @jax.jit
    def loss(x):
        return weight @ js.forward(model, data.replace(qvel=data.qvel + x)).sensordata

    at, along = jnp.zeros(model.nv), jnp.asarray(np.random.default_rng(1).normal(size=model.nv))
    slope = jax.jvp(loss, (at,), (along,))[1]
    h = 1e-6
    np.testing.assert_allclose(slope, (loss(h * along) - loss(-h * along)) / (2 * h), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(loss)(at) @ along, slope, rtol=1e-9)


def test_cells_are_bent_towards_the_middle():
    across, up = edges(np.array([1, 4, 2, 90, 60, 1]))
    np.testing.assert_allclose(across, np.pi / 2 * np.array([-1, -(0.5**5), 0, 0.5**5, 1]), atol=1e-16)
    np.testing.assert_allclose(up, np.pi / 3 * np.array([-1, 0, 1]), atol=1e-16)


@pytest.mark.parametrize(
    "config, words",
    [
        (GRID.format(7, "3 3", "90 90"), "nchannel must be from 1 to 6"),
        (GRID.format(1, "3", "90 90"), "size='3' is not two numbers"),
        (GRID.format(1, "3 0", "90 90"), "numbers of cells must be positive"),
        (GRID.format(1, "3 3", "181 90"), "fov must be positive, the first at most 180"),
        (GRID.format(1, "3 3", "90 nan"), "fov='90 nan' is not finite"),
        (GRID.format(1, "3 3", "90 90") + '<config key="gamma" value="2"/>', "gamma must be between 0 and 1"),
        (GRID.format(1, "3 3", "90 90") + '<config key="gama" value="2"/>', "unknown key 'gama'"),
        ('<config key="nchannel" value="1"/>', "needs size and fov"),
    ],
)
def test_wrong_attributes(config, words):
    xml = f"""<mujoco><extension><plugin plugin="mujoco.sensor.touch_grid"/></extension><worldbody><site name="eye"/></worldbody>
      <sensor><plugin plugin="mujoco.sensor.touch_grid" objtype="site" objname="eye">{config}</plugin></sensor></mujoco>"""
    with pytest.raises(js.MjcfError, match=words):
        js.load(xml)


@pytest.mark.parametrize(
    "sensors, words",
    [
        ('<plugin instance="a" objtype="body" objname="b"/>', "must be attached to a site"),
        ('<plugin instance="a" objtype="site"/>', "objtype"),
        ('<plugin instance="p" objtype="site" objname="s"/>', "plugin 'mujoco.pid' is no sensor"),
        ('<plugin objtype="site" objname="s"/>', "one of these must be given: plugin, instance"),
        ('<plugin instance="a" objtype="site" objname="s"/>' * 2, "instance 'a' is that of another sensor"),
        ('<plugin instance="a" objtype="nose" objname="s"/>', "no nose is called 's'"),
    ],
)
def test_wrong_sensors(sensors, words):
    xml = f"""<mujoco><extension><plugin plugin="mujoco.sensor.touch_grid"><instance name="a">{GRID.format(1, "3 3", "9 9")}
      </instance></plugin><plugin plugin="mujoco.pid"><instance name="p"/></plugin></extension>
      <worldbody><body name="b"><geom size="1"/><site name="s"/></body></worldbody><sensor>{sensors}</sensor></mujoco>"""
    with pytest.raises(js.MjcfError, match=words):
        js.load(xml)
