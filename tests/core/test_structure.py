"""The house: what may import what (DESIGN section 2), and what every file and folder keeps to."""

import ast
import graphlib

import pytest
from imports import MODULES, ROOT, graph, imports, inner_imports, long_files, name

# folder or file at the top of the package -> what it imports of those before it, and why; jaxsim is the public names
ORDER = {
    "core": ("", "fields, records and enumerations need nothing"),
    "layout": ("", "how a batch runs knows no physics; others register their primitives with it"),
    "algebra": ("core layout", "matrices of the tree are made of a Topology; taking rows is a primitive with its rule"),
    "dynamics": ("core algebra", "stages read Model and Data"),
    "mjcf": ("core algebra dynamics", "constants of a model are stages at qpos0, which it evaluates on numpy's arrays"),
    "collision": (
        "core algebra layout",
        "geometry knows nothing of dynamics: a contact is found where the geoms are; pairs of all worlds run side by side",
    ),
    "constraint": ("core algebra dynamics collision", "rows of contacts come from slots; Jacobians are those of com"),
    "solvers": (
        "core algebra layout dynamics collision constraint",
        "the objective is the Gauss cost and a sum over rows; factorisation is a primitive",
    ),
    "sensors": ("core algebra dynamics collision constraint", "they get the solution from stages, not the solver"),
    "stages": ("core algebra dynamics collision constraint solvers sensors", "they assemble all of the above"),
    "maximal": (
        "core algebra dynamics collision constraint solvers",
        "other unknowns for the same Model: forces along joints and gaps of loops are those of the stages",
    ),
    "step": ("core layout stages", "a step and its derivative are one equation of a batch's program"),
    "rollout": ("core layout step", "steps in a loop"),
    "queries": (
        "core algebra layout dynamics collision constraint solvers stages step",
        "they evaluate what a state needs, or differentiate whole steps",
    ),
    "checks": ("core dynamics mjcf collision sensors step", "what is not simulated is listed as problems of the file"),
    "models": ("", "files and their names"),
    "load": ("core mjcf checks models", "compile, then check that it can be simulated"),
    "interop": ("core checks", "the same from MuJoCo's own compiled model"),
    "devices": ("", "shares any batch between devices"),
    "viewer": ("", "draws numpy arrays"),
    "_guard": ("", "runs before anything of the package can fail"),
    "jaxsim": ("_guard core dynamics mjcf stages step rollout queries checks load interop models", "the public names"),
    "optimize": ("core jaxsim", "a user of the public names; of core what rows of a field belong to a name"),
    "envs": ("core jaxsim", "a user of the public names; of core the enumerations"),
    "commands": (
        "core mjcf collision constraint step queries checks load devices models viewer envs",
        "the command line shows what the others have",
    ),
    "cli": ("mjcf models commands devices", "one line for each command, errors of files in words, programs kept"),
    "__main__": ("cli", "python -m jaxsim"),
}
TABLES = {"mjcf/language/table.py"}  # the whole MJCF language, one line for each attribute
# to compare and exchange with, for mesh files that are rare, and for arrays of torch's
OPTIONAL = {"mujoco", "trimesh", "torch"}
UNSTABLE = ("jax.extend", "jax.interpreters", "jax.experimental", "jax._src")


def top(module: str) -> str:
    """The part of the package that a module is in."""
    return module.split(".")[1] if "." in module else module


def test_every_part_has_its_place():
    assert {top(module) for module in MODULES} == set(ORDER)
    known: set[str] = set()
    for part, (allowed, why) in ORDER.items():
        assert why and set(allowed.split()) <= known, part  # nothing upwards, so no circle either
        known.add(part)


@pytest.mark.parametrize("part", ORDER)
def test_parts_import_what_is_declared(part):
    found: dict[str, list[str]] = {}
    for module, used in graph(m for m in MODULES if top(m) == part).items():
        for other in used:
            found.setdefault(top(other), []).append(f"{module} imports {other}")
    found.pop(part, None)
    allowed = set(ORDER[part][0].split())
    assert not [line for there, lines in found.items() if there not in allowed for line in lines]
    assert allowed <= set(found), "declared, but not needed"


def test_no_circle_of_files():
    every = graph(MODULES)
    assert sum(map(len, every.values())) > 500
    tuple(graphlib.TopologicalSorter(every).static_order())  # raises on a circle


def test_imports_inside_functions_are_of_optional_packages():
    inner = [(name(p), line, m) for p in MODULES.values() for line, m in inner_imports(p)]
    assert not [found for found in inner if found[2].split(".")[0] not in OPTIONAL]
    assert {m.split(".")[0] for _, _, m in inner} == OPTIONAL


def test_one_module_imports_what_jax_does_not_promise():
    users = {m for m, p in MODULES.items() if any(i.startswith(UNSTABLE) for i in imports(p))}
    assert users == {"jaxsim.layout.unstable"}
    for path in MODULES.values():
        reached = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Attribute)]
        assert not [n.lineno for n in reached if ast.unparse(n).startswith(UNSTABLE)], name(path)


def test_files_are_short():
    assert long_files(ROOT) == TABLES


def test_one_name_is_one_module():
    """Tests import those beside them and those of benchmarks by the name of their file, of which the first found counts."""
    top = ROOT.parent
    files = [*(top / "tests").rglob("*.py"), *(top / "benchmarks").glob("*.py"), *top.glob("*.py")]
    names = [path.stem for path in files if path.name not in ("conftest.py", "__init__.py")]
    assert len(names) > 100 and len(names) == len(set(names))


def test_folders_say_what_they_are():
    for path in ROOT.rglob("__init__.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), name(path)


def test_what_takes_or_gives_arrays_says_their_shapes():
    """Public functions of the physics: layout speaks of programs, the compiler of elements."""
    silent, seen = [], 0
    for module, path in MODULES.items():
        if top(module) in ("layout", "mjcf", "commands", "viewer"):
            continue
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            annotations = [a.annotation for a in (*node.args.args, *node.args.kwonlyargs)] + [node.returns]
            if any(a is not None and "Array" in ast.unparse(a) for a in annotations):
                seen += 1
                if "[" not in (ast.get_docstring(node) or ""):
                    silent.append(f"{name(path)}:{node.lineno} {node.name}")
    assert not silent
    assert seen > 100
