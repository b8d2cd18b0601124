"""Declared fields of a compiled model, and enumerations, against mjModel's own."""

import mujoco
import numpy as np
import pytest

from jaxsim.core.enums import ObjType
from jaxsim.mjcf import compile_mjcf
from jaxsim.mjcf.assembly.compiled import DECLARED, CompiledModel
from jaxsim.mjcf.assembly.fields import Fields
from jaxsim.mjcf.language import enums
from jaxsim.mjcf.language.schema import DISABLE_BITS, ENABLE_BITS, ENUMS, OBJECT_TYPES


def test_every_declared_field_is_set_and_no_other():
    assert set(vars(compile_mjcf("<mujoco/>"))) == DECLARED
    types = {"int": int, "bool": bool, "bytes": bytes, "np.ndarray": np.ndarray}
    m = compile_mjcf("<mujoco/>")
    for name, annotation in Fields.__annotations__.items():
        kind = types[annotation] if isinstance(annotation, str) else annotation
        assert type(getattr(m, name)) is kind, name


def test_declared_fields_are_those_of_mjmodel():
    theirs = set(dir(mujoco.MjModel.from_xml_string("<mujoco/>")))
    assert set(Fields.__annotations__) <= theirs


def test_a_field_that_is_not_declared_cannot_be_set():
    with pytest.raises(AttributeError, match="'body_mas' is not a declared field"):
        CompiledModel().set("body_", mas=np.zeros(1))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("SameFrame", "mjtSameFrame"),
        ("LRMode", "mjtLRMode"),
        ("SleepPolicy", "mjtSleepPolicy"),
        ("DataType", "mjtDataType"),
        ("Stage", "mjtStage"),
    ],
)
def test_enumerations(ours, theirs):
    members = {name.partition("_")[2]: int(v) for name, v in getattr(mujoco, theirs).__members__.items()}
    assert {member.name: int(member) for member in getattr(enums, ours)} == members


KEYWORDS = {
    "joint": "mjtJoint",
    "geom": "mjtGeom",
    "dyn": "mjtDyn",
    "gain": "mjtGain",
    "bias": "mjtBias",
    "integrator": "mjtIntegrator",
    "cone": "mjtCone",
    "solver": "mjtSolver",
    "jacobian": "mjtJacobian",
    "camlight": "mjtCamLight",
    "light": "mjtLightType",
    "projection": "mjtProjection",
}


@pytest.mark.parametrize("name", KEYWORDS)
def test_keywords_stand_for_mujocos_numbers(name):
    members = {k.partition("_")[2]: int(v) for k, v in getattr(mujoco, KEYWORDS[name]).__members__.items()}
    for word, number in ENUMS[name].items():
        assert members[word.upper()] == number


def test_flags_and_object_types_are_mujocos():
    for bits, enum in ((DISABLE_BITS, mujoco.mjtDisableBit), (ENABLE_BITS, mujoco.mjtEnableBit)):
        members = {k.partition("_")[2].lower(): int(v) for k, v in enum.__members__.items() if "_" in k}
        assert bits == {k: v for k, v in members.items() if k in bits} and len(bits) > 7
    members = {k.partition("_")[2].lower(): int(v) for k, v in mujoco.mjtObj.__members__.items()}
    assert {k: members[k] for k in OBJECT_TYPES} == OBJECT_TYPES
    assert all(OBJECT_TYPES[kind.name.lower()] == kind for kind in ObjType)
