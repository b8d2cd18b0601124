"""Rangefinders, projections and zones beside MuJoCo's; their derivatives beside differences."""

import jax
import mujoco
import numpy as np
import oracle

import jaxsim as js
from jaxsim.dynamics.com import com_pos
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.sensors.table import sensors

FIELDS = "dist dir origin point normal depth"
CAMERAS = ("down", "flat", "chip", "carried")
ZONES = ("zone", "ball", "egg", "pill", "can", "below")
OBJECTS = (("body", "a"), ("xbody", "b"), ("geom", "g"), ("site", "t"), ("camera", "carried"))
XML = f"""
<mujoco>
  <default><geom contype="0" conaffinity="0"/></default>
  <asset>
    <mesh name="m" vertex="-.2 -.2 -.15  .25 -.2 -.15  0 .3 -.15  0 0 .3  .1 .1 .25"/>
    <material name="clear" rgba="1 1 1 0"/>
  </asset>
  <worldbody>
    <geom type="plane" size="3 3 .1" pos="0 0 -.6"/><geom type="box" size=".4 .3 .2" pos=".9 .1 -.3"/>
    <camera name="down" pos=".5 .1 1.5" resolution="9 7" fovy="60"/>
    <camera name="flat" pos=".5 .1 1.5" euler="10 20 0" resolution="7 6" projection="orthographic" fovy="2.5"/>
    <camera name="chip" pos=".3 -.1 1.6" euler="5 -12 30" resolution="10 8" sensorsize=".02 .015" focal=".015 .018"
      principal=".001 -.002"/>
    <site name="zone" type="box" size=".5 .4 .3" euler="10 20 30"/><site name="ball" size=".6"/>
    <site name="egg" type="ellipsoid" size=".3 .5 .7"/><site name="pill" type="capsule" size=".3 .4" euler="40 0 0"/>
    <site name="can" type="cylinder" size=".5 .3"/><site name="below" type="cylinder" size=".5 .8" pos="0 0 -.9"/>
    <body name="a"><freejoint/>
      <geom type="box" size=".15 .2 .25"/><geom name="g" type="capsule" size=".1 .2" pos="-.3 0 0"/>
      <geom size=".8" material="clear"/><site name="sa" pos=".1 0 .3"/><site name="sb" pos="-.1 .1 0" euler="100 30 0"/>
      <camera name="carried" pos="0 0 .1" resolution="6 5" mode="targetbody" target="b"/></body>
    <body name="b" pos=".5 0 0"><freejoint/>
      <geom type="mesh" mesh="m"/><geom type="cylinder" size=".15 .2" pos="0 .5 0"/>
      <geom type="ellipsoid" size=".1 .2 .3" pos=".3 -.3 0"/><geom size=".1" pos="-.2 -.4 0"/>
      <site name="t" pos="0 0 .2"/><site name="u" pos=".2 0 .2" euler="60 70 0"/></body>
  </worldbody>
  <sensor>
    {"".join(f'<rangefinder site="{site}" data="{FIELDS}"/>' for site in ("sa", "sb", "t", "u"))}
    <rangefinder site="sa"/><rangefinder site="sb" cutoff=".5" data="dist point"/>
    {"".join(f'<rangefinder camera="{camera}" data="{FIELDS}"/>' for camera in CAMERAS)}
    {"".join(f'<camprojection site="t" camera="{camera}"/>' for camera in CAMERAS)}
    <camprojection site="sb" camera="chip" cutoff="9"/>
    {"".join(f'<insidesite site="{z}" objtype="{t}" objname="{n}"/>' for z in ZONES for t, n in OBJECTS)}
  </sensor>
</mujoco>
"""


def test_readings_are_mujocos_and_derivatives_those_of_differences():
    mj, model = oracle.pair_of_xml(XML)
    rng, poses, data = np.random.default_rng(0), np.tile(mj.qpos0, (10, 1)), js.make_data(model)
    for pose in poses[1:]:
        mujoco.mj_integratePos(mj, pose, 0.5 * rng.standard_normal(mj.nv), 1.0)

    def read(qpos):  # none of these sensors looks at forces or accelerations
        return sensors(model, com_pos(model, kinematics(model, data.replace(qpos=qpos))), None, None).sensordata

    @jax.jit
    @jax.vmap
    def program(qpos, along, weight):
        value, change = jax.jvp(read, (qpos,), (along,))
        return value, change, jax.vjp(read, qpos)[1](weight)[0]

    along, weight = rng.standard_normal(poses.shape), rng.standard_normal((len(poses), mj.nsensordata))
    along[:, [3, 4, 5, 6, 10, 11, 12, 13]] *= 0.3
    value, change, back = program(poses, along, weight)

    d, heard = mujoco.MjData(mj), []
    for pose, ours in zip(poses, value):
        d.qpos[:] = pose
        mujoco.mj_forward(mj, d)
        for s in range(mj.nsensor):
            here = slice(mj.sensor_adr[s], mj.sensor_adr[s] + mj.sensor_dim[s])
            assert oracle.error(ours[here], d.sensordata[here]) < 1e-9, (pose, s)
        heard.append(d.sensordata.copy())
    # every zone is left and entered, and rays go by
    assert (np.ptp(np.array(heard)[:, -len(ZONES) * len(OBJECTS) :], axis=0) > 0).mean() > 0.7
    assert 0.05 < (np.array(heard) == -1).mean() < 0.5

    at = lambda h: np.asarray(program(poses + h * along, along, weight)[0])  # noqa: E731
    wide, narrow = ((at(h) - at(-h)) / (2 * h) for h in (2e-6, 1e-6))
    scale = 1 + np.abs(narrow)
    smooth = np.abs(wide - narrow) / scale < 1e-5  # as long as rays meet the same surfaces
    assert smooth.mean() > 0.99 and np.isfinite(change).all()
    assert (np.abs(change - narrow) / scale)[smooth].max() < 1e-6
    forward, backward = (np.sum(x * y, axis=1) for x, y in ((weight, change), (along, back)))
    assert np.abs(forward / backward - 1).max() < 1e-9


TORUS = """
<mujoco>
  <extension><plugin plugin="mujoco.sdf.torus"><instance name="t"/></plugin></extension>
  <asset><mesh name="t"><plugin instance="t"/></mesh></asset>
  <worldbody>
    <geom type="sdf" mesh="t" euler="20 30 0" pos=".3 .1 .5"><plugin instance="t"/></geom>
    <geom type="box" size=".1 .1 .1" pos="3 0 1"/>
    <body pos="0 0 -1"><freejoint/><geom size=".1"/>
      <site name="a" pos=".6 .1 0"/><site name="b" pos="0 .1 0"/><site name="c" pos=".3 -.2 0"/><site name="d" pos="3 0 0"/>
    </body>
  </worldbody>
  <sensor>{sensors}</sensor>
</mujoco>
""".format(sensors="".join(f'<rangefinder site="{s}" data="dist point normal"/>' for s in "abcd"))


def test_signed_distance_fields_are_seen():
    mj, model = mujoco.MjModel.from_xml_string(TORUS), js.load(TORUS)
    d = mujoco.MjData(mj)
    mujoco.mj_forward(mj, d)
    seen = jax.jit(js.forward)(model, js.make_data(model)).sensordata
    assert (d.sensordata.reshape(4, 7)[:, 0] > 0).all()
    np.testing.assert_allclose(seen, d.sensordata, rtol=1e-9, atol=1e-9)


# nothing that a ray could meet
EMPTY = """
<mujoco>
  <worldbody>
    <body><joint/><inertial pos="0 0 1" mass="1" diaginertia="1 1 1"/><site name="a"/></body>
  </worldbody>
  <sensor><rangefinder site="a" data="dist point normal"/></sensor>
</mujoco>
"""


def test_nothing_is_seen_where_there_is_nothing():
    mj, model = mujoco.MjModel.from_xml_string(EMPTY), js.load(EMPTY)
    d = mujoco.MjData(mj)
    mujoco.mj_forward(mj, d)
    seen = jax.jit(js.forward)(model, js.make_data(model)).sensordata
    assert d.sensordata[0] == -1
    np.testing.assert_array_equal(seen, d.sensordata)
