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
    """One for each world: those with the environment's own masses go on as without, the one in the middle does not."""
    env, _, reset, step = _compiled()
    models = env.model.set("body_mass", "pole", env.model.body("pole").mass * np.array([1.0, 5, 1]))
    axes = jax.tree.map(lambda _: None, env.model).replace(body_mass=0)
    worlds = envs.Vector(env, models, axes)
    actions = np.ones((WORLDS, 1))
    start = reset(jax.random.split(jax.random.key(3), WORLDS))
    heavy, own = jax.jit(worlds.step)(start, actions), step(start, actions)
    np.testing.assert_allclose(heavy.data.qvel[::2], own.data.qvel[::2], rtol=1e-12)
    assert abs(heavy.data.qvel[1, 0] - own.data.qvel[1, 0]) > 1e-3
    np.testing.assert_allclose(
        env.reset(jax.random.key(4), env.model.set("qpos0", "slider", 0.5)).obs[0], 0.5, atol=0.05
    )


class Count(envs.Environment):
    """No physics: the state is the number of steps, and three of them are an episode."""

    def __init__(self):
        pass

    def reset(self, key, model=None):
        zero = jnp.zeros(())
        return envs.State(zero, jnp.zeros(2), zero, zero, {"twice": zero}, {})

    def step(self, state, action, model=None):
        count = state.data + 1
        obs = jnp.stack([count, -count])
        done = (count >= 3).astype(count.dtype)
        return state.replace(data=count, obs=obs, reward=action[0], done=done, metrics={"twice": 2 * action[0]})

    start = observe = reward = None


def test_repeating_adds_up_to_the_end(rng):
    """Of four steps for one action those after the end of the episode count nothing; observations by statistics."""
    obs = rng.normal(size=(4, 3, 2)) * 5 + 2
    statistics = envs.Statistics.zero(2).update(jnp.array(obs[:1])).update(jnp.array(obs[1:]))
    np.testing.assert_allclose(statistics.mean, obs.mean((0, 1)), rtol=1e-12)
    np.testing.assert_allclose(statistics.squares / 12, obs.var((0, 1)), rtol=1e-12)
    env = envs.Normalised(envs.Repeat(envs.Vector(Count()), 4), statistics)
    start = env.reset(jax.random.split(jax.random.key(2), 2))
    state = jax.jit(env.step)(start.replace(data=jnp.array([-5.0, 1.0])), np.full((2, 1), 0.5))
    np.testing.assert_array_equal(state.reward, [2, 1])
    np.testing.assert_array_equal(state.metrics["twice"], [4, 2])
    np.testing.assert_array_equal(state.done, [0, 1])
    late = envs.wrap(Count(), episode_length=8, action_repeat=4)
    begun = late.reset(jax.random.split(jax.random.key(2), 2))
    begun = begun.replace(data=jnp.array([-50.0, -50.0]))
    once = jax.jit(late.step)(begun, np.zeros((2, 1)))
    twice = jax.jit(late.step)(once, np.zeros((2, 1)))
    np.testing.assert_array_equal(once.done, 0)
    np.testing.assert_array_equal(twice.info["truncation"], 1)  # all steps of the environment count
    np.testing.assert_array_equal(twice.info["episode_metrics"]["length"], 8)
    seen = (np.array([[-1, 1], [3, -3]]) - obs.mean((0, 1))) / obs.std((0, 1))
    np.testing.assert_allclose(state.obs, seen, rtol=1e-12)
    np.testing.assert_array_equal(envs.Statistics.zero(2).normalise(state.obs), state.obs)


def test_the_law_of_contacts_is_a_constant():
    soft = envs.make("hopper_hop").model.opt
    hard = envs.make("hopper_hop", contact="hard", kappa=1e-4, kappa_gradient=1e-3).model.opt
    assert not soft.contact.rigid and hard.contact.rigid
    assert float(hard.kappa) == pytest.approx(1e-4) and float(hard.kappa_gradient) == pytest.approx(1e-3)
    assert float(hard.timestep) == float(soft.timestep)
    with pytest.raises(ValueError, match=r"opt\.kappa is 0"):
        envs.make("hopper_hop", contact="hard", kappa=0.0)


def test_names_that_are_wrong():
    with pytest.raises(KeyError, match="closest: cart_pole_swing_up"):
        envs.make("cartpole_swingup")
    with pytest.raises(TypeError, match="no constant 'nsubsteps'; closest: n_substeps"):
        envs.make("cart_pole_balance", nsubsteps=2)
