"""The command line: a run from beginning to end, what it leaves behind, and what it refuses."""

import json
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from point_mass import LENGTH, PointMass

import jaxsim as js
from jaxsim import envs
from jaxsim.envs import policy
from training import collect, evaluate, guard, run
from training.experiment import Task

EXPERIMENT = "{algorithm: ars, env: {name: cart_pole_swing_up}, worlds: 16, steps: 3200, rate: 0.1, noise: 0.1}"


@pytest.fixture
def experiment(tmp_path, monkeypatch, float32):
    """A file whose task is the point mass, under the name of another one."""
    monkeypatch.setattr(Task, "make", lambda self: PointMass())
    path = tmp_path / "experiment.yaml"
    path.write_text(EXPERIMENT)
    return path


def test_a_run_from_beginning_to_end(experiment, tmp_path, capsys, monkeypatch):
    pytest.importorskip("tensorboardX", reason="the extra `train` is not installed")
    out = tmp_path / "run"
    command = [str(experiment), "--out", str(out), "--seed", "3"]
    assert run.main("ars", command) == 0
    said = capsys.readouterr()
    assert "steps/s  return" in said.err and json.loads(said.out)["worlds"] == 64
    report = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [line["steps"] for line in report] == [16 * LENGTH * i for i in range(1, 11)]
    assert all(line["length"] <= LENGTH and line["return"] < 0 for line in report)
    assert "seed: 3" in (out / "config.yaml").read_text() and list((out / "tensorboard").iterdir())
    assert "point" in (out / "policy.html").read_text()
    with pytest.raises(ValueError, match="has 2 observed numbers and 1 actions; cart_pole_swing_up has 5 and 1"):
        envs.load_policy(out / "policy.zip")  # it was trained on another task than the one whose name it bears here
    monkeypatch.setattr(policy, "make", lambda name, **changes: PointMass())
    assert envs.load_policy(out / "policy.zip").act(jnp.ones((3, 2))).shape == (3, 1)

    assert run.main("ars", [*command, "--noise", "0.2"]) == 2
    assert "is a run with other settings: noise was 0.1 and is 0.2" in capsys.readouterr().err
    assert run.main("ars", [*command, "--steps", "3520"]) == 0
    assert "continues after iteration 10" in capsys.readouterr().err
    assert len((out / "metrics.jsonl").read_text().splitlines()) == 11

    found = json.loads((out / "evaluation.json").read_text())
    assert evaluate.main([str(out), "--worlds", "64"]) == 0
    assert json.loads(capsys.readouterr().out) == found  # the same policy and the same starts
    assert evaluate.main([str(tmp_path / "none")]) == 2
    assert "none is no run: it has no config.yaml" in capsys.readouterr().err


MISTAKES = {  # of an option, and what was meant
    "ppo": ("clp", "clip"),
    "shac": ("actor_rat", "actor_rate"),
    "mage": ("slope_weigth", "slope_weight"),
    "ars": ("nose", "noise"),
    "ags": ("state_limits", "state_limit"),
    "cem": ("deviatoin", "deviation"),
}


@pytest.mark.parametrize("algorithm", MISTAKES)
def test_a_mistake_ends_it_before_anything_is_written(algorithm, experiment, tmp_path, capsys):
    experiment.write_text(f"{{algorithm: {algorithm}, env: {{name: cart_pole_swing_up, nois: 1}}, wolds: 16}}")
    wrong, meant = MISTAKES[algorithm]
    assert run.main(algorithm, [str(experiment), "--out", str(tmp_path / "run"), f"--{wrong}", "1"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3 and said[0].startswith(f"{algorithm}: error: ")
    for name, near, line in (("wolds", "worlds", ", line 1"), ("nois", "noise", ", line 1"), (wrong, meant, "--")):
        assert any(f"there is no setting '{name}'; did you mean '{near}'?" in text and line in text for text in said)
    assert not (tmp_path / "run").exists()


def test_what_does_not_fit_ends_it_too(experiment, tmp_path, capsys):
    assert run.main("ars", [str(experiment), "--out", str(tmp_path / "run"), "--best", "9"]) == 2
    assert "best is 9, but 16 worlds try 8 directions" in capsys.readouterr().err


class State(NamedTuple):
    """The least that the guard looks at."""

    params: jax.Array
    worlds: collect.Worlds


def test_the_guard_diagnoses_physics(tmp_path):
    env = envs.make("cart_pole_swing_up")
    data = jax.tree.map(lambda x: jnp.stack([x, x]), js.make_data(env.model))
    zero = jnp.zeros(2)
    world = envs.State(data, jnp.zeros((2, 5)), zero, zero, {}, {})
    good = State(jnp.ones(3), collect.Worlds(world, collect.Episodes(zero, zero)))
    guard.check(env, good, good, {"loss": 0.0}, 1, tmp_path)
    sick = world.replace(data=data.replace(qpos=data.qpos.at[1, 1].set(jnp.nan)))
    with pytest.raises(guard.NotFinite) as raised:
        guard.check(env, good, good._replace(worlds=good.worlds._replace(state=sick)), {"loss": np.nan}, 7, tmp_path)
    text = str(raised.value)
    assert "iteration 7 gave numbers that are not finite: positions, loss" in text
    assert "qpos is not finite in 1 of 2 worlds (1)" in text and "joint 'hinge'" in text
