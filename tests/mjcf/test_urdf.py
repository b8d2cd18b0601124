"""URDF against MuJoCo: the same document, compiled by both."""

import mujoco
import numpy as np
import pytest

import jaxsim as js
from jaxsim.mjcf import MjcfError, compile_mjcf

CUBE = "".join(f"v {i & 1} {i >> 1 & 1} {i >> 2 & 1}\n" for i in range(8))
CUBE = (CUBE + "f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n").encode()
INERTIA = '<inertia ixx="{0}" iyy="{0}" izz="{0}" ixy="0" ixz="0" iyz="0"/>'
ARM = """<?xml version="1.0"?>
<robot name="arm">
  {sections}
  <material name="blue"><color rgba="0 0 1 0.5"/></material>
  {links}
  <link name="base">
    <inertial>
      <origin xyz="0 0 .1" rpy=".1 .2 .3"/><mass value="3"/>
      <inertia ixx=".01" iyy=".02" izz=".015" ixy=".001" ixz=".002" iyz="-.001"/>
    </inertial>
    <visual name="seen">
      <origin xyz="0 0 .1"/><geometry><box size=".1 .2 .3"/></geometry><material name="blue"/>
    </visual>
    <collision name="felt">
      <origin xyz="0 0 .1" rpy="1 2 3"/><geometry><box size=".1 .2 .3"/></geometry>
    </collision>
  </link>
  <link name="upper">
    <inertial><origin xyz="0 .1 .1" rpy=".1 -.2 .3"/><mass value="1"/>{inertia}</inertial>
    <visual>
      <geometry><cylinder radius=".1" length=".4"/></geometry>
      <material name="red"><color rgba="1 0 0 1"/></material>
    </visual>
    <collision name="felt"><geometry><cylinder radius=".1" length=".4"/></geometry></collision>
    <collision name="capsule"><geometry><capsule radius=".1" length=".4"/></geometry></collision>
    <collision><geometry><mesh filename="m/cube.obj" scale=".1 .2 -.3"/></geometry></collision>
  </link>
  <link name="lower">
    <collision><origin xyz=".1 0 0"/><geometry><sphere radius=".1"/></geometry></collision>
    <collision><geometry><mesh filename="m/cube.obj"/></geometry></collision>
  </link>
  <link name="tool"><inertial><mass value=".2"/>{inertia}</inertial></link>
  <link name="finger"><inertial><mass value="1.2"/>{inertia}</inertial></link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 .3" rpy="0 .5 0"/><axis xyz="0 0 2"/>
    <limit lower="-1" upper="2" effort="30" velocity="3"/><dynamics damping=".5" friction=".1"/>
  </joint>
  <joint name="wrist" type="fixed">
    <parent link="lower"/><child link="tool"/><origin xyz="0 0 .3" rpy="0 .5 1"/>
  </joint>
  <joint name="elbow" type="{kind}">
    <parent link="upper"/><child link="lower"/><origin xyz="0 .2 .3" rpy="0.3 .5 0"/><axis xyz="1 1 0"/>
    {limit}
  </joint>
  <joint name="grip" type="prismatic">
    <parent link="base"/><child link="finger"/><origin xyz="0 .2 .3"/><limit lower="0" upper=".5" effort="0"/>
  </joint>
  <transmission name="t"><type>x</type></transmission>
</robot>"""
LIMIT = '<limit lower="-1" upper="1" effort="5"/><dynamics damping=".2" friction=".3"/>'
ROOT = '<joint name="root" type="{}"><parent link="world"/><child link="base"/><origin xyz="1 2 3"/></joint>'
GROUND = "<collision><geometry><box size='1 1 1'/></geometry></collision>"
FIELDS = """
    body_parentid body_pos body_quat body_ipos body_iquat body_mass body_inertia body_weldid
    jnt_type jnt_bodyid jnt_pos jnt_axis jnt_limited jnt_range jnt_actfrclimited jnt_actfrcrange dof_damping
    dof_frictionloss geom_type geom_bodyid geom_pos geom_quat geom_size geom_contype geom_conaffinity
    geom_group geom_rgba geom_dataid mesh_pos mesh_scale mesh_vert
    eq_type eq_obj1id eq_obj2id eq_objtype eq_active0 eq_data eq_solref eq_solimp
""".split()  # noqa: SIM905


def robot(kind: str = "revolute", limit: str = LIMIT, sections: str = "", links: str = "") -> str:
    return ARM.format(kind=kind, limit=limit, sections=sections, links=links, inertia=INERTIA.format(".01"))


def assert_same(text: str) -> None:
    assets = {"m/cube.obj": CUBE}
    assert_equal(mujoco.MjModel.from_xml_string(text, assets), compile_mjcf(text, assets))


def assert_equal(expected: mujoco.MjModel, m) -> None:
    for size in ("nbody", "njnt", "nq", "nv", "ngeom", "nmesh", "neq"):
        assert getattr(m, size) == getattr(expected, size), size
    for name in FIELDS:
        want = np.asarray(getattr(expected, name), float)
        np.testing.assert_allclose(np.asarray(getattr(m, name), float), want, rtol=1e-9, atol=1e-9, err_msg=name)
    for kind in ("body", "joint", "geom", "mesh"):
        access = getattr(expected, kind)
        assert m.names[kind] == [access(i).name for i in range(len(m.names[kind]))]
    assert m.opt.timestep == expected.opt.timestep


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic", "planar", "fixed"])
def test_joint_types(kind):
    assert_same(robot(kind))


@pytest.mark.parametrize(
    "limit",
    [
        "",
        '<limit effort="-3"/>',
        '<limit lower="-1"/>',
        '<limit lower="1" upper="-1" effort="1"/>',
        '<limit lower="0" upper="0"/>',
        '<dynamics damping="1"/>',
    ],
)
def test_limits(limit):
    assert_same(robot(limit=limit))
    assert_same(robot("spherical", limit=limit.replace("-1", "0").replace("1", "0") if "lower" in limit else limit))


@pytest.mark.parametrize(
    "sections",
    [
        '<mujoco><compiler discardvisual="false"/></mujoco>',
        '<mujoco><compiler fusestatic="false" discardvisual="false"/></mujoco>',
        '<mujoco><compiler angle="degree" balanceinertia="true"/><option timestep=".003"/></mujoco>',
    ],
)
def test_mujoco_sections(sections):
    assert_same(robot(sections=sections))


def test_meshes_are_told_apart_by_file_and_scale(tmp_path):
    """Coarse and fine shapes of one name in two folders; each file counts as it is written."""
    shape = '<collision><geometry><mesh filename="{}" scale="{}"/></geometry></collision>'
    uses = [("a/c.obj", 1), ("b/c.obj", 1), ("a/c.obj", 2), ("./a/c.obj", 1), ("b/c.obj", 1), ("a/c.obj", 1.0)]
    for folder, size in (("a", b"v 1"), ("b", b"v 3")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "c.obj").write_bytes(CUBE.replace(b"v 1", size))
    geoms = "".join(shape.format(file, f"{scale} {scale} {scale}") for file, scale in uses)
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r"><link name="l">{geoms}</link></robot>')
    expected = mujoco.MjModel.from_xml_path(str(path))
    assert expected.geom_dataid.tolist() == [0, 1, 2, 3, 1, 0]
    assert_equal(expected, compile_mjcf(path))


MIMICS = {"grip": '<mimic joint="shoulder"/>', "elbow": '<mimic joint="grip" multiplier="-1.5" offset=".25"/>'}


def mimicking(**mimics: str) -> str:
    """The robot with <mimic> in some of its joints."""
    text = robot(links='<link name="world"/>' + ROOT.format("floating"))
    for joint, mimic in mimics.items():
        head, tail = text.split(f'<joint name="{joint}"')
        text = f'{head}<joint name="{joint}"{tail.replace("</joint>", mimic + "</joint>", 1)}'
    return text


def test_joints_that_mimic_others_are_constrained():
    assert_same(mimicking(**MIMICS))
    text, assets = mimicking(**MIMICS), {"m/cube.obj": CUBE}
    model, reference = js.load(text, assets=assets), mujoco.MjModel.from_xml_string(text, assets)
    expected = mujoco.MjData(reference)
    expected.qpos += 0.05 * np.arange(reference.nq)
    mujoco.mj_normalizeQuat(reference, expected.qpos)
    mujoco.mj_forward(reference, expected)
    data = js.forward(model, js.make_data(model).replace(qpos=expected.qpos))
    assert expected.ne == 2
    np.testing.assert_allclose(data.qacc, expected.qacc, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("joint", "mimic", "message"),
    [
        ("wrist", '<mimic joint="grip"/>', r"'wrist' \(fixed\) and 'grip' \(prismatic\)"),
        ("grip", '<mimic joint="nobody"/>', r"'nobody' \(unknown\)"),
        ("elbow", '<mimic joint="root"/>', r"'root' \(floating\)"),
    ],
)
def test_mimics_without_meaning_are_remarked(joint, mimic, message):
    with pytest.warns(UserWarning, match=f"<mimic> ignored: .*{message}"):
        assert_same(mimicking(**{joint: mimic}))


@pytest.mark.parametrize("ground", ["", GROUND])
@pytest.mark.parametrize("kind", ["fixed", "floating"])
def test_world_link(kind, ground):
    assert_same(robot(links=f'<link name="world">{ground}</link>' + ROOT.format(kind)))


def test_several_roots():
    assert_same(robot(links=f'<link name="other">{GROUND}</link>'))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('type="prismatic"', 'type="prismtic"', "nearest: 'prismatic'"),
        ('parent link="lower"', 'parent link="lowr"', "nearest: 'lower'"),
        ('<parent link="lower"/>', "", "<joint> has no <parent>"),
        ('name="tool"', 'name="lower"', "already defined"),
        ('child link="tool"', 'child link="upper"', "several parents"),
        (
            'parent link="base"/><child link="upper"',
            'parent link="lower"/><child link="upper"',
            "in a circle",
        ),
        ('<mass value=".2"/>', "", "<inertial> has no <mass>"),
        ('radius=".1" length=".4"', 'radius=".1"', "'length' is missing"),
        ('radius=".1"/>', 'radius="big"/>', "not made of numbers"),
        ('xyz="0 .2 .3"', 'xyz="0 .2"', "expected 3 finite numbers"),
        ('<sphere radius=".1"/>', "", "no shape"),
        ('<limit lower="0"', '<mimic/><limit lower="0"', "'joint' is missing"),
        ('<limit lower="0"', '<mimic joint="elbow" offset="x"/><limit lower="0"', "not made of numbers"),
        ('<limit lower="0"', '<mimic joint="elbow"/><mimic joint="elbow"/><limit lower="0"', "several <mimic>"),
        ('<limit lower="0"', '<mimic joint="grip"/><limit lower="0"', "grip"),
    ],
)
def test_errors_name_the_line(old, new, message):
    text = robot().replace(old, new)
    assert text != robot()
    with pytest.raises(MjcfError, match=message) as caught:
        compile_mjcf(text, {"m/cube.obj": CUBE})
    assert all(problem.place.line > 1 for problem in caught.value.problems)
