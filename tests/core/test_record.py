"""Records: what `replace` accepts, and the sentences that it says otherwise."""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js
from jaxsim import models


@pytest.fixture(scope="module")
def model():
    return js.load(models.path("hopper"))


@pytest.fixture(scope="module")
def data(model):
    return js.make_data(model)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"qpos": np.zeros(3)}, r"qpos has shape \(3,\), expected \(6,\)"),
        ({"qpos": jnp.zeros((6, 1))}, r"qpos has shape \(6, 1\), expected \(6,\)"),
        ({"qpos": 0.0}, r"qpos has shape \(\), expected \(6,\)"),
        ({"xfrc_applied": [0.0] * 6}, r"xfrc_applied has shape \(6,\), expected \(5, 6\)"),
    ],
)
def test_a_wrong_shape_is_an_error_at_once(data, wrong, message):
    with pytest.raises(ValueError, match=message):
        data.replace(**wrong)
    batch = jax.tree.map(lambda x: jnp.stack([x] * 4), data)
    with pytest.raises(ValueError, match=message):
        batch.replace(**wrong)


def test_batch_axes_may_come_first(model, data):
    several = data.replace(qpos=np.zeros((4, 6)), time=jnp.arange(4.0))
    assert several.qpos.shape == (4, 6) and several.time.shape == (4,) and several.qvel.shape == (6,)
    assert several.replace(qpos=data.qpos).qpos.shape == (6,)
    assert model.replace(body_mass=jnp.ones((2, 3, model.nbody))).body_mass.shape == (2, 3, model.nbody)
    assert model.opt.replace(gravity=np.zeros((7, 3))).gravity.shape == (7, 3)

    def inside(row):
        assert row.shape == (6,)
        with pytest.raises(ValueError, match=r"expected \(6,\)"):
            data.replace(qpos=row[:5])
        return data.replace(qpos=row).qpos

    np.testing.assert_array_equal(jax.vmap(inside)(several.qpos), several.qpos)


def test_other_trees_of_the_same_form_take_any_leaf(data):
    """Axes for vmap and tangents are records too."""
    axes = jax.tree.map(lambda _: None, data).replace(qpos=0, contact=None)
    assert axes.qpos == 0
    _, tangent = jax.jvp(lambda q: data.replace(qpos=q), (data.qpos,), (data.qpos,))
    zero = np.zeros((), jax.dtypes.float0)
    assert tangent.replace(ncon=zero).ncon.dtype == jax.dtypes.float0


def test_arrays_take_the_dtype_of_their_field(data):
    for given in (np.ones(6, np.float32), jnp.ones(6, jnp.float32), jnp.ones(6, jnp.int32), [1] * 6):
        new = data.replace(qpos=given).qpos
        assert new.dtype == data.qpos.dtype and not new.weak_type and new[0] == 1
    assert data.replace(time=1).time.dtype == data.time.dtype
    with pytest.raises(TypeError, match="ncon holds int values, not float64"):
        data.replace(ncon=jnp.zeros(()))


@pytest.mark.parametrize(
    "act, message",
    [
        (lambda m, d: d.qps, "Data has no field 'qps'; did you mean qpos"),
        (lambda m, d: m.jnt_tpye, "Model has no field 'jnt_tpye'; did you mean jnt_type"),
        (lambda m, d: m.opt.gravty, "Option has no field 'gravty'; did you mean gravity"),
        (lambda m, d: m.opt.replace(iteration=3), "Option has no field 'iteration'; did you mean iterations"),
        (lambda m, d: d.replace(qps=0), "Data has no field 'qps'; did you mean qpos"),
        (lambda m, d: m.replace(jnt_type=0), "Model.jnt_type is fixed when the model is compiled"),
        (lambda m, d: setattr(d, "qpos", 0), r"Data is immutable: use data.replace\(qpos=...\)"),
    ],
)
def test_wrong_names_name_the_closest(model, data, act, message):
    with pytest.raises(AttributeError, match=message):
        act(model, data)


def test_integer_options_keep_their_enumeration(model):
    opt = model.opt.replace(cone=1, iterations=jnp.array(7), timestep=0.01)
    assert opt.cone is type(opt.cone).ELLIPTIC and opt.iterations == 7 and float(opt.timestep) == 0.01


def test_records_are_copied_and_pickled_whole(model, data):
    for record in (model, data):
        for twin in (pickle.loads(pickle.dumps(record)), copy.deepcopy(record)):
            assert jax.tree.structure(twin) == jax.tree.structure(record)
            for a, b in zip(jax.tree.leaves(twin), jax.tree.leaves(record)):
                np.testing.assert_array_equal(a, b)


def test_a_record_lists_its_fields(model):
    assert {"body_mass", "jnt_type", "nq", "opt", "body", "topology"} <= set(dir(model))
    assert {"timestep", "solver"} <= set(dir(model.opt))
