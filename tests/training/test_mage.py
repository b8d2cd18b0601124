"""What MAGE learns from: derivatives of steps, the steps that are kept, and what its critics are to give."""

import jax
import jax.numpy as jnp
import numpy as np
from run_point_mass import learner

from training import collect, normalise, replay
from training.mage import Given, Taken
from training.sharing import Program


def test_slopes_are_derivatives_of_steps(float32):
    made, _ = learner("mage")
    _, _, worlds, _ = made.begin(jax.random.key(0), jnp.zeros((2, 1)))
    actions = jax.random.uniform(jax.random.key(1), (64, 1), minval=-0.9, maxval=0.9)
    _, steps, _ = collect.collect(made.env, lambda *_: (actions, actions), worlds, jax.random.key(2), 3, slopes=True)
    dt, reward = 0.1, -2 * steps.following[..., 0] * 5 * 0.1**2 - 0.02 * actions[None, :, 0]
    np.testing.assert_allclose(steps.slopes[:, :, 0, 0], reward, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(steps.slopes[:, :, 1, 0], 5 * dt**2, rtol=1e-6)
    np.testing.assert_allclose(steps.slopes[:, :, 2, 0], 5 * dt, rtol=1e-6)
    plain = collect.collect(made.env, lambda *_: (actions, actions), worlds, jax.random.key(2), 3)[1]
    assert plain.slopes is None
    np.testing.assert_array_equal(plain.following, steps.following)


def test_the_latest_steps_are_kept():
    steps = jnp.arange(2 * 3.0).reshape(2, 3)  # two steps of three worlds
    kept = replay.begin({"x": steps}, 3, 6)
    for i in range(4):  # the last one in place of the first
        kept = replay.add(kept, {"x": steps + 10 * i}, jnp.asarray(2 * i))
    rows = [[30 + w, 33 + w, 10 + w, 13 + w, 20 + w, 23 + w] for w in range(3)]
    np.testing.assert_array_equal(kept["x"], rows)
    drawn = replay.sample(kept, jnp.asarray(8), 2000, jax.random.key(0))["x"]
    values, counts = np.unique(drawn, return_counts=True)
    np.testing.assert_array_equal(values, np.sort(np.ravel(rows)))
    assert counts.min() > 60  # of 111 on average, with a deviation of 10
    early = replay.sample(kept, jnp.asarray(1), 100, jax.random.key(0))["x"]
    assert set(np.unique(early)) == {30, 31, 32}  # what is not filled yet is not drawn


def test_critics_learn_the_derivative_of_what_they_learn(float32):
    """The slope beside a value is what differentiating that value through a step of the environment gives."""
    made, config = learner("mage", reward_scale=2)
    state = made.init(jax.random.key(0))
    state = state._replace(moments=normalise.Moments(jnp.float32(9), jnp.ones(2), jnp.full(2, 36.0)))
    params = {**state.params, "temperature": jnp.float32(-1)}
    world = state.worlds.state
    action = jax.random.uniform(jax.random.key(1), (64, 1), minval=-0.9, maxval=0.9)

    def aims(action, slopes=None):
        after = made.env.step(world, action)
        slopes = jnp.zeros((64, 3, 1)) if slopes is None else slopes
        done = jnp.zeros(64).at[0].set(1)
        steps = Taken(world.obs, action, after.reward, done, after.info["final_obs"], slopes)
        given = Given(state.learnt.target, state.moments, jnp.float32(1))
        return made._aims(params, given, steps, jax.random.key(2))

    slopes = collect._stepped(made.env, world, action, None)[1]
    aim, slope, known = aims(action, slopes)
    expected = jax.grad(lambda a: aims(a)[0].sum())(action)
    assert float(abs(expected).max()) < config.slope_limit and float(abs(expected).min()) > 1e-4
    np.testing.assert_allclose(slope, expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(aim[0], 2 * made.env.step(world, action).reward[0], rtol=1e-6)  # nothing follows
    np.testing.assert_array_equal(known, 1)
    broken = slopes.at[3].set(jnp.nan).at[4].multiply(1e6)
    _, slope, known = aims(action, broken)
    np.testing.assert_array_equal(known, jnp.ones(64).at[3].set(0))
    assert float(slope[3, 0]) == 0
    np.testing.assert_allclose(abs(slope[4]), config.slope_limit, rtol=1e-5)


def test_caution_leads_from_the_mean_of_the_critics_to_the_least(float32):
    steps = None

    def aim(caution, critics=(0, 1)):
        nonlocal steps
        made, _ = learner("mage")
        state = made.init(jax.random.key(0))
        if steps is None:
            slopes = jnp.zeros((64, 3, 1))
            obs, zero = state.worlds.state.obs, jnp.zeros(64)
            steps = Taken(obs, jnp.zeros((64, 1)), zero, zero, 3 * obs[::-1] + 1, slopes)
        target = jax.tree.map(lambda x: x[np.array(critics)], state.learnt.target)
        moments = normalise.Moments(jnp.float32(9), jnp.ones(2), jnp.full(2, 36.0))
        given = Given(target, moments, jnp.float32(caution))
        return made._aims(state.params, given, steps, jax.random.key(2))[0]

    first, second = aim(1.0, (0, 0)), aim(1.0, (1, 1))
    assert (first < second).any() and (first > second).any()
    np.testing.assert_allclose(aim(1.0), np.minimum(first, second), rtol=1e-5)
    np.testing.assert_allclose(aim(0.0), (first + second) / 2, rtol=1e-5)
    np.testing.assert_allclose(aim(0.5), (aim(0.0) + aim(1.0)) / 2, rtol=1e-5)


def test_caution_changes_evenly(float32):
    part = jnp.array([0, 0.25, 1, 1.5], jnp.float32)
    for settings, expected in (
        ({"caution": 0.4}, [0.4] * 4),
        ({"caution": 0.0, "caution_end": 0.8}, [0, 0.2, 0.8, 0.8]),
        ({"caution": 1.0, "caution_end": 0.0}, [1, 0.75, 0, 0]),
        ({"caution": 0.0, "caution_end": 0.9, "caution_from": 0.1}, [0, 0.15, 0.9, 0.9]),
        ({"caution": 0.2, "caution_end": 0.9, "caution_from": 0.3}, [0.2, 0.2, 0.9, 0.9]),
    ):
        _, config = learner("mage", **settings)
        np.testing.assert_allclose(config.cautious(part), expected, rtol=1e-6)


def test_updates_have_the_caution_of_the_steps_taken(float32):
    made, _ = learner("mage", steps=2560, caution=0.0, caution_end=0.8)  # an iteration takes 640
    program = Program(made, 2)
    state, iterate = program.init(0), program.compile()
    seen = []
    for _ in range(5):
        state, metrics = iterate(state)
        seen.append(float(metrics["caution"]))
    np.testing.assert_allclose(seen, [0, 0.4, 0.6, 0.8, 0.8], rtol=1e-6)  # nothing is learnt of random actions
