"""The batch that the benchmarks of this folder start from."""

from collections.abc import Callable
from pathlib import Path

import jax

import jaxsim as js
from jaxsim import models

SOLVER = {"iterations": 10, "ls_iterations": 20}


def prepare(name: str, worlds: int, steps: int) -> tuple[js.Model, Callable, js.Data, js.Data]:
    """A model by path or by the name of a bundled one; the batched step, a batch at its start and after `steps`."""
    model = js.load(Path(name) if name.endswith(".xml") else models.path(name))
    model = model.replace(opt=model.opt.replace(**SOLVER))
    one = js.make_data(model)
    keys = jax.random.split(jax.random.key(0), worlds)
    start = jax.vmap(lambda k: one.replace(qvel=0.1 * jax.random.normal(k, one.qvel.shape)))(keys)
    advance = jax.jit(jax.vmap(js.step, in_axes=(None, 0)))
    data = start
    for _ in range(steps):
        data = advance(model, data)
    return model, advance, start, data


def title(name: str, worlds: int) -> str:
    """What a table is about."""
    return f"{Path(name).stem}, {worlds} worlds, {jax.devices()[0].device_kind}"
