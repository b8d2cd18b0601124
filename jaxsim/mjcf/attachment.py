"""Model assets: another MJCF document, read into a Spec of its own to attach parts of."""

import os
from pathlib import Path

from jaxsim.mjcf.errors import Fault, MjcfError, Problem, Problems
from jaxsim.mjcf.reader import Files, read_text
from jaxsim.mjcf.spec import Spec
from jaxsim.mjcf.tree import read_spec
from jaxsim.mjcf.validate import validate

_MAX_NESTING = 20


def read_model(file: str, files: Files, remarks: list[Problem], _depth: list[int] = [0]) -> Spec:  # noqa: B006
    """The Spec of a model file named relative to the directory of the model that names it.

    What MuJoCo passes over in it is added to `remarks`.

    Raises:
        Fault: the file cannot be read, or has problems of its own.
    """
    if not file:
        raise Fault("attribute 'file' is missing")
    path, text = files.read(file)
    if _depth[0] >= _MAX_NESTING:
        raise Fault(f"models are nested deeper than {_MAX_NESTING}: does {file!r} contain itself?")
    _depth[0] += 1
    try:
        child = Files(Path(os.path.dirname(path)) if files.directory is not None else None, {})
        child.assets = files.assets
        problems = Problems()
        root, child = read_text(text, path, child, problems)
        validate(root, problems)
        spec = read_spec(root, child, problems)
        problems.check()
        remarks += problems.remarks
        return spec
    except MjcfError as error:
        raise Fault(f"model file {file!r} has problems:\n{error}") from None
    finally:
        _depth[0] -= 1
