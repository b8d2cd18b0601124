"""The command line: `jaxsim simulate|info|check|compare|bench MODEL`.

Exit codes: 0 done, 1 the check or comparison found something, 2 bad input, 130 interrupted.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from jaxsim import devices, models
from jaxsim.commands import bench, check, compare, info, simulate
from jaxsim.commands.output import count
from jaxsim.commands.source import InputError
from jaxsim.mjcf import MjcfError

_COMMANDS = {"simulate": simulate, "info": info, "check": check, "compare": compare, "bench": bench}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the arguments without the program's name; those of the process by default.

    Returns:
        The exit code.
    """
    parser = build_parser()
    args = parser.parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _one_line_warning
            if args.command != "bench":  # which measures how long compiling takes
                devices.keep_programs()
            return _COMMANDS[args.command].run(args)
    except InputError as error:
        return _fail(str(error))
    except MjcfError as error:
        listed = "\n".join(f"  {problem}" for problem in error.problems)
        return _fail(f"{args.model} has {count(len(error.problems), 'problem')}:\n{listed}")
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _fail(f"{error.filename or args.model}: {error.strerror or error}")
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(prog="jaxsim", description="MuJoCo's physics on JAX.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in _COMMANDS.items():
        summary, _, details = (module.__doc__ or "").partition("\n\n")
        command = commands.add_parser(
            name,
            help=summary,
            description=f"{summary}\n\n{details}".strip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        bundled = ", ".join(models.names())
        command.add_argument("model", metavar="MODEL", help=f"an .xml or .urdf file, or one of {bundled}")
        module.add_arguments(command)
    return parser


def _fail(message: str) -> int:
    print(f"jaxsim: error: {message}", file=sys.stderr)
    return 2


def _one_line_warning(message, category, filename, lineno, file=None, line=None):
    print(f"jaxsim: warning: {message}", file=sys.stderr)
