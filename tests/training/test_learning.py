"""Each algorithm learns to hold the point mass in seconds."""

import jax
import numpy as np
import pytest
from run_point_mass import learner

from training import networks
from training.sharing import Program

ITERATIONS = {"ppo": 40, "shac": 30, "ars": 30, "ags": 30, "cem": 40}


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
