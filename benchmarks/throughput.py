"""Throughput of the bundled models beside MJX and MuJoCo C: one JSON line per model and number of worlds.

python benchmarks/throughput.py [--models humanoid,path/to/model.xml] [--worlds 256,1024] [--against mjx,mujoco]
"""

import argparse
import json
from pathlib import Path

from jaxsim import models
from jaxsim.commands import throughput
from jaxsim.commands.bench import ratios


def main() -> None:
    """Measure every combination."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(models.names()))
    parser.add_argument("--worlds", default="1024")
    parser.add_argument("--against", default="mjx,mujoco")
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    engines = ["jaxsim", *filter(None, args.against.split(","))]
    throughput.give_mjx_threads(engines)
    for name in args.models.split(","):
        for worlds in map(int, args.worlds.split(",")):
            settings = throughput.Settings(worlds=worlds, steps=args.steps)
            path = Path(name) if name.endswith(".xml") else models.path(name)
            start = throughput.prepare(throughput.load_for(path, settings), settings)
            results = {engine: throughput.measure(path, engine, start, settings) for engine in engines}
            print(
                json.dumps({"model": name, "worlds": worlds, **results, "ratios": ratios(results)}),
                flush=True,
            )


if __name__ == "__main__":
    main()
