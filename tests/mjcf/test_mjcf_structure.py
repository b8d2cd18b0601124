"""The compiler's folders: one order of imports, no circle, no JAX, short files."""

import ast
import enum
import graphlib
import subprocess
import sys

import imports as source
import pytest
from imports import graph, imports, inner_imports, long_files, module_of

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
# of the rest of jaxsim: enumerations, tables of fields, and formulas that work on numpy's arrays
OUTSIDE = (
    *("jaxsim.core.enums", "jaxsim.core.fields", "jaxsim.core.frames", "jaxsim.core.topology"),
    *("jaxsim.algebra", "jaxsim.dynamics"),
)
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


BENT = """
<mujoco>
  <compiler><lengthrange mode="all" inttotal="0.1" interval="0.05" tolrange="100"/></compiler>
  <worldbody>
    <site name="w" pos="0 0 .5"/><camera pos="0 0 3" mode="track"/>
    <body name="a">
      <joint name="j" axis="0 1 0" range="-40 40"/><geom name="g" size=".1" pos=".2 0 0"/><site name="s" pos=".4 0 0"/>
      <body name="b" pos=".5 0 0"><joint type="ball" range="0 40"/><geom size=".1"/><site name="t"/></body>
    </body>
    <body name="c" pos="0 3 0"><freejoint/><geom size=".1"/></body>
  </worldbody>
  <tendon><spatial name="ten"><site site="w"/><geom geom="g" sidesite="s"/><site site="t"/></spatial></tendon>
  <equality><joint joint1="j"/></equality>
  <actuator>
    <muscle tendon="ten"/><position joint="j" kp="3" dampratio="1" armature=".1"/>
    <general site="t" refsite="w" gear="1 0 0 0 0 0" lengthrange="0 1"/>
  </actuator>
</mujoco>
"""


def test_jax_runs_nothing(monkeypatch):
    """Where JAX has no device to run on, models compile: nothing is traced, dispatched or compiled by XLA."""
    monkeypatch.setenv("JAX_PLATFORMS", "nowhere")
    compiling = (
        "from jaxsim.mjcf import compile_mjcf; m = compile_mjcf(sys.argv[1]); print(m.actuator_lengthrange[0, 1])"
    )
    run = [sys.executable, "-W", "error", "-c"]
    done = subprocess.run([*run, f"import sys; {compiling}", BENT], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 0
    failed = subprocess.run([*run, "import jax; jax.numpy.zeros(3)"], capture_output=True, text=True, timeout=120)
    assert "nowhere" in failed.stderr


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
