"""The loop around an algorithm's iterations: progress, metrics, checkpoints, the guard."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from training import guard
from training.checkpoint import Checkpoints
from training.experiment import Experiment
from training.metrics import Metrics
from training.sharing import Program, most_devices

FOLDER = "checkpoints"


def train(learner: Any, config: Experiment, folder: Path) -> Any:
    """Train until `config.steps`, from the last checkpoint of the folder if it has one.

    Args:
        learner: of an algorithm; see `sharing.Program`. `learner.steps` counts the steps of an iteration.
        config: its settings.
        folder: of the run.

    Returns:
        The last state.
    """
    program = Program(learner, most_devices(config.worlds, config.devices))
    checkpoints = Checkpoints(folder / FOLDER)
    latest = checkpoints.latest()
    metrics = Metrics(folder, config.tensorboard, latest or 0)
    if latest is None:
        iteration, seconds, state = 0, 0.0, program.init(config.seed)
    else:
        (state, seconds), iteration = checkpoints.restore(latest, (program.like(), _seconds(0))), latest
        _say(f"continues after iteration {iteration}, {iteration * learner.steps:,} steps")
    last = -(-config.steps // learner.steps)
    begun = time.perf_counter()
    _say("compiling ...")
    iterate = program.compile()
    _say(f"compiled in {time.perf_counter() - begun:.0f} s")
    report = Report(learner.steps, iteration, float(seconds))
    saved = time.perf_counter()
    while iteration < last:
        before, (state, found) = state, iterate(state)
        iteration += 1
        numbers = {name: float(x) for name, x in jax.device_get(found).items()}
        guard.check(learner.env, before, state, numbers, iteration, folder)
        line = report.add(iteration, numbers)
        metrics.write(line)
        if iteration == last or report.due(config.report_seconds):
            _say(report.text(line, config.steps))
        if iteration == last or time.perf_counter() - saved >= config.checkpoint_seconds:
            checkpoints.save(iteration, (state, _seconds(report.seconds())))
            saved = time.perf_counter()
    metrics.close()
    checkpoints.close()
    return state


def restore(learner: Any, config: Experiment, folder: Path) -> Any:
    """The last state of a run."""
    checkpoints = Checkpoints(folder / FOLDER)
    latest = checkpoints.latest()
    if latest is None:
        raise FileNotFoundError(f"{folder} has no complete checkpoint yet")
    program = Program(learner, most_devices(config.worlds, config.devices))
    state, _ = checkpoints.restore(latest, (program.like(), _seconds(0)))
    checkpoints.close()
    return state


class Report:
    """Turns metrics into lines of a report; compiling is not counted as stepping."""

    def __init__(self, steps: int, iteration: int, seconds: float):
        self._steps, self._earlier = steps, seconds
        self._start = self._shown = self._before = time.perf_counter()
        self._first = iteration
        self._score: float | None = None

    def seconds(self) -> float:
        """Since the training began, without the time in which it was not running."""
        return self._earlier + time.perf_counter() - self._start

    def add(self, iteration: int, numbers: Mapping[str, float]) -> dict[str, Any]:
        """The line of an iteration: sums over episodes become means, absent where no episode ended."""
        now = time.perf_counter()
        rate, self._before = self._steps / (now - self._before), now
        line: dict[str, Any] = {
            "iteration": iteration,
            "steps": iteration * self._steps,
            "seconds": round(self.seconds(), 3),
            "steps_per_s": round(rate, 1),
            **numbers,
        }
        episodes = numbers.get("episodes", 1)
        for name in {"return", "length"} & set(line):
            line[name] = line[name] / episodes if episodes else None
        self._score = self._score if line.get("return") is None else line["return"]
        return line

    def due(self, period: float) -> bool:
        """Whether a line is to be shown: once in a period."""
        now = time.perf_counter()
        if now - self._shown < period and self._shown > self._start:
            return False
        self._shown = now
        return True

    def text(self, line: Mapping[str, Any], steps: int) -> str:
        """A line for the terminal."""
        score = "no episode has ended" if self._score is None else f"return {self._score:.4g}"
        return f"{line['steps']:>12,} of {steps:,} steps  {line['steps_per_s']:>10,.0f} steps/s  {score}"


def _seconds(value: float) -> Any:
    return jnp.asarray(value, jnp.float32)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
