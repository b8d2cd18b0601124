"""diagnose names stage, field, worlds and elements of the first fault."""

import jax
import jax.numpy as jnp
import pytest

import jaxsim as js
from jaxsim.core.enums import DisableBit

XML = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="ball" pos="0 0 .1"><freejoint name="root"/><geom name="skin" type="sphere" size=".1"/></body>
    <body name="door" pos="2 0 1"><joint name="hinge"/><geom type="sphere" size=".1"/></body>
  </worldbody>
  <actuator><motor name="push" joint="hinge"/></actuator>
  <sensor><jointpos name="angle" joint="hinge"/></sensor>
</mujoco>
"""


@pytest.fixture(scope="module")
def scene():
    model = js.load(XML)
    flags = model.opt.disableflags | DisableBit.AUTORESET
    return model.replace(opt=model.opt.replace(disableflags=flags)), js.make_data(model)


def worlds(data, n=3):
    return jax.tree.map(lambda x: jnp.stack([x] * n), data)


def test_nothing_wrong(scene):
    found = js.diagnose(scene[0], js.step(*scene))
    assert not found and str(found) == "every field is finite"


def test_a_bad_state_in_one_world(scene):
    model, data = scene
    batch = worlds(data)
    batch = batch.replace(qvel=batch.qvel.at[1, 6].set(jnp.nan))
    found = js.diagnose(model, jax.vmap(js.step, (None, 0))(model, batch))
    assert found.stage == "state" and found.worlds == (1,) and found.nworld == 3
    assert "BADQVEL" in dict(found.warnings)
    assert "cvel" in found.later and "in 1 of 3 worlds (1)" in str(found)


def test_a_bad_control_is_named(scene):
    model, data = scene
    found = js.diagnose(model, data.replace(ctrl=jnp.full(1, jnp.inf)))
    assert (found.stage, found.field, found.elements) == ("inputs", "ctrl", ("actuator 'push'",))


def test_a_bad_parameter_comes_first(scene):
    model, data = scene
    model = model.replace(body_mass=model.body_mass.at[2].set(jnp.nan))
    found = js.diagnose(model, js.forward(model, data))
    assert (found.stage, found.field, found.elements) == ("parameters", "body_mass", ("body 'door'",))
    assert "qM" in found.later


def test_elements_of_every_axis(scene):
    model, data = scene
    data = js.forward(model, data)
    cases = {
        "qpos": ("state", "joint 'hinge' (qpos 7)"),
        "qM": ("inertia", "joint 'hinge' (dof 6)"),
        "sensordata": ("sensors", "sensor 'angle'"),
        "geom_xpos": ("kinematics", "geom #2"),
    }
    for field, (stage, name) in cases.items():
        found = js.diagnose(model, data.replace(**{field: getattr(data, field).at[-1].set(jnp.nan)}))
        assert (found.stage, found.field) == (stage, field) and name in found.elements
    contact = data.contact.replace(pos=data.contact.pos.at[0].set(jnp.nan))
    found = js.diagnose(model, data.replace(contact=contact))
    assert found.elements == ("contact of 'floor' and 'skin'",) and "advice" in str(found)
