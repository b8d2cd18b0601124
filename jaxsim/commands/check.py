"""List everything in a model file that is wrong or cannot be simulated, without simulating.

Every problem comes with file and line. Exit code 0 if there is none, else 1.
"""

import argparse

from jaxsim.commands.output import count, print_json
from jaxsim.commands.source import resolve
from jaxsim.load import load
from jaxsim.mjcf import MjcfError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    path = resolve(args.model)
    problems = []
    try:
        load(path)
    except MjcfError as error:
        problems = error.problems
    if args.json:
        listed = [{"file": p.file, "line": p.line, "element": p.element, "message": m} for p, m in problems]
        print_json({"model": str(path), "ok": not problems, "problems": listed})
    elif problems:
        for problem in problems:
            print(problem)
        print(f"{path}: {count(len(problems), 'problem')}")
    else:
        print(f"{path}: no problems")
    return 1 if problems else 0
