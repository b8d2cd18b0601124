"""Every task: that a step gives what it took, and that its docstrings name its observation and all its constants."""

import re
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js
from jaxsim import envs, models
from jaxsim.envs.frame import seen_from, up
from jaxsim.envs.tasks.table import TASKS

FIRST = {cls.source: name for name, cls in reversed(TASKS.items())}  # one task of each model


@pytest.mark.parametrize("name", envs.names())
def test_every_task_keeps_to_the_protocol(name):
    """Traced, not run: sizes, types and structure are those of the first State."""
    env = envs.make(name)
    state = jax.eval_shape(env.reset, jax.random.key(0))
    if name in FIRST.values():
        after = jax.eval_shape(env.step, state, jnp.zeros(env.action_size))
        assert jax.tree.structure(after) == jax.tree.structure(state)
        assert jax.tree.all(jax.tree.map(lambda x, y: (x.shape, x.dtype) == (y.shape, y.dtype), state, after))
        assert all(x.shape == () for x in (after.reward, after.done, *jax.tree.leaves(after.metrics)))
    written = next(cls.__doc__ for cls in TASKS[name].__mro__ if "Observation [" in (cls.__doc__ or ""))
    assert re.search(r"Observation \[(\d+)\]", written).group(1) == str(env.observation_size) == str(state.obs.shape[0])
    documented = "".join(cls.__doc__ for cls in type(env.constants).__mro__ if cls.__doc__)
    assert all(re.search(rf"\b{field}\b", documented) for field in vars(env.constants))


def test_frames(rng):
    """Seen from a body, against the rotation matrix of its quaternion; of any length."""
    w, x, y, z = quat = (q := rng.normal(size=4)) / np.linalg.norm(q)
    matrix = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    vector = rng.normal(size=3)
    np.testing.assert_allclose(seen_from(jnp.array(2 * quat), jnp.array(vector)), matrix.T @ vector, rtol=1e-12)
    np.testing.assert_allclose(up(jnp.array(quat)), matrix[2], rtol=1e-12)


def test_tolerance():
    x = jnp.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(envs.tolerance(x, 0, 1), [0, 1, 1, 1, 0, 0])
    for shape, value, far in (("gaussian", 0.1, 1e-4), ("linear", 0.1, 0), ("quadratic", 0.0, 0)):
        found = envs.tolerance(x, 0, 1, margin=1, value=value, shape=shape)
        np.testing.assert_allclose(found, [value, 1, 1, 1, value, far], atol=1e-15)


@pytest.mark.parametrize(
    ("task", "name", "options"),
    [
        ("half_cheetah_run", "HalfCheetah-v5", {}),
        ("ant_run", "Ant-v5", {"include_cfrc_ext_in_observation": False, "contact_cost_weight": 0}),
    ],
)
def test_rewards_are_those_of_gymnasium(task, name, options, tmp_path, monkeypatch):
    """Over states of gymnasium's own environment, of the task's model: what is seen and rewarded, and what ends it."""
    gymnasium = pytest.importorskip("gymnasium")
    monkeypatch.setitem(sys.modules, "imageio", types.ModuleType("imageio"))  # for pictures only, and often not there
    env, path = envs.make(task), tmp_path / "model.xml"
    text = models.path(env.source).read_text()
    path.write_text(re.sub('timestep="[0-9.]+"', f'timestep="{env.constants.timestep}"', text))
    theirs = gymnasium.make(name, xml_file=str(path), **options).unwrapped
    assert theirs.dt == pytest.approx(env.dt)
    observe, reward, terminated = map(jax.jit, (env.observe, env.reward, env.terminated))
    data = js.make_data(env.model)
    theirs.reset(seed=0)
    ended = []
    for step, lift in enumerate((0, 0, 0.7, 0, -0.3)):  # the ant takes off once, and once is under the floor
        theirs.set_state(theirs.init_qpos + lift * np.eye(theirs.model.nq)[2], theirs.init_qvel)
        before = data.replace(qpos=jnp.asarray(theirs.data.qpos))
        action = np.sin(step + np.arange(env.action_size))
        obs, gained, end, _, info = theirs.step(action)
        after = data.replace(qpos=jnp.asarray(theirs.data.qpos), qvel=jnp.asarray(theirs.data.qvel))
        np.testing.assert_allclose(observe(env.model, after, {}), obs, rtol=1e-12)
        velocity = (after.qpos[0] - before.qpos[0]) / env.dt  # theirs for the ant is that of xpos, a substep late
        gained += velocity - info["x_velocity"]
        np.testing.assert_allclose(reward(env.model, before, after, action, {})[0], gained, rtol=1e-9)
        assert terminated(env.model, after, {}) == end
        ended.append(end)
    assert set(ended) == ({False, True} if task == "ant_run" else {False})


def test_joints_of_the_ant_can_be_damped_and_sprung():
    model = envs.make("ant_run", damping=12.0, stiffness=6.0).model
    np.testing.assert_array_equal(model.dof_damping, [0] * 6 + [12] * 8)
    np.testing.assert_array_equal(model.jnt_stiffness, [0] + [6] * 8)
