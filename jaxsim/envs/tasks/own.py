"""Tasks of one's own by name: a class in a Python file, or in a module that can be imported."""

import hashlib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from jaxsim.envs.environment import Environment


def is_own(name: str) -> bool:
    """Whether a task's name is that of a class of one's own."""
    return ":" in name


def own_class(name: str) -> type[Environment]:
    """The class that a name like `tasks/reach.py:Reach` or `my_robot.tasks:Reach` is for.

    A file is run once in a process, as a module. What it imports may stand beside it: its folder is the last in which
    Python looks for modules from then on.

    Args:
        name: a Python file (relative to the working directory) or a module, a colon, and a subclass of Environment.

    Raises:
        KeyError: there is no such file, module or class; the message says which, and what classes there are.
        Exception: whatever the file itself raises.
    """
    place, _, wanted = name.rpartition(":")
    module = _file(Path(place)) if place.endswith(".py") else _module(place)
    found = getattr(module, wanted, None)
    if isinstance(found, type) and issubclass(found, Environment):
        return found
    tasks = [cls.__name__ for cls in vars(module).values() if isinstance(cls, type) and issubclass(cls, Environment)]
    others = [task for task in tasks if task != Environment.__name__]
    what = "is no subclass of jaxsim.envs.Environment" if found is not None else "is not there"
    raise KeyError(f"{place} has tasks {', '.join(others) or 'of no name'}: {wanted!r} {what}")


def _file(path: Path) -> ModuleType:
    """A file as a module, whose name no other file's has."""
    path = path.resolve()
    if not path.is_file():
        raise KeyError(f"there is no file {path}")
    name = f"{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader, path  # it ends with .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for the types that they name
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):  # something that the module imports
            raise
    except (TypeError, ValueError):  # an empty name, or a relative one
        pass
    raise KeyError(f"there is no module {name!r}; a task in a file is called FILE.py:CLASS")
