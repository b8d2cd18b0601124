"""The MJCF language, feature by feature: small models equal mjModel's arrays."""

import numpy as np
import pytest
from test_mjcf_oracle import assert_equal, oracle

from jaxsim.mjcf import MjcfError, compile_mjcf

TETRAHEDRON = 'vertex="0 0 0  1 0 0  0 2 0  0 0 3"'

MODELS = {
    "orientations and frames": """
      <default><geom size=".1"/><default class="big"><geom size=".2"/></default></default>
      <worldbody>
        <frame pos="1 2 3" euler="10 20 30" childclass="big">
          <geom/>
          <frame axisangle="1 1 0 30" name="f">
            <body pos="1 0 0">
              <joint axis="1 0 0" pos="1 1 1"/>
              <geom type="capsule" fromto="0 0 0 1 1 1"/>
              <frame zaxis="1 1 1">
                <geom type="box" size=".1 .2 .3" pos="1 0 0"/>
                <light dir="1 1 0" pos="1 2 3"/>
                <camera xyaxes="1 0 0 0 1 1"/>
                <joint type="slide" axis="0 1 0"/>
              </frame>
            </body>
          </frame>
        </frame>
      </worldbody>""",
    "an orientation of an element replaces that of its class": """
      <default><geom size=".1" euler="0 0 90"/><site quat="0 1 0 0"/></default>
      <worldbody><geom quat="0 0 1 0"/><geom/><site zaxis="1 0 0"/><site/></worldbody>""",
    "inertia, written and inferred": """
      <worldbody>
        <body><joint/><inertial mass="2" pos="1 2 3" fullinertia="2 2 3 .1 .2 .3"/></body>
        <body><joint/><inertial mass="2" pos="1 2 3" diaginertia="2 2 2.5" euler="10 20 30"/></body>
        <body>
          <joint/>
          <geom type="box" size=".1 .2 .3" pos="1 0 0" euler="10 20 30"/>
          <geom type="capsule" size=".1 .2" pos="0 1 0"/>
          <geom type="cylinder" size=".1 .2" mass="3"/>
          <geom type="ellipsoid" size=".1 .2 .3" density="10"/>
        </body>
      </worldbody>""",
    "shells": """
      <default><geom shellinertia="true"/></default>
      <worldbody>
        <body><joint/><geom type="box" size=".1 .2 .3" pos="1 0 0"/></body>
        <body><joint/><geom type="capsule" size=".1 .2" pos="0 1 0"/></body>
        <body><joint/><geom type="cylinder" size=".1 .2" mass="3"/></body>
        <body><joint/><geom type="ellipsoid" size=".1 .2 .3" density="10"/></body>
        <body><joint/><geom size=".1" pos="1 1 1"/></body>
      </worldbody>""",
    "bounds, balance and alignment to the inertial frame": """
      <compiler alignfree="true" boundmass="1" boundinertia=".1" balanceinertia="true"/>
      <worldbody>
        <body pos="1 2 3" euler="1 2 3">
          <freejoint/>
          <geom type="box" size=".1 .2 .3" pos="1 0 0" euler="10 20 30"/>
          <geom type="capsule" size=".1 .2" pos="0 1 0"/>
          <site pos="1 2 3"/><camera/><light/>
        </body>
        <body pos="0 0 3"><freejoint align="false"/><geom size="1" pos="1 1 1"/></body>
        <body><joint/><inertial mass="1" pos="0 0 0" diaginertia="1 1 5"/></body>
      </worldbody>""",
    "total mass and inertia from geoms of some groups": """
      <compiler inertiafromgeom="true" inertiagrouprange="1 2" settotalmass="7"/>
      <worldbody>
        <body>
          <joint/><inertial mass="9" pos="0 0 0" diaginertia="9 9 9"/>
          <geom size=".1" group="1"/><geom size=".2"/>
        </body>
      </worldbody>""",
    "fluid coefficients": """
      <option density="1000" viscosity="1" wind="1 0 0"/>
      <default><geom fluidshape="ellipsoid"/></default>
      <worldbody>
        <body>
          <joint/>
          <geom type="box" size=".1 .2 .3"/>
          <geom type="capsule" size=".1 .2" fluidcoef="1 2"/>
          <geom type="cylinder" size=".1 .2"/>
          <geom type="ellipsoid" size=".1 .2 .3"/>
          <geom size=".1"/>
        </body>
      </worldbody>""",
    "springs: polynomials, plasticity, spring-dampers": """
      <worldbody>
        <body>
          <joint name="a" stiffness="1 2 3" springref="7" springyield="5" damping="1 2"/><geom size="1"/>
          <body><joint type="ball" stiffness="1" springyield="10"/><geom size="1"/></body>
          <body><joint type="slide" springyield="10" springdamper="1 2" name="b"/><geom size="1"/></body>
        </body>
      </worldbody>
      <tendon>
        <fixed springyield="3" stiffness="1"><joint joint="a" coef="1"/><joint joint="b" coef="2"/></fixed>
        <fixed springyield="3" springlength=".1 .2"><joint joint="a" coef="1"/></fixed>
      </tendon>
      <keyframe><key name="z"/></keyframe>""",
    "equalities": """
      <worldbody>
        <body name="a"><joint name="ja"/><geom size=".1"/><site name="sa" pos="1 0 0"/></body>
        <body name="b" pos="1 2 3" euler="10 20 30">
          <joint name="jb"/><geom size=".1"/><site name="sb" pos="0 1 0"/>
        </body>
      </worldbody>
      <tendon>
        <fixed name="t"><joint joint="ja" coef="2"/></fixed>
        <fixed name="t2"><joint joint="jb" coef="2"/></fixed>
      </tendon>
      <equality>
        <connect body1="a" body2="b" anchor="1 2 3"/>
        <connect body1="a" anchor="1 2 3" active="false"/>
        <connect site1="sa" site2="sb"/>
        <weld body1="a" body2="b"/>
        <weld body1="a"/>
        <weld body1="a" body2="b" relpose="1 2 3 1 1 0 0" anchor="1 2 3" torquescale="2"/>
        <weld site1="sa" site2="sb" torquescale="3" solref=".1"/>
        <joint joint1="ja" joint2="jb" polycoef="1 2 3"/>
        <joint joint1="ja"/>
        <tendon tendon1="t" tendon2="t2"/>
        <tendon tendon1="t" polycoef=".5"/>
      </equality>""",
    "tendons and transmissions": """
      <worldbody>
        <site name="w"/><geom name="ball" size=".1" pos="0 0 .5"/>
        <body name="a" pos="0 0 1">
          <joint name="j"/><geom name="drum" type="cylinder" size=".1 .1"/>
          <site name="s1" pos=".5 0 0"/><site name="s2" pos="1 0 0"/>
        </body>
      </worldbody>
      <tendon>
        <spatial name="t" width=".01" springlength=".1 .2" stiffness="1 2" damping="3" limited="true"
                 range="0 2" rgba="1 0 0 1" frictionloss=".1" solreffriction=".1 2">
          <site site="w"/><geom geom="ball" sidesite="s1"/><site site="s1"/>
          <pulley divisor="2"/>
          <site site="s1"/><geom geom="drum"/><site site="s2"/>
        </spatial>
        <spatial armature=".1"><site site="s1"/><site site="w"/></spatial>
        <fixed actuatorfrcrange="-1 1"><joint joint="j" coef="3"/></fixed>
      </tendon>
      <actuator>
        <motor tendon="t" gear="2" damping=".1"/>
        <general cranksite="s1" slidersite="w" cranklength="2"/>
        <motor site="s1" refsite="w" gear="1 2 3 4 5 6"/>
        <adhesion body="a" ctrlrange="0 1"/>
        <motor jointinparent="j"/>
      </actuator>""",
    "contact pairs and excluded bodies, sorted": """
      <default><default class="p"><pair friction="2" solreffriction=".1 1" gap=".1"/></default></default>
      <worldbody>
        <geom name="floor" type="plane" size="1 1 1"/>
        <body name="b"><joint/><geom name="g" size="1"/></body>
        <body name="a"><joint/><geom name="h" size="1" adhesion="1" margin=".1" gap=".2"/></body>
      </worldbody>
      <contact>
        <pair geom1="h" geom2="g" class="p"/>
        <pair geom1="g" geom2="floor" condim="6" margin=".1" name="x"/>
        <exclude body1="b" body2="a"/><exclude body1="a" body2="world"/>
      </contact>""",
    "sensors": """
      <worldbody>
        <camera name="c" resolution="2 3"/><site name="s0"/>
        <body name="b">
          <joint name="j" range="-1 2"/><geom name="g" size="1"/><site name="s"/>
          <body name="d"><joint name="k" type="ball"/><geom size=".3" name="g2"/></body>
        </body>
      </worldbody>
      <tendon><spatial name="t" range="0 1"><site site="s"/><site site="s0"/></spatial></tendon>
      <actuator><motor name="a" joint="j"/><orientation name="o" joint="k" kp="3" kv="1"/></actuator>
      <sensor>
        <touch site="s" cutoff="3" noise=".1" user="1 2 3"/>
        <accelerometer site="s" nsample="3" delay=".1" interp="cubic" interval=".1 -.05"/>
        <velocimeter site="s"/><gyro site="s"/><force site="s"/><torque site="s"/><magnetometer site="s"/>
        <camprojection site="s" camera="c"/>
        <rangefinder camera="c" data="dist point"/><rangefinder site="s"/>
        <jointpos joint="j"/><jointvel joint="j"/><jointactuatorfrc joint="j"/>
        <jointlimitpos joint="j"/><jointlimitvel joint="j"/><jointlimitfrc joint="j"/>
        <tendonpos tendon="t"/><tendonvel tendon="t"/><tendonactuatorfrc tendon="t"/>
        <tendonlimitpos tendon="t"/><tendonlimitvel tendon="t"/><tendonlimitfrc tendon="t"/>
        <actuatorfrc actuator="o"/><actuatorpos actuator="a"/><actuatorvel actuator="o"/>
        <ballquat joint="k"/><ballangvel joint="k"/>
        <framepos objtype="xbody" objname="b" reftype="camera" refname="c"/>
        <framequat objtype="body" objname="b"/><framexaxis objtype="geom" objname="g"/>
        <framelinvel objtype="camera" objname="c"/><frameangacc objtype="site" objname="s"/>
        <subtreecom body="b"/><subtreelinvel body="b"/><subtreeangmom body="b"/>
        <insidesite objtype="body" objname="b" site="s"/>
        <insidesite objtype="geom" objname="g" site="s" enclosed="true"/>
        <distance geom1="g" body2="d" cutoff="1"/><normal body1="d" geom2="g" cutoff="1"/>
        <fromto geom1="g" geom2="g2" cutoff="2"/>
        <contact geom1="g" data="found force" num="3" reduce="netforce"/>
        <contact subtree1="b" body2="d" data="dist linvel"/><contact site="s" data="dist"/><contact/>
        <e_potential/><e_kinetic/><clock name="cl"/>
        <user dim="3" objtype="body" objname="d" needstage="vel" datatype="axis"/><user dim="0"/>
      </sensor>""",
    "custom fields": """
      <worldbody><body name="b"><geom name="g" size="1"/></body></worldbody>
      <custom>
        <numeric name="n" data="1 2 3"/><numeric name="n2" size="5" data="1 2"/><text name="t" data="hello"/>
        <tuple name="u">
          <element objtype="body" objname="b" prm="3"/><element objtype="geom" objname="g"/>
        </tuple>
      </custom>""",
    "options, flags and sizes": """
      <compiler angle="radian" eulerseq="ZYX" autolimits="false"/>
      <option timestep=".01" gravity="1 2 3" solver="PGS" cone="elliptic" integrator="discrete" o_solref=".1"
              o_friction="2" actuatorgroupdisable="1 3">
        <flag contact="disable" energy="enable" island="disable"/>
      </option>
      <option wind="1 2 3"><flag contact="enable" multiccd="disable"/></option>
      <size nuser_geom="3" njmax="100" nconmax="10" nuserdata="4" nkey="2"/>
      <statistic extent="3" center="1 2 3" meansize="2"/>
      <worldbody>
        <body euler=".1 .2 .3"><joint limited="true" range="-1 1"/><geom size="1" user="1"/></body>
      </worldbody>""",
    "cameras and lights": """
      <visual><map znear=".02"/></visual>
      <worldbody>
        <camera fovy="30"/>
        <camera sensorsize=".1 .2" focal=".3 .4" resolution="100 200" output="rgb depth"/>
        <camera sensorsize=".1 .2" focalpixel="30 40" principalpixel="1 2" resolution="100 200"
                projection="orthographic"/>
        <light directional="true" cutoff="3"/><light type="point" ambient="1 1 1"/>
        <body name="b">
          <geom size="1"/><camera mode="targetbody" target="b"/><light mode="trackcom"/>
        </body>
      </worldbody>""",
    "mocap bodies, gravity compensation, sleep policies, keyframes": """
      <worldbody>
        <body mocap="true" name="m" pos="1 2 3"><geom type="plane" size="1 1 1"/></body>
        <body mocap="true"><geom size="1"/><body><geom size="1"/></body></body>
        <body gravcomp="1" sleep="never"><freejoint name="f"/><geom size="1"/></body>
        <body sleep="init"><joint type="slide"/><geom size="1"/></body>
      </worldbody>
      <keyframe>
        <key name="k" time="2" qpos="1 2 3 1 1 0 0 5" mpos="1 2 3 4 5 6" mquat="1 1 0 0 0 0 1 1"/>
        <key qpos="1 2 3 0 0 0 0 5"/>
      </keyframe>""",
    "replicate within replicate": """
      <worldbody>
        <geom size="1 1 1" type="plane"/>
        <replicate count="3" offset="0 1 0" euler="90 0 0" sep="_">
          <replicate count="2" sep="-" offset="1 0 0" euler="0 90 0">
            <body name="b">
              <joint name="j" range="0 30"/><geom name="Alice" size=".1"/><site name="s" pos="1 2 3"/>
            </body>
            <geom size=".2" name="g"/><camera name="c" target="b" mode="targetbody"/>
          </replicate>
        </replicate>
      </worldbody>
      <tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>
      <actuator><motor name="m" joint="j"/><motor tendon="t"/></actuator>
      <sensor>
        <accelerometer name="Bob" site="s"/><jointpos joint="j" name="jp"/><actuatorfrc actuator="m"/>
      </sensor>""",
    "replicate: references to inside and outside": """
      <worldbody>
        <body name="o"><geom size="1" name="og"/><joint name="oj"/></body>
        <replicate count="12" offset="0 1 0" euler="0 0 10">
          <body name="b"><joint name="j"/><geom name="g" size=".1"/></body>
        </replicate>
      </worldbody>
      <contact><exclude body1="o" body2="b"/><pair geom1="og" geom2="g"/></contact>
      <equality><joint joint1="j"/></equality>""",
    "a free joint below static bodies that are fused": """
      <compiler fusestatic="true"/>
      <worldbody>
        <body pos="1 0 0" euler="0 30 0"><geom size=".1"/>
          <body pos="0 1 0"><frame euler="10 0 0"><body pos="1 1 1"><freejoint/><geom size=".1" pos="1 2 3"/></body></frame></body>
        </body>
      </worldbody>""",
    "many numbers, no inertia but the bound": """
      <compiler boundinertia=".5"/>
      <worldbody><body><joint/><inertial pos="0 0 0" mass="1" fullinertia="0 0 0 0 0 0"/></body></worldbody>
      <custom><numeric name="n" size="1000" data="1 2"/></custom>""",
    "trees that an actuator joins stay awake": """
      <worldbody>
        <body><freejoint/><geom size=".1"/><site name="a"/></body><body><freejoint/><geom size=".1"/><site name="b"/></body>
        <body><freejoint/><geom size=".1"/><site name="c"/></body><body><freejoint/><geom size=".1"/><site name="d"/></body>
        <body><freejoint/><geom size=".1"/><site name="e"/></body>
      </worldbody>
      <actuator>
        <general site="a" refsite="b"/><general cranksite="c" slidersite="d" cranklength="1"/>
      </actuator>""",
    "what a dcmotor leaves to the actuators of its class": """
      <default>
        <dcmotor motorconst="2" resistance="3"/>
        <default class="k"><intvelocity kv="3"/></default>
      </default>
      <worldbody><body><joint name="j"/><geom size="1"/></body></worldbody>
      <actuator>
        <intvelocity joint="j" actrange="-1 1"/><dcmotor joint="j"/><intvelocity class="k" joint="j" actrange="-1 1"/>
        <general class="k" joint="j" dyntype="integrator" actrange="-1 1"/>
      </actuator>""",
    "inertia in frames": """
      <worldbody>
        <replicate count="2" offset="0 0 1" euler="0 0 30">
          <body name="b">
            <joint/>
            <frame pos="1 2 3" euler="10 20 30"><frame pos="0 1 0" euler="0 9 0">
              <inertial pos="1 .2 0" mass="1" fullinertia="1 1.2 1.1 .1 .05 .02"/>
            </frame></frame>
          </body>
        </replicate>
        <body name="a">
          <freejoint align="true"/><geom size=".1" pos="1 0 0"/>
          <frame pos="1 2 3" euler="10 20 30"><inertial pos="1 .2 0" mass="1" diaginertia="1 1.2 1.1"/></frame>
        </body>
        <frame pos="1 0 0" euler="0 0 90"><attach body="a" prefix="x_"/></frame>
      </worldbody>""",
    "attaching a body and a frame of the same model": """
      <worldbody>
        <body name="a" pos="1 0 0">
          <joint name="j"/><geom size=".1" name="g"/>
          <frame name="f" pos="0 0 1" euler="0 30 0">
            <geom size=".2" name="fg"/><body name="c" pos="1 1 1"><geom size=".3"/><joint/></body>
          </frame>
        </body>
        <frame pos="0 0 5"><attach body="a" prefix="x_"/></frame>
        <attach frame="f" prefix="y_"/>
      </worldbody>
      <actuator><motor joint="j" name="m"/></actuator>""",
    "meshes: fitted, shared, as sites": f"""
      <asset>
        <mesh name="m" {TETRAHEDRON}/><mesh name="n" {TETRAHEDRON} scale="1 2 -1" refpos="1 2 3"/>
      </asset>
      <worldbody>
        <site type="mesh" mesh="m" pos="1 2 3" euler="1 2 3"/>
        <geom type="mesh" mesh="m"/><geom type="box" mesh="m" pos="1 2 3"/>
        <geom type="capsule" mesh="m" euler="10 20 30" surfacevel="1 2 3 4 5 6"/>
        <body>
          <joint/><geom type="mesh" mesh="n" euler="10 20 30" surfacevel="1 2 3 4 5 6"/>
        </body>
      </worldbody>""",
    "height fields": """
      <asset>
        <hfield name="h" nrow="2" ncol="3" size="1 2 .5 .1" elevation="1 2 3 4 5 6"/>
        <hfield name="flat" nrow="3" ncol="3" size="1 2 .5 .1"/>
      </asset>
      <worldbody>
        <geom type="hfield" hfield="h"/><geom type="hfield" hfield="flat" pos="1 2 3"/>
      </worldbody>""",
}

STATIC = """
  <worldbody>
    <geom size="1" name="w"/>
    <body name="s0" pos="1 0 0" euler="10 0 0">
      <geom size=".1" name="s0g"/>
      <body name="a" pos="0 1 0">
        <joint/><geom size=".1" name="ag"/>
        <body name="st" pos="0 1 1" euler="0 20 0">
          <geom size=".2" name="stg" pos=".1 0 0"/><site name="sts"/><camera/><light/>
          <body name="m" pos="1 1 1"><joint/><geom size=".1" name="mg"/></body>
          <body name="st2"><geom type="box" size=".1 .2 .3" pos="1 0 0" name="st2g"/></body>
        </body>
        <geom size=".3" name="ag2" pos="1 1 1"/>
        <body name="z"><joint/><geom size=".1" name="zg"/></body>
        <body fuse="false"><geom size=".1"/></body><body gravcomp="1"><geom size=".1"/></body>
      </body>
      <body name="q"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>
    </body>
  </worldbody>"""

VISUAL = f"""
  <asset>
    <texture name="t" builtin="flat" type="2d" width="2" height="2"/><material name="m" texture="t"/>
    <mesh name="ms" {TETRAHEDRON}/><mesh name="mu" {TETRAHEDRON}/>
  </asset>
  <worldbody>
    <geom contype="0" conaffinity="0" size="1"/>
    <body name="a">
      <joint/><geom name="vis" size=".1" contype="0" conaffinity="0" material="m" pos="1 1 1"/>
      <geom size=".2" name="col"/><geom type="mesh" mesh="mu" contype="0" conaffinity="0" mass="0"/>
    </body>
    <body name="b">
      <joint/><geom name="bv" size=".1" contype="0" conaffinity="0"/><geom type="mesh" mesh="ms"/>
    </body>
    <body><joint/><geom size="1" fluidshape="ellipsoid" contype="0" conaffinity="0"/></body>
  </worldbody>"""


def mujoco(body: str) -> str:
    """A model with these sections."""
    return f"<mujoco>{body}</mujoco>"


@pytest.mark.parametrize("name", MODELS)
def test_language(name):
    assert_equal(mujoco(MODELS[name]))


@pytest.mark.parametrize(
    "extra",
    [
        "",
        '<sensor><framepos objtype="body" objname="st"/></sensor>',
        '<sensor><force site="sts"/></sensor>',
        '<option density="10"/>',
    ],
)
def test_static_bodies_fuse_unless_something_depends_on_them(extra):
    assert_equal(mujoco('<compiler fusestatic="true"/>' + extra + STATIC))


@pytest.mark.parametrize("extra", ["", '<sensor><framepos objtype="geom" objname="vis"/></sensor>'])
@pytest.mark.parametrize("fuse", ["true", "false"])
def test_visual_elements_can_be_discarded(extra, fuse):
    assert_equal(mujoco(f'<compiler discardvisual="true" fusestatic="{fuse}"/>{VISUAL}{extra}'))


def test_what_a_copy_cannot_refer_to_is_dropped_with_a_warning():
    text = mujoco(MODELS["replicate: references to inside and outside"])
    text = text.replace("</equality>", '<joint joint1="oj" joint2="j"/></equality>')
    with pytest.warns(UserWarning, match="<joint>: this equality of a copied subtree also refers outside it") as caught:
        m = assert_equal(text)
    assert len(caught) == 1 and len(m.names["equality"]) == 12


REFERRING = {  # to a body o, to one beside it, to the world body, and to nothing
    "exclude": '<contact><exclude body1="world" body2="o"/><exclude body1="q" body2="world"/></contact>',
    "equality": '<equality><weld body1="o" body2="world"/><weld body1="world" body2="q"/><weld body1="o"/></equality>',
    "sensor": """<sensor>
        <framepos objtype="site" objname="s" reftype="xbody" refname="world"/><framepos objtype="body" objname="world"/>
        <framepos name="w" objtype="body" objname="world" reftype="site" refname="s"/>
        <distance geom1="g" body2="world"/><contact body1="world" body2="q"/><contact body1="world"/>
        <clock name="c"/><user dim="2"/><contact data="found"/><contact reduce="maxforce"/><e_kinetic/>
      </sensor>""",
    "tuple": """<sensor><clock name="c"/></sensor><custom>
        <tuple name="t"><element objtype="body" objname="world"/><element objtype="body" objname="o"/></tuple>
        <tuple name="u"><element objtype="body" objname="world"/></tuple>
        <tuple name="v"><element objtype="sensor" objname="c"/></tuple>
      </custom>""",
}
TWO = """<body name="q" pos="0 1 0"><geom size=".1" gap="-.1"/></body>
  <body name="o"><joint/><geom name="g" size=".1"/><site name="s"/></body>"""


@pytest.mark.parametrize("kind", REFERRING)
@pytest.mark.parametrize("part", ["", 'body="o"', 'body="q"', "itself", "replicas"])
def test_the_world_body_is_every_copys(tmp_path, kind, part):
    """And a sensor without an object is copied with everything."""
    inside = f"<mujoco><worldbody>{TWO}</worldbody>{REFERRING[kind]}</mujoco>"
    if part == "itself":
        assert_equal(inside.replace("</worldbody>", '<attach body="o" prefix="x_"/></worldbody>'))
        return
    if part == "replicas":
        text = inside.replace('<body name="o">', '<replicate count="3" offset="1 0 0"><body name="o">')
        assert_equal(text.replace("</body></worldbody>", "</body></replicate></worldbody>"))
        return
    (tmp_path / "child.xml").write_text(inside)
    (tmp_path / "scene.xml").write_text(
        f"""<mujoco><asset><model name="m" file="child.xml"/></asset>
        <worldbody><frame pos="0 0 1"><attach model="m" {part} prefix="x_"/></frame></worldbody></mujoco>"""
    )
    m = assert_equal(str(tmp_path / "scene.xml"))
    assert len(m.names["sensor"]) >= (kind == "sensor")


def test_a_sensor_without_an_object_is_not_copied_for_ever():
    text = f'<worldbody><replicate count="40">{TWO}</replicate></worldbody><sensor><clock/></sensor>'
    with pytest.raises(MjcfError, match=r"<replicate>: the model would have .* elements; at most"):
        compile_mjcf(mujoco(text))


def test_attached_models_bring_assets_options_and_keyframes(tmp_path):
    (tmp_path / "arm.xml").write_text(
        f"""<mujoco model="arm">
          <compiler angle="radian" eulerseq="ZYX"/>
          <asset><mesh name="hand" {TETRAHEDRON}/></asset>
          <worldbody>
            <geom name="base" size=".1"/>
            <body name="upper" euler=".1 .2 .3">
              <joint name="elbow" range="-1 1"/><geom type="mesh" mesh="hand"/>
              <frame name="tip" pos="0 0 1"><site name="end"/></frame>
            </body>
            <body mocap="true" name="goal"/>
          </worldbody>
          <actuator><position name="p" joint="elbow" kp="3"/></actuator>
          <sensor><framepos objtype="site" objname="end"/></sensor>
          <keyframe><key name="bent" qpos=".5" ctrl=".7" mpos="1 2 3"/></keyframe>
        </mujoco>"""
    )
    (tmp_path / "scene.xml").write_text(
        """<mujoco>
          <asset><model file="arm.xml"/><model name="again" file="arm.xml"/></asset>
          <worldbody>
            <body name="box" pos="0 0 1"><freejoint/><geom size=".1"/></body>
            <frame pos="1 0 0" euler="0 0 90"><attach model="arm" prefix="left_"/></frame>
            <attach model="again" body="upper" prefix="right_"/>
          </worldbody>
          <keyframe><key name="home" qpos="0 0 2 1 0 0 0 .1 .2"/></keyframe>
        </mujoco>"""
    )
    m = assert_equal(str(tmp_path / "scene.xml"))
    assert m.names["key"] == ["home", "left_bent", "right_bent"]
    assert m.key_qpos[1, -2] == 0.5


CONFLICTS = [  # what the model says, what the attached one says, whether "error" and "merge" accept it
    ("", '<option timestep=".01"/>', True, True),
    ('<option timestep=".02"/>', '<option timestep=".01"/>', False, True),
    ('<option iterations="3"/>', '<option iterations="7"/>', False, True),
    ('<option gravity="0 0 -1"/>', '<option gravity="0 0 -2"/>', False, False),
    ('<option cone="elliptic"/>', '<option cone="pyramidal"/>', False, False),
    ('<option><flag contact="disable"/></option>', '<option><flag energy="enable"/></option>', True, True),
    (
        '<option><flag contact="disable"/></option>',
        '<option><flag contact="enable"/></option>',
        False,
        True,
    ),
]


@pytest.mark.parametrize("policy", ["warning", "merge", "error"])
@pytest.mark.parametrize("ours, theirs, agrees, merges", CONFLICTS)
def test_options_of_an_attached_model(tmp_path, monkeypatch, ours, theirs, agrees, merges, policy):
    (tmp_path / "child.xml").write_text(
        f'<mujoco model="child">{theirs}<worldbody><body><geom size="1"/></body></worldbody></mujoco>'
    )
    monkeypatch.chdir(tmp_path)  # MuJoCo logs its warnings to the working directory
    scene = tmp_path / "scene.xml"
    scene.write_text(
        f"""<mujoco><compiler conflict="{policy}"/>{ours}
          <asset><model name="child" file="child.xml"/></asset>
          <worldbody><attach model="child" prefix="x_"/></worldbody></mujoco>"""
    )
    if {"warning": True, "merge": merges, "error": agrees}[policy]:
        assert_equal(str(scene))
        return
    with pytest.raises(ValueError, match="conflict"):
        oracle(str(scene))
    with pytest.raises(MjcfError, match=r"scene\.xml:3: <attach>: attached model 'child' conflicts"):
        compile_mjcf(scene)


def test_includes_are_found_from_the_main_file_and_from_the_including_one(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "main.xml").write_text('<mujoco><include file="parts/a.xml"/></mujoco>')
    (tmp_path / "parts" / "a.xml").write_text(
        '<mujocoinclude><worldbody><include file="b.xml"/></worldbody></mujocoinclude>'
    )
    (tmp_path / "parts" / "b.xml").write_text('<mujocoinclude><geom name="g" size="1"/></mujocoinclude>')
    assert assert_equal(str(tmp_path / "main.xml")).names["geom"] == ["g"]


def test_assets_are_looked_up_before_the_disk():
    m = compile_mjcf(
        '<mujoco><include file="part.xml"/></mujoco>',
        {"part.xml": b'<x><worldbody><geom name="g" size="1"/></worldbody></x>'},
    )
    assert m.names["geom"] == ["g"]


def test_a_chain_of_900_bodies():
    limb = '<body pos="0 0 1"><joint/><geom size=".1"/>' + '<body pos="0 0 1"><geom size=".1"/>' * 9
    m = compile_mjcf(mujoco(f"<worldbody>{limb * 90}{'</body>' * 900}</worldbody>"))
    assert m.nv == 90 and np.array_equal(m.body_parentid[1:], np.arange(900))
