"""Settings: every mistake is found, all in one error, wherever it was written."""

import dataclasses
from pathlib import Path

import pytest
import yaml

from training import config, run
from training.ppo import PPO
from training.variants import Change

CONFIGS = Path(__file__).parents[2] / "configs"


def written(folder: Path, text: str) -> Path:
    path = folder / "experiment.yaml"
    path.write_text(text)
    return path


def test_three_mistakes_are_one_error(tmp_path):
    path = written(
        tmp_path,
        "algorithm: ppo\nenv: {name: cart_pole_swing_up, nois: 0.1}\nlearning_rat: 1e-3\nworlds: many\n",
    )
    with pytest.raises(config.ConfigError) as raised:
        run.read("ppo", path, {})
    assert len(raised.value.problems) == 3
    text = str(raised.value)
    assert f"{path}, line 3: there is no setting 'learning_rat'; did you mean 'learning_rate'?" in text
    assert f"{path}, line 4: worlds is 'many'; expected a whole number" in text
    assert f"{path}, line 2: there is no setting 'nois'; did you mean 'noise'?" in text


def test_every_kind_of_mistake_is_named(tmp_path):
    text = """\
        algorithm: ppo
        env: {name: cart_pole_swingup}
        network: {hidden: 64, activation: tanhh}
        worlds: 0
        clip: 0
        steps: 1.5
        discount: "0.9"
        trace: .nan
        tensorboard: 1
        unroll: 32
        unroll: 16
    """
    path = written(tmp_path, text)
    with pytest.raises(config.ConfigError) as raised:
        run.read("ppo", path, {"epochs.first": "3", "seed": "-1"})
    expected = {
        "no task 'cart_pole_swingup'; did you mean 'cart_pole_swing_up'?",
        "hidden is '64'; expected a list",
        "activation is 'tanhh'; expected one of tanh, elu, silu, relu; did you mean 'tanh'?",
        "worlds is 0; it must be at least 1",
        "clip is 0.0; it must be greater than 0",
        "steps is '1.5'; expected a whole number",
        "discount is '0.9'; expected a number",
        "trace is '.nan'; expected a number",
        "tensorboard is '1'; expected true or false",
        "line 11: 'unroll' is given twice",
        "epochs is a mapping; expected a whole number",
        "--seed: seed is -1; it must be at least 0",
    }
    found = raised.value.problems
    assert [e for e in expected if not any(e in problem for problem in found)] == []
    assert len(found) == len(expected)
    reach = written(tmp_path, "algorithm: ppo\nenv: {name: arm_reach}\nworlds: 64")
    with pytest.raises(config.ConfigError) as raised:
        run.read("ppo", reach, {"seed": "3000000000", "env.low": "[1, 2]"})
    assert "seed is 3000000000; it must be at most 2147483647" in raised.value.problems[1]
    assert "low has 2 numbers; expected 3" in raised.value.problems[0]
    for constant, message in ("n_substeps", "at least 1"), ("timestep", "greater than 0"):
        with pytest.raises(config.ConfigError, match=f"env: Reach: {constant} is .*0; it must be {message}"):
            run.read("ppo", reach, {f"env.{constant}": "0"})


def test_what_does_not_fit_together_or_is_missing(tmp_path):
    with pytest.raises(config.ConfigError, match="'env' is not given: the task and its constants"):
        run.read("ppo", written(tmp_path, "algorithm: ppo"), {})
    path = written(tmp_path, "algorithm: ppo\nenv: {name: cart_pole_swing_up}\nworlds: 3\n")
    with pytest.raises(config.ConfigError, match="worlds x unroll is 15, no multiple of the 8 minibatches"):
        run.read("ppo", path, {"unroll": "5"})
    mage = written(tmp_path, "algorithm: mage\nenv: {name: hopper_hop}\nworlds: 4\nkept: 31")
    with pytest.raises(config.ConfigError, match="kept is 31, less than the 32 steps of an iteration"):
        run.read("mage", mage, {})
    with pytest.raises(config.ConfigError, match=r"deviation is 8; it must be in 0\.0067 to 7\.4"):
        run.read("mage", mage, {"kept": "32", "network.deviation": "8"})
    with pytest.raises(config.ConfigError, match="caution is 2; it must be in 0 to 1"):
        run.read("mage", mage, {"kept": "32", "caution": "2"})
    with pytest.raises(config.ConfigError, match="caution_from is 1; it must be less than 1"):
        run.read("mage", mage, {"kept": "32", "caution_from": "1"})
    path = written(tmp_path, "algorithm: ppo\nenv: {name: cart_pole_swing_up}\nworlds: 3\n")
    with pytest.raises(config.ConfigError, match="is an experiment of ppo: python"):
        run.read("shac", path, {})
    with pytest.raises(config.ConfigError, match="no algorithm 'pppo'; did you mean 'ppo'"):
        run.read("ppo", written(tmp_path, "algorithm: pppo"), {})
    with pytest.raises(config.ConfigError, match="No such file"):
        run.read("ppo", tmp_path / "none.yaml", {})
    with pytest.raises(config.ConfigError, match="is not YAML"):
        run.read("ppo", written(tmp_path, "algorithm: [ppo"), {})


def test_a_task_of_ones_own(tmp_path):
    """Its constants are settings as those of the others are, and what is not there is said beside the rest."""
    (tmp_path / "mine.py").write_text(
        "import dataclasses\nfrom jaxsim import envs\nfrom jaxsim.envs.tasks.hopper import Hop\n"
        "@dataclasses.dataclass(frozen=True)\nclass Constants(Hop.Constants):\n    height: float = 1.0\n"
        "class Mine(Hop):\n    Constants = Constants\n"
        "class Lost(Hop):\n    source = 'lost.xml'\n"
    )
    path = written(tmp_path, f"algorithm: ppo\nenv: {{name: '{tmp_path}/mine.py:Mine', height: 2, n_substeps: 5}}\n")
    env = run.read("ppo", path, {}).env.make()
    assert (env.constants.height, env.n_substeps) == (2.0, 5)
    with pytest.raises(config.ConfigError) as raised:
        run.read("ppo", path, {"env.hight": "1", "env.height": "tall"})
    assert len(raised.value.problems) == 2 and "no setting 'hight'; did you mean 'height'?" in str(raised.value)
    with pytest.raises(config.ConfigError) as raised:
        run.read("ppo", path, {"env.name": f"{tmp_path}/mine.py:Yours", "steps": "0"})
    assert len(raised.value.problems) == 2 and "'Yours' is not there" in str(raised.value)
    lost = written(tmp_path, f"algorithm: ppo\nenv: {{name: '{tmp_path}/mine.py:Lost'}}\n")
    with pytest.raises(config.ConfigError, match=r"^env: .*lost\.xml"):
        run.read("ppo", lost, {})


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_experiments_can_be_read_and_written(path, tmp_path):
    first = run.read(None, path, {})
    copy = tmp_path / "config.yaml"
    copy.write_text(yaml.safe_dump(config.plain(first)))
    assert run.read(None, copy, {}) == first


def test_the_command_line_wins(tmp_path):
    path = written(tmp_path, "algorithm: ppo\nenv: {name: cart_pole_swing_up, noise: 0.2}\nseed: 3\n")
    options = run._options(
        ["--learning_rate", "1e-3", "--env.noise=0.1", "--network.hidden", "[8, 4]", "--steps", "2e6"]
    )
    found = run.read("ppo", path, options)
    assert isinstance(found, PPO)
    assert found.learning_rate == 1e-3 and found.network.hidden == (8, 4) and found.steps == 2_000_000
    assert found.env.make().constants.noise == 0.1 and found.seed == 3
    with pytest.raises(config.ConfigError) as raised:
        run._options(["stray", "--worlds"])
    assert raised.value.problems == ("'stray' is no option; options are written --name value", "--worlds has no value")


def test_a_mapping_may_be_an_option(tmp_path):
    path = written(tmp_path, "algorithm: ppo\nenv: {name: hopper_hop}\nrandomise: {'body_mass:torso': {add: [0, 1]}}\n")
    text = '{"body_mass:foot": {scale: [0.5, 2e0], each: true}}'
    assert run.read("ppo", path, {"randomise": text}).randomise == {
        "body_mass:foot": Change(scale=(0.5, 2.0), each=True)
    }
    assert run.read("ppo", path, {"network": "{hidden: [8, 4], deviation: 0.5}"}).network.hidden == (8, 4)
    with pytest.raises(config.ConfigError, match="--randomise: scale is 'x'; expected a number") as raised:
        run.read(
            "ppo", path, {"randomise": "{'body_mass:foot': {scale: [x, 2]}}", "network": "{hiden: [1], hiden: [1]}"}
        )
    assert "--network: 'hiden' is given twice" in str(raised.value)
    assert "--network: there is no setting 'hiden'; did you mean 'hidden'?" in str(raised.value)


def test_a_bound_is_of_numbers(tmp_path):
    path = written(tmp_path, "algorithm: mage\nenv: {name: hopper_hop}\ncaution_end: 0.8\n")
    ends = [run.read("mage", path, {"caution_end": text}).caution_end for text in ("null", "0.5")]
    assert ends == [None, 0.5] and run.read("mage", path, {}).caution_end == 0.8
    for text, bound in (("-0.1", "at least 0"), ("1.1", "in 0 to 1")):
        with pytest.raises(config.ConfigError, match=f"caution_end is {text}; it must be {bound}"):
            run.read("mage", path, {"caution_end": text})


def test_contacts_have_one_of_two_laws_or_the_models(tmp_path):
    path = written(tmp_path, "algorithm: ppo\nenv: {name: hopper_hop}\n")
    laws = [run.read("ppo", path, {"env.contact": law}).env.make().constants.contact for law in ("hard", "null")]
    assert laws == ["hard", None]
    with pytest.raises(config.ConfigError, match="contact is 'hart'; expected one of soft, hard; did you mean 'hard'"):
        run.read("ppo", path, {"env.contact": "hart"})


def test_every_setting_says_what_it_is():
    for module, name in run.ALGORITHMS.items():
        kind = run._module(module)[1]
        assert kind.__name__ == name and kind.by == module
        lines = config.described(kind)
        assert all(doc for _, _, doc in lines)
        assert {f.name for f in dataclasses.fields(kind)} <= {line[0].split(".")[0] for line in lines}
