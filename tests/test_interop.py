"""Exchange with the mujoco package: models, data there and back."""

import jax
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim import models as bundled
from jaxsim.core.fields import DATA_DERIVED, DATA_STATE

SKIPPED = ("qM", "warning", "solver_niter", "solver_converged", "solver_residual", "ncon", "nefc", "peak")
ASLEEP = ("tree_asleep", "qpos_asleep")  # which are empty here


def assert_same_model(ours: js.Model, theirs: js.Model) -> None:
    """The same pytree: every integer, name and real."""
    a, b = ({k: v for k, v in vars(m.topology).items() if not k.startswith("_")} for m in (ours, theirs))
    different = [k for k in a.keys() & b.keys() if not np.array_equal(a[k], b[k])]
    assert not different
    assert ours.topology.names == theirs.topology.names
    for (path, x), (_, y) in zip(*(jax.tree.flatten_with_path(m)[0] for m in (ours, theirs))):
        assert x.dtype == y.dtype and oracle.error(np.nan_to_num(x), np.nan_to_num(y)) < 1e-9, path
    for name in ("integrator", "cone", "solver", "iterations", "disableflags", "enableflags"):
        assert getattr(ours.opt, name) == getattr(theirs.opt, name)


@pytest.mark.parametrize("name", bundled.names())
def test_a_compiled_model_equals_a_loaded_one(name):
    path = str(bundled.path(name))
    mj = mujoco.MjModel.from_xml_path(path)
    loaded = js.load(path, compile_only=True)
    assert_same_model(js.put_model(mj, compile_only=True), loaded)


def test_the_topologies_are_the_same_object_to_a_compilation():
    """A function compiled for the one serves the other."""
    path = str(bundled.path(bundled.names()[0]))
    put, loaded = js.put_model(mujoco.MjModel.from_xml_path(path)), js.load(path)
    keys = [{k for k in vars(m.topology) if not k.startswith("_")} for m in (put, loaded)]
    assert keys[0] == keys[1], keys[0] ^ keys[1]
    assert put.topology == loaded.topology and jax.tree.structure(put) == jax.tree.structure(loaded)


@pytest.fixture(scope="module")
def pair():
    name = "humanoid" if "humanoid" in bundled.names() else bundled.names()[0]
    return oracle.pair_of_file(bundled.path(name))


def moving(mj):
    *_, d = oracle.states(mj, np.random.default_rng(0), (30,))
    return d


def test_put_data_copies_state_and_derived_fields(pair):
    mj, model = pair
    d = moving(mj)
    data = js.put_data(model, d)
    oracle.assert_equal(data, d, [n for n in DATA_STATE if n not in SKIPPED + ASLEEP], 1e-15)
    oracle.assert_equal(data, d, [n for n in DATA_DERIVED if n not in SKIPPED], 1e-15)


def test_data_there_and_back(pair):
    mj, model = pair
    d = moving(mj)
    back = js.get_data(model, mj, js.put_data(model, d))
    for name in ("time", "qpos", "qvel", "act", "ctrl", "qacc_warmstart", "xfrc_applied", "eq_active"):
        np.testing.assert_array_equal(getattr(back, name), getattr(d, name))
    mujoco.mj_forward(mj, d)
    np.testing.assert_allclose(back.qacc, d.qacc, rtol=1e-9, atol=1e-9)
    assert back.ncon == d.ncon


def test_the_state_that_comes_back_is_one_that_steps_alike(pair):
    mj, model = pair
    d = moving(mj)
    data = js.step(model, js.put_data(model, d))
    mujoco.mj_step(mj, d)
    oracle.assert_equal(data, d, ["qpos", "qvel", "time"])
    oracle.assert_equal(js.put_data(model, js.get_data(model, mj, data)), d, ["qpos", "qvel", "time"])


@pytest.mark.parametrize("solver", ["PGS", "CG"])
def test_the_solver_option_means_what_it_says(solver):
    xml = f'<mujoco><option solver="{solver}"/><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>'
    assert js.load(xml).opt.solver.name == solver
