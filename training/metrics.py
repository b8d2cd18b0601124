"""What a training writes while it runs: a line of JSON for each report, TensorBoard's events, lines on the terminal."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = "metrics.jsonl"


class MissingPackage(RuntimeError):
    """A package is wanted that is not installed."""


class Metrics:
    """Writes reports into a folder.

    Args:
        folder: where.
        tensorboard: whether to write its events too.
        iteration: reports after this one are dropped: the training continues from there.
        steps: those of an iteration, by which TensorBoard's events are ordered.
    """

    def __init__(self, folder: Path, tensorboard: bool, iteration: int = 0, steps: int = 1):
        self._board = _board(folder, iteration * steps) if tensorboard else None
        path = folder / FILE
        lines = path.read_text().splitlines() if path.exists() else []
        kept = [line for line in map(_complete, lines) if line and line["iteration"] <= iteration]
        part = path.with_suffix(".part")
        part.write_text("".join(json.dumps(line) + "\n" for line in kept))
        os.replace(part, path)
        self._stream = path.open("a")

    def write(self, report: Mapping[str, Any]) -> None:
        """Add a report; what is not finite becomes null, as JSON knows no NaN."""
        line = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in report.items()}
        self._stream.write(json.dumps(line) + "\n")
        self._stream.flush()
        if self._board:
            for name, value in line.items():
                if value is not None:
                    self._board.add_scalar(name, value, report["steps"])

    def close(self) -> None:
        """Finish."""
        self._stream.close()
        if self._board:
            self._board.close()


def _complete(line: str) -> dict[str, Any] | None:
    """A line; None if the process was killed while writing it."""
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None


def _board(folder: Path, done: int) -> Any:
    try:
        from tensorboardX import SummaryWriter
    except ModuleNotFoundError:
        raise MissingPackage(
            "tensorboard is true and tensorboardX is not installed: `pip install tensorboardX`, or say "
            "`--tensorboard false`; metrics.jsonl holds the same numbers"
        ) from None
    return SummaryWriter(str(folder / "tensorboard"), purge_step=done + 1 if done else None)
