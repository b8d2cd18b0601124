"""Actuators against MuJoCo: dynamics, gains, limits, groups, transmissions."""

import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.core.enums import DisableBit

BODIES = """
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <body><joint name="s" type="slide" axis="1 0 .3" {s}/><geom size=".1"/>
      <body pos=".2 0 0"><joint name="h" axis="0 1 0" {h}/><geom size=".1" pos=".1 0 0"/>
        <body pos=".3 0 0"><joint name="b" type="ball"/><geom size=".1" pos="0 .1 .1"/></body></body></body>
    <body pos="0 1 0"><freejoint name="f"/><geom type="box" size=".1 .2 .1"/></body>
  </worldbody>
  <tendon><fixed name="t" {t}><joint joint="s" coef="1"/><joint joint="h" coef="-.4"/></fixed></tendon>
"""
FIELDS = ("actuator_length", "actuator_velocity", "actuator_force", "act_dot", "qfrc_actuator", "qacc")
GENERAL = '<general joint="s" dyntype="{}" dynprm="{}" {}/>'
ACTUATORS = {
    "motor": '<motor joint="s" gear="3"/><motor joint="h" ctrllimited="true" ctrlrange="-.3 .4"/>',
    "servos": '<position joint="h" kp="20" kv="2"/><velocity joint="s" kv="3"/><damper joint="h" kv="2" ctrlrange="0 1"/>',
    "position-ranges": '<position joint="h" kp="20" inheritrange="0" ctrlrange="-1 1" forcerange="-2 3"/>',
    "position-dampratio": '<position joint="h" kp="20" dampratio="1"/><position joint="s" kp="9" timeconst=".1"/>',
    "integrator": '<intvelocity joint="h" kp="5" actrange="-.2 .3"/>' + GENERAL.format("integrator", "1", ""),
    "filter": GENERAL.format("filter", ".05", 'gainprm="2"'),
    "filterexact": GENERAL.format("filterexact", ".05", 'gainprm="2" actlimited="true" actrange="-.1 .1"'),
    "early": "".join(GENERAL.format(d, ".03", 'actearly="true"') for d in ("integrator", "filter", "filterexact")),
    "affine": """<general joint="h" gaintype="affine" gainprm="2 .3 -.4" biastype="affine" biasprm=".1 -2 -.3"/>
        <general joint="s" gaintype="affine" gainprm="1 .5 .2" biastype="none" dyntype="filter" dynprm=".1"/>""",
    "forcelimited": '<motor joint="s" gear="5" forcerange="-.1 .2"/><position joint="h" kp="90" forcerange="-1 1"/>',
    "tendon": '<motor tendon="t" gear="2"/><position tendon="t" kp="8"/><general tendon="t" biastype="affine" biasprm="1 2 3"/>',
    "ball": '<motor joint="b" gear=".1 .2 .3"/><motor jointinparent="b" gear=".3 .2 .1"/>',
    "free": '<motor joint="f" gear="1 2 3 .1 .2 .3"/><motor jointinparent="f" gear="0 2 0 .3 .2 .1"/>',
    "armature-damping": '<motor joint="s" armature=".3" damping=".4" gear="2"/>',
}


def _model(actuators: str, **places: str) -> mujoco.MjModel:
    bodies = BODIES.format(**{"s": "", "h": "", "t": "", **places})
    return mujoco.MjModel.from_xml_string(f"<mujoco>{bodies}<actuator>{actuators}</actuator></mujoco>")


def _check(mj: mujoco.MjModel, rng: np.random.Generator, states: int = 3, scale: float = 1.0) -> mujoco.MjData:
    """A step from random states: the forces at its start, which both engines keep, and the state at its end."""
    mj, model = oracle.pair(mj)
    for _ in range(states):
        d = mujoco.MjData(mj)
        mujoco.mj_integratePos(mj, d.qpos, 0.5 * rng.standard_normal(mj.nv), 1.0)
        d.qvel[:] = rng.standard_normal(mj.nv)
        d.act[:] = 0.3 * rng.standard_normal(mj.na)
        d.ctrl[:] = scale * rng.standard_normal(mj.nu)
        data = oracle.put(model, d)
        mujoco.mj_step(mj, d)
        oracle.assert_equal(js.step(model, data), d, (*FIELDS, "act", "qvel", "qpos"))
    return d


@pytest.mark.parametrize("name", ACTUATORS)
def test_actuator(name, rng):
    d = _check(_model(ACTUATORS[name]), rng)
    assert np.abs(d.actuator_force).min() > 0


@pytest.mark.parametrize("cap", [{"s": 'actuatorfrcrange="-.5 .3"'}, {"h": 'actuatorfrcrange="-.1 .3"'}])
def test_joint_force_range(cap, rng):
    _check(_model('<motor joint="s" gear="3"/><motor joint="h" gear="2"/><motor tendon="t"/>', **cap), rng, scale=3)


def test_tendon_force_range(rng):
    actuators = '<motor tendon="t" gear="2"/><motor tendon="t" gear="-1"/><motor joint="s"/>'
    _check(_model(actuators, t='actuatorfrcrange="-.4 .5" actuatorfrclimited="true"'), rng, states=6, scale=2)


def test_gravity_compensation_by_actuators(rng):
    bodies = BODIES.format(s='actuatorgravcomp="true" actuatorfrcrange="-3 3"', h="", t="")
    bodies = bodies.replace('<body pos=".2 0 0">', '<body pos=".2 0 0" gravcomp=".7">')
    xml = f'<mujoco>{bodies}<actuator><motor joint="s"/></actuator></mujoco>'
    _check(mujoco.MjModel.from_xml_string(xml), rng)


MIXED = """<motor joint="s" group="1" gear="3"/><position joint="h" kp="10" group="2" ctrlrange="-.1 .1"/>
    <general joint="h" group="3" dyntype="filter" dynprm=".1"/><motor joint="s" ctrlrange="-.1 .2"/>"""


@pytest.mark.parametrize("groups", [0b10, 0b1100, 0b1110, 1])
def test_disabled_groups(groups, rng):
    mj = _model(MIXED)
    mj.opt.disableactuator = groups
    _check(mj, rng)


@pytest.mark.parametrize("bit", [DisableBit.ACTUATION, DisableBit.CLAMPCTRL])
def test_disable_flags(bit, rng):
    mj = _model(MIXED)
    mj.opt.disableflags = int(bit)
    _check(mj, rng, scale=3)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e11])
def test_an_invalid_control_silences_all(bad, rng):
    mj, model = oracle.pair(_model(MIXED))
    d = mujoco.MjData(mj)
    d.ctrl[:] = 0.05
    d.ctrl[0] = bad
    data = js.forward(model, oracle.put(model, d))
    assert js.warnings_of(data) == {"BADCTRL": 1}
    mujoco.mj_forward(mj, d)
    oracle.assert_equal(data, d, FIELDS)


@pytest.mark.parametrize("actuator", [1, 3])
@pytest.mark.parametrize("value", [1e11, -np.inf, np.nan])
def test_controls_are_judged_after_clamping(actuator, value, rng):
    """A huge control of a clamped actuator is its bound; only NaN passes through the clamp."""
    mj, model = oracle.pair(_model(MIXED))
    d = mujoco.MjData(mj)
    d.ctrl[:] = 0.05
    d.ctrl[actuator] = value
    data = js.forward(model, oracle.put(model, d))
    mujoco.mj_forward(mj, d)
    warned = int(d.warning[mujoco.mjtWarning.mjWARN_BADCTRL].number)
    assert warned == int(np.isnan(value))
    assert js.warnings_of(data) == ({"BADCTRL": 1} if warned else {})
    oracle.assert_equal(data, d, FIELDS)
