"""Wrong shapes, types and arguments are said at the edge, in a sentence, under every transformation."""

import functools
import re
import traceback
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js
from jaxsim import models as bundled


@functools.cache
def _scene():
    model = js.load(bundled.path("hopper"))
    return model, js.make_data(model)


def _batch(data, *shape):
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (*shape, *x.shape)), data)


def _past(record, **values):
    """A record with values that `replace` refuses or converts, as other libraries' trees may have them."""
    return type(record)({**record._values, **values}, record._static)


def _other_data():
    return js.make_data(js.load(bundled.path("cart_pole")))


# what is wrong with (model, data), and the sentence; {f} is the function
FAULTS = {
    "too few": (lambda m, d: (m, _past(d, qpos=jnp.zeros(3))), "qpos has shape (3,), expected (6,) [nq]"),
    "too many axes": (lambda m, d: (m, _past(d, ctrl=jnp.zeros((1, 4)))), "ctrl has shape (1, 4), expected (3,) [nu]"),
    "a number": (lambda m, d: (m, _past(d, ctrl=0.5)), "ctrl has shape (), expected (3,) [nu]"),
    "two fields": (
        lambda m, d: (m, _past(d, qpos=jnp.zeros(3), qvel=jnp.zeros(3))),
        "qpos has shape (3,), expected (6,) [nq], qvel has shape (3,), expected (6,) [nv]",
    ),
    "a batch": (
        lambda m, d: (m, _batch(d, 4)),
        "qpos has shape (4, 6), expected (6,) [nq]: use jax.vmap(js.{f}, in_axes=(None, 0))",
    ),
    "a batched field": (
        lambda m, d: (m, d.replace(ctrl=jnp.zeros((4, 3)))),
        "ctrl has shape (4, 3), expected (3,) [nu]: use jax.vmap(js.{f}, in_axes=(None, 0))",
    ),
    "another model": (
        lambda m, d: (m, _other_data()),
        "data belongs to another model: qpos has shape (2,), expected (6,) [nq], qvel has shape (2,), expected (6,) "
        "[nv], qacc_warmstart has shape (2,), expected (6,) [nv], ...; use js.make_data(model)",
    ),
    "another buffer": (
        lambda m, d: (m, d.replace(contact=_other_data().contact)),
        "data belongs to another model: contact.dist has shape",
    ),
    "models": (
        lambda m, d: (m.replace(body_mass=jnp.ones((4, m.nbody))), d),
        "model.body_mass has shape (4, 5), expected (5,) [nbody]: "
        "use jax.vmap(lambda x: js.{f}(model.replace(body_mass=x), data))",
    ),
    "options": (
        lambda m, d: (m.replace(opt=m.opt.replace(timestep=jnp.ones(4))), d),
        "model.opt.timestep has shape (4,), expected (): "
        "use jax.vmap(lambda x: js.{f}(model.replace(opt=model.opt.replace(timestep=x)), data))",
    ),
    "a wrong model": (
        lambda m, d: (_past(m, geom_size=jnp.ones(3)), d),
        "model.geom_size has shape (3,), expected (5, 3) [ngeom, 3]",
    ),
    "swapped": (lambda m, d: (d, m), "{f} takes (model, data), got (Data, Model)"),
    "no data": (lambda m, d: (m, d.qpos), "{f} takes (model, data), got (Model, "),
    "integers": (lambda m, d: (m, _past(d, ctrl=jnp.zeros(3, int))), "ctrl is int64, expected float64"),
    "flags": (
        lambda m, d: (m, _past(d, warning=d.warning.astype(float))),
        "warning is float64, expected int",
    ),
    "precision": (
        lambda m, d: (m, jax.tree.map(lambda x: x.astype(jnp.float32) if x.dtype.kind == "f" else x, d)),
        "time is float32, expected float64, as model.qpos0 is",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_sentences(name):
    change, sentence = FAULTS[name]
    error = (TypeError, ValueError)
    for fun in ("step", "forward", "inverse", "transition_jacobians", "inverse_jacobians"):
        with pytest.raises(error, match="^" + re.escape(sentence.format(f=fun))):
            getattr(js, fun)(*change(*_scene()))


def test_rollout_says_how_to_run_its_batch():
    model, data = _scene()
    sentence = re.escape("qpos has shape (4, 6), expected (6,) [nq]: use jax.vmap(js.rollout, in_axes=(None, 0, 0))")
    with pytest.raises(ValueError, match=sentence):
        js.rollout(model, _batch(data, 4), jnp.zeros((2, 3)))


TRANSFORMATIONS = {
    "jit": lambda m, d: jax.jit(js.step)(m, _past(d, qpos=jnp.zeros(3))),
    "vmap": lambda m, d: jax.vmap(js.step, in_axes=(None, 0))(m, _batch(_past(d, qpos=jnp.zeros(3)), 4)),
    "grad": lambda m, d: jax.grad(lambda x: js.step(m, _past(d, qpos=x)).qpos.sum())(jnp.zeros(3)),
    "jacfwd": lambda m, d: jax.jacfwd(lambda x: js.step(m, _past(d, qpos=x)).qpos)(jnp.zeros(3)),
    "shape": lambda m, d: jax.eval_shape(js.step, m, _past(d, qpos=jnp.zeros(3))),
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_under_transformations(name):
    with pytest.raises(ValueError, match=r"^qpos has shape \(3,\), expected \(6,\) \[nq\]") as caught:
        TRANSFORMATIONS[name](*_scene())
    package = str(Path(js.__file__).parent)
    ours = [f for f in traceback.extract_tb(caught.tb) if f.filename.startswith(package)]
    assert [f.name for f in ours] == ["step", "check"]  # nothing of the inside


def test_a_batch_of_batches_needs_two():
    model, data = _scene()
    with pytest.raises(ValueError, match=r"qpos has shape \(2, 6\), expected \(6,\).*vmap"):
        jax.vmap(js.step, in_axes=(None, 0))(model, _batch(data, 3, 2))


def test_set_const():
    model, data = _scene()
    with pytest.raises(TypeError, match=r"^set_const takes a Model, got Data"):
        js.set_const(data)
    sentence = (
        r"body_mass has shape \(4, 5\), .*: use jax.vmap\(lambda x: js.set_const\(model.replace\(body_mass=x\)\)\)"
    )
    with pytest.raises(ValueError, match=sentence):
        js.set_const(model.replace(body_mass=jnp.ones((4, 5))))


def test_what_is_declared_is_what_a_step_returns():
    """The checks accept every bundled model's Data, before and after a step, and read no values."""
    for name in bundled.names():
        model = js.load(bundled.path(name))
        after = jax.eval_shape(js.step, model, js.make_data(model))
        again = jax.eval_shape(js.forward, model, after)
        assert jax.tree.leaves(after) == jax.tree.leaves(again) and np.shape(after.qpos) == (model.nq,)
