"""What is wrong with a file: all of it at once, each with file, line, element and the nearest fix."""

import random
import re
import threading

import pytest

from jaxsim.mjcf import MjcfError, compile_mjcf


def problems(text: str, **assets: bytes) -> str:
    """The message of the error that compiling raises."""
    with pytest.raises(MjcfError) as error:
        compile_mjcf(text, {f"{name}.xml": data for name, data in assets.items()})
    assert all(re.match(r"[^\n]+:\d+: <[\w.]+>: .", line) for line in str(error.value).splitlines())
    return str(error.value)


def test_everything_is_reported_together_in_order():
    message = problems("""<mujoco>
      <option timestep="fast" integrater="RK4"/>
      <worldbody>
        <boddy/>
        <body name="arm">
          <joint name="elbow" type="hing" limited="yes"/>
          <geom size="1 2 3 4" material="steel"/>
          <inertial pos="0 0 0"/>
        </body>
        <body name="arm"><geom size="-1"/></body>
      </worldbody>
      <actuator><motor joint="elbo"/><motor/></actuator>
      <sensor><touch site="tip"/></sensor>
    </mujoco>""")
    assert message.splitlines() == [
        "<string>:2: <option>: attribute timestep='fast': 'fast' is not a number",
        "<string>:2: <option>: unknown attribute 'integrater'; nearest: 'integrator'",
        "<string>:4: <boddy>: unknown element in <worldbody>; nearest: 'body'",
        "<string>:6: <joint>: attribute limited='yes': not a keyword; expected one of: false, true, auto",
        "<string>:6: <joint>: attribute type='hing': not a keyword; expected one of: free, ball, slide, hinge",
        "<string>:7: <geom>: attribute size='1 2 3 4': 4 values found, 1 to 3 expected",
        "<string>:7: <geom>: material='steel': no material is called 'steel'",
        "<string>:8: <inertial>: attribute 'mass' is missing",
        "<string>:10: <body>: the name 'arm' is taken by the body in line 5",
        "<string>:10: <geom>: size='-1 0 0': the first 1 must be positive",
        "<string>:12: <motor>: joint='elbo': no joint is called 'elbo'; nearest: 'elbow'",
        "<string>:12: <motor>: a target is missing; expected joint, jointinparent, tendon, site, body or cranksite",
        "<string>:13: <touch>: site='tip': no site is called 'tip'",
    ]


BODY = '<worldbody><body name="b"><joint name="j"/><geom name="g" size="1"/><site name="s"/></body></worldbody>'


BALL, YIELDING = '<joint type="ball" range="0 9"', '<joint springyield="-1"'
SLEEPING_ARM = '<body sleep="init"><joint/><geom size="1"/></body></body>'
FREE_ARM = '<body><freejoint/><geom size="1"/></body></body>'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<mujoco", "malformed XML: unclosed token"),
        ("<mujoco><worldbody></mujoco>", "malformed XML: mismatched tag at column 22"),
        ('<!DOCTYPE m [<!ENTITY a "b">]><mujoco/>', "a DTD was found, none is allowed"),
        (
            f'<mujoco>{BODY}<actuator><muscle joint="j"/></actuator></mujoco>',
            "<muscle>: the search for its lengthrange did not converge",
        ),
        (
            f'<mujoco>{BODY}<equality><connect body1="b" anchor="0 0 0"/></equality>'
            '<actuator><muscle joint="j"/></actuator></mujoco>',
            "<muscle>: the search for its lengthrange knows no equalities but those of joints and tendons",
        ),
        (
            f'<mujoco><worldbody><body sleep="never">{BODY[11:-12]}</body></worldbody></mujoco>',
            "<body>: sleep belongs to a body that moves and whose parents do not",
        ),
        (
            f"<mujoco>{BODY.replace('</body>', SLEEPING_ARM)}</mujoco>",
            "sleep belongs to a body that moves and whose parents do not",
        ),
        (
            f"<mujoco><compiler fusestatic='true'/>{BODY.replace('</body>', FREE_ARM)}</mujoco>",
            "<body>: a free joint can only be in a child of the world body",
        ),
        (
            f"<mujoco><compiler autolimits='false'/>{BODY.replace('<joint', BALL)}</mujoco>",
            "range is given but limited is not, and autolimits is off",
        ),
        (f"<mujoco>{BODY.replace('<joint', YIELDING)}</mujoco>", "<joint>: springyield is negative"),
        (
            f'<mujoco>{BODY}<tendon><fixed springyield="-1"><joint joint="j" coef="1"/></fixed></tendon></mujoco>',
            "<fixed>: springyield is negative",
        ),
        (
            '<mujoco><worldbody><site type="hfield"/></worldbody></mujoco>',
            "<site>: a site cannot be a plane, a height field",
        ),
        ('<mujoco><size nuserdata="-1"/></mujoco>', "<size>: nuserdata=-1; it must not be negative"),
        (
            f'<mujoco>{BODY}<actuator><general joint="j" cranklength="1"/></actuator></mujoco>',
            "cranklength belongs to a slider-crank, which needs cranksite",
        ),
        ('<mujoco><custom><numeric name="n"/></custom></mujoco>', "it has 0 values; expected at least 1"),
        ("<scene/>", "the root element is <scene>; expected <mujoco>"),
        ("<mujoco>" + "<worldbody>" * 2000, "elements are nested deeper than 1000"),
        ('<mujoco><include file="no.xml"/></mujoco>', "file not found: tried 'no.xml'"),
        ('<mujoco><compiler eulerseq="xyq"/></mujoco>', "expected three of the letters x y z X Y Z"),
        ('<mujoco><compiler coordinate="global"/></mujoco>', "only 'local' is left"),
        ('<mujoco><default class="base"/></mujoco>', "the top-level class is called 'base'"),
        ("<mujoco><default><default/></default></mujoco>", "attribute 'class' is missing"),
        (
            '<mujoco><default><geom name="g"/></default></mujoco>',
            "attribute 'name' cannot be given in a default class",
        ),
        (
            '<mujoco><default><default class="red"/></default>'
            '<worldbody><geom class="rad" size="1"/></worldbody></mujoco>',
            "class='rad' is not a default class; nearest: 'red'",
        ),
        ("<mujoco><worldbody><joint/></worldbody></mujoco>", "unknown element in <worldbody>"),
        (
            "<mujoco><worldbody><frame><joint/></frame></worldbody></mujoco>",
            "the world body cannot have joints",
        ),
        ("<mujoco><worldbody><composite/></worldbody></mujoco>", "refused: MuJoCo 4.0 removed it"),
        (
            "<mujoco><worldbody><flexcomp/></worldbody></mujoco>",
            "refused: flexes (deformable bodies) are not",
        ),
        (
            '<mujoco><extension><plugin plugin="a.b"/></extension></mujoco>',
            "engine plugin 'a.b' is not supported",
        ),
        ('<mujoco><worldbody><geom size="1" mass="-1"/></worldbody></mujoco>', None),
        (
            '<mujoco><worldbody><body><joint/><geom size="1" mass="-1"/></body></worldbody></mujoco>',
            "mass, inertia and density must not be negative",
        ),
        (
            "<mujoco><worldbody><body><joint/></body></worldbody></mujoco>",
            "a moving body needs mass and inertia",
        ),
        (
            '<mujoco><worldbody><body><inertial pos="0 0 0" mass="1" diaginertia="1 1 5"/></body></worldbody></mujoco>',
            "inertia '1 1 5' is not physical: none may exceed the sum of the others",
        ),
        ('<mujoco><worldbody><geom quat="0 0 0 0" size="1"/></worldbody></mujoco>', "quat is zero"),
        (
            '<mujoco><worldbody><geom quat="1 0 0 0" euler="1 0 0" size="1"/></worldbody></mujoco>',
            "at most one of these may be given: quat, axisangle, xyaxes, zaxis, euler",
        ),
        ('<mujoco><worldbody><geom type="mesh"/></worldbody></mujoco>', "attribute 'mesh' is missing"),
        (
            '<mujoco><asset><mesh name="m"/></asset></mujoco>',
            "it has no vertices: expected file, vertex, builtin or a plugin",
        ),
        (
            '<mujoco><asset><mesh file="arm.stl"/></asset></mujoco>',
            "file not found: tried 'arm.stl'",
        ),
        (f'<mujoco>{BODY}<keyframe><key qpos="1 2 3"/></keyframe></mujoco>', "qpos has 3 values, expected 1"),
        (f'<mujoco>{BODY}<sensor><ballquat joint="j"/></sensor></mujoco>', "joint 'j' is not a ball joint"),
        (f'<mujoco>{BODY}<sensor><jointlimitpos joint="j"/></sensor></mujoco>', "joint 'j' has no limit"),
        (
            f'<mujoco>{BODY}<sensor><framepos objtype="geom" objname="s"/></sensor></mujoco>',
            "objname='s': no geom is called 's'",
        ),
        (
            f'<mujoco>{BODY}<actuator><position joint="j" kv="1" dampratio="1"/></actuator></mujoco>',
            "kv and dampratio are both given; one of them is enough",
        ),
        (
            f'<mujoco>{BODY}<actuator><dcmotor joint="j"/></actuator></mujoco>',
            "the motor constant must be positive",
        ),
        (
            f'<mujoco>{BODY}<tendon><spatial><site site="s"/><site site="s"/></spatial></tendon></mujoco>',
            "object 0: the site is repeated",
        ),
        (f"<mujoco>{BODY}<tendon><fixed/></tendon></mujoco>", "its path is empty"),
        (
            f'<mujoco>{BODY}<equality><weld body1="b" body2="b"/></equality></mujoco>',
            "constrains 'b' to itself",
        ),
        (
            f'<mujoco>{BODY}<equality><connect body1="b"/></equality></mujoco>',
            "one of these must be given: site1 with site2, body1 with anchor",
        ),
        (
            '<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>'
            '<worldbody><geom type="plane" mesh="m"/></worldbody></mujoco>',
            "only a sphere, capsule, cylinder, ellipsoid or box can be fitted to a mesh",
        ),
        (
            '<mujoco><worldbody><attach model="m" prefix=""/></worldbody></mujoco>',
            "no model asset is called 'm'",
        ),
        ("no_such_file.xml", "file not found: tried 'no_such_file.xml'"),
    ],
)
def test_message(text, expected):
    if expected is None:  # a static geom's mass plays no part
        compile_mjcf(text)
    else:
        assert expected in problems(text)


def test_slips_that_mujoco_forgives():
    m = compile_mjcf('<mujoco><! a note ><worldbody><geom name="a"size="1"/></worldbody></mujoco></mujoco> the end')
    assert m.names["geom"] == ["a"]


def test_problems_name_the_included_file():
    message = problems(
        '<mujoco><include file="part.xml"/></mujoco>',
        part=b"<x>\n<worldbody><geom sise='1'/></worldbody></x>",
    )
    assert message.splitlines()[0] == "part.xml:2: <geom>: unknown attribute 'sise'; nearest: 'size'"


def test_an_include_loop_is_reported():
    message = problems(
        '<mujoco><include file="a.xml"/></mujoco>',
        a=b"<x><include file='b.xml'/></x>",
        b=b"<x><include file='a.xml'/></x>",
    )
    assert message == "b.xml:1: <include>: file 'a.xml' is already included, and a file may be included once"


def test_problems_of_an_attached_model_are_passed_on():
    message = problems(
        '<mujoco><asset><model name="m" file="m.xml"/></asset></mujoco>',
        m=b'<mujoco><worldbody><geom sise="1"/></worldbody></mujoco>',
    )
    assert "<string>:1: <model>: model file 'm.xml' has problems:" in message
    assert "unknown attribute 'sise'" in message


def test_a_model_that_attaches_itself_is_refused():
    assert "does 'm.xml' contain itself?" in problems(
        '<mujoco><asset><model file="m.xml"/></asset></mujoco>',
        m=b'<mujoco><asset><model file="m.xml"/></asset></mujoco>',
    )


def nested(levels: int) -> dict[str, bytes]:
    """Models that attach one another: 0.xml the first, and so on."""
    inner = '<mujoco><asset><model name="m" file="{}.xml"/></asset></mujoco>'
    last = b'<mujoco><worldbody><body><geom size="1"/></body></worldbody></mujoco>'
    return {f"{i}.xml": inner.format(i + 1).encode() for i in range(levels - 1)} | {f"{levels - 1}.xml": last}


def test_models_are_nested_twenty_deep_and_no_deeper():
    top = '<mujoco><asset><model name="m" file="0.xml"/></asset></mujoco>'
    assert compile_mjcf(top, nested(20)).nbody == 1
    with pytest.raises(MjcfError, match=r"deeper than 20: does '20\.xml' contain itself"):
        compile_mjcf(top, nested(21))


class Together(bytes):
    """A file that is not read before it is read in all of 25 threads."""

    barrier = threading.Barrier(25, timeout=10)

    def decode(self, *args) -> str:
        self.barrier.wait()
        return super().decode(*args)


def test_models_attached_in_many_threads_are_not_nested():
    text = '<mujoco><asset><model name="m" file="m.xml"/></asset><worldbody><attach model="m" prefix="x"/></worldbody></mujoco>'
    part = Together(b'<mujoco><worldbody><body><geom size="1"/></body></worldbody></mujoco>')
    compiled = []
    threads = [threading.Thread(target=lambda: compiled.append(compile_mjcf(text, {"m.xml": part}))) for _ in range(25)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [m.nbody for m in compiled] == [2] * 25


WRONG = '<body><geom size="-1"/></body>'  # one problem, that nothing else depends on


@pytest.mark.parametrize("stage", ["resolve.compile_text", "resolve.check_moving_masses", "compile.read_spec"])
def test_a_bug_is_no_consequence_of_a_problem(stage, monkeypatch):
    """What only a bug raises surfaces as it is, and what was found before it is told along."""

    def broken(*_):
        raise AttributeError("a bug of ours")

    monkeypatch.setattr(f"jaxsim.mjcf.assembly.{stage}", broken)
    found = "unknown" if stage == "compile.read_spec" else ""
    wrong = f"<worldbody {found}=''>{WRONG}</worldbody>" if found else f"<worldbody>{WRONG}</worldbody>"
    if stage == "resolve.check_moving_masses":
        wrong = ""  # asked of right models only
    with pytest.raises(AttributeError, match="a bug of ours") as bug:
        compile_mjcf(f'<mujoco>{wrong}<custom><text name="t" data="x"/></custom></mujoco>')
    notes = getattr(bug.value, "__notes__", [])
    assert len(notes) == bool(wrong)
    assert all("before this the compiler had found:\n<string>:1: <" in note for note in notes)


def test_a_bug_in_a_mesh_is_no_problem_of_the_file(monkeypatch):
    def broken(*_):
        raise ValueError("operands could not be broadcast together")

    monkeypatch.setattr("jaxsim.mjcf.assets.mesh.convex_hull", broken)
    mesh = '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>'
    with pytest.raises(ValueError, match="broadcast") as bug:
        compile_mjcf(f'<mujoco>{mesh}<worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>')
    assert type(bug.value) is ValueError


def test_an_obj_file_without_corners_is_no_bug():
    obj = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf"
    text = '<mujoco><asset><mesh name="m" file="m.obj"/></asset><worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>'
    for faces in (b"\n", b" 1 2\n"):
        assert compile_mjcf(text, {"m.obj": obj + faces}).mesh_facenum == [4]


FREE = '<worldbody><body name="b"><freejoint name="j"/><geom name="g" size="1"/>{}</body>{}</worldbody>'
QUIET = {
    "elements of a default class with a problem": '<default><geom size="a"/></default>'
    "<worldbody><geom/><geom/></worldbody>",
    "elements of a class that does not exist": '<worldbody><body childclass="x"><geom/><joint limited="true"/></body></worldbody>',
    "actuators of a contradictory default": '<default><position kv="1" dampratio="1"/></default>'
    + BODY
    + '<actuator><position name="a" joint="j"/><position joint="j"/></actuator><sensor><actuatorpos actuator="a"/></sensor>',
    "a sensor of a joint whose limits are wrong": '<worldbody><body><joint name="j" limited="true"/><geom size="1"/></body>'
    '</worldbody><sensor><jointlimitpos joint="j"/></sensor>',
    "a sensor of an actuator without a target": BODY
    + '<actuator><motor name="a"/></actuator><sensor><actuatorfrc actuator="a"/></sensor>',
    "a tendon with a part that is wrong": BODY
    + '<tendon><fixed name="t"><joint joint="j"/></fixed></tendon><actuator><motor tendon="t"/></actuator>'
    '<sensor><tendonpos tendon="t"/></sensor>',
    "what is in a frame without orientation": '<worldbody><frame quat="0 0 0 0"><geom size="1"/><site name="s"/>'
    '<frame><body><joint/><geom size="1"/></body></frame></frame></worldbody><sensor><framepos objtype="site" objname="s"/></sensor>',
    "the inertia of a body with a wrong geom": FREE.format('<geom size="-1"/><site name="s"/>', "")
    + '<sensor><gyro site="s"/></sensor>',
    "names in an element that is unknown": '<worldbody><boddy name="b"><joint name="j"/><geom size="1"/></boddy></worldbody>'
    '<actuator><motor joint="j"/></actuator><sensor><framepos objtype="body" objname="b"/></sensor>',
    "classes in a section that is unknown": '<defaults><default class="c"/></defaults>'
    '<worldbody><geom class="c" size="1"/></worldbody>',
    "names of copies that were not made": '<worldbody><replicate count="x"><body name="b"><joint name="j"/>'
    '<geom size="1"/></body></replicate></worldbody><actuator><motor joint="j0"/></actuator>',
    "attachments of a model that is missing": '<asset><model name="m" file="no.xml"/></asset>'
    '<worldbody><attach model="m" prefix="x"/></worldbody><actuator><motor joint="xj"/></actuator>',
    "geoms of a mesh that is missing": '<asset><mesh name="m" file="no.stl"/></asset><worldbody><body><freejoint/>'
    '<geom type="mesh" mesh="m"/><geom size="1"/></body><site type="mesh" mesh="m"/></worldbody>',
    "a mesh of a plugin with a wrong attribute": '<extension><plugin plugin="mujoco.sdf.torus"><instance name="i">'
    '<config key="radius" value="1"/></instance></plugin></extension><asset><mesh name="m"><plugin instance="i"/></mesh></asset>'
    '<worldbody><geom type="sdf" mesh="m"><plugin instance="i"/></geom></worldbody>',
    "an element of a tuple that is wrong": BODY + '<custom><tuple name="t"><element objtype="body"/></tuple></custom>',
}


@pytest.mark.parametrize("content", QUIET.values(), ids=list(QUIET))
def test_what_follows_from_a_problem_is_not_told(content):
    message = problems(f"<mujoco>{content}</mujoco>")
    assert len(message.splitlines()) == 1, message


SEED = f"""<mujoco>
  <compiler angle="radian"/><option timestep="0.01"><flag contact="disable"/></option>
  <default><geom rgba="1 0 0 1"/><default class="c"><joint damping="1"/><position kp="3"/></default></default>
  <asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><material name="mat" rgba="1 0 0 1"/></asset>
  {BODY}
  <worldbody>
    <replicate count="2" offset="1 0 0">
      <body name="r" childclass="c"><freejoint/><geom size=".1 .2" type="capsule"/></body>
    </replicate>
    <frame euler="1 2 3"><geom type="mesh" mesh="m" material="mat"/></frame>
  </worldbody>
  <contact><exclude body1="b" body2="r0"/></contact>
  <tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>
  <equality><joint joint1="j" polycoef="0 1"/></equality>
  <actuator><position joint="j" class="c"/><muscle tendon="t" lengthrange="0 1"/></actuator>
  <sensor><framepos objtype="site" objname="s"/><jointpos joint="j"/></sensor>
  <keyframe><key name="k" qpos="1"/></keyframe>
</mujoco>"""


def mutated(rng: random.Random) -> str:
    """The seed with a few random edits: attributes renamed, emptied, swapped; text cut, doubled, spoilt."""
    text = SEED
    for _ in range(rng.choice([1, 1, 2, 3])):
        attributes = list(re.finditer(r'(\w+)="([^"]*)"', text))
        if not attributes:
            break
        a, b = rng.choice(attributes), rng.choice(attributes)
        name, value = a.groups()
        i, j = sorted(rng.randrange(len(text)) for _ in "ij")
        tag = rng.choice(list(re.finditer(r"<(\w+)", text)))
        text = rng.choice(
            [
                text[: a.start()] + text[a.end() :],
                text[: a.start()] + rng.choice([f'{name}x="{value}"', f'{name}=""', f'{name}="nan"']) + text[a.end() :],
                text[: a.start()]
                + rng.choice([f'{name}="1e400"', f'{name}="{value} 7 7"', f'{name}="-{value}"'])
                + text[a.end() :],
                text[: a.start(2)] + b.group(2) + text[a.end(2) :],
                text[: tag.start(1)] + rng.choice(["geom", "joint", "sensor", "include", "x"]) + text[tag.end(1) :],
                text[:i] + text[i : min(j, i + 300)] + text[i:],
                text[:i] + rng.choice(["<", ">", "&", '"', "\0", "é", "]]>"]) + text[i + 1 :],
                text[: i + 1],
            ]
        )
    return text


@pytest.mark.filterwarnings("ignore:.*ignored, as MuJoCo does")
@pytest.mark.parametrize("seed", range(8))
def test_a_spoilt_file_compiles_or_says_what_is_wrong(seed):
    rng = random.Random(seed)
    loaded = 0
    for _ in range(60):
        try:
            compile_mjcf(mutated(rng))
            loaded += 1
        except MjcfError as error:
            assert re.search(r":\d+: ", str(error))
    assert 0 < loaded < 60


def test_what_mujoco_passes_over_is_a_warning():
    text = """<mujoco>
  <body name="aside"><geom size="1"/></body>
  <worldbody>
    <replicate count="2" prefix="A">
      <body foo="1"><geom size="1"/></body>
    </replicate>
    <replicate count="0"><geom size="1"/></replicate>
  </worldbody>
</mujoco>"""
    part = '<mujoco model="part"><worldbody><frame foo="1"><geom size="1"/></frame></worldbody></mujoco>'
    text = text.replace(
        "<worldbody>", '<asset><model name="m" file="m.xml"/></asset><include file="i.xml" bar="1"/><worldbody>'
    )
    with pytest.warns(UserWarning) as seen:
        compiled = compile_mjcf(text, assets={"m.xml": part.encode(), "i.xml": b"<x><size nuser_geom='2'/></x>"})
    assert compiled.nbody == 3 and compiled.nuser_geom == 2
    said = sorted(str(w.message).partition(": ")[2] for w in seen)
    assert said == [
        "<body>: ignored, as MuJoCo does: it is not inside <worldbody>",
        "<body>: unknown attribute 'foo'; ignored, as MuJoCo does inside frames",
        "<frame>: unknown attribute 'foo'; ignored, as MuJoCo does inside frames",
        "<include>: unknown attribute 'bar'; ignored, as MuJoCo does",
        "<replicate>: count is not positive: the contents are left out, as MuJoCo does",
        "<replicate>: unknown attribute 'prefix'; ignored, as MuJoCo does inside frames",
    ]
