"""From a command's MODEL argument to a file and a Model; argument types shared by the commands."""

import argparse
from pathlib import Path

from jaxsim import models


class InputError(Exception):
    """Something about the arguments that the user can put right, as one sentence."""


def resolve(name: str) -> Path:
    """The file that MODEL stands for: a path, or the name of a bundled model.

    Raises:
        InputError: there is neither.
    """
    path = Path(name)
    if path.is_file():
        return path
    if path.is_dir():
        raise InputError(f"{name} is a folder; give the model file in it")
    if path.suffix or len(path.parts) > 1:
        raise InputError(f"there is no file {name}; bundled models: {', '.join(models.names())}")
    try:
        return models.path(name)
    except KeyError as error:
        raise InputError(str(error)) from None


def positive(text: str) -> int:
    """An argument that must be a whole number of at least 1."""
    try:
        value = int(text.replace("_", "").replace(",", ""))
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return value


def not_negative(text: str) -> float:
    """An argument that must be a finite number of at least 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 0")
    return value


def writable(text: str) -> Path:
    """An argument that names a file to write, in a folder that exists."""
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a folder, not a file")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {path.parent}")
    return path
