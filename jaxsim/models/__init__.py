"""Bundled MJCF models, written for this project: `js.load("humanoid")`; `js.models()` lists them.

The folder is called what the function is to be called, so the module itself is a function: `names()`.
"""

import sys
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

_FOLDER = Path(__file__).parent


class UnknownModelError(KeyError):
    """No bundled model has this name; the message lists the closest ones."""

    def __str__(self) -> str:
        return str(self.args[0])


def names() -> tuple[str, ...]:
    """Names of the bundled models, sorted."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.xml")))


def path(name: str) -> Path:
    """The MJCF file of a bundled model.

    Args:
        name: one of `names()`.

    Raises:
        UnknownModelError: a KeyError whose message lists the closest names.
    """
    known = names()
    if name not in known:
        close = get_close_matches(name, known, 3, 0.5) or known
        raise UnknownModelError(f"no bundled model is called {name!r}; closest: {', '.join(close)}")
    return _FOLDER / f"{name}.xml"


class _Callable(ModuleType):
    def __call__(self) -> tuple[str, ...]:
        return names()


sys.modules[__name__].__class__ = _Callable
