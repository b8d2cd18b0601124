"""Advantages and moments against what their definitions say, one step at a time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from training import normalise
from training.advantage import advantages


def test_advantages_are_those_of_a_loop(rng):
    steps, worlds, discount, trace = 12, 5, 0.9, 0.8
    reward, value, following = rng.normal(size=(3, steps, worlds))
    done = (rng.random((steps, worlds)) < 0.3).astype(float)
    terminated = done * (rng.random((steps, worlds)) < 0.5)
    assert 0 < terminated.sum() < done.sum()
    found = advantages(*map(jnp.asarray, (reward, value, following, done, terminated)), discount, trace)
    for w in range(worlds):
        for t in range(steps):
            expected, weight = 0.0, 1.0
            for k in range(t, steps):  # the sum of eq. 16, which ends with the episode
                after = 0.0 if terminated[k, w] else following[k, w]
                expected += weight * (reward[k, w] + discount * after - value[k, w])
                weight *= discount * trace
                if done[k, w]:
                    break
            np.testing.assert_allclose(found[t, w], expected, rtol=1e-12)


def test_moments_of_parts_are_those_of_all(rng):
    obs = 3 + 2 * rng.normal(size=(4, 50, 3))
    moments = normalise.begin(3)
    np.testing.assert_array_equal(normalise.normalise(moments, jnp.asarray(obs[0])), obs[0])
    for part in obs:
        moments = normalise.update(moments, jnp.asarray(part))
    np.testing.assert_allclose(moments.mean, obs.mean((0, 1)), rtol=1e-12)
    np.testing.assert_allclose(moments.spread / moments.number, obs.var((0, 1)), rtol=1e-12)
    seen = normalise.normalise(moments, jnp.asarray(obs))
    np.testing.assert_allclose(seen.std((0, 1)), 1, rtol=1e-12)
    far = normalise.normalise(moments, jnp.full(3, 1e9))
    np.testing.assert_array_equal(far, normalise.LIMIT)


@pytest.mark.parametrize("trace", [1.0, 0.9])
def test_values_inside_a_window_count_below_lambda_1(trace):
    """Of an episode that terminates in the window nothing else says that it could have gone on."""
    discount, ended = 0.95, jnp.array([0.0, 0, 1, 0])[:, None]

    def first(value):
        following = jnp.concatenate([value[1:], value[-1:]])
        return (advantages(jnp.ones((4, 1)), value, following, ended, ended, discount, trace) + value)[0, 0]

    found = jax.grad(first)(jnp.arange(4.0)[:, None])[:, 0]
    part = (1 - trace) * discount * np.array([0, 1, discount * trace, 0])
    np.testing.assert_allclose(found, part, atol=1e-15)
