"""Iterations on several devices: each has its share of the worlds, and all hold the same parameters."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree
from jax.sharding import NamedSharding, PartitionSpec

from jaxsim import devices
from training.config import ConfigError
from training.experiment import Experiment

Array = jax.Array

SHARED = ("worlds", "replay")  # fields of a state of which each device has its part, along the first axis


def device_count(config: Experiment) -> int:
    """How many devices share the worlds: those asked for, or as many as can do it equally."""
    present = jax.device_count()
    if config.devices > present:
        raise ConfigError([f"devices is {config.devices}, but JAX has {present}"])
    if jax.process_count() > 1:  # none may be without work, or its host would wait for ever
        if config.shares % present or config.devices not in (0, present):
            raise ConfigError([f"{config.shares} parts of the worlds cannot be shared by all {present} devices"])
        return present
    return config.devices or max(n for n in range(1, present + 1) if config.shares % n == 0)


class Program:
    """The compiled parts of a training.

    A state is a named tuple in which the fields SHARED are shared between devices and all else is whole on each.

    Args:
        learner: has `init(key)`, and `iteration(state)` for one device's part of a state, which gives the next state
            and metrics that are the same on all devices.
        count: number of devices.
    """

    def __init__(self, learner: Any, count: int):
        self.shapes = jax.eval_shape(learner.init, jax.random.key(0))
        mesh = devices.shared(count).mesh
        split = {name: PartitionSpec(devices.WORLDS) for name in SHARED}
        specs = type(self.shapes)(*(split.get(name, PartitionSpec()) for name in self.shapes._fields))
        places = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs)
        self._init = jax.jit(lambda seed: _strong(learner.init(jax.random.key(seed))), out_shardings=places)
        self._part: Callable = jax.shard_map(
            learner.iteration, mesh=mesh, in_specs=(specs,), out_specs=(specs, PartitionSpec()), check_vma=False
        )
        self._places = type(self.shapes)(
            *(jax.tree.map(lambda x, place=place: place, shape) for shape, place in zip(self.shapes, places))
        )

    def compile(self) -> Callable[[Any], tuple[Any, dict[str, Array]]]:
        """The iteration as a compiled program, which never compiles again; it takes over a state's `replay`."""

        def part(replay: Any, rest: Any) -> tuple[Any, dict[str, Array]]:
            return self._part(rest._replace(replay=replay) if "replay" in rest._fields else rest)

        places = self._places, None  # named: empty arrays come out elsewhere otherwise, and the next call refuses them
        whole = jax.jit(part, donate_argnums=0, out_shardings=places).lower(*_apart(self.like())).compile()
        return lambda state: whole(*_apart(state))

    def init(self, seed: int) -> Any:
        """The state before the first iteration."""
        return self._init(np.int32(seed))

    def like(self) -> Any:
        """Shapes and places of a state, to read one from a checkpoint."""
        return jax.tree.map(
            lambda x, place: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=place), self.shapes, self._places
        )


def mean_over_devices(tree: Any) -> Any:
    """The means over devices of numbers of one type, as one exchange: each waits for the slowest device."""
    row, back = ravel_pytree(tree)
    return back(lax.pmean(row, devices.WORLDS))


def _apart(state: Any) -> tuple[Any, Any]:
    """The replay of a state, which is too large to be copied in each iteration, and the rest."""
    if "replay" not in state._fields:
        return None, state
    return state.replay, state._replace(replay=None)


def _strong(tree: Any) -> Any:
    """The same without weak types, which would be another program."""
    return jax.tree.map(lambda x: lax.convert_element_type(x, x.dtype) if _is_number(x) else x, tree)


def _is_number(x: Array) -> bool:
    return not jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
