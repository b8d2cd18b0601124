"""A training killed at any time goes on as if nothing had happened; one that meets NaN stops and says where."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from run_point_mass import learner

from training import guard, loop
from training.checkpoint import Checkpoints
from training.config import ConfigError
from training.metrics import Metrics
from training.sharing import Program

SCRIPT = Path(__file__).with_name("run_point_mass.py")
ROOT = SCRIPT.parents[2]
STEPS = 40 * 64 * 10  # 40 iterations


def process(folder: Path, *more: str) -> subprocess.Popen:
    words = [sys.executable, str(SCRIPT), str(folder), "ppo", f"steps={STEPS}", *more]
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(words, env=os.environ | {"PYTHONPATH": paths}, stderr=subprocess.PIPE)


def lines(folder: Path) -> list[dict]:
    path = folder / "metrics.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def bits(state) -> list[np.ndarray]:
    return [np.asarray(x) for x in jax.tree.leaves(state._replace(key=jax.random.key_data(state.key)))]


def test_a_killed_training_ends_with_the_same_bits(tmp_path, float32):
    made, config = learner("ppo", steps=STEPS)
    expected = loop.train(made, config, tmp_path / "whole")
    folder = tmp_path / "killed"
    first = process(folder)
    limit = time.monotonic() + 300
    while len(lines(folder)) < 8 and first.poll() is None and time.monotonic() < limit:
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    said = first.communicate()[1].decode()
    assert 8 <= len(lines(folder)) < 40, said
    found = loop.train(made, config, folder)
    for one, other in zip(bits(expected), bits(found), strict=True):
        np.testing.assert_array_equal(one, other)
    restored = loop.restore(made, config, folder)
    for one, other in zip(bits(expected), bits(restored), strict=True):
        np.testing.assert_array_equal(one, other)
    with (
        contextlib.closing(Checkpoints(folder / loop.FOLDER)) as saved,
        pytest.raises(ConfigError, match="other arrays"),
    ):
        saved.restore(saved.latest(), restored.params)
    timing = ("seconds", "steps_per_s")
    whole, parts = (
        [{k: v for k, v in line.items() if k not in timing} for line in lines(f)] for f in (tmp_path / "whole", folder)
    )
    assert [line["iteration"] for line in parts] == list(range(1, 41)) and parts == whole


@pytest.mark.parametrize("algorithm", ["shac", "mage", "ars", "ags", "cem"])
def test_an_interrupted_training_ends_with_the_same_bits(algorithm, tmp_path, monkeypatch, float32):
    """Interrupted in its fourth iteration of six, after the checkpoint of the third."""
    count = 6
    steps = count * 64 * (10 if algorithm in ("shac", "mage") else 20)
    made, config = learner(algorithm, steps=steps, checkpoint_seconds=0.0)
    program = Program(made, 2)
    expected, iterate = program.init(0), program.compile()
    for _ in range(count):
        expected, _ = iterate(expected)
    calls = []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(loop, "_compiled", lambda program: iterate)  # once is enough
    monkeypatch.setattr(guard, "check", interrupted)
    with pytest.raises(KeyboardInterrupt):
        loop.train(made, config, tmp_path)
    assert [line["iteration"] for line in lines(tmp_path)] == [1, 2, 3]
    found = loop.train(made, config, tmp_path)
    assert len(calls) == 4 + 3
    for one, other in zip(bits(expected), bits(found), strict=True):
        np.testing.assert_array_equal(one, other)
    assert [line["iteration"] for line in lines(tmp_path)] == list(range(1, count + 1))


def test_two_hosts_train_as_one_with_as_many_devices(tmp_path, float32):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    both = [process(tmp_path / "two", f"host={i}/2@127.0.0.1:{port}") for i in range(2)]
    try:
        said = [each.communicate(timeout=300)[1].decode() for each in both]
    finally:
        for each in both:
            each.kill()
    assert [each.returncode for each in both] == [0, 0], said
    assert "steps/s" in said[0] and "steps/s" not in said[1]  # the first one speaks
    made, config = learner("ppo", steps=STEPS)
    alone = loop.train(made, config, tmp_path / "one")
    together = loop.restore(made, config, tmp_path / "two")
    for one, two in zip(bits(alone), bits(together), strict=True):
        np.testing.assert_array_equal(one, two)


def test_numbers_that_are_not_finite_stop_it(tmp_path, float32):
    made, config = learner("ppo", fault=1.2, seed=1)
    with pytest.raises(guard.NotFinite) as raised:
        loop.train(made, config, tmp_path)
    text = str(raised.value)
    assert "gave numbers that are not finite" in text and str(tmp_path / "not_finite") in text
    with contextlib.closing(Checkpoints(tmp_path / "not_finite")) as saved:
        before = saved.latest()
    assert before is not None and f"iteration {before + 1} " in text
    assert len(lines(tmp_path)) == before  # the bad one was not counted
    with pytest.raises(guard.NotFinite, match=f"iteration {before + 1} gave"):  # run again, it says so again
        loop.train(made, config, tmp_path)


def test_a_failure_is_repeated_from_a_replay_that_was_taken_over(tmp_path, float32):
    """The saved state fails again, in the same iteration, though that one had already written into its replay."""
    made, config = learner("mage", fault=1.5, steps=STEPS)
    with pytest.raises(guard.NotFinite, match="rewards") as stopped:
        loop.train(made, config, tmp_path)
    number = int(str(stopped.value).split()[1])
    program = Program(made, 2)
    with contextlib.closing(Checkpoints(tmp_path / "not_finite")) as kept:
        before = kept.restore(number - 1, program.like())
    assert int(before.taken) == (number - 1) * config.unroll
    after, metrics = program.compile()(before)
    assert not np.isfinite(metrics["reward"]) and int(after.taken) == number * config.unroll


def test_a_resumed_board_keeps_what_came_before(tmp_path, monkeypatch):
    """TensorBoard drops events from `purge_step` on, which is counted as they are: in steps of the environment."""
    made = []

    class Board:
        def __init__(self, path, purge_step):
            made.append(purge_step)

        def close(self):
            pass

    monkeypatch.setattr("tensorboardX.SummaryWriter", Board)
    for iteration in (0, 8):
        Metrics(tmp_path, True, iteration, 1024).close()
    assert made == [None, 8 * 1024 + 1]
