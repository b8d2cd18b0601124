"""Domain randomisation by names."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js
from jaxsim import envs
from jaxsim.core.fields import MODEL_REAL
from jaxsim.envs.randomise import DERIVED, FREE

SCENE = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="trunk"><joint name="slide" type="slide"/><geom name="trunk" size=".1"/>
      <body name="leg_left" pos="0 1 0"><joint name="leg_left" damping="1"/><geom name="leg_left" size=".1"/></body>
      <body name="leg_right" pos="1 0 0"><joint name="leg_right" damping="2"/><geom name="leg_right" size=".1"/></body>
    </body>
  </worldbody>
  <actuator><motor joint="leg_left"/></actuator>
</mujoco>
"""


def test_a_model_for_each_world():
    """What is named is drawn, what follows from it is computed again, and nothing else is batched."""
    model = js.load(SCENE)
    changes = {
        "body_mass,body_inertia:trunk": envs.scale(0.5, 2.0),
        "geom_friction[0]:floor": envs.uniform(0.2, 0.4),
        "dof_damping:leg_*": envs.scale(2, 3, each=True),
        "opt.gravity": envs.add(0, 1),
    }
    models, axes = envs.randomise(model, changes, jax.random.split(jax.random.key(0), 4))
    batched = {name for name in MODEL_REAL if getattr(axes, name) == 0}
    derived = {"body_subtreemass", "body_invweight0", "dof_invweight0", "dof_M0", "actuator_acc0"}
    assert batched == {"body_mass", "body_inertia", "geom_friction", "dof_damping"} | derived
    assert axes.opt.gravity == 0 and axes.opt.timestep is None and models.geom_size is model.geom_size
    factor = models.body_mass[:, 1] / model.body_mass[1]
    assert len(np.unique(factor)) == 4 and factor.min() >= 0.5 and factor.max() <= 2
    np.testing.assert_allclose(models.body_inertia[:, 1], np.outer(factor, model.body_inertia[1]), rtol=1e-12)
    np.testing.assert_array_equal(
        models.body_mass[:, [0, 2, 3]], np.tile(model.body_mass[jnp.array([0, 2, 3])], (4, 1))
    )
    friction = models.geom_friction
    assert friction[:, 0, 0].min() >= 0.2 and friction[:, 0, 0].max() <= 0.4 and np.ptp(friction[:, 0, 0]) > 0
    np.testing.assert_array_equal(friction[:, 0, 1:], np.tile(model.geom_friction[0, 1:], (4, 1)))
    damping = models.dof_damping / model.dof_damping[None].at[0, 0].set(1)
    assert damping[:, 1:].min() >= 2 and damping[:, 1:].max() <= 3 and np.ptp(damping[:, 1:], axis=1).min() > 0
    np.testing.assert_array_equal(np.ptp(models.opt.gravity - model.opt.gravity[None], axis=1) < 1e-12, True)
    world = jax.tree.map(lambda x, axis: x if axis is None else x[2], models, axes, is_leaf=lambda x: x is None)
    again = js.set_const(world)
    for name in derived:
        np.testing.assert_allclose(getattr(world, name), getattr(again, name), rtol=1e-12, err_msg=name)
    run = jax.vmap(lambda m: js.make_data(m).qpos, in_axes=(axes,))(models)
    assert run.shape == (4, model.nq)


def test_what_constants_depend_on():
    """set_const computes what DERIVED lists and nothing else, and from nothing that is FREE."""
    model = js.load(SCENE)
    # traced, since some of these changes are refused
    change = lambda names: jax.jit(lambda m: m.replace(**{k: getattr(m, k) + 0.25 for k in names}))(model)  # noqa: E731
    other, free = change(MODEL_REAL), change(FREE)
    before, after, computed = js.set_const(model), js.set_const(free), js.set_const(other)
    for name in MODEL_REAL:
        if name in DERIVED:
            np.testing.assert_array_equal(getattr(before, name), getattr(after, name), err_msg=name)
        else:
            np.testing.assert_array_equal(getattr(computed, name), getattr(other, name), err_msg=name)


def test_names_that_are_wrong():
    model = js.load(SCENE)
    keys = jax.random.split(jax.random.key(0), 2)
    for name, match in (
        ("body_mas:trunk", "closest: body_mass"),
        ("body_mass:trunc", "no body is called 'trunc'; closest: trunk"),
        ("body_mass:arm_*", "no body has a name like"),
        ("opt.gravitation", "closest: opt.gravity"),
        ("geom_friction[3]:floor", "no such column"),
        ("dof_damping:leg_lef", "closest: leg_left"),
    ):
        with pytest.raises(KeyError, match=match):
            envs.randomise(model, {name: envs.scale(0.9, 1.1)}, keys)
    with pytest.raises(ValueError, match="had no frictionloss when the model was loaded"):
        envs.randomise(model, {"dof_frictionloss": envs.uniform(1, 2)}, keys)
    with pytest.raises(TypeError, match=r"outside of jax\.jit"):
        jax.jit(lambda keys: envs.randomise(model, {}, keys))(keys)
