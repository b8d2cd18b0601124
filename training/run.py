"""A run: the folder in which an experiment's settings, metrics, checkpoints and results are."""

import argparse
import importlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from jaxsim import devices
from training import config as settings
from training import hosts
from training.config import ConfigError
from training.experiment import Experiment

ALGORITHMS = {name: name.upper() for name in ("ppo", "shac", "mage", "ars", "ags", "cem")}  # module: its settings
FILE = "config.yaml"
MAY_CHANGE = ("steps", "checkpoint_seconds", "report_seconds", "tensorboard")  # when a run is continued


def main(algorithm: str, argv: Sequence[str] | None = None) -> int:
    """The command line of an algorithm; 0 done, 1 stopped by the guard, 2 bad input, 130 interrupted."""
    from training import evaluate, guard, loop, metrics

    kind = _module(algorithm)[1]
    parser = _parser(algorithm, kind)
    args, rest = parser.parse_known_args(argv)
    if args.host:
        hosts.join(*args.host)
    devices.use_cores()
    devices.keep_programs()
    try:
        options = _options(rest) | ({} if args.seed is None else {"seed": str(args.seed)})
        config = read(algorithm, args.config, options)
        if hosts.first():
            _keep(config, args.out)
        learner = make(config)
        state = loop.train(learner, config, args.out)
        evaluate.finish(learner, state, config, args.out)
    except (ConfigError, metrics.MissingPackage) as error:
        print(f"{algorithm}: error: {error}", file=sys.stderr)
        return 2
    except guard.NotFinite as error:
        print(f"{algorithm}: stopped: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; the same command continues", file=sys.stderr)
        return 130
    return 0


def read(algorithm: str | None, path: Path, options: dict[str, str]) -> Experiment:
    """The settings of an experiment.

    Args:
        algorithm: whose they must be; None takes the one that the file names.
        path: of the file.
        options: that win over it, by dotted name.
    """
    named = _named(path) or algorithm or ""
    if algorithm and named in ALGORITHMS and named != algorithm:
        raise ConfigError([f"{path} is an experiment of {named}: python -m training.{named} {path}"])
    if named not in ALGORITHMS:
        near = settings.nearest(named, list(ALGORITHMS))
        raise ConfigError([f"{path}: there is no algorithm '{named}'{near}"])
    return settings.read(_module(named)[1], path, options)


def make(config: Experiment, env: Any = None) -> Any:
    """The learner of an experiment, on its task or on another environment of one world."""
    env = config.env.make() if env is None else env
    return _module(config.algorithm)[0].Learner(config, env)


def opened(folder: Path) -> tuple[Any, Experiment]:
    """The learner and the settings of a run."""
    if not (folder / FILE).exists():
        raise FileNotFoundError(f"{folder} is no run: it has no {FILE}")
    devices.use_cores()  # before the task's model is made
    config = read(None, folder / FILE, {})
    return make(config), config


def _module(algorithm: str) -> tuple[Any, type]:
    module = importlib.import_module(f"training.{algorithm}")
    return module, getattr(module, ALGORITHMS[algorithm])


def _named(path: Path) -> str:
    """The algorithm that a file names; '' if it cannot be read, of which `settings.read` tells more."""
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return ""
    return str(found.get("algorithm", "")) if isinstance(found, dict) else ""


def _parser(algorithm: str, kind: type) -> argparse.ArgumentParser:
    lines = [f"  --{name:<24} {doc} ({default})" for name, default, doc in settings.described(kind)]
    parser = argparse.ArgumentParser(
        prog=f"python -m training.{algorithm}",
        description="Train a policy. The same command continues a run that was stopped.",
        epilog="settings of the file, each of which an option overrides:\n" + "\n".join(lines),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("config", type=Path, help="an experiment, such as configs/cart_pole_swing_up.yaml")
    parser.add_argument("--seed", type=int, help="of all random numbers")
    parser.add_argument(
        "--host", type=host, metavar="I/N@ADDRESS:PORT", help="this is host I of N, from 0, and ADDRESS that of host 0"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    return parser


def host(text: str) -> tuple[str, int, int]:
    """Address of the first host, number of hosts, and index of this one."""
    found = re.fullmatch(r"(\d+)/(\d+)@(.+:\d+)", text)
    if not found or int(found[1]) >= int(found[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is not like 0/2@10.0.0.1:9000: host 0 of 2, and where host 0 is")
    return found[3], int(found[2]), int(found[1])


def _options(rest: Sequence[str]) -> dict[str, str]:
    """Options by name from `--name value` and `--name=value`."""
    found, wrong, words = {}, [], list(rest)
    while words:
        word = words.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--"):
            wrong.append(f"'{word}' is no option; options are written --name value")
        elif equals or words:
            found[name] = value if equals else words.pop(0)
        else:
            wrong.append(f"{word} has no value")
    if wrong:
        raise ConfigError(wrong)
    return found


def _keep(config: Experiment, folder: Path) -> None:
    """Write the settings into the folder of a new run; refuse others for one that has begun."""
    path = folder / FILE
    now = settings.plain(config)
    if path.exists():
        then = settings.plain(read(None, path, {}))
        names = [n for n in now if n not in MAY_CHANGE and now[n] != then.get(n)]
        if names:
            listed = "; ".join(f"{name} was {then.get(name)} and is {now[name]}" for name in names)
            raise ConfigError([f"{folder} is a run with other settings: {listed}. Choose another --out"])
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(yaml.safe_dump(now, sort_keys=False))
    part.replace(path)
