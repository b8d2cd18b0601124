"""Sizes that no machine can hold: an MjcfError with the line, at once, and before anything is built."""

import sys
import time

import pytest

import jaxsim as js
from jaxsim.mjcf import MjcfError, compile_mjcf
from jaxsim.mjcf.assembly import bounds as arrays
from jaxsim.mjcf.assembly import compile as compiling
from jaxsim.mjcf.language import bounds

GEOM = '<geom size=".1"/>'
ARM = '<body><joint name="j"/><geom size=".1"/><site/><camera/></body>'
OTHERS = """
<tendon><fixed><joint joint="j" coef="1"/></fixed></tendon><actuator><motor joint="j"/></actuator>
<sensor><jointpos joint="j"/></sensor>"""
BODIES = "<body><freejoint/><geom {}/></body>"
HFIELD = '<asset><hfield name="h" size="1 1 1 1" {}/></asset>'
MESH = '<asset><mesh name="m" builtin="{}" params="{}"/></asset>'


def replicate(count: int, inside: str) -> str:
    return f'<replicate count="{count}" offset="0 0 1">{inside}</replicate>'


def nested(count: int, depth: int, inside: str) -> str:
    for _ in range(depth):
        inside = replicate(count, inside)
    return inside


def doubled(times: int) -> str:
    """Bodies each of which attaches the one before twice."""
    text = f'<body name="b0">{GEOM}</body>'
    for k in range(times):
        twice = "".join(f'<attach body="b{k}" prefix="{side}"/>' for side in "lr")
        text += f'<body name="b{k + 1}">{twice}</body>'
    return text


def document(world: str, before: str = "", after: str = "") -> str:
    return f"<mujoco>\n{before}\n<worldbody>\n{world}\n</worldbody>\n{after}\n</mujoco>"


TOO_LARGE = {
    "copies": (document(replicate(10**9, GEOM)), r":4: <replicate>: the model would have 1000000000 elements; at most"),
    "copies of bodies": (document(replicate(10**9, ARM)), ":4: <replicate>: the model would have 5000000000 elements"),
    "copies of nothing": (document(replicate(10**9, "")), ":4: <replicate>: the model would have 1000000000 elements"),
    "nested copies": (document(nested(100, 6, GEOM)), ":4: <replicate>: the model would have 1000000000000 elements"),
    "deeply nested copies": (document(nested(10**9, 200, GEOM)), ":4: <replicate>: the model would have 1e"),
    "attached copies": (document(doubled(40)), ":4: <attach>: the model would have .* elements"),
    "turns": (document(f'<replicate count="5" euler="0 0 1e308">{GEOM}</replicate>'), ":4: <replicate>: the turn of"),
    "keyframes": (
        document(GEOM, '<size nkey="2000000000"/>'),
        ":2: <size>: the list of keyframes would have 2000000000",
    ),
    "states": (
        document(replicate(1200, "<body><joint/><geom size='.1'/></body>"), '<size nkey="60000"/>'),
        ":2: <size>: the state of 60000 keyframes",
    ),
    **{
        f"nuser_{kind}": (
            document(ARM, f'<size nuser_{kind}="2000000000"/>', OTHERS),
            f":2: <size>: user data of nuser_{kind}=2000000000 would have",
        )
        for kind in ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor")
    },
    "user data": (document(GEOM, '<size nuserdata="2000000000"/>'), ":2: <size>: userdata would have 2000000000"),
    "sensor": (
        document(GEOM, "", '<sensor><user dim="1"/>\n<user dim="2000000000"/></sensor>'),
        ":7: <user>: sensordata would have 2000000001 numbers",
    ),
    "activation": (
        document(ARM, "", '<actuator><general joint="j" dyntype="user" actdim="2000000000"/></actuator>'),
        ":6: <general>: act would have 2000000000 numbers",
    ),
    "history": (
        document(ARM, "", "<actuator>" + 9 * '<motor joint="j" nsample="16777216"/>' + "</actuator>"),
        ":6: <motor>: history of actuators would have 150994944 numbers",
    ),
    "sphere": (
        document(BODIES.format('size="1e308"')),
        r":4: <geom>: size='1e\+308 0 0': at most 1e\+18 m is possible",
    ),
    "static sphere": (document('<geom size="1e308"/>'), ":4: <geom>: size="),
    "box": (document(BODIES.format('type="box" size="1 1e200 1"')), ":4: <geom>: size="),
    "distant ends": (document(BODIES.format('type="capsule" size="1" fromto="0 0 0 0 0 1e100"')), ":4: <geom>: size="),
    "density": (document(BODIES.format('size="9" density="1e308"')), ":4: <geom>: its mass inf kg"),
    "masses": (
        document(BODIES.format('size=".1" mass="1e308"/><geom size=".1" mass="1e308"')),
        ":4: <body>: its mass inf",
    ),
    "distance": (document(f'<body pos="1e308 0 0"><freejoint/>{GEOM}</body>'), "<mujoco>: the extent or .* not finite"),
    "elevations": (
        document("", HFIELD.format('nrow="1000000000" ncol="1000000000"')),
        ":2: <hfield>: .* 1e[+]18 numbers",
    ),
    **{
        kind: (document(GEOM, MESH.format(kind, params)), ":2: <mesh>: .* it would have more than 4194304 vertices")
        for kind, params in {
            "supersphere": "1e9 1 1",
            "supertorus": "1e9 .5 1 1",
            "cone": "1e9 0",
            "wedge": "100000 100000 90 45 0",
            "plate": "1e9 1e9",
        }.items()
    },
}


@pytest.mark.parametrize(("text", "message"), TOO_LARGE.values(), ids=list(TOO_LARGE))
def test_too_large(text, message):
    start = time.process_time()
    with pytest.raises(MjcfError, match=message) as error:
        compile_mjcf(text)
    assert len(error.value.problems) == 1
    # most take a hundredth of a second, one two; in a process that holds the objects of other tests, collecting garbage
    # has taken five more
    assert time.process_time() - start < 30


def test_the_largest_models_compile(monkeypatch):
    """What the limits count is what is there: with limits that just admit a model it compiles, not with smaller ones."""
    world = replicate(6, ARM + replicate(2, GEOM)) + doubled(1)
    text = document(world.replace(' name="j"', ""), '<size nkey="4"/>')
    m = compile_mjcf(text)
    count = m.nbody + m.njnt + m.ngeom + m.nsite + m.ncam
    assert m.ngeom == 6 * 3 + 3
    for limit, possible in ((count, True), (count - 1, False)):
        monkeypatch.setattr(bounds, "MAX_ITEMS", limit)
        if possible:
            compile_mjcf(text)
        else:
            with pytest.raises(MjcfError, match="at most"):
                compile_mjcf(text)


def test_models_that_name_models():
    """Twice the next one, each: twenty of them would be a million files to read."""
    twice = '<mujoco><asset><model name="a" file="{0}.xml"/><model name="b" file="{0}.xml"/></asset></mujoco>'
    files = {f"{k}.xml": twice.format(k + 1).encode() for k in range(19)} | {"19.xml": document(GEOM).encode()}
    with pytest.raises(MjcfError, match=r"(?s)<string>:1: <model>: .*more than 1000 model files are read"):
        compile_mjcf(twice.format(0), files)


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (replicate(4, BODIES.format('size=".1"')), "the model has 24 degrees of freedom, and 5 bodies"),
        (replicate(3, BODIES.format('size=".1"')) + replicate(30, "<body/>"), "18 degrees of freedom, and 34 bodies"),
        (replicate(3, BODIES.format('size=".1"')) + replicate(15, "<body/>"), None),
        ("<body/>" * 1000, None),
    ],
)
def test_dense_matrices(monkeypatch, world, message):
    monkeypatch.setattr(arrays, "MAX_DOFS", 20)
    if message is None:
        compile_mjcf(document(world))
    else:
        with pytest.raises(MjcfError, match=f":1: <mujoco>: .*{message}"):
            compile_mjcf(document(world))


def test_no_memory(monkeypatch, tmp_path):
    def greedy(*_):
        raise MemoryError("Unable to allocate 37 GiB")

    file = tmp_path / "model.xml"
    file.write_text(document(GEOM))
    with monkeypatch.context() as patch:
        patch.setattr(compiling, "bodies", greedy)
        with pytest.raises(
            MjcfError, match=r"model\.xml:1: <mujoco>: the model needs more memory than there is: Unable"
        ):
            compile_mjcf(file)
    monkeypatch.setattr(sys.modules["jaxsim.load"], "admit", greedy)
    with pytest.raises(MjcfError, match=r"model\.xml:1: <mujoco>: the model needs more memory than there is: Unable"):
        js.load(file)
