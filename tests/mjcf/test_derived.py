"""Derived constants against MuJoCo's compiler: blank them in a compiled model, compute them, compare."""

import csv
import re
from pathlib import Path
from types import SimpleNamespace

import dm_control.suite
import gymnasium
import mujoco
import numpy as np
import pytest

from jaxsim.mjcf.derived import constants as derived
from jaxsim.mjcf.derived import length_range as lengthrange
from jaxsim.mjcf.language.enums import LRMode

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
PACKAGED = (
    Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets",
    Path(dm_control.suite.__file__).parent,
)
DERIVED = [
    "body_subtreemass",
    "dof_M0",
    "dof_invweight0",
    "body_invweight0",
    "tendon_length0",
    "tendon_invweight0",
    "actuator_length0",
    "actuator_acc0",
    "cam_pos0",
    "cam_poscom0",
    "cam_mat0",
    "light_pos0",
    "light_poscom0",
    "light_dir0",
    "dof_length",
    "body_treeid",
    "tree_bodyadr",
    "tree_bodynum",
    "tree_dofadr",
    "tree_dofnum",
    "tendon_treeid",
    "tendon_treenum",
    "jnt_actuatorid",
    "tendon_actuatorid",
    "body_sameframe",
    "geom_sameframe",
    "site_sameframe",
]
RESOLVED = ("tendon_lengthspring", "eq_data", "actuator_biasprm")
STATISTICS = ("center", "extent", "meaninertia", "meanmass", "meansize")


def corpus_models() -> list[Path]:
    """The models of the corpus that have no flexes."""
    if not CORPUS.is_dir():
        return []
    with open(CORPUS / "MANIFEST.csv") as table:
        return [CORPUS / row["entry_xml"] for row in csv.DictReader(table) if row["nflex"].strip() in ("", "0")]


def compile_without_statistic(spec: mujoco.MjSpec) -> mujoco.MjModel:
    spec.stat.extent = spec.stat.meaninertia = spec.stat.meanmass = spec.stat.meansize = np.nan
    spec.stat.center = [np.nan] * 3
    return spec.compile()


def blanked(expected: mujoco.MjModel) -> SimpleNamespace:
    """The model's fields with everything derived made unusable."""
    m = SimpleNamespace(stat=SimpleNamespace(center=np.full(3, np.nan)), opt=expected.opt)
    for name in dir(expected):
        value = None if name.startswith("_") else getattr(expected, name)
        if isinstance(value, np.ndarray | int | float):
            setattr(m, name, np.copy(value) if isinstance(value, np.ndarray) else value)
    for name in DERIVED:
        getattr(m, name)[...] = np.nan if getattr(m, name).dtype.kind == "f" else 9
    marked = (m.eq_type == mujoco.mjtEq.mjEQ_WELD) & (m.eq_data[:, 11] != 0)
    m.eq_data[marked, 3:10] = m.eq_data[marked, 11:] = 0
    return m


def assert_equal(m: SimpleNamespace, expected: mujoco.MjModel) -> None:
    for name in (*DERIVED, *RESOLVED):
        want = np.asarray(getattr(expected, name))
        scale = 1e-3 * np.abs(want).max(initial=0)
        np.testing.assert_allclose(getattr(m, name), want, rtol=1e-9, atol=1e-9 * max(scale, 1e-6), err_msg=name)
    for name in STATISTICS:
        want = getattr(expected.stat, name)
        np.testing.assert_allclose(getattr(m.stat, name), want, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.filterwarnings("ignore:compiler attribute 'settotalmass'", "ignore:Attach conflict")
@pytest.mark.parametrize(
    "path",
    [p for folder in PACKAGED for p in sorted(folder.glob("*.xml"))] + corpus_models(),
    ids=lambda p: f"{p.parent.name}/{p.stem}",
)
def test_equals_mujoco_on_model(path):
    expected = compile_without_statistic(mujoco.MjSpec.from_file(str(path)))
    m = blanked(expected)
    derived.compute(m)
    assert_equal(m, expected)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of models is not here")
def test_corpus_has_spatial_tendons():
    assert len(corpus_models()) > 30


SCENE = """
<mujoco>
  <worldbody>
    <site name="w" pos=".3 .1 .2" euler="10 20 30"/>
    <body name="b0" pos="0 0 1" euler="10 20 30">
      <freejoint name="free"/>
      <geom size=".1 .2 .3" type="box"/>
      <site name="s0" pos=".1 .2 .3" euler="30 20 10"/>
      <body name="b1" pos=".3 0 0" quat=".1 .2 .3 .4">
        <joint name="ball" type="ball" pos=".1 0 0"/>
        <geom size=".1 .2 .3" type="box" pos=".1 .1 .1" euler="3 4 5"/>
        <site name="s1" pos=".1 .2 .3" euler="30 -20 10"/>
        <body name="b2" pos=".3 0 .3">
          <joint name="h" axis="1 2 3" ref="20" springref="30" armature=".1"/>
          <joint name="sl" type="slide" axis="1 0 1" ref=".1" springref=".3"/>
          <geom size=".1 .2" type="capsule" pos=".1 .1 .1"/>
          <site name="s2" pos=".1 .2 .3"/>
        </body>
      </body>
      <body name="c1" pos="-.3 0 0">
        <joint name="h2" axis="1 2 3" armature=".3"/>
        <geom size=".1 .2 .3" type="ellipsoid" pos=".1 .1 .1" euler="3 4 5"/>
        <site name="s3" pos=".1 .2 .3" euler="30 -20 10"/>
        <camera name="cam" pos="1 2 3" euler="4 5 6" mode="targetbodycom" target="b2"/>
        <light pos="1 1 1" dir="1 2 3" mode="trackcom"/>
      </body>
    </body>
    <body name="mo" mocap="true" pos="1 2 3" quat="1 1 0 0"><geom size=".1"/></body>
    <body name="x" pos="0 0 3"><joint type="slide" axis="0 0 1" name="xs"/><geom size=".1"/></body>
  </worldbody>
  <tendon>
    <fixed name="f" armature=".2"><joint joint="h" coef="2"/><joint joint="sl" coef="-1"/></fixed>
    <fixed name="f2" armature=".2"><joint joint="h" coef="2"/><joint joint="h2" coef="-1"/></fixed>
    <spatial name="sp" armature=".3"><site site="w"/><site site="s2"/><site site="s3"/></spatial>
  </tendon>
  {}
</mujoco>
"""

ON_JOINT = (
    'joint="free" gear="1 2 3 4 5 6"',
    'jointinparent="free" gear="1 2 3 4 5 6"',
    'joint="ball" gear="1 2 3"',
    'jointinparent="ball" gear="1 2 3"',
    'joint="h" gear="-3"',
    'tendon="f" gear="2"',
    'tendon="f2"',
    'tendon="sp" gear="3"',
)
ON_SITE = (
    'site="s2" gear="1 2 3 4 5 6"',
    'site="s2" refsite="s3" gear="1 2 3 4 5 6"',
    'site="s2" refsite="s0" gear="1 2 3 0 0 0"',
    'site="s2" refsite="w" gear="0 0 0 4 5 6"',
    'cranksite="s2" slidersite="s3" cranklength="1.5" gear="2"',
    'cranksite="s2" slidersite="w" cranklength=".1" gear="2"',
)
ORIENTATION = ('joint="ball"', 'site="s2" refsite="s3"', 'site="s2" refsite="w"')
RATIO = 0.7


@pytest.mark.parametrize(
    "addition",
    [f'<actuator><position {target} kp="5" dampratio="{RATIO}"/></actuator>' for target in ON_JOINT + ON_SITE]
    + [f'<actuator><orientation {target} kp="5" dampratio="{RATIO}"/></actuator>' for target in ORIENTATION]
    + [f'<actuator><pid joint="h" kp="3" dampratio="{RATIO}" ki="1"/></actuator>']
    + [
        f'<actuator><general {target} armature=".7"/><general {target} armature=".1" damping="1"/>'
        '<motor joint="xs" armature="3"/></actuator>'
        for target in ON_JOINT
    ]
    + ['<actuator><general body="b2"/></actuator>']
    + [
        f"<equality>{equality}</equality>"
        for equality in (
            '<connect body1="b2" body2="c1" anchor=".1 .2 .3"/>',
            '<connect body1="b2" anchor=".1 .2 .3"/>',
            '<weld body1="b2" body2="c1" anchor="1 2 3"/>',
            '<weld body1="b2" body2="c1" relpose="1 2 3 1 2 3 4"/>',
            '<weld site1="s1" site2="s3"/>',
            '<connect site1="s1" site2="s3"/>',
            '<joint joint1="h" joint2="h2" polycoef="1 2 3 4 5"/>',
        )
    ],
)
def test_equals_mujoco_on_feature(addition):
    expected = mujoco.MjModel.from_xml_string(SCENE.format(addition))
    m = blanked(expected)
    if "dampratio" in addition:
        m.actuator_biasprm[:, 2] = RATIO
    m.eq_data[m.eq_type == mujoco.mjtEq.mjEQ_CONNECT, 3:6] = 0
    m.tendon_lengthspring[2] = -1
    derived.compute(m)
    assert_equal(m, expected)


def wrapping_model(seed: int) -> str:
    """A tendon that may go around or through a sphere or cylinder at random places, with a pulley."""
    rng = np.random.default_rng(seed)

    def vec(scale: float = 1.0, n: int = 3) -> str:
        return " ".join(f"{x:.6f}" for x in rng.normal(size=n) * scale)

    kind = rng.choice(["sphere", "cylinder"])
    side = rng.choice(["", 'sidesite="s"'])
    radius = rng.uniform(0.1, 0.8)
    side_distance = rng.choice([0.1, 1.5]) * radius
    return f"""
    <mujoco><worldbody>
      <body pos="{vec()}"><joint axis="{vec()}" pos="{vec(0.2)}"/><geom size=".1"/>
        <site name="a" pos="{vec()}"/></body>
      <body pos="{vec(0.3)}" quat="{vec(n=4)}"><freejoint/><geom size=".1" pos=".1 .2 .3"/>
        <geom name="g" type="{kind}" size="{radius} 1" pos="{vec(0.1)}" euler="{vec(50)}"/>
        <site name="s" pos="{vec(side_distance)}"/>
        <body pos="{vec()}"><joint type="ball"/><geom size=".1" pos=".1 0 0"/>
          <site name="b" pos="{vec()}"/></body>
      </body>
      <site name="c" pos="{vec()}"/>
    </worldbody>
    <tendon><spatial><site site="a"/><geom geom="g" {side}/><site site="b"/><pulley divisor="2.5"/>
      <site site="b"/><site site="c"/><site site="a"/></spatial></tendon></mujoco>"""


@pytest.mark.parametrize("seed", range(60))
def test_wrapping(seed):
    xml = wrapping_model(seed)
    expected = mujoco.MjModel.from_xml_string(xml)
    m = blanked(expected)
    derived.compute(m)
    np.testing.assert_allclose(m.tendon_length0, expected.tendon_length0, rtol=1e-11)
    # inside a geom MuJoCo looks for the touching point, which decides on the Jacobian, only to 1e-6
    rtol = 1e-6 if "sidesite" in xml else 1e-9
    np.testing.assert_allclose(m.tendon_invweight0, expected.tendon_invweight0, rtol=rtol)


def test_spring_dampers():
    xml = SCENE.format("")
    damped = re.sub('name="(h|ball)"', r'name="\1" springdamper=".3 .6"', xml)
    expected, m = mujoco.MjModel.from_xml_string(damped), blanked(mujoco.MjModel.from_xml_string(xml))
    derived.compute(m)
    derived.spring_dampers(m, np.array([[0, 0], [0.3, 0.6], [0.3, 0.6], [0, 0], [0, 0], [0, 0]]))
    np.testing.assert_allclose(m.jnt_stiffness, expected.jnt_stiffness, rtol=1e-9)
    np.testing.assert_allclose(m.dof_damping, expected.dof_damping, rtol=1e-9)
    assert m.jnt_stiffness.any()


REACH = """
<mujoco>
  <compiler><lengthrange mode="all" {}/></compiler>
  <option timestep="0.005"/>
  <worldbody>
    <body>
      <joint name="a" axis="0 1 0" range="-60 40"/>
      <geom type="capsule" size=".05 .2" pos=".2 0 0" euler="0 90 0"/>
      <site name="s1" pos=".1 0 .1"/>
      <body pos=".5 0 0">
        <joint type="ball" range="0 50"/>
        <geom type="capsule" size=".05 .2" pos=".2 0 0" euler="0 90 0"/>
        <geom name="g" size=".05" pos=".1 0 .02"/>
        <site name="s2" pos=".1 0 .1"/>
        <body pos=".4 0 0">
          <joint name="c" axis="0 1 0" range="0 70"/>
          <joint name="d" axis="0 0 1" range="-30 70"/>
          <geom type="capsule" size=".05 .2" pos=".2 0 0" euler="0 90 0"/>
          <site name="s3" pos=".1 0 .1"/>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon>
    <spatial name="t" range=".5 1.1">
      <site site="s1"/><geom geom="g"/><site site="s2"/><site site="s3"/>
    </spatial>
  </tendon>
  <equality><joint joint1="c" joint2="d" polycoef=".1 .8 .1 0 0"/></equality>
  <actuator><muscle tendon="t"/><general joint="a" gear="2"/><general joint="c"/></actuator>
</mujoco>
"""
SHORT = {"inttotal": 1, "interval": 0.2, "tolrange": 100}


def search_settings(**changes) -> SimpleNamespace:
    settings = {"mode": LRMode.ALL, "useexisting": True, "uselimit": False, "accel": 20, "maxforce": 0}
    times = {"timeconst": 1, "timestep": 0.01, "inttotal": 10, "interval": 2, "tolrange": 0.05}
    return SimpleNamespace(**settings | times | changes)


@pytest.mark.parametrize(
    "changes",
    [SHORT, SHORT | {"accel": 50, "timeconst": 0.5, "maxforce": 3, "timestep": 0.004}, {"uselimit": True}],
)
def test_length_range(changes):
    attributes = " ".join(f'{k}="{str(v).lower()}"' for k, v in changes.items())
    expected = mujoco.MjModel.from_xml_string(REACH.format(attributes))
    m = blanked(expected)
    m.actuator_lengthrange[:] = 0
    derived.compute(m)
    lengthrange.length_range(m, search_settings(**changes))
    np.testing.assert_allclose(m.actuator_lengthrange, expected.actuator_lengthrange, rtol=1e-9, atol=1e-10)
    assert np.all(m.actuator_lengthrange[:, 0] < m.actuator_lengthrange[:, 1])


def test_length_range_of_what_never_ends():
    xml = '<mujoco><worldbody><body><joint name="j"/><geom size=".1" pos="1 0 0"/></body></worldbody>'
    m = blanked(mujoco.MjModel.from_xml_string(xml + '<actuator><motor joint="j"/></actuator></mujoco>'))
    derived.compute(m)
    with pytest.raises(ValueError, match="did not converge"):
        lengthrange.length_range(m, search_settings(inttotal=1, interval=0.5))
