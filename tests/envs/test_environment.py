"""The protocol of environments and what goes around them, on the cart-pole."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim as js
from jaxsim import envs

LENGTH, WORLDS = 5, 3


@functools.cache
def _compiled():
    """Three worlds of balancing, in episodes of 5 steps."""
    env = envs.make("cart_pole_balance", n_substeps=3)
    worlds = envs.wrap(env, LENGTH, starts=2)
    return env, worlds, jax.jit(worlds.reset), jax.jit(worlds.step)


def _at(tree, *index):
    return jax.tree.map(lambda x: np.asarray(x)[index], tree)


def _equal(a, b):
    jax.tree.map(np.testing.assert_array_equal, a, b)


def test_an_episode_is_physics_and_nothing_else():
    """A step is its substeps; episodes are cut off in time, and go on from one kept start after the other."""
    env, worlds, reset, step = _compiled()
    state = first = reset(jax.random.split(jax.random.key(0), WORLDS))
    data, bare = first.data, jax.jit(jax.vmap(js.step, (None, 0)))
    actions = np.linspace(-1.5, 1.5, WORLDS)[:, None]  # the outer ones beyond what is allowed
    _equal(_at(first.info["starts"], slice(None), 0)["data"], first.data)
    assert len(np.unique(first.info["starts"]["data"].qpos[..., 1])) == 2 * WORLDS
    total = 0.0
    for n in range(1, 2 * LENGTH + 1):
        state, before = step(state, actions), state
        assert jax.tree.all(jax.tree.map(lambda x, y: jax.typeof(x) == jax.typeof(y), state, before))
        for _ in range(3):
            data = bare(env.model, data.replace(ctrl=np.clip(actions, -1, 1)))
        cos, sin = -np.cos(data.qpos[:, 1]), -np.sin(data.qpos[:, 1])
        seen = np.stack([data.qpos[:, 0], cos, sin, *data.qvel.T], 1)
        np.testing.assert_allclose(state.info["final_obs"], seen, rtol=1e-12)
        ends = n % LENGTH == 0
        total = (0.0 if n % LENGTH == 1 else total) + state.reward
        np.testing.assert_array_equal(state.done, np.full(WORLDS, float(ends)))
        np.testing.assert_array_equal(state.info["truncation"], state.done)
        np.testing.assert_array_equal(state.info["steps"], np.full(WORLDS, (n - 1) % LENGTH + 1))
        np.testing.assert_allclose(state.info["episode_metrics"]["sum_reward"], total, rtol=1e-12)
        if ends:
            start = _at(first.info["starts"], slice(None), n // LENGTH % 2)
            _equal(state.data, start["data"])
            _equal(state.obs, start["obs"])
            data = state.data
        else:
            _equal(state.obs, state.info["final_obs"])
            np.testing.assert_array_equal(state.data.qpos, data.qpos)
    assert (env.dt, env.action_size, worlds.observation_size) == (pytest.approx(0.03), 1, 5)


def test_termination_is_not_truncation_and_a_broken_world_is_counted():
    """One world's pole lies, another's velocity is not finite, the third is not noticed; all in one step."""
    _, _, reset, step = _compiled()
    state = reset(jax.random.split(jax.random.key(1), WORLDS))
    data = state.data
    data = data.replace(qpos=data.qpos.at[0, 1].set(0.0), qvel=data.qvel.at[1].set(jnp.nan))
    ended = step(state.replace(data=data), np.zeros((WORLDS, 1)))
    np.testing.assert_array_equal(ended.done, [1, 1, 0])
    np.testing.assert_array_equal(ended.info["truncation"], [0, 0, 0])
    np.testing.assert_array_equal(ended.metrics["invalid"], [0, 1, 0])
    np.testing.assert_array_equal(ended.info["episodes"], [1, 1, 0])
    assert np.isfinite(ended.obs).all() and ended.reward[1] == 0 < ended.reward[2]
    assert js.warnings_of(ended.data) == {"BADQVEL": 1}  # though the world has begun anew
    np.testing.assert_array_equal(ended.data.qpos[:2], state.info["starts"]["data"].qpos[:2, 1])


def test_another_model_is_another_environment():
    """A model given to reset and step takes the place of the environment's, also one for each world."""
    env = _compiled()[0]
    heavy = env.model.replace(body_mass=env.model.body_mass * np.array([1, 1, 5.0]))
    both = env.model.replace(body_mass=jnp.stack([env.model.body_mass, heavy.body_mass]))
    axes = jax.tree.map(lambda _: None, env.model).replace(body_mass=0)
    worlds = envs.Vector(env, both, axes)
    keys = jax.vmap(jax.random.key)(np.zeros(2, int))  # the same start
    start = jax.jit(worlds.reset)(keys)
    state = jax.jit(worlds.step)(start, np.ones((2, 1)))
    data = _at(start.data, 1)
    for _ in range(3):
        data = js.step(heavy, data.replace(ctrl=np.ones(1)))
    np.testing.assert_allclose(state.data.qpos[1], data.qpos, rtol=1e-12)
    assert abs(state.data.qvel[0, 0] - state.data.qvel[1, 0]) > 1e-3


def test_repeating_adds_up_to_the_end():
    """Four steps for one action, of which the world that falls counts one; observations by given statistics."""
    env = _compiled()[0]
    once = envs.Episode(envs.Vector(env), 100)
    start = once.reset(jax.random.split(jax.random.key(2), 2))
    start = start.replace(data=start.data.replace(qpos=start.data.qpos.at[0, 1].set(0.1)))
    action = np.full((2, 1), 0.3)
    step = jax.jit(once.step)
    states = [step(start, action)]
    for _ in range(3):
        states.append(step(states[-1], action))
    statistics = envs.Statistics.zero(5)
    for part in (states[:1], states[1:]):
        statistics = statistics.update(jnp.stack([s.obs for s in part]))
    every = np.concatenate([s.obs for s in states])
    np.testing.assert_allclose(statistics.mean, every.mean(0), rtol=1e-12)
    np.testing.assert_allclose(statistics.squares / 8, every.var(0), rtol=1e-9)
    repeated = jax.jit(envs.Normalised(envs.Repeat(once, 4), statistics).step)(start, action)
    np.testing.assert_allclose(repeated.reward[1], sum(s.reward[1] for s in states), rtol=1e-12)
    np.testing.assert_allclose(repeated.reward[0], states[0].reward[0], rtol=1e-12)
    np.testing.assert_allclose(repeated.obs[1], (states[3].obs[1] - every.mean(0)) / every.std(0), rtol=1e-9)
    np.testing.assert_array_equal(repeated.done, [1, 0])


def test_names_that_are_wrong():
    with pytest.raises(KeyError, match="closest: cart_pole_swing_up"):
        envs.make("cartpole_swingup")
    with pytest.raises(TypeError, match="no constant 'nsubsteps'; closest: n_substeps"):
        envs.make("cart_pole_balance", nsubsteps=2)
