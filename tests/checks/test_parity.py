"""Parity: every declared field is compared by name, and each that is not says why."""

import mujoco
import numpy as np
import pytest

import jaxsim as js
from jaxsim import models
from jaxsim.checks.parity import NOT_COMPARED, Comparison, field_errors
from jaxsim.core.fields import MODEL_REAL, OPTION_INT, OPTION_REAL, SIZES, STAT_REAL, STATIC
from jaxsim.core.model import Model

WEDGES = """
<mujoco>
  <asset><mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset>
  <worldbody><body><freejoint/><geom type="mesh" mesh="wedge"/></body></worldbody>
  <custom><text name="who" data="me"/></custom>
</mujoco>
"""


@pytest.fixture(scope="module")
def arm():
    path = models.path("arm")
    return js.load(path), mujoco.MjModel.from_xml_path(str(path))


def altered(model: Model, **changes) -> Model:
    return Model(model._values, model.topology.replace(**changes))


def test_every_declared_field_is_compared_or_says_why(arm):
    errors = field_errors(*arm)
    declared = {*SIZES, *STATIC, *MODEL_REAL, *(f"opt.{n}" for n in (*OPTION_REAL, *OPTION_INT))}
    declared |= {f"stat.{n}" for n in STAT_REAL}
    assert NOT_COMPARED.keys() <= declared and all(NOT_COMPARED.values())
    assert errors.keys() == declared - NOT_COMPARED.keys()
    assert max(errors.values()) < 1e-9


@pytest.mark.parametrize(
    "name", ["jnt_qposadr", "sensor_adr", "actuator_group", "tree_dofadr", "geom_rgba", "body_treeid"]
)
def test_a_difference_in_any_field_is_found(arm, name):
    """Also in those whose names say that they are addresses, groups or colours."""
    model, mj = arm
    value = getattr(model, name)
    assert field_errors(altered(model, **{name: value + value.dtype.type(1)}), mj)[name] > 1e-3


def test_custom_texts_and_hulls():
    mj = mujoco.MjModel.from_xml_string(WEDGES)
    model = js.load(WEDGES, compile_only=True)
    errors = field_errors(model, mj)
    assert errors["text_data"] == errors["mesh_polyvert"] == 0
    wrong = field_errors(altered(model, text_data=b"no\x00", mesh_polyvert=np.roll(model.mesh_polyvert, 1)), mj)
    assert wrong["text_data"] == "differs" and wrong["mesh_polyvert"] > 0.1


def test_what_sleeps_is_compared_where_it_is_awake():
    """A box that has fallen asleep, where MuJoCo's forces are those of before, and a pendulum that never does."""
    xml = """<mujoco><option><flag sleep="enable"/></option><worldbody><geom type="plane" size="1 1 1"/>
      <body pos="0 0 .0999"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
      <body pos="0 1 1" sleep="never"><joint axis="1 0 0"/><geom size=".1" pos="0 0 -.5"/></body></worldbody></mujoco>"""
    both = Comparison(js.load(xml), mujoco.MjModel.from_xml_string(xml))
    errors = both.stage_errors()
    assert (both.theirs.tree_asleep >= 0).tolist() == [True, False]
    assert max(errors.values()) < 1e-12 and max(both.rollout_errors(3)) < 1e-12
