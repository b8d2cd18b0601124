"""Measure steps per second, compile time and memory, beside MJX and MuJoCo C if asked.

All engines start from the same states with the same controls and solver settings, in one process.
MuJoCo C runs in float64 on all cores.
"""

import argparse
from typing import Any

import jax

from jaxsim.commands import throughput
from jaxsim.commands.output import print_json, print_table, size, stderr
from jaxsim.commands.source import InputError, not_negative, positive, resolve
from jaxsim.devices import use_cores

_ROWS = {
    "steps_per_s": "steps/s",
    "trace_s": "trace [s]",
    "compile_s": "compile [s]",
    "equations": "jaxpr equations",
    "data_bytes": "Data per world",
    "temp_bytes": "temporaries per world",
    "finite": "finite worlds",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    default = throughput.Settings()
    add = parser.add_argument
    add("--worlds", type=positive, default=default.worlds, help="worlds (%(default)s)")
    add("--steps", type=positive, default=default.steps, help="steps per rollout (%(default)s)")
    add("--repeats", type=positive, default=default.repeats, help="timed rollouts (%(default)s)")
    add("--against", default="", metavar="mjx,mujoco", help="also measure these engines")
    add("--iterations", type=positive, default=default.iterations, help="Newton iterations (%(default)s)")
    add(
        "--ls-iterations",
        type=positive,
        default=default.ls_iterations,
        help="of the line search (%(default)s)",
    )
    add("--tolerance", type=not_negative, default=default.tolerance, help="of the solver (%(default)s)")
    add("--control", type=not_negative, default=default.control, help="size of random controls (%(default)s)")
    add("--seed", type=int, default=default.seed, help="of states and controls (%(default)s)")
    add("--devices", type=positive, default=1, help="CPU cores or GPUs that share the worlds (%(default)s)")
    add("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    path = resolve(args.model)
    engines = ["jaxsim", *_others(args.against)]
    throughput.give_mjx_threads(engines)
    present = use_cores(args.devices)
    if args.devices > present or args.worlds % args.devices:
        raise InputError(f"--devices {args.devices}: JAX has {present}, and they share {args.worlds} worlds equally")
    names = ("worlds", "steps", "repeats", "iterations", "ls_iterations", "tolerance", "control", "seed", "devices")
    settings = throughput.Settings(**{name: getattr(args, name) for name in names})
    results: dict[str, dict[str, Any]] = {}
    with stderr().status("preparing") as status:
        model = throughput.load_for(path, settings)
        start = throughput.prepare(model, settings)
        for engine in engines:
            status.update(f"measuring {engine}")
            results[engine] = throughput.measure(path, engine, start, settings)
    record = {
        "model": str(path), "nv": model.nv, "nu": model.nu, "device": jax.devices()[0].device_kind,
        "settings": vars(settings), "engines": results, "ratios": ratios(results),
    }  # fmt: skip
    if args.json:
        print_json(record)
    else:
        _print(record, path.stem)
    return 0


def ratios(results: dict[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """jaxsim's numbers divided by those of each other engine."""
    ours = results["jaxsim"]
    return {
        name: {k: ours[k] / theirs[k] for k in _ROWS if ours.get(k) and theirs.get(k) and k != "finite"}
        for name, theirs in results.items()
        if name != "jaxsim"
    }


def _others(text: str) -> list[str]:
    known = throughput.ENGINES[1:]
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise InputError(f"--against {name}: not an engine; choose from {', '.join(known)}")
    return names


def _print(record: dict[str, Any], name: str) -> None:
    engines, settings = record["engines"], record["settings"]
    columns = ["", *engines, *(f"jaxsim / {other}" for other in record["ratios"])]
    rows = []
    for key, label in _ROWS.items():
        shown = size if key.endswith("bytes") else lambda v: v
        cells = [shown(result[key]) if result.get(key) is not None else "-" for result in engines.values()]
        shares = [f"{r[key]:.2f}" if key in r else "-" for r in record["ratios"].values()]
        rows.append([label, *cells, *shares])
    where = f"{settings['devices']} x {record['device']}"
    title = f"{name}: {settings['worlds']:,} worlds x {settings['steps']} steps on {where}"
    print_table(title, columns, rows)
    for engine, result in engines.items():
        if "error" in result:
            print(f"{engine} could not run this: {result['error']}")
