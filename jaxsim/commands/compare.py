"""Compare a model with MuJoCo C in float64: compiled fields, forward dynamics, and a short rollout.

Needs the `mujoco` package. Exit code 0 if every error is within its tolerance, else 1. Rollouts through
contact diverge exponentially in any two solvers; only their first ten steps are judged.
"""

import argparse
from typing import Any

from jaxsim.checks import parity
from jaxsim.commands.output import print_json, print_table, stderr
from jaxsim.commands.source import InputError, positive, resolve
from jaxsim.load import load

FIELD_TOLERANCE, STAGE_TOLERANCE = 1e-6, 1e-8
ROLLOUT_TOLERANCE = {1: 1e-8, 10: 1e-6}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--steps", type=positive, default=50, help="steps of the rollout (50)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random controls (1)")
    parser.add_argument("--all", action="store_true", help="print all fields, not only bad ones")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    try:
        import mujoco
    except ImportError:
        raise InputError("compare needs the reference: pip install mujoco") from None
    path = resolve(args.model)
    try:
        reference = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise InputError(f"MuJoCo cannot load {path}: {' '.join(str(error).split())}") from None
    with stderr().status("comparing"), parity.double_precision():
        record = compare(load(path), reference, args.steps, args.seed)
    record = {"model": str(path), "mujoco": mujoco.__version__, **record}
    if args.json:
        print_json(record)
    else:
        _print(record, args.all)
    return 0 if record["ok"] else 1


def compare(model: Any, reference: Any, steps: int, seed: int) -> dict[str, Any]:
    """Errors of model fields, forward quantities and a rollout, and whether all are within tolerance."""
    fields = parity.field_errors(model, reference)
    both = parity.Comparison(model, reference, seed)
    stages = both.stage_errors()
    diverged = both.diverged()
    path = [] if diverged else both.rollout_errors(steps)
    rollout = {str(k): path[k - 1] for k in sorted({1, 10, steps}) if k <= len(path)}
    bad_fields = beyond(fields, FIELD_TOLERANCE)
    bad_stages = beyond(stages, STAGE_TOLERANCE)
    bad_rollout = [k for k, most in ROLLOUT_TOLERANCE.items() if not rollout.get(str(k), 0.0) <= most]
    return {
        "ok": not (bad_fields or bad_stages or bad_rollout),
        "fields": fields,
        "fields_beyond_tolerance": bad_fields,
        "stages": stages,
        "stages_beyond_tolerance": bad_stages,
        "rollout": rollout,
        "rollout_beyond_tolerance": bad_rollout,
        "reference_diverged": diverged,
    }


def beyond(errors: dict[str, float | str], tolerance: float) -> list[str]:
    """Names whose error is a sentence, not a number, or beyond the tolerance."""
    return [name for name, error in errors.items() if isinstance(error, str) or not error <= tolerance]


def _print(record: dict[str, Any], everything: bool) -> None:
    for kind, title, tolerance in (
        ("fields", "model fields", FIELD_TOLERANCE),
        ("stages", "forward dynamics at three states", STAGE_TOLERANCE),
    ):
        errors, bad = record[kind], record[f"{kind}_beyond_tolerance"]
        shown = {n: e for n, e in errors.items() if everything or n in bad}
        verdict = f"{len(errors) - len(bad)} of {len(errors)} within {tolerance:g}"
        rows = [(name, _error(error)) for name, error in shown.items()]
        others = [e for n, e in errors.items() if not isinstance(e, str) and n not in bad]
        rows.append(("largest of the others", _error(max(others, default=0.0))))
        print_table(f"{title}: {verdict}", ["", "error"], rows)
    rows = [(f"after {k} step{'s' * (k != '1')}", _error(e)) for k, e in record["rollout"].items()]
    print_table("rollout, error of qpos", ["", "error"], rows)
    if record["reference_diverged"]:
        print("MuJoCo's own simulation diverged, so that there is no rollout to compare")
    print("equal within tolerance" if record["ok"] else "NOT equal within tolerance")


def _error(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.1e}"
