"""Train an experiment with several seeds, one process after the other.

python benchmarks/seeds.py configs/cart_pole_swing_up.yaml --goal 400 [--seeds 10] [--first 0]

For each seed: processor time of the whole process, evaluation and player included; when the mean return of the episodes
that ended in the last `WINDOW` steps first came above the goal, with the noise of training; the returns of the 64 fresh
episodes that a run ends with; and the curve, mean returns of the episodes that ended in each eighth of the steps.
Time is that of all cores together, so that other processes hardly count.
"""

import argparse
import itertools
import json
import math
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

WINDOW = 131_072  # steps
PARTS = 8  # of the curve
HEAD = "| seed | processor s | above the goal after | return of 64 episodes, mean action | least | curve |"
ROW = "| {seed} | {cpu:.0f} | {above} | {mean:.1f} ± {std:.1f} | {least:.1f} | {curve} |"


def mean_return(lines: Sequence[dict[str, Any]], first: float, last: float) -> float:
    """Of the episodes that ended after the first of these steps and not after the last; NaN if there were none."""
    chosen = [line for line in lines if first < line["steps"] <= last and line["return"] is not None]
    counts = [line.get("episodes", 1) for line in chosen]  # searches give means over equally many
    return sum(line["return"] * n for line, n in zip(chosen, counts)) / sum(counts) if chosen else math.nan


def reached(lines: Sequence[dict[str, Any]], goal: float) -> str:
    """Millions of steps after which the mean return of the last `WINDOW` steps was above the goal."""
    ends = (line["steps"] for line in lines)
    found = next((end for end in ends if mean_return(lines, end - WINDOW, end) > goal), None)
    return f"{found / 1e6:.2f} M" if found else "never"


def trained(config: Path, algorithm: str, seed: int, goal: float, folder: Path) -> dict[str, Any]:
    """What a run of one seed came to."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", f"training.{algorithm}", str(config), "--seed", str(seed), "--out", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    found = json.loads((folder / "evaluation.json").read_text())
    edges = [lines[-1]["steps"] * part / PARTS for part in range(PARTS + 1)]
    return {
        "seed": seed,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "above": reached(lines, goal),
        "mean": found["return_mean"],
        "std": found["return_std"],
        "least": found["return_min"],
        "curve": ", ".join(f"{mean_return(lines, *ends):,.0f}" for ends in itertools.pairwise(edges)),
    }


def main() -> int:
    """Train, print a row for each seed, and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", type=Path)
    parser.add_argument("--goal", type=float, required=True, help="return that is to be exceeded")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="seed")
    args = parser.parse_args()
    algorithm = yaml.safe_load(args.config.read_text())["algorithm"]
    print(HEAD, "|---|---|---|---|---|---|", sep="\n")
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for seed in range(args.first, args.first + args.seeds):
            rows.append(trained(args.config, algorithm, seed, args.goal, Path(place) / str(seed)))
            print(ROW.format(**rows[-1]), flush=True)
    mean, least = (sum(row[name] > args.goal for row in rows) for name in ("mean", "least"))
    print(f"above {args.goal:g}: the mean return of {mean} of {len(rows)} seeds, every episode of {least}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
