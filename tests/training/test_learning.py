"""Each algorithm learns to hold the point mass in seconds."""

import dataclasses

import jax
import numpy as np
import pytest
from run_point_mass import learner

from training import networks
from training.experiment import Task
from training.sharing import Program

ITERATIONS = {"ppo": 40, "shac": 30, "mage": 30, "ars": 30, "ags": 30, "cem": 40}


@pytest.mark.parametrize("algorithm", ITERATIONS)
def test_it_learns_to_hold_a_point(algorithm, float32):
    made, config = learner(algorithm)
    program = Program(made, 2)  # the worlds on two devices
    state, iterate = program.init(0), program.compile()
    scores = []
    for _ in range(ITERATIONS[algorithm]):
        state, metrics = iterate(state)
        scores.append(float(metrics["return"]) / max(float(metrics["episodes"]), 1))
        assert all(np.isfinite(float(x)) for x in metrics.values())
    assert config.worlds == 64
    assert min(scores[:3]) < -11  # a policy that does nothing
    assert np.mean(scores[-5:]) > (-4 if algorithm == "cem" else -2.5)  # whose policies differ from each other


def test_windows_move_the_weights_within_an_episode(float32):
    """The gradient of a window is that of its own rewards; with one window it is the whole episode's."""
    changes = {"start": 1.0, "rate": 0.01}
    whole, half = (learner("ags", episode_length=20, window=w, **changes)[0] for w in (0, 10))
    one, config = learner("ags", episode_length=20, window=20, **changes)
    state = [Program(made, 2).init(0) for made in (whole, one, half)]
    moved = [Program(made, 2).compile()(s)[0].weights - s.weights for made, s in zip((whole, one, half), state)]
    np.testing.assert_array_equal(moved[0], moved[1])
    assert float(abs(moved[0]).max()) == pytest.approx(0.01, rel=1e-5)
    assert 0.01 < float(abs(moved[2]).max()) <= 0.02 * (1 + 1e-5)  # two steps
    wrong = dataclasses.replace(config, env=Task("cart_pole_balance"), window=7).problems()
    assert wrong == ["window is 7; it must divide episode_length, which is 20"]


@pytest.mark.parametrize("squash", ["tanh", "clip"])
def test_entropy_is_that_of_many_samples(squash):
    mean, log_std = jax.numpy.array([0.3, -0.5]), jax.numpy.array([-0.7, 0.1])
    key = jax.random.key(0)
    raw = networks.sample(key, jax.numpy.broadcast_to(mean, (200_000, 2)), log_std[None])
    density = networks.log_prob(raw, mean[None], log_std[None])
    if squash == "tanh":
        density = density - jax.numpy.log(1 - jax.numpy.tanh(raw) ** 2).sum(-1)
    found = networks.entropy(squash, raw, mean[None], log_std[None]).mean()
    np.testing.assert_allclose(found, -density.mean(), rtol=0.01)
