"""Domain randomisation by an experiment's settings."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from point_mass import PointMass

from training import evaluate, run, variants
from training.config import ConfigError
from training.experiment import Task
from training.sharing import Program

EXPERIMENT = """
algorithm: {algorithm}
env: {{name: cart_pole_swing_up}}
worlds: 8
{more}
randomise:
  "body_mass,body_inertia:point": {{uniform: [1, 3]}}
"""
OF = {"ppo": "unroll: 4\nminibatches: 2\nnetwork: {hidden: [4], critic: [4]}", "cem": "best: 2"}


@pytest.mark.parametrize("algorithm", OF)
def test_each_world_has_a_model_of_its_own(algorithm, tmp_path, monkeypatch, float32):
    """Also when two devices share the worlds."""
    monkeypatch.setattr(Task, "make", lambda self: PointMass())
    path = tmp_path / "experiment.yaml"
    path.write_text(EXPERIMENT.format(algorithm=algorithm, more=OF[algorithm]))
    config = run.read(algorithm, path, {})
    learner = run.make(config)
    program = Program(learner, 2)
    start = program.init(0)
    mass = start.worlds.models.body_mass
    assert mass.shape == (8, 2) and (mass[:, 1] >= 1).all() and (mass[:, 1] <= 3).all() and len(np.unique(mass)) > 8
    assert {x.shape[0] for x in jax.tree.leaves(start.worlds.models)} == {8}
    after, metrics = program.compile()(start)
    np.testing.assert_array_equal(after.worlds.models.body_mass, mass)
    assert all(np.isfinite(x) for x in jax.tree.leaves(metrics))

    state = learner.env.reset(jax.random.split(jax.random.key(0), 8), start.worlds.models)
    pushed = learner.env.step(state, jnp.ones((8, 1)), start.worlds.models)
    np.testing.assert_allclose(pushed.data.velocity - state.data.velocity, 0.5 / mass[:, 1], rtol=1e-5)


def test_both_ways_of_a_direction_are_tried_on_the_same_robot(tmp_path, monkeypatch, float32):
    """Without noise to speak of both ways are the same policy, and gain the same: the weights stay where they are."""
    monkeypatch.setattr(Task, "make", lambda self: PointMass())
    path = tmp_path / "experiment.yaml"
    path.write_text(EXPERIMENT.format(algorithm="ars", more="noise: 1.0e-30\nstart: 0.5"))
    program = Program(run.make(run.read("ars", path, {})), 2)
    start = program.init(0)
    assert len(np.unique(start.worlds.models.body_mass[:, 1])) == 8
    weights = np.asarray(start.weights)
    after, metrics = program.compile()(start)
    assert np.any(weights != 0) and np.isfinite(metrics["score"])
    np.testing.assert_array_equal(after.weights, weights)


def test_evaluation_plays_models_that_differ_too(tmp_path, monkeypatch, float32):
    """With all masses 2 it is that of a model whose mass is 2; a run's own numbers stand beside the nominal ones."""
    monkeypatch.setattr(Task, "make", lambda self: PointMass())
    path = tmp_path / "experiment.yaml"
    path.write_text(EXPERIMENT.format(algorithm="cem", more=OF["cem"]))
    config = run.read("cem", path, {})
    learner = run.make(config)
    state = learner.init(jax.random.key(0))._replace(weights=jnp.array([[-1.0, -1.0]]))
    evaluate.finish(learner, state, config, tmp_path, worlds=16)
    found = json.loads((tmp_path / "evaluation.json").read_text())

    def played(learner, changes=None):
        return evaluate.evaluate(learner, state, learner.length, 16, 1000, changes)[0]

    model = learner.env.model
    heavy = run.make(config, PointMass(model=model.replace(body_mass=model.body_mass.at[1].set(2))))
    varied = played(learner, {"body_mass:point": variants.Change(uniform=(2.0, 2.0))})
    assert varied == pytest.approx(played(heavy), rel=1e-5)
    nominal = {name: found.pop(name) for name in varied}
    assert nominal == pytest.approx(played(learner), rel=1e-5)
    assert found.keys() == {f"randomised_{name}" for name in varied}
    means = nominal["return_mean"], varied["return_mean"], found["randomised_return_mean"]
    assert np.diff(np.sort(means)).min() > 1e-3 * abs(means[0]), means


def test_mistakes_are_named(tmp_path):
    text = """\
        algorithm: ppo
        env: {name: cart_pole_swing_up}
        randomise:
          "body_mass:carts": {scale: [0.5, 2]}
          "body_mas:cart": {scale: [2, 0.5]}
          "dof_damping": {scale: [1, 2], add: [0, 1]}
          "geom_friction": {each: true}
    """
    path = tmp_path / "experiment.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        run.read("ppo", path, {})
    expected = (
        "'carts'; closest: cart",
        "no real field of Model is called 'body_mas'",
        "'body_mas:cart': scale is [2.0, 0.5]; expected [least, greatest]",
        "'dof_damping': expected one of scale, add, uniform, got scale and add",
        "'geom_friction': expected one of scale, add, uniform, got none",
    )
    assert [e for e in expected if e not in str(raised.value)] == [], raised.value
    assert len(raised.value.problems) == len(expected)
