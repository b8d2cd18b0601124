"""The loop around an algorithm's iterations: progress, metrics, checkpoints, the guard."""

import contextlib
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from training import guard, hosts
from training.checkpoint import Checkpoints
from training.experiment import Experiment
from training.metrics import Metrics
from training.sharing import Program, device_count

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
    count = device_count(config)
    program = Program(learner, count)
    with contextlib.ExitStack() as stack:
        checkpoints = stack.enter_context(contextlib.closing(Checkpoints(folder / FOLDER)))
        latest = checkpoints.latest()
        metrics = None
        if hosts.first():
            metrics = stack.enter_context(
                contextlib.closing(Metrics(folder, config.tensorboard, latest or 0, learner.steps))
            )
        if latest is None:
            iteration, seconds, state = 0, 0.0, program.init(config.seed)
        else:
            (state, seconds, then), iteration = checkpoints.restore(latest, (program.like(), *_notes(0, 0))), latest
            if then != count:
                _say(f"it ran on {int(then)} devices and goes on with {count}: other random numbers from here on")
            _say(f"continues after iteration {iteration}, {iteration * learner.steps:,} steps")
        report = Report(learner.steps, float(seconds))
        last = -(-config.steps // learner.steps)
        iterate = _compiled(program) if iteration < last else None
        report.go_on()
        saved = time.perf_counter()
        while iteration < last:
            before, (state, found) = state, iterate(state)
            iteration += 1
            numbers = {name: float(x) for name, x in jax.device_get(found).items()}
            guard.check(learner.env, before, state, numbers, iteration, folder)
            line = report.add(iteration, numbers)
            if metrics:
                metrics.write(line)
            if iteration == last or report.due(config.report_seconds):
                _say(report.text(line, config.steps))
            if hosts.agreed(iteration == last or time.perf_counter() - saved >= config.checkpoint_seconds):
                checkpoints.save(iteration, (state, *_notes(report.seconds(), count)))
                saved = time.perf_counter()
    return state


def restore(learner: Any, config: Experiment, folder: Path) -> Any:
    """The last state of a run."""
    program = Program(learner, device_count(config))
    with contextlib.closing(Checkpoints(folder / FOLDER)) as checkpoints:
        latest = checkpoints.latest()
        if latest is None:
            raise FileNotFoundError(f"{folder} has no complete checkpoint yet")
        return checkpoints.restore(latest, (program.like(), *_notes(0, 0)))[0]


class Report:
    """Turns metrics into lines of a report.

    Args:
        steps: of an iteration.
        seconds: that the training has taken before.
    """

    def __init__(self, steps: int, seconds: float):
        self._steps, self._earlier = steps, seconds
        self._start = self._shown = self._before = time.perf_counter()
        self._score: float | None = None

    def go_on(self) -> None:
        """Do not count as stepping what came before, such as compiling."""
        self._before = time.perf_counter()

    def seconds(self) -> float:
        """Since the training began, compiling included, without the time in which it was not running."""
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
        for name in {"return", "score", "length"} & set(line):
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


def _compiled(program: Program) -> Any:
    start = time.perf_counter()
    _say("compiling an iteration ...")
    compiled = program.compile()
    _say(f"compiled in {time.perf_counter() - start:.0f} s")
    return compiled


def _notes(seconds: float, devices: int) -> tuple[np.ndarray, np.ndarray]:
    """What a checkpoint holds beside a state: seconds of training so far, and the number of devices."""
    return np.asarray(seconds, np.float32), np.asarray(devices, np.int32)


def _say(text: str) -> None:
    if hosts.first():
        print(text, file=sys.stderr, flush=True)
