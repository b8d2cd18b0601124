"""The tables of fields: complete, true of MuJoCo and of every model, and seen by mypy."""

import re
from types import SimpleNamespace

import jax
import mujoco
import numpy as np
import pytest
from mypy import api

import jaxsim as js
from jaxsim import models
from jaxsim.checks.diagnose import STAGES
from jaxsim.commands.info import fields
from jaxsim.core.fields import (
    CONTACT,
    DATA_DERIVED,
    DATA_STATE,
    DEDUCED,
    MODEL_OWN,
    MODEL_REAL,
    OPTION_INT,
    OPTION_OWN,
    OPTION_REAL,
    SIZES,
    STAT_REAL,
    STATIC,
    TABLES,
    expected_shape,
    field_of,
)
from jaxsim.core.model import from_fields

# something of everything that has fields
ALL = """
<mujoco>
  <size nuser_body="2" nuser_geom="1" nuser_sensor="3"/>
  <asset>
    <mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1" refpos=".1 0 0"/>
    <hfield name="hills" nrow="3" ncol="4" size="1 1 1 .1" elevation="0 1 2 3  1 2 3 4  2 3 4 5"/>
    <material name="red" rgba="1 0 0 1"/>
  </asset>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <geom type="hfield" hfield="hills"/><light name="sun"/><camera name="eye" pos="0 -3 1"/>
    <body name="base" user="1 2"><joint name="slide" type="slide" frictionloss=".1" range="-1 1" limited="true"/>
      <geom name="ball" size=".1" material="red" user="5"/><site name="tip" pos="0 0 .1"/>
      <body name="arm" gravcomp="1" pos="0 0 1"><joint name="ball" type="ball"/><geom type="mesh" mesh="wedge"/></body>
    </body>
    <body name="target" mocap="true"><geom name="mark" size=".2"/></body>
    <body name="free" pos="3 0 0"><freejoint/><geom name="box" type="box" size=".1 .2 .3"/></body>
  </worldbody>
  <contact><pair name="touch" geom1="ball" geom2="box"/><exclude name="apart" body1="base" body2="free"/></contact>
  <equality><connect name="tie" body1="free" anchor="0 0 0"/></equality>
  <tendon><fixed name="cord" frictionloss=".2"><joint joint="slide" coef="2"/></fixed></tendon>
  <actuator>
    <motor name="push" joint="slide"/><general name="slow" tendon="cord" dyntype="filter" dynprm=".1" ctrlrange="-2 2"/>
  </actuator>
  <sensor><framepos name="where" objtype="site" objname="tip" user="1 2 3"/><jointpos joint="slide"/></sensor>
  <custom>
    <numeric name="gains" data="1 2 3"/><numeric name="more" data="4 5"/><text name="who" data="me"/>
    <text name="why" data="to see"/><tuple name="both"><element objtype="body" objname="arm" prm="2"/></tuple>
  </custom>
  <keyframe><key name="start" time="3"/></keyframe>
</mujoco>
"""


@pytest.fixture(scope="module")
def compiled():
    return mujoco.MjModel.from_xml_string(ALL)


@pytest.fixture(scope="module")
def model():
    return js.load(ALL)


def test_every_field_has_dimensions_a_unit_and_a_sentence():
    for table in TABLES.values():
        for name, field in table.items():
            assert field.name == name and field.unit and len(field.doc) > 5, name
            assert not field.doc.endswith(".") and not field.doc[0].isspace(), name
            named = [d.split("*")[-1] for d in field.dims if isinstance(d, str)]
            assert set(named) <= {*SIZES, *DEDUCED, "nsleep", "nsleepq"}, name  # these two depend on a flag
            assert (field.unit in ("int", "bool", "bytes") or field.enum is not None) == (field.dtype is not None), name


@pytest.mark.parametrize("source", [ALL, models.path("humanoid")], ids=["all", "humanoid"])
def test_every_field_has_the_declared_shape_and_type(source):
    model = js.load(source)
    data = js.make_data(model)
    values = {
        "model": model,
        "model.opt": model.opt,
        "model.stat": model.stat,
        "data": data,
        "data.contact": data.contact,
    }
    for owner, table in TABLES.items():
        for name, field in table.items():
            value = getattr(values[owner], name)
            if field.unit == "bytes":
                assert isinstance(value, bytes) and len(value) == model.ntextdata
                continue
            where = f"{owner}.{name}".partition(".")[2]
            assert np.shape(value) == field.shape(model) == expected_shape(model, where), name
            kind = np.dtype(field.dtype).kind if field.dtype else "f"
            assert np.asarray(value).dtype.kind == kind, name
            if field.enum:
                assert {int(v) for v in np.ravel(value)} <= {int(member) for member in field.enum}, name
            traced = name in {**MODEL_REAL, **OPTION_REAL, **STAT_REAL} or owner.startswith("data")
            assert isinstance(value, jax.Array) == traced, name


# what mjModel has and the tables leave out
LEFT_OUT = re.compile(
    r"flex\w*|skin_\w*|tex_\w*|bvh_\w*|oct_\w*|\w+_(bvh|oct)(adr|num)|efm\w+"  # deformables, textures, volumes, octrees
    r"|mat_(?!rgba)\w+|light_texid|\w*plugin\w*|n?names\w*|name_\w+adr|n?paths|\w+_pathadr|vis|opt|stat|signature"
    r"|[BDM]_\w+|map[DM]2[DM]|ten_J_\w+|dof_Madr"  # sparse storage
    r"|nB|nC|nD|nM|nJfe|nJmom|nJten|narena|nbuffer|nbvh\w*|noct|nefm\w+|nskin\w*|ntex\w*|nflex\w+|nemax|njmax"
    r"|nhistory|\w+_historyadr|pair_signature|tree_sleep_policy|flg_\w+"
)


def test_tables_are_mujocos(compiled, model):
    """Every field is one of mjModel's or deduced from them, in its shape, and what is left out is so on purpose."""
    assert not any(hasattr(compiled, name) for name in MODEL_OWN)
    for name, field in {k: f for k, f in {**SIZES, **STATIC, **MODEL_REAL}.items() if k not in MODEL_OWN}.items():
        theirs = getattr(compiled, name)
        assert np.size(theirs) == np.prod(field.shape(model)) or field.unit == "bytes", name
    rest = [n for n in dir(compiled) if not n.startswith("_") and not callable(getattr(compiled, n))]
    rest = [n for n in rest if n not in {**SIZES, **STATIC, **MODEL_REAL}]
    assert [n for n in rest if not LEFT_OUT.fullmatch(n)] == []
    for theirs, ours in ((compiled.opt, {**OPTION_REAL, **OPTION_INT}.keys() - OPTION_OWN), (compiled.stat, STAT_REAL)):
        assert {n for n in dir(theirs) if not n.startswith("_")} == set(ours)


def test_every_derived_real_belongs_to_a_stage_of_diagnose():
    listed = {name for names, _ in STAGES.values() for name in names}
    reals = {n for n, f in (DATA_STATE | DATA_DERIVED).items() if not f.dtype}
    assert reals <= listed | {"userdata"}  # which nothing reads
    contacts = {f"contact.{n}" for n, f in CONTACT.items() if not f.dtype}
    assert contacts - listed <= {"contact.solreffriction", "contact.solimp"}


def test_a_source_without_a_field_is_refused_by_name(compiled):
    class Without:
        def __getattr__(self, name):
            if name == "jnt_type":
                raise AttributeError(name)
            return getattr(compiled, name)

    with pytest.raises(AttributeError, match="Without has no field 'jnt_type', which every model has"):
        from_fields(Without(), {})


def test_nothing_undeclared_is_copied_and_shapes_are_checked(compiled):
    every = (*SIZES, *STATIC, *(MODEL_REAL.keys() - MODEL_OWN), "opt", "stat")
    source = SimpleNamespace(**{n: getattr(compiled, n) for n in every}, jnt_colour=np.zeros(3, int), nspoons=5)
    topology = from_fields(source, {}).topology
    assert not hasattr(topology, "jnt_colour") and not hasattr(topology, "nspoons")
    source.geom_type = np.zeros(3, np.int32)
    with pytest.raises(ValueError, match=r"geom_type has shape \(3,\), expected \(5,\)"):
        from_fields(source, {})


def test_elements_by_name(model):
    assert model.body("base").id == 1 and list(model.body("base").user) == [1, 2] and model.body(1).name == "base"
    assert model.joint("slide").qposadr == 0 and model.joint("slide").limited
    # fields that count something else than elements are found by address, not by the element's index
    slow = model.actuator("slow")
    assert slow.ctrllimited and slow.actadr == 0 and list(slow.ctrlrange) == [-2, 2] and slow.gear.shape == (6,)
    assert not hasattr(model.mesh("wedge"), "vert") and model.mesh("wedge").vertnum == 4
    assert list(model.numeric("more").data) == [4, 5] and model.text("why").data == b"to see\x00"
    assert list(model.tuple("both").objid) == [model.body("arm").id] and list(model.tuple("both").objprm) == [2]
    assert model.material("red").rgba[0] == 1 and model.key("start").time == 3
    with pytest.raises(KeyError, match="no body is called 'bsae'; closest: base"):
        model.body("bsae")
    with pytest.raises(KeyError, match="no body 9: the model has 5"):
        model.body(9)


def test_a_declaration_is_found_and_documents_itself(model):
    assert field_of("body_mass") is js.Model.body_mass is MODEL_REAL["body_mass"]
    assert field_of("opt.gravity").unit == "m/s^2" and field_of("contact.dist").dims == ("nconmax",)
    assert js.Data.xpos.__doc__ == "origins of the bodies in the world ([nbody, 3], m)."
    with pytest.raises(KeyError, match="no field is called 'gravity'"):
        field_of("gravity")
    about = {line["name"]: line for line in fields(model, "armature")}
    armature = about["model.dof_armature"]
    assert armature["shape"] == (10,) and armature["unit"] == "kg, kg m^2" and "rotor" in armature["meaning"]
    assert "model.body_mass" not in about


SNIPPET = """
from jaxsim.core.data import Data
from jaxsim.core.model import Model

def read(m: Model, d: Data) -> None:
    m.jnt_type, m.opt.gravity, m.topology.body_parentid, d.contact.dist, d.xpos, m.stat.extent, m.nq.bit_length()
    m.body("torso").mass, m.opt.solver.name
    m.jnt_tpye
    m.opt.gravty
    m.topology.body_parent
    d.contact.dst
    d.xps
    m.stat.extnt
    m.bdy("torso")
    m.nq.sum()
"""


def test_mypy_sees_a_typo(tmp_path):
    """Each wrong line, and no other, is an error; jax and numpy are skipped, which takes seconds off."""
    (tmp_path / "snippet.py").write_text(SNIPPET)
    (tmp_path / "mypy.ini").write_text("[mypy]\n[mypy-jax.*,numpy.*]\nfollow_imports = skip\n")
    settings = [
        "--config-file",
        str(tmp_path / "mypy.ini"),
        "--cache-dir",
        str(tmp_path / "cache"),
        "--no-error-summary",
    ]
    out, err, _ = api.run([*settings, str(tmp_path / "snippet.py")])
    assert not err
    found = re.findall(r"snippet.py:(\d+): error: \"(\w+)\" has no attribute \"(\w+)\"", out)
    expected = [
        ("8", "Model", "jnt_tpye"), ("9", "Option", "gravty"), ("10", "Topology", "body_parent"),
        ("11", "Contact", "dst"), ("12", "Data", "xps"), ("13", "Statistic", "extnt"), ("14", "Model", "bdy"),
        ("15", "int", "sum"),
    ]  # fmt: skip
    assert found == expected and out.count("error:") == len(expected), out
