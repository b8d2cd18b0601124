"""benchmarks/gpu.py: that it says what it lacks, ends in time, and tells kernels from what runs inside them."""

import json
import subprocess
import sys
from pathlib import Path

import gpu
import jax
import kernel_times
import origins
import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"


def _run(*args: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(BENCHMARKS / "gpu.py"), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="there is a GPU")
def test_without_a_gpu_it_says_so(tmp_path):
    done = _run("--out", str(tmp_path / "out.json"))
    assert done.returncode == 1
    assert "There is no GPU here" in done.stderr and "--platform cpu" in done.stderr
    assert "Traceback" not in done.stderr and not (tmp_path / "out.json").exists()


def test_a_row_is_measured_once_and_ended_when_its_time_is_up(tmp_path):
    """What stands in the file is not measured again; the second row has less time than its repeats take."""
    out = tmp_path / "out.json"
    tiny = ("--platform", "cpu", "--models", "cart_pole", "--engines", "jaxsim", "--worlds", "2", "--steps", "1")
    tiny += ("--repeats", "1", "--out", str(out))
    done = _run(*tiny, "--measures", "step", "--profile", "2", "--cell-seconds", "300")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(out.read_text())["rows"]
    (cell,) = row["cells"].values()
    assert cell["per_s"] > 0 and cell["finite"] and cell["temp_bytes"] > 0 and cell["compile_s"] > 0
    assert cell["kernels"][0]["us"] > 0 and 0 < cell["busy"] <= 1
    assert sum(k["us"] for k in cell["kernels"]) <= cell["device_us"]
    again = _run(*tiny, "--measures", "step,jacobians", "--repeats", "1000000", "--cell-seconds", "1.5")
    kept, ended = json.loads(out.read_text())["rows"]
    assert kept == row
    assert ended["cells"] == {"2": {"error": "over 2 s"}}
    assert "| cart_pole | jacobians | jaxsim | [1] |" in again.stdout and "[1] over 2 s" in again.stdout


def test_no_row_begins_when_all_time_is_up(tmp_path):
    waiting = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    row = gpu.Row("hopper", "step", "jaxsim", [8], {}, tmp_path / "0.out", waiting)
    row.out.touch()
    row.measured(0.5)
    assert row.cells == {"8": {"error": "no time was left"}}
    assert waiting.poll() is not None


def test_a_loop_is_not_counted_again_in_what_it_runs():
    spans = [("while", 0.0, 100.0), ("add", 10.0, 30.0), ("add", 30.0, 50.0), ("mul", 100.0, 120.0)]
    assert kernel_times._own_times(spans) == [("while", 60.0), ("add", 20.0), ("add", 20.0), ("mul", 20.0)]
    assert kernel_times._busy([(0.0, 10.0), (5.0, 20.0), (30.0, 40.0)]) == pytest.approx(0.75)


LOOP = """
import json, sys
sys.path.insert(0, sys.argv[1])
import jax, jax.numpy as jnp, kernel_times
program = jax.jit(lambda x: jax.lax.fori_loop(0, 7, lambda _, y: jnp.sin(y @ y), x))
x = jnp.ones((50, 50))
jax.block_until_ready(program(x))
print(json.dumps(kernel_times.traced(lambda: jax.block_until_ready(program(x)), calls=3)))
"""


def test_kernels_of_a_program_with_a_loop():
    """In a process of its own, as in the benchmark: in one that had compiled much else, JAX 0.12's reader aborted."""
    command = [sys.executable, "-c", LOOP, str(BENCHMARKS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    kernels, busy = json.loads(done.stdout)
    times = [us for _, _, us in kernels]
    assert max(launches for _, launches, _ in kernels) == 7
    assert times == sorted(times, reverse=True)
    assert 0 < busy <= 1


def test_an_operation_is_traced_back_to_its_stage():
    text = """HloModule jit_step

FileNames
1 "/somewhere/jaxsim/solvers/newton.py"
2 "/somewhere/jaxsim/algebra/vector.py"
3 "/elsewhere/user.py"

FunctionNames
1 "newton"
2 "dot"
3 "main"

FileLocations
1 {file_name_id=3 function_name_id=3 line=5 end_line=5 column=1 end_column=2}
2 {file_name_id=1 function_name_id=1 line=98 end_line=98 column=1 end_column=2}
3 {file_name_id=2 function_name_id=2 line=7 end_line=7 column=1 end_column=2}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}
3 {file_location_id=3 parent_frame_id=3}

ENTRY %main.1 (x: f32[]) -> f32[] {
  %x.1 = f32[] parameter(0), metadata={op_name="x"}
  %neg.2 = f32[] negate(%x.1), metadata={op_name="neg" stack_frame_id=1}
  ROOT %add-sum.3 = f32[] add(%neg.2, %x.1), metadata={op_name="add" stack_frame_id=3}
}
"""
    assert origins.origins(text) == {"add_sum_3": "solvers/newton.py:98 newton"}


def test_the_table_says_why_a_cell_is_empty():
    record = {
        "where": {"device": "card", "memory": None, "jax": "1"},
        "steps": 2,
        "rows": [
            {
                "model": "m",
                "measure": "step",
                "engine": "mjx",
                "cells": {
                    "8": {"error": "does not fit in memory"},
                    "4": {"per_s": 1234.5, "finite": False, "compile_s": 1.0},
                },
            }
        ],
    }
    text = gpu.table(record)
    assert "| m | step | MJX | 1,234 (not finite) | [1] |" in text
    assert "[1] does not fit in memory" in text
