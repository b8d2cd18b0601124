"""What an evaluation says of a policy."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from point_mass import PointMass

from training import evaluate, run
from training.experiment import Task

EXPERIMENT = """
algorithm: cem
env: {name: cart_pole_swing_up}
worlds: 4
best: 2
"""
LIMIT = 0.2


@pytest.mark.parametrize("limit", [0.0, LIMIT], ids=["whole rewards", "rewards cut off"])
def test_scores_are_sums_of_rewards_cut_off(limit, tmp_path, monkeypatch, float32):
    """All its worlds are in the picture, and none ends early."""
    monkeypatch.setattr(Task, "make", lambda self: PointMass())
    path = tmp_path / "experiment.yaml"
    path.write_text(EXPERIMENT)
    config = run.read("cem", path, {})
    learner = run.make(config)
    state = learner.init(jax.random.key(0))._replace(weights=jnp.array([[-1.0, -1.0]]))
    found, motion = evaluate.evaluate(learner, state, learner.length, 4, 1000, reward_limit=limit)
    rewards = np.asarray(motion.channels["reward"])  # [T, worlds]
    assert found["length_mean"] == len(rewards)
    assert found["return_mean"] == pytest.approx(rewards.sum(0).mean(), rel=1e-5)
    if not limit:
        assert "score_mean" not in found
        return
    scores = np.clip(rewards, -limit, limit).sum(0)
    assert (found["score_mean"], found["score_std"]) == pytest.approx((scores.mean(), scores.std()), rel=1e-5)
    assert found["score_mean"] > found["return_mean"]  # which is negative, and rewards beyond the limit are in it


def test_cuts_are_those_of_training_unless_told(tmp_path, monkeypatch, float32):
    monkeypatch.setattr(Task, "make", lambda self: PointMass())
    path = tmp_path / "experiment.yaml"
    path.write_text(EXPERIMENT + f"reward_limit: {LIMIT}\n")
    config = run.read("cem", path, {})
    learner = run.make(config)
    state = learner.init(jax.random.key(0))

    def found(limit):
        evaluate.finish(learner, state, config, tmp_path, worlds=4, reward_limit=limit)
        return json.loads((tmp_path / "evaluation.json").read_text())

    trained = found(None)
    assert trained == found(LIMIT) and trained["score_mean"] > found(2 * LIMIT)["score_mean"]
    assert "score_mean" not in found(0.0)


@pytest.mark.parametrize("limit", ["-1", "nan"])
def test_cuts_that_are_none_are_refused(limit, tmp_path, capsys):
    with pytest.raises(SystemExit):
        evaluate.main([str(tmp_path), "--reward-limit", limit])
    assert "must be at least 0" in capsys.readouterr().err
