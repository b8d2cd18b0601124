"""The short examples run as a user would run them, and check themselves."""

import subprocess
import sys
from pathlib import Path

import compilation
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


COMMANDS = (
    "quickstart",
    "from_mjx",
    "own_forces",
    "hard_contact",
    "swing_up --starts 4",
    "push_box",
    "push_from_gap",
    "mpc_quadruped --plans 10",
    "identify_hopper",
    "identify_quadruped",
    "identify_toss_box",
    "train_randomised",
    "own_task",
    "torch_policy",
)
# they run for longer than they compile, and are compiled as users do
LONG = ("swing_up", "mpc_quadruped", "identify_toss_box", "train_randomised", "torch_policy")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.split()[0])
def test_example(command, tmp_path):
    name, *options = command.split()
    if name == "torch_policy":
        pytest.importorskip("torch", reason="torch is not installed, which comes with 3 GB of CUDA")
    run = [sys.executable, str(EXAMPLES / f"{name}.py"), *options]
    env = compilation.environment(optimized=name in LONG)
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=840, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_every_example_is_run():
    programs = {path.stem for path in EXAMPLES.glob("*.py")} - {"picture"}  # which the others import
    assert programs == {command.split()[0] for command in COMMANDS}
    listed = (EXAMPLES / "README.md").read_text()
    assert [name for name in sorted(programs) if f"| `{name}.py` |" not in listed] == []
