"""Declared fields of a compiled model, and enumerations, against mjModel's own."""

import mujoco
import numpy as np
import pytest

from jaxsim.core import enums as core_enums
from jaxsim.core.enums import ObjType
from jaxsim.core.fields import MODEL_OWN, MODEL_REAL, SIZES, STATIC
from jaxsim.mjcf import compile_mjcf
from jaxsim.mjcf.assembly.compiled import DECLARED, CompiledModel
from jaxsim.mjcf.assembly.fields import COMPILER, FIELDS
from jaxsim.mjcf.language import enums
from jaxsim.mjcf.language.schema import DISABLE_BITS, ENABLE_BITS, ENUMS, OBJECT_TYPES


def test_every_declared_field_is_set_and_no_other():
    assert set(vars(compile_mjcf("<mujoco/>"))) == DECLARED
    m = compile_mjcf("<mujoco/>")
    for name, field in FIELDS.items():
        value = getattr(m, name)
        if field.dims and field.dtype is not bytes:
            assert value.shape == field.shape(m) and value.dtype.kind in ("iub" if field.dtype else "f"), name
        else:
            assert type(value) is {np.bool_: bool}.get(field.dtype, field.dtype), name


def test_declared_fields_are_those_of_mjmodel():
    theirs = set(dir(mujoco.MjModel.from_xml_string("<mujoco/>")))
    assert set(FIELDS) - MODEL_OWN <= theirs and not MODEL_OWN & theirs
    assert not set(COMPILER) & (set(MODEL_REAL) | set(SIZES) | set(STATIC))  # none is declared twice


def test_a_field_that_is_not_declared_cannot_be_set():
    with pytest.raises(AttributeError, match="'body_mas' is not a declared field"):
        CompiledModel().set("body_", mas=np.zeros(1))


def test_a_field_that_is_not_set_says_so():
    with pytest.raises(AttributeError, match="body_mass of the compiled model is not yet set"):
        _ = CompiledModel().body_mass


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
    assert {
        member.name: int(member) for member in getattr(core_enums if hasattr(core_enums, ours) else enums, ours)
    } == members


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
