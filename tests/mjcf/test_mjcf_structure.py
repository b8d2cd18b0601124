"""The compiler's folders: one order of imports, no circle, no JAX, short files."""

import ast
import enum
import graphlib
import sys

import imports as source
import pytest
from imports import graph, imports, inner_imports, loaded_with, long_files, module_of

from jaxsim.core.enums import JointType

ROOT = source.ROOT / "mjcf"
FILES = sorted(path for path in ROOT.rglob("*.py"))
MODULES = {module_of(path): path for path in FILES}
# a folder may import those that come before it in this order, and no others
ORDER = {
    "algebra": set(),
    "language": set(),
    "assets": {"algebra", "language"},
    "elements": {"algebra", "language"},
    "actuators": {"algebra", "language", "elements"},
    "reading": {"algebra", "language", "assets", "actuators"},
    "derived": {"algebra", "language"},
    "assembly": {"algebra", "language", "assets", "elements", "actuators", "reading", "derived"},
}
TABLES = {"language/table.py"}
OUTSIDE = ("jaxsim.core.enums", "jaxsim.core.fields")  # of the rest of jaxsim, enumerations and tables of fields
LIBRARIES = {"numpy", "scipy", "PIL", "trimesh"}
STANDARD = {
    *("collections", "contextlib", "dataclasses", "difflib", "enum", "functools", "io", "math", "os", "pathlib", "re"),
    *("struct", "sys", "types", "typing", "warnings", "xml", "zlib"),
}


def folder(module: str) -> str:
    """The folder of the compiler that a module is in; '' for the package itself."""
    return [*module.split("."), ""][2]


def test_every_folder_has_its_place():
    folders = {path.parent.name for path in FILES if path.parent != ROOT}
    assert folders == set(ORDER)
    assert {path for path in FILES if path.parent == ROOT} == {ROOT / "__init__.py"}
    tuple(graphlib.TopologicalSorter(ORDER).static_order())  # raises on a circle


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down(path):
    here = folder(module_of(path))
    for module in imports(path):
        if module.startswith("jaxsim.mjcf"):
            there = folder(module)
            assert here in ("", there) or there in ORDER[here], f"{here} imports {module}"
        elif module.startswith("jaxsim"):
            assert module.startswith(OUTSIDE)
        else:
            assert module.split(".")[0] in LIBRARIES | STANDARD


def test_no_circle_of_files():
    inside = {module: used & set(MODULES) for module, used in graph(MODULES).items()}
    assert sum(map(len, inside.values())) > 150
    tuple(graphlib.TopologicalSorter(inside).static_order())


def test_jax_is_not_loaded():
    """Nor by what the compiler shares with the engine."""
    loaded = loaded_with("jaxsim.mjcf")
    assert {"jaxsim.core.fields.static", "jaxsim.mjcf.derived.tree", "numpy"} <= loaded
    assert {m.split(".")[0] for m in loaded} <= LIBRARIES | STANDARD | {"jaxsim", "__future__"}


def test_no_import_inside_functions():
    """But of the library for mesh files that are rare: it is slow to load."""
    found = [(path.name, module) for path in FILES for _, module in inner_imports(path)]
    assert found == [("scene_file.py", "trimesh")]


def test_folders_say_what_they_are():
    for name in ORDER:
        text = ast.get_docstring(ast.parse((ROOT / name / "__init__.py").read_text()))
        assert text and "May import:" in text


def test_files_are_short():
    assert long_files(ROOT) == TABLES


def test_no_enumeration_is_declared_twice():
    """A name like FREE or MESH at the top of a file would be a second copy of a member of an enumeration."""
    types = vars(sys.modules[JointType.__module__]).values()
    members = {m.name for t in types if isinstance(t, type) and issubclass(t, enum.Enum) for m in t}
    assert {"FREE", "MESH", "SO3"} <= members
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign):
                names = {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
                assert not names & members, f"{path}:{node.lineno}"
