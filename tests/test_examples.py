"""The short examples run as a user would run them, and check themselves."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("command", ["from_mjx", "own_forces", "mpc_quadruped --plans 10"], ids=lambda c: c.split()[0])
def test_example(command, tmp_path):
    name, *options = command.split()
    run = [sys.executable, str(EXAMPLES / f"{name}.py"), *options]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout
