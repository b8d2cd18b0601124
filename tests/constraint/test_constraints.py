"""Every constraint family against MuJoCo: accelerations, constraint forces and numbers of rows."""

import jax
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.core.enums import DisableBit

TWO_BODIES = """
  <worldbody>
    <body name="a" pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .3" mass="2" {0}/>
      <site name="sa" pos=".1 .1 0" euler="10 20 30"/></body>
    <body name="b" pos=".5 0 1"><joint name="s" type="slide" axis="1 0 1"/><joint name="h" axis="0 1 .2"/>
      <geom size=".1" mass="1" {0}/><site name="sb" pos="0 .1 .1" euler="40 0 0"/>
      <body name="c" pos="0 0 .3"><joint name="k" type="ball"/><geom type="capsule" fromto="0 0 0 .2 0 .2" size=".05" {0}/>
      </body></body>
  </worldbody>
  <tendon><fixed name="t"><joint joint="s" coef="1"/><joint joint="h" coef="-.4"/></fixed>
    <fixed name="u"><joint joint="h" coef=".7"/></fixed></tendon>
""".format('contype="0" conaffinity="0"')

EQUALITIES = {
    "connect-body": '<connect body1="a" body2="c" anchor=".1 0 .2"/>',
    "connect-world": '<connect body1="a" anchor=".1 0 .2" solref=".05 .5" solimp=".5 .9 .01 .3 3"/>',
    "connect-site": '<connect site1="sa" site2="sb"/>',
    "weld-body": '<weld body1="a" body2="c"/>',
    "weld-pose": '<weld body1="a" body2="b" relpose=".1 .2 .3 .9 .1 .2 .3" anchor=".1 0 0" torquescale=".3"/>',
    "weld-world": '<weld body1="c" torquescale="2"/>',
    "weld-site": '<weld site1="sa" site2="sb" torquescale=".7"/>',
    "joint": '<joint joint1="s" joint2="h" polycoef=".1 .7 .3 -.2 .1"/>',
    "joint-constant": '<joint joint1="h" polycoef=".2 0 0 0 0" solref="-300 -20"/>',
    "tendon": '<tendon tendon1="t" tendon2="u" polycoef=".1 .6 .2 .1 -.1"/>',
    "tendon-constant": '<tendon tendon1="t" polycoef=".1 0 0 0 0"/>',
    "inactive": '<weld body1="a" body2="c" active="false"/><connect body1="a" anchor="0 0 0"/>',
    "several": '<weld body1="a" body2="c"/><joint joint1="s"/><connect site1="sa" site2="sb"/><tendon tendon1="t"/>',
}

JOINTS = """
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <body><joint name="s" type="slide" axis="1 0 .3" {scalar}/><geom size=".1"/>
      <body pos=".2 0 0"><joint name="h" axis="0 1 0" {hinge}/><geom size=".1" pos=".1 0 0"/>
        <body pos=".3 0 0"><joint name="b" type="ball" {ball}/><geom size=".1" pos="0 .1 .1"/></body></body></body>
    <body pos="0 1 0"><joint type="free" name="f" {free}/><geom type="box" size=".1 .2 .1"/></body>
  </worldbody>
  <tendon><fixed name="t" {tendon}><joint joint="s" coef="1"/><joint joint="h" coef="-.4"/></fixed></tendon>
"""
_NONE = dict.fromkeys(("scalar", "hinge", "ball", "free", "tendon"), "")
FRICTIONS_AND_LIMITS = {
    "frictionloss": {"scalar": 'frictionloss="3"', "hinge": 'frictionloss=".1" solreffriction=".1 1"'},
    "frictionloss-rotations": {"ball": 'frictionloss=".05"', "free": 'frictionloss=".3"'},
    "frictionloss-tendon": {"tendon": 'frictionloss=".7" solimpfriction=".8 .9 .01"'},
    "limits": {"scalar": 'range="-.05 .05"', "hinge": 'range="-5 5" margin=".02"'},
    "limits-both-sides-active": {"scalar": 'range="-.05 .05" margin="1"', "hinge": 'range="-5 5" margin="2"'},
    "limit-ball": {"ball": 'range="0 20" margin=".05"'},
    "limit-tendon": {"tendon": 'limited="true" range="-.05 .05" margin=".01" solimplimit=".8 .95 .1"'},
    "limit-tendon-both": {"tendon": 'limited="true" range="-.05 .05" margin="2"'},
    "limit-direct-solref": {"scalar": 'range="-.05 .05" solreflimit="-500 -10"'},
    "everything": {
        "scalar": 'frictionloss="1" range="-.05 .05"', "hinge": 'frictionloss=".1" range="-5 5"',
        "ball": 'range="0 20" frictionloss=".01"', "tendon": 'frictionloss=".2" limited="true" range="-.02 .02"',
    },
}  # fmt: skip

SCENE = """
  <option cone="{cone}" impratio="{impratio}"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1" {floor}/>
    <body name="a" pos="0 0 .098"><freejoint/><geom name="ball" size=".1" mass="1" {ball}/></body>
    <body name="b" pos="0 .19 .11"><freejoint/>
      <geom name="pill" type="capsule" fromto="-.1 0 0 .2 .01 -.01" size=".1" mass="2" {pill}/>
      <geom name="end" size=".05" pos=".3 0 -.06" mass=".2" {end}/></body>
    <body pos="0 -.197 .1"><joint axis="1 0 0" pos="0 .05 .02" damping=".1"/>
      <geom name="bob" size=".099" mass="1" {bob}/></body>
  </worldbody>
"""
_GEOMS = dict.fromkeys(("floor", "ball", "pill", "end", "bob"), "")
ROUGH = 'condim="{}" friction=".7 .02 .01"'
CONTACTS = {
    "condim-1": dict.fromkeys(_GEOMS, 'condim="1"'),
    "condim-3": {},
    "condim-4": dict.fromkeys(_GEOMS, ROUGH.format(4)),
    "condim-6": dict.fromkeys(_GEOMS, ROUGH.format(6)),
    "condim-mixed": {"floor": 'condim="1"', "ball": 'condim="1"', "pill": ROUGH.format(6), "end": ROUGH.format(4)},
    "margin-gap": dict.fromkeys(_GEOMS, 'margin=".02" gap=".005"'),
    "gap-wider": {"ball": 'margin=".01" gap=".03"', "floor": 'gap=".01"'},
    "solref-direct": dict.fromkeys(_GEOMS, 'solref="-3000 -40"'),
    "solref-mixed": {"floor": 'solref=".01 .7"', "ball": 'solref=".05 1.3" solmix="3"', "pill": 'solmix=".2"'},
    "solimp": dict.fromkeys(_GEOMS, 'solimp=".1 .95 .01 .4 3"'),
    "priority": {"ball": 'priority="2" friction=".2 .1 .1" solref=".1 1"', "pill": 'priority="1" condim="1"'},
    "impratio": {"impratio": "7"},
}
PAIRED = {
    "pair": '<pair geom1="ball" geom2="floor" friction=".5 .2 .01 .002 .003" condim="6"/>',
    "pair-solreffriction": """<pair geom1="ball" geom2="floor" solreffriction=".1 1" solref=".03 1" margin=".01"/>
        <pair geom1="pill" geom2="ball" condim="4" solreffriction="-200 -5" friction=".4 .3 .1 .1 .1"/>""",
    "exclude": '<exclude body1="a" body2="b"/>',
}


def _check(mj: mujoco.MjModel, rng: np.random.Generator, spread: float, states: int = 4, tolerance: float = 1e-9):
    mj, model = oracle.pair(mj)
    most = 0
    for _ in range(states):
        d = mujoco.MjData(mj)
        mujoco.mj_integratePos(mj, d.qpos, spread * rng.standard_normal(mj.nv), 1.0)
        d.qvel[:] = 0.5 * rng.standard_normal(mj.nv)
        mujoco.mj_forward(mj, d)
        data = js.forward(model, oracle.put(model, d))
        oracle.assert_equal(data, d, ["nefc", "ncon", "qacc", "qfrc_constraint"], tolerance)
        most = max(most, d.nefc)
    return most


@pytest.mark.parametrize("name", EQUALITIES)
def test_equality(name, rng):
    xml = f"<mujoco>{TWO_BODIES}<equality>{EQUALITIES[name]}</equality></mujoco>"
    assert _check(mujoco.MjModel.from_xml_string(xml), rng, 0.2) > 0


@pytest.mark.parametrize("name", FRICTIONS_AND_LIMITS)
def test_friction_and_limits(name, rng):
    xml = f"<mujoco>{JOINTS.format(**{**_NONE, **FRICTIONS_AND_LIMITS[name]})}</mujoco>"
    assert _check(mujoco.MjModel.from_xml_string(xml), rng, 0.3) > 0


def test_both_limits_of_a_joint_are_active(rng):
    xml = f"<mujoco>{JOINTS.format(**{**_NONE, **FRICTIONS_AND_LIMITS['limits-both-sides-active']})}</mujoco>"
    assert _check(mujoco.MjModel.from_xml_string(xml), rng, 0.1) == 4


def _scene(cone: str, impratio: str = "1", extra: str = "", **geoms) -> mujoco.MjModel:
    scene = SCENE.format(cone=cone, impratio=impratio, **{**_GEOMS, **geoms})
    return mujoco.MjModel.from_xml_string(f"<mujoco>{scene}{extra}</mujoco>")


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("name", CONTACTS)
def test_contact(name, cone, rng):
    assert _check(_scene(cone, **CONTACTS[name]), rng, 0.004) >= 4


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("name", PAIRED)
def test_explicit_pairs(name, cone, rng):
    assert _check(_scene(cone, extra=f"<contact>{PAIRED[name]}</contact>"), rng, 0.004) >= 4


@pytest.mark.parametrize(
    "bit", [DisableBit.CONSTRAINT, DisableBit.EQUALITY, DisableBit.FRICTIONLOSS, DisableBit.LIMIT, DisableBit.REFSAFE]
)
def test_disable_flags(bit, rng):
    joints = JOINTS.format(**{**_NONE, **FRICTIONS_AND_LIMITS["everything"]})
    equality = '<equality><joint joint1="s" joint2="h" solref=".001 1"/></equality>'
    mj = mujoco.MjModel.from_xml_string(f"<mujoco>{joints}{equality}</mujoco>")
    mj.opt.disableflags = int(bit)
    _check(mj, rng, 0.3, states=2)


def test_contacts_disabled(rng):
    mj = _scene("pyramidal")
    mj.opt.disableflags = int(DisableBit.CONTACT)
    assert _check(mj, rng, 0.004, states=1) == 0


def test_cold_start_finds_the_same_solution(rng):
    mj = _scene("elliptic")
    mj.opt.disableflags = int(DisableBit.WARMSTART)
    _check(mj, rng, 0.004)


def test_equality_can_be_switched_at_run_time(rng):
    xml = f"<mujoco>{TWO_BODIES}<equality>{EQUALITIES['several']}</equality></mujoco>"
    mj, model = oracle.pair_of_xml(xml)
    for _ in range(3):
        d = mujoco.MjData(mj)
        d.eq_active[:] = rng.integers(0, 2, mj.neq)
        mujoco.mj_forward(mj, d)
        oracle.assert_equal(js.forward(model, oracle.put(model, d)), d, ["nefc", "qacc", "qfrc_constraint"])


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_what_cannot_move_has_contacts_but_no_rows(cone):
    """Explicit pairs of the world's geoms and of mocap bodies, and equalities between those; sensors read nothing."""
    mj, model = oracle.pair_of_xml(f"""
      <mujoco><option cone="{cone}"/><worldbody>
        <geom name="wall" type="box" size=".1 .1 .1"/><geom name="rock" size=".1" pos=".15 0 0"/>
        <body name="hand" mocap="true" pos="0 0 .18"><geom name="palm" size=".1"/><site name="palm" size=".2"/></body>
        <body name="other" mocap="true" pos="0 0 .3"><geom name="thumb" size=".1" contype="0" conaffinity="0"/></body>
        <body pos="1 0 .099"><freejoint/><geom size=".1"/></body>
        <geom type="plane" size="5 5 .1"/>
      </worldbody>
      <contact><pair geom1="wall" geom2="palm"/><pair geom1="wall" geom2="rock"/><pair geom1="palm" geom2="thumb"/></contact>
      <equality><weld body1="hand" body2="other"/><connect body1="hand" anchor="1 1 1"/></equality>
      <sensor><touch site="palm"/><force site="palm"/><contact geom1="wall" geom2="palm" data="found force"/></sensor>
      </mujoco>""")
    d = mujoco.MjData(mj)
    d.mocap_pos[0, 2] = 0.19
    mujoco.mj_forward(mj, d)
    data = js.forward(model, oracle.put(model, d))
    assert d.ncon == 4 and d.nefc == (4 if cone == "pyramidal" else 3)
    oracle.assert_equal(data, d, ["nefc", "ncon", "qacc", "qfrc_constraint", "sensordata"])


@pytest.mark.parametrize("law", ["hard", "exact"])
def test_what_cannot_move_does_not_hold_the_hard_law_up(law):
    """With such a pair, deep inside each other, everything else moves as without it."""
    scene = """<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
      <geom name="wall" type="box" size=".1 .1 .1" pos="2 0 .1"/>
      <body mocap="true" pos="2 0 .28"><geom name="hand" size=".1"/></body>
      <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody>{}</mujoco>"""
    found = []
    for pair in ("", '<contact><pair geom1="wall" geom2="hand"/></contact>'):
        model = js.load(scene.format(pair), contact=law)
        step, data = jax.jit(js.step), js.make_data(model).replace(qvel=np.array([0.5, 0, 0, 0, 0, 0.1]))
        for _ in range(3):
            data = step(model, data)
        assert data.solver_converged
        found.append((np.asarray(data.qpos), int(data.solver_niter)))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=0, atol=1e-10)
    assert found[1][1] <= found[0][1] + 5
