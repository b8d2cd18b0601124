"""Elements by name in Data and Model, and choosing between worlds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js

SCENE = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="ball" pos="0 0 1"><freejoint name="free"/><geom name="ball" size=".1"/><site name="tip"/></body>
    <body name="leg_left" pos="1 0 1">
      <joint name="hip"/><joint name="slide" type="slide"/><geom name="leg_left" size=".1"/>
      <body name="leg_right" pos="0 1 0"><joint name="ball" type="ball"/><geom name="leg_right" size=".1"/></body>
    </body>
    <body name="hand" mocap="true" pos="3 2 1"/>
  </worldbody>
  <actuator><motor name="push" joint="slide"/><general name="turn" joint="hip" dyntype="integrator"/></actuator>
  <sensor><jointpos joint="hip"/><gyro name="gyro" site="tip"/><jointvel name="rate" joint="hip"/></sensor>
  <keyframe><key name="high" qpos="0 0 3 1 0 0 0 0 0 1 0 0 0"/></keyframe>
</mujoco>
"""


@pytest.fixture(scope="module")
def scene():
    """The model, and Data in which every number is another one."""
    model = js.load(SCENE)
    leaves, tree = jax.tree.flatten(js.make_data(model))
    unlike = [jnp.array((np.arange(x.size) + i).reshape(x.shape), x.dtype) for i, x in enumerate(leaves)]
    return model, jax.tree.unflatten(tree, unlike)


def test_what_data_holds_of_an_element(scene):
    """Each is the rows that its addresses say, also of a batch and while traced."""
    data = scene[1]
    batch = jax.tree.map(lambda x: jnp.stack([x, x]), data)

    def read(d):
        return {
            "free": (d.joint("free").qpos, d.qpos[..., :7]),
            "slide": (d.joint("slide").qvel, d.qvel[..., 7]),
            "ball": (d.joint("ball").cdof, d.cdof[..., 8:11, :]),
            "axis": (d.joint(1).xaxis, d.xaxis[..., 1, :]),
            "body": (d.body("leg_right").xpos, d.xpos[..., 3, :]),
            "hand": (d.body("hand").mocap_pos, d.mocap_pos[..., 0:1, :][..., 0, :]),
            "site": (d.site("tip").xmat, d.site_xmat[..., 0, :]),
            "geom": (d.geom("ball").xpos, d.geom_xpos[..., 1, :]),
            "act": (d.actuator("turn").act, d.act[..., 0]),
            "none": (d.actuator("push").act, d.act[..., :0]),
            "force": (d.actuator("turn").force, d.actuator_force[..., 1]),
            "gyro": (d.sensor("gyro"), d.sensordata[..., 1:4]),
            "rate": (d.sensor("rate"), d.sensordata[..., 4]),
        }

    for found in (read(data), jax.jit(read)(data), jax.vmap(read)(batch), read(batch)):
        for name, (a, b) in found.items():
            np.testing.assert_array_equal(a, b, err_msg=name)
    assert read(batch)["free"][0].shape == (2, 7) and data.joint("hip").id == 1
    assert {"qpos", "qvel", "qfrc_constraint", "xanchor", "id", "name"} <= set(dir(data.joint("hip")))


def test_names_that_data_lacks(scene):
    data = scene[1]
    with pytest.raises(KeyError, match="no joint is called 'hipp'; closest: hip"):
        data.joint("hipp")
    with pytest.raises(KeyError, match="no body 9: the model has 5"):
        data.body(9)
    with pytest.raises(AttributeError, match="Data holds no 'xquatt' of a body; closest: xquat"):
        _ = data.body("ball").xquatt


def test_data_of_equal_models_is_of_one_type(scene):
    """Names are compared by content, and models of other names may step each other's Data."""
    model, data = scene
    assert jax.tree.structure(js.make_data(js.load(SCENE))) == jax.tree.structure(data)
    renamed = js.load(SCENE.replace('"tip"', '"top"'))
    other = jax.eval_shape(js.step, renamed, js.make_data(model))
    assert jax.tree.structure(other) == jax.tree.structure(data) and other.site("tip").id == 0


def test_rows_of_a_model_by_name(scene):
    model, _ = scene
    np.testing.assert_array_equal(model.ids("body", "leg_*"), [2, 3])
    np.testing.assert_array_equal(model.ids("geom", "floor"), [0])
    slippery = model.set("geom_friction", "leg_*", np.array([0.1, 0.2, 0.3]))
    np.testing.assert_array_equal(slippery.geom_friction[2:], [[0.1, 0.2, 0.3]] * 2)
    np.testing.assert_array_equal(slippery.geom_friction[:2], model.geom_friction[:2])
    np.testing.assert_array_equal(model.set("body_mass", "leg_*", [5, 6]).body_mass[2:4], [5, 6])
    damped = jax.jit(lambda x: model.set("dof_damping", "ball", x).dof_damping)(np.array([1.0, 2, 3]))
    np.testing.assert_array_equal(damped, [0] * 8 + [1, 2, 3])
    one = model.set("body_mass", "bal*", [3.0])  # of each of those that match, of which there is one
    assert one.body_mass.shape == model.body_mass.shape and one.body("ball").mass == 3
    batch = model.set("body_mass", "ball", np.array([1.0, 2, 3]))
    np.testing.assert_array_equal(batch.body_mass[:, [0, 1]], [[0, 1], [0, 2], [0, 3]])
    slope = jax.grad(lambda x: model.set("body_mass", "leg_*", x).body_mass.sum())(1.5)
    assert slope == 2
    for error, match, args in (
        (KeyError, "no geom is called 'flor'; closest: floor", ("geom_friction", "flor", 1.0)),
        (KeyError, "no body has a name like 'arm_.'; there are: ball, hand", ("body_mass", "arm_*", 1.0)),
        (KeyError, "no real field of Model is called 'geom_frictio'; closest: geom_friction", ("geom_frictio", "a", 1)),
        (KeyError, "numeric_data", ("numeric_data", "a", 1)),
        (ValueError, "rows of shape .3,., got ..", ("geom_friction", "floor", 1.0)),
    ):
        with pytest.raises(error, match=match):
            model.set(*args)


def test_choosing_keeps_what_was_counted(scene):
    model, data = scene
    batch = jax.tree.map(lambda x: jnp.stack([x, x, x]), data)
    batch = batch.replace(warning=np.array([[0, 0, 0, 5, 0, 0, 0]] * 3), peak=batch.peak + 4)
    mask = np.array([True, False, True])
    high = jax.jit(lambda batch: js.reset(model, batch, mask, to="high"))(batch)
    np.testing.assert_array_equal(high.qpos[0], model.key_qpos[0])
    np.testing.assert_array_equal(high.qpos[1], batch.qpos[1])
    np.testing.assert_array_equal(high.contact.dist[:, 0], [1e10, batch.contact.dist[1, 0], 1e10])
    np.testing.assert_array_equal(high.warning, batch.warning)
    np.testing.assert_array_equal(high.peak, batch.peak)
    again = jax.jit(js.reset)(model, batch)
    np.testing.assert_array_equal(again.qpos, np.tile(model.qpos0, (3, 1)))
    assert js.warnings_of(again) == {"BADQPOS": 15}
    both = jax.jit(js.where)(mask, {"d": high, "x": 1.0 * mask}, {"d": again, "x": np.full(3, 7.0)})
    np.testing.assert_array_equal(both["x"], [1, 7, 1])
    np.testing.assert_array_equal(both["d"].qpos[:, 2], [3, 1, 3])
    for call in (
        lambda: js.reset(model, batch, mask[:2]),
        lambda: js.where(mask, data, {"data": data}),
        lambda: js.where(mask, data, data),
    ):
        with pytest.raises(ValueError, match=r"mask has shape|same structure"):
            call()
    with pytest.raises(KeyError, match="keyframe 'higher': the model has high"):
        js.reset(model, data, to="higher")


def test_a_report_needs_numbers(scene):
    with pytest.raises(TypeError, match=r"js\.report reads numbers, which inside of jax\.jit"):
        jax.jit(js.report)(scene[1])
    with pytest.raises(TypeError, match=r"js\.warnings_of"):
        jax.jit(js.warnings_of)(scene[1])


def test_bundled_models_by_name(tmp_path, monkeypatch):
    assert js.models() == js.models.names() and "hopper" in js.models()
    assert js.load("hopper").nv == 6
    with pytest.raises(KeyError, match="closest: hopper"):
        js.load("hoper")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hopper").write_text("<mujoco/>")
    assert js.load("hopper").nv == 0  # a file that is there is meant
