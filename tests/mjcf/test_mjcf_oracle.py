"""Whole models: the compiled arrays equal mjModel's, field by field."""

import csv
import warnings
from pathlib import Path

import numpy as np
import pytest

from jaxsim import models
from jaxsim.mjcf import MjcfError, compile_mjcf

mujoco = pytest.importorskip("mujoco")

# what is not compared: rendering, bounding volumes, sparsity patterns, and of hulls what the meshes test
SKIP = """
  name_ names paths path tex_ mat_ skin_ bvh oct_ plugin flex B_ M_ D_ map buffer efm signature text_data
  mesh_normal mesh_extrema mesh_graph mesh_polynormal mesh_oct
"""
SIZES = """
  nq nv nu na nbody njnt ngeom nsite ncam nlight nmesh nhfield npair nexclude neq ntendon nwrap nsensor
  nnumeric ntuple nkey nmocap nactuator nout nsensordata nhistory nplastic ntree nM nC nD nJten nemax
  njmax nconmax
"""
NAMED = """
  body joint geom site camera light mesh hfield pair equality tendon actuator sensor numeric tuple key
"""
COUNTS = {"joint": "njnt", "camera": "ncam", "equality": "neq"}


def differences(m, mj) -> dict[str, str]:
    """Fields in which a compiled model differs from an mjModel: integers at all, reals by more than 1e-9."""
    found = {}
    for name in dir(mj):
        want = getattr(mj, name)
        if name.startswith("_") or any(s in name for s in SKIP.split()) or not isinstance(want, np.ndarray):
            continue
        have = getattr(m, name, None)
        if have is None or have.shape != want.shape or have.dtype != want.dtype:
            found[name] = f"{getattr(have, 'shape', None)} {getattr(have, 'dtype', None)}"
        elif want.dtype.kind == "f" and want.size:
            tolerance = 1e-6 if name.startswith("mesh_") or want.dtype == np.float32 else 1e-9
            error = np.abs(have - want) / (1e-2 + np.abs(want))
            if not np.max(error) < tolerance:
                found[name] = f"off by {np.max(error):.1e}"
        elif not np.array_equal(have, want):
            found[name] = "integers differ"
    for name in SIZES.split():
        if getattr(m, name) != getattr(mj, name):
            found[name] = f"{getattr(m, name)}, expected {getattr(mj, name)}"
    for group in ("opt", "stat"):
        for name in (n for n in dir(getattr(mj, group)) if not n.startswith("_")):
            have, want = getattr(getattr(m, group), name), getattr(getattr(mj, group), name)
            if not np.allclose(have, want, 1e-9, 1e-12):
                found[f"{group}.{name}"] = f"{have}, expected {want}"
    for kind in NAMED.split():
        count = getattr(mj, COUNTS.get(kind, f"n{kind}"))
        if m.names[kind] != [getattr(mj, kind)(i).name for i in range(count)]:
            found[f"names[{kind}]"] = str(m.names[kind])
    return found


def oracle(source: str):
    """The mjModel of a path or of XML text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mujoco.MjModel.from_xml_string(source) if "<" in source else mujoco.MjModel.from_xml_path(source)


def assert_equal(source: str):
    """Compile a model twice, here and in MuJoCo, and compare."""
    m = compile_mjcf(source)
    assert differences(m, oracle(source)) == {}
    return m


def _installed() -> list[Path]:
    found = []
    for package, folder in (("gymnasium", "envs/mujoco/assets"), ("dm_control", "suite")):
        module = pytest.importorskip(package)
        found += sorted(Path(module.__file__).parent.joinpath(folder).glob("*.xml"))
    return found


def _corpus() -> list[Path]:
    folder = Path(__file__).parents[3] / "shared" / "corpus"
    if not folder.exists():
        return []
    with open(folder / "MANIFEST.csv") as manifest:
        return [folder / row["entry_xml"] for row in csv.DictReader(manifest)]


# what the compiler does not have, and says so
REFUSED = {"flag.xml", "floppy.xml", "rope.xml"}


@pytest.mark.parametrize("name", models.names())
def test_bundled_models(name):
    assert_equal(str(models.path(name)))


@pytest.mark.parametrize("path", _installed(), ids=lambda p: f"{p.parent.name}/{p.name}")
def test_models_of_gymnasium_and_dm_control(path):
    assert_equal(str(path))


@pytest.mark.parametrize("path", _corpus() or [None], ids=lambda p: p and f"{p.parent.name}/{p.name}")
def test_corpus(path):
    if path is None:
        pytest.skip("no ../shared/corpus beside the repository")
    if path.name in REFUSED:
        with pytest.raises(MjcfError, match="refused: "):
            compile_mjcf(path)
        return
    assert differences(compile_mjcf(path), oracle(str(path))) == {}


SINGULAR = {
    "two hinges about one axis": '<joint/><joint/><geom size="1" pos="1 0 0"/>',
    "negative armature": '<joint/><joint armature="-1e9"/><geom size="1"/>',
    "four hinges": '<joint axis="1 0 0"/><joint axis="1 2 3"/><joint axis="0 1 0"/><joint/><geom size="1"/>'
    '<body pos="1 0 0"><joint axis="0 1 0"/><geom size=".2"/></body>',
}


@pytest.mark.parametrize("body", SINGULAR.values(), ids=list(SINGULAR))
def test_singular_inertia(body):
    """MuJoCo loads such a model with a floor under the pivots of the inertia matrix, and warns."""
    with pytest.warns(UserWarning, match="<joint>: the inertia matrix is singular at this joint"):
        assert_equal(f"<mujoco><worldbody><body>{body}</body></worldbody></mujoco>")
