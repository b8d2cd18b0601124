"""The compiler's folders: one order of imports, no circle, no JAX, short files."""

import ast
import enum
import graphlib
import sys
from pathlib import Path

import pytest

import jaxsim.mjcf
from jaxsim.core.enums import JointType

ROOT = Path(jaxsim.mjcf.__file__).parent
FILES = sorted(path for path in ROOT.rglob("*.py"))
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
TABLES = ("language/table.py", "assembly/fields.py")
OUTSIDE = {JointType.__module__}  # of the rest of jaxsim, the enumerations
LIBRARIES = {"numpy", "scipy", "PIL"}
STANDARD = {
    *("collections", "contextlib", "dataclasses", "difflib", "enum", "functools", "io", "math", "os", "pathlib", "re"),
    *("struct", "sys", "types", "typing", "warnings", "xml", "zlib"),
}


def module_of(path: Path) -> str:
    """jaxsim.mjcf.language.schema, or jaxsim.mjcf.language for its __init__."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("jaxsim", "mjcf", *(parts[:-1] if parts[-1] == "__init__" else parts)))


MODULES = {module_of(path): path for path in FILES}


def imports(path: Path) -> set[str]:
    """Modules that a file imports, wherever in it: `from package import module` counts as the module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in MODULES else node.module)
    return found


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
            assert module in OUTSIDE
        else:
            assert module.split(".")[0] in LIBRARIES | STANDARD


def test_no_circle_of_files():
    graph = {name: {m for m in imports(path) if m in MODULES and m != name} for name, path in MODULES.items()}
    assert sum(map(len, graph.values())) > 150
    tuple(graphlib.TopologicalSorter(graph).static_order())


def test_no_import_inside_functions():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                inner = [n for n in ast.walk(node) if isinstance(n, ast.Import | ast.ImportFrom)]
                assert not inner, f"{path}:{node.lineno}"


def test_folders_say_what_they_are():
    for name in ORDER:
        text = ast.get_docstring(ast.parse((ROOT / name / "__init__.py").read_text()))
        assert text and "May import:" in text


def test_files_are_short():
    long = {str(p.relative_to(ROOT)): n for p in FILES if (n := len(p.read_text().splitlines())) > 400}
    assert set(long) <= set(TABLES)


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
