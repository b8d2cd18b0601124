"""Topology: equality by content, tables computed once, and that nothing keeps it alive."""

import gc
import pickle
import weakref

import jax
import numpy as np

import jaxsim as js
from jaxsim import models
from jaxsim.core.topology import per_topology


def test_equal_by_content_and_different_by_any_value():
    first, second = (js.load(models.path("hopper")).topology for _ in range(2))
    assert first is not second and first == second and hash(first) == hash(second)
    assert first != first.replace(nconmax=first.nconmax + 1)
    assert first != first.replace(geom_condim=first.geom_condim + 1)
    assert pickle.loads(pickle.dumps(first)) == first


def test_a_table_is_computed_once_per_topology_and_arguments():
    calls = []

    @per_topology
    def table(topology, factor, *, offset=0):
        calls.append(factor)
        return topology.nq * factor + offset

    first, second = (js.load(models.path("hopper")).topology for _ in range(2))
    assert table(first, 2) == table(first, 2) == 2 * first.nq and table(first, 3, offset=1) == 3 * first.nq + 1
    assert calls == [2, 3]
    table(second, 2)
    table(first.replace(nconmax=1), 2)
    assert calls == [2, 3, 2, 2]


def test_a_released_model_is_collected():
    """No table of ours outlives its model; what JAX keeps of traced functions goes with `jax.clear_caches`."""

    def trace() -> weakref.ref:
        model = js.load(models.path("hopper"))
        stepped = jax.eval_shape(lambda data: js.step(model, data), js.make_data(model))
        assert stepped.qpos.shape == (model.nq,) and model.topology._computed
        return weakref.ref(model.topology)

    topology = trace()
    jax.clear_caches()
    gc.collect()
    assert topology() is None


def test_ids_of_names():
    topology = js.load(models.path("hopper")).topology
    names = topology.names["body"]
    assert [topology.id_of("body", n) for n in names] == list(np.arange(topology.nbody))
