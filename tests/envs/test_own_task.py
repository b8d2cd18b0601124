"""Tasks of one's own by name: found in files and modules, trained, and played from a policy's file."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim import cli, envs
from jaxsim.envs.tasks import own

MODEL = """<mujoco><worldbody><body><joint name="slide" type="slide" axis="1 0 0"/><geom size="0.1" mass="2"/></body></worldbody>
<actuator><motor joint="slide" ctrlrange="-3 3"/></actuator></mujoco>"""
TASK = """
from __future__ import annotations
import dataclasses
import jax.numpy as jnp
import jaxsim as js
from jaxsim import envs
from beside import WEIGHT

@dataclasses.dataclass(frozen=True)
class Constants(envs.Constants):
    n_substeps: int = 3
    weight: float = WEIGHT

class Stay(envs.Environment):
    source = "slider.xml"
    Constants = Constants
    def start(self, model, key): return js.make_data(model), {}
    def observe(self, model, data, info): return jnp.concatenate([data.qpos, data.qvel])
    def reward(self, model, before, data, action, info): return -self.constants.weight * data.qpos[0] ** 2, {}

class Plain(Stay):
    class Constants(envs.Constants):
        n_substeps: int = 5

class Modelless(envs.Environment):
    start = observe = reward = None

thing = 3
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a task, its model and a module that it imports; the working directory is another."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    folder = tmp_path / "robot"
    folder.mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for name, text in (("slider.xml", MODEL), ("beside.py", "WEIGHT = 4.0\n"), ("stay.py", TASK)):
        (folder / name).write_text(text)
    yield folder
    sys.modules.pop("beside", None)
    sys.modules.pop("stay", None)


def test_a_file_has_tasks(place):
    name = "../robot/stay.py:Stay"
    env = envs.make(name, weight=2.0)
    assert (env.n_substeps, env.constants.weight, env.action_size, env.observation_size) == (3, 2.0, 1, 2)
    assert type(env) is type(envs.make(f"{place}/stay.py:Stay"))  # the file is run once
    state = env.step(env.reset(jax.random.key(0)), jnp.ones(1))
    time = 3 * 0.002
    assert float(state.data.qvel[0]) == pytest.approx(1.5 * time)  # 3 N on 2 kg
    assert float(state.reward) == pytest.approx(-2 * (1.5 * 6 * 0.002**2) ** 2)


def test_a_module_has_tasks(place, monkeypatch):
    monkeypatch.syspath_prepend(str(place))
    assert envs.make("stay:Stay").constants.weight == 4.0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../robot/stey.py:Stay", r"there is no file .*stey\.py"),
        ("../robot/stay.py:Stey", r"stay\.py has tasks Stay, Plain, Modelless: 'Stey' is not there"),
        ("../robot/stay.py:thing", r"'thing' is no subclass of jaxsim\.envs\.Environment"),
        ("no_such.module:Stay", r"there is no module 'no_such\.module'; a task in a file is called FILE\.py:CLASS"),
        (":Stay", "there is no module ''"),
        (".stay:Stay", r"there is no module '\.stay'"),
        ("json:loads", "json has tasks of no name: 'loads' is no subclass"),
    ],
)
def test_names_of_nothing(name, message, place):
    with pytest.raises(KeyError, match=message):
        envs.make(name)


def test_faults_of_the_file_are_its_own(place):
    with pytest.raises(TypeError, match=r"Constants of Plain must derive .* and have @dataclasses\.dataclass"):
        envs.make("../robot/stay.py:Plain")
    with pytest.raises(TypeError, match="Modelless names no model"):
        envs.make("../robot/stay.py:Modelless")
    (place / "beside.py").write_text("import nothing_of_that_name\n")
    (place / "again.py").write_text("import importlib, beside\nimportlib.reload(beside)\n")
    for _ in range(2):  # a file that fails is not kept half run
        with pytest.raises(ModuleNotFoundError, match="nothing_of_that_name"):
            envs.make("../robot/again.py:Stay")
    assert not any(name.startswith("again_") for name in sys.modules)


def test_a_policy_runs_no_code_unless_it_is_named(place, capsys, float32):
    name = "../robot/stay.py:Stay"
    envs.save_policy("policy.zip", lambda obs: -obs[:, 1:], 2, name, {"weight": 3.0})
    with pytest.raises(ValueError, match=r"stay\.py:Stay, a task of your own, whose code runs only where you name it"):
        envs.load_policy("policy.zip")
    policy = envs.load_policy("policy.zip", name)
    assert policy.env.constants.weight == 3.0 and policy.env.n_substeps == 3
    np.testing.assert_array_equal(policy.act(jnp.array([[1.0, 2.0]])), [[-2.0]])
    with pytest.raises(ValueError, match="has 2 observed numbers and 1 actions; cart_pole_balance has 5 and 1"):
        envs.save_policy("other.zip", lambda obs: -obs[:, 1:], 2, name, {})
        envs.load_policy("other.zip", "cart_pole_balance")
    with pytest.raises(KeyError, match="'Stey' is not there"):
        envs.load_policy("policy.zip", name.replace("Stay", "Stey"))

    simulate = ["simulate", "../robot/slider.xml", "--policy", "policy.zip", "--steps", "3"]
    assert cli.main(simulate) == 2
    assert "or --task ../robot/stay.py:Stay" in capsys.readouterr().err
    assert cli.main([*simulate, "--task", name]) == 0
    for task, message in (("../robot/stay.py:Stey", "is not there"), ("stey", "no task is called 'stey'")):
        assert cli.main([*simulate, "--task", task]) == 2
        assert message in capsys.readouterr().err
    assert cli.main(["simulate", "../robot/slider.xml", "--task", name]) == 2
    assert "of a policy from a file" in capsys.readouterr().err


def test_a_name_with_a_colon_is_ones_own():
    assert own.is_own("a.py:A") and own.is_own("a.b:A")
    assert not any(map(own.is_own, envs.names()))
