"""The package as it is installed and imported."""

import ast
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import jaxsim as js
from jaxsim import _guard
from jaxsim.checks import support_table

ROOT = Path(__file__).parents[2]


def test_namesake_is_refused(monkeypatch):
    monkeypatch.setattr(metadata, "distribution", lambda name: name)
    with pytest.raises(ImportError, match="two projects are imported as 'jaxsim'"):
        _guard.refuse_namesake()


def test_alone_it_is_welcome():
    _guard.refuse_namesake()


def test_loading_and_simulating_needs_no_mujoco():
    program = """
import sys
sys.modules["mujoco"] = None  # importing it fails
import jaxsim as js
from jaxsim import models
model = js.load(models.path("cart_pole"))
print(float(js.step(model, js.make_data(model)).time) > 0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "True", done.stderr


@pytest.mark.parametrize("name", support_table.PAGES)
def test_pages_say_what_is_supported(name):
    page = (ROOT / name).read_text()
    assert support_table.insert(page, support_table.PAGES[name]()) == page
    assert page.count(support_table.START) == page.count(support_table.END) == 1


def _project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _imported() -> set[str]:
    """Top-level names of everything that the package imports, in functions too."""
    found = set()
    for file in (ROOT / "jaxsim").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"jaxsim"}


def test_what_is_required_is_imported_and_what_is_imported_is_required():
    required = {Requirement(line).name for line in _project()["dependencies"]}
    modules = {"pillow": "PIL"}
    # jax does not work without jaxlib, whose version has to go with it; trimesh reads DAE files by pycollada, jax.export
    # its programs by flatbuffers; mujoco is imported only where it is compared with, gymnasium and torch by their adapter
    assert {modules.get(name, name) for name in required} - {"jaxlib", "pycollada", "flatbuffers"} == _imported() - {
        "mujoco",
        "jaxlib",
        "gymnasium",
        "torch",
    }


def test_this_jax_is_one_of_those_that_are_declared():
    required = {r.name: r.specifier for r in map(Requirement, _project()["dependencies"])}
    assert required["jax"] == required["jaxlib"]
    for name in ("jax", "jaxlib"):
        assert metadata.version(name) in required[name]


PRIMITIVES = ("plane", "sphere", "capsule", "ellipsoid", "cylinder", "box")


def _rows(table):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def _loads(text):
    try:
        js.load(text)
    except js.MjcfError as error:
        assert "not simulated" in str(error)
        return False
    return True


def test_support_table_agrees_with_load():
    """Pairs of geoms, integrators and tendons: what the README lists loads, and the rest is refused by name."""
    rows = {what: (yes.split(", "), no.split(", ")) for what, yes, no in _rows(support_table.simulated())}
    geom = '<body><joint type="{}"/><geom type="{}" size=".1 .1 .1" mass="1"/></body>'
    for first in PRIMITIVES:
        one = '<geom type="plane" size="1 1 1"/>' if first == "plane" else geom.format("slide", first)
        for second in set(PRIMITIVES) - {"plane"}:
            listed = [second in side for side in rows[f"contacts of {first}"]]
            if any(listed):
                text = f"<mujoco><worldbody>{one}{geom.format('hinge', second)}</worldbody></mujoco>"
                assert _loads(text) == listed[0], (first, second)
    for integrator in ("Euler", "RK4", "implicit", "implicitfast", "discrete"):
        text = f'<mujoco><option integrator="{integrator}"/></mujoco>'
        assert _loads(text) == (integrator.lower() in rows["integrators"][0]), integrator
