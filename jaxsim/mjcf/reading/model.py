"""A whole document read into a Spec, and the documents that it names as model assets into Specs of their own."""

import os
from pathlib import Path

from jaxsim.mjcf.actuators.defaults import check_defaults
from jaxsim.mjcf.language.element import Element
from jaxsim.mjcf.language.errors import Fault, MjcfError, Problems
from jaxsim.mjcf.language.files import Files
from jaxsim.mjcf.language.spec import Spec
from jaxsim.mjcf.language.validate import validate
from jaxsim.mjcf.reading.document import read_text
from jaxsim.mjcf.reading.options import read_options
from jaxsim.mjcf.reading.sections import Sections
from jaxsim.mjcf.reading.tree import read_tree

_MAX_NESTING = 20
_MAX_MODELS = 1000


def read_spec(root: Element, files: Files, problems: Problems, nesting: int = 0) -> Spec:
    """The Spec of a validated <mujoco> document; `nesting` counts the models that attach it, one inside the other."""
    spec = Spec(files)
    spec.model_name = root.values.get("model", "MuJoCo Model")
    read_options(root, spec, problems)
    for section in root.find("default"):
        spec.defaults.read(section, problems)
    check_defaults(spec.defaults.classes.values(), problems)
    sections = Sections(spec, problems)
    sections.read(root)
    for section in root.find("asset"):
        for element in section.find("model"):
            _read_asset(element, spec, problems, nesting)
    read_tree(root, spec, sections, problems)
    return spec


def _read_asset(element: Element, spec: Spec, problems: Problems, nesting: int) -> None:
    """Add the model that a model asset names."""
    name = element.values.get("name")
    child = problems.attempt(element.place, _read_file, element, spec.files, problems, nesting + 1)
    if child is not None:
        spec.models[name or child.model_name] = child
    elif name:
        problems.leave_out([name])
    else:
        problems.leave_out_unknown()


def _read_file(element: Element, files: Files, problems: Problems, nesting: int) -> Spec:
    """The Spec of a model file, named relative to the directory of the included file or the model that names it.

    What MuJoCo passes over in it is added to the remarks.

    Raises:
        Fault: the file cannot be read, or has problems of its own.
    """
    file = element.values.get("file", "")
    if not file:
        raise Fault("attribute 'file' is missing")
    path, text = files.read(*files.beside(element.place.file, file), file)
    if nesting > _MAX_NESTING:
        raise Fault(f"models are nested deeper than {_MAX_NESTING}: does {file!r} contain itself?")
    files.models.append(path)
    if len(files.models) > _MAX_MODELS:
        raise Fault(f"more than {_MAX_MODELS} model files are read, {file!r} among them")
    own = Files(Path(os.path.dirname(path)) if files.directory is not None else None)
    own.assets, own.packages, own.models = files.assets, files.packages, files.models
    inner = Problems()
    try:
        root, own = read_text(text, path, own, inner)
        validate(root, inner)
        spec = read_spec(root, own, inner, nesting)
        inner.check()
    except MjcfError as error:
        raise Fault(f"model file {file!r} has problems:\n{error}") from None
    problems.remarks += inner.remarks
    return spec
