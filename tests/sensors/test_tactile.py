"""Tactile sensors beside MuJoCo's, on its own contacts; their derivatives beside differences."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.constraint.rows import Rows, RowValues
from jaxsim.constraint.solution import Solution
from jaxsim.sensors.tactile import pads

# a pad welded to a child, whose contacts count too, and touched by every shape; the stone has no field
XML = """
<mujoco>
  <extension>
    <plugin plugin="mujoco.sdf.bowl"><instance name="bowl">
      <config key="height" value=".05"/><config key="radius" value=".15"/><config key="thickness" value=".06"/>
    </instance></plugin>
  </extension>
  <asset>
    <mesh name="bowl"><plugin instance="bowl"/></mesh>
    <mesh name="pebble" builtin="sphere" params="1" scale=".15 .12 .08"/>
    <mesh name="plate" builtin="plate" params="7 6" scale=".3 .25 1"/>
    <mesh name="flat" vertex="-.2 -.2 .05  .25 -.2 .05  0 .3 .05  0 0 .06  .1 .1 .055"/>
    <mesh name="stone" builtin="sphere" params="1" scale=".1 .1 .1"/>
  </asset>
  <worldbody>
    <geom type="plane" size="1 1 1" pos="0 0 -.04"/>
    <body>
      <joint type="slide" axis="1 .4 0"/><joint axis="0 1 0"/><joint type="slide" axis="0 0 1"/>
      <geom name="pad" type="box" size=".3 .3 .05" conaffinity="3"/><body><geom type="box" size=".3 .3 .03"/></body>
    </body>
    <body pos=".2 .1 .13"><freejoint/><geom size=".1"/><geom type="ellipsoid" size=".07 .1 .12" pos="0 -.15 0"/></body>
    <body pos="-.2 .1 .1"><freejoint/><geom type="box" size=".12 .1 .1"/></body>
    <body pos="-.2 -.15 .1"><freejoint/><geom type="cylinder" size=".12 .1"/></body>
    <body pos="0 0 .1"><freejoint/><geom type="capsule" size=".06 .1"/></body>
    <body pos=".1 -.2 .1"><freejoint/><geom type="mesh" mesh="stone"/></body>
    <body pos="-.1 .2 .03" quat="1 .1 .3 0"><freejoint/>
      <geom type="sdf" mesh="bowl" contype="2" conaffinity="0"><plugin instance="bowl"/></geom></body>
    <body pos=".05 -.2 .12"><freejoint/><geom type="mesh" mesh="pebble" contype="2" conaffinity="0"/>
      <geom type="sdf" mesh="pebble" contype="0" conaffinity="0"/></body>
  </worldbody>
  <sensor><tactile geom="pad" mesh="plate"/><tactile geom="pad" mesh="flat"/></sensor>
</mujoco>
"""
FIELDS = ("geom_xpos", "geom_xmat", "cvel", "subtree_com")
SLOTS = 160


def test_readings_are_mujocos_and_derivatives_those_of_differences():
    mj, model = mujoco.MjModel.from_xml_string(XML), js.load(XML)
    rng, data = np.random.default_rng(0), js.make_data(model)

    def reader(slots):
        solution = Solution(slots, Rows(*[None] * len(Rows._fields)), RowValues(jnp.zeros(0), None), None)
        return lambda *x: pads(model, data.replace(**dict(zip(FIELDS, x))), np.arange(2), solution)

    @jax.jit
    def program(slots, x, along, weight):
        value, change = jax.jvp(reader(slots), x, along)
        return value, change, jax.vjp(reader(slots), *x)[1](weight)

    d, pressed = mujoco.MjData(mj), 0
    for k in range(6):
        mujoco.mj_resetData(mj, d)
        d.qvel[:] = rng.standard_normal(mj.nv)
        spread = np.array([0.02, 0.1, 0.01, *[0.02, 0.02, 0.02, 0.3, 0.3, 0.3] * 7])
        mujoco.mj_integratePos(mj, d.qpos, rng.standard_normal(mj.nv) * spread, float(k > 0))
        mujoco.mj_forward(mj, d)
        slots, x = oracle.slots_of(model, d, SLOTS), tuple(getattr(d, name).copy() for name in FIELDS)
        along, weight = tuple(rng.standard_normal(y.shape) for y in x), rng.standard_normal(mj.nsensordata)
        value, change, back = program(slots, x, along, weight)
        off = np.abs(value - d.sensordata)
        assert np.mean(off < 1e-12) > 0.95 and off.max() < 1e-8  # octrees are compiled to 1e-8 m of MuJoCo's
        pressed += (d.sensordata[: mj.sensor_dim[0] // 3] > 0).sum()
        if k == 0:  # all aligned: which face of a box is nearest is not clear
            continue

        at = lambda h: np.asarray(program(slots, tuple(y + h * v for y, v in zip(x, along)), along, weight)[0])  # noqa: B023, E731
        wide, narrow = ((at(h) - at(-h)) / (2 * h) for h in (2e-7, 1e-7))
        smooth = np.abs(wide - narrow) < 1e-5 * (1 + np.abs(narrow))
        smooth &= (value > 1e-5) | (narrow == 0)  # a speed of zero is a kink
        assert smooth.mean() > 0.7 and np.isfinite(change).all()
        assert (np.abs(change - narrow) / (1 + np.abs(narrow)))[smooth].max() < 1e-6
        forward, backward = np.sum(weight * change), sum(np.sum(a * b) for a, b in zip(along, back))
        assert abs(forward - backward) < 1e-9 * abs(forward)
    assert pressed > 50


def test_fields_that_are_not_known_are_refused():
    pad = '<body><joint type="slide"/><geom name="pad" type="box" size=".1 .1 .1"/></body>'
    field = '<hfield name="h" nrow="2" ncol="2" size="1 1 .1 .1"/>'
    plate = '<mesh name="plate" builtin="plate" params="3 3" scale=".1 .1 1"/>'
    with pytest.raises(js.MjcfError, match="touch of a geom of type hfield"):
        js.load(
            f"""<mujoco><asset>{field}{plate}</asset><worldbody><geom type="hfield" hfield="h"/>{pad}</worldbody>
            <sensor><tactile geom="pad" mesh="plate"/></sensor></mujoco>"""
        )
