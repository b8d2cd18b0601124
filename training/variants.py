"""A model for each world: domain randomisation as an experiment's settings say it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax

import jaxsim as js
from jaxsim import envs
from jaxsim.envs.randomise import check_names
from training.config import setting

Array = jax.Array

KINDS = {"scale": envs.scale, "add": envs.add, "uniform": envs.uniform}


@dataclass(frozen=True)
class Change:
    """How numbers of a model are drawn for each world: one of the three, between a least and a greatest number."""

    scale: tuple[float, ...] = setting((), "factors of the model's numbers")
    add: tuple[float, ...] = setting((), "what is added to them")
    uniform: tuple[float, ...] = setting((), "what stands in their place")
    each: bool = setting(False, "one for each number, instead of one for all that the name finds")

    def draw(self) -> Callable:
        """As `envs.randomise` takes it."""
        name, (low, high) = next((name, getattr(self, name)) for name in KINDS if getattr(self, name))
        return KINDS[name](low, high, each=self.each)

    def problems(self, name: str) -> list[str]:
        """What is wrong with the change of that name."""
        given = [kind for kind in KINDS if getattr(self, kind)]
        if len(given) != 1:
            return [f"randomise, '{name}': expected one of {', '.join(KINDS)}, got {' and '.join(given) or 'none'}"]
        limits = getattr(self, given[0])
        if len(limits) != 2 or limits[0] > limits[1]:
            return [f"randomise, '{name}': {given[0]} is {list(limits)}; expected [least, greatest]"]
        return []


def problems(env: Any, changes: Mapping[str, Change]) -> list[str]:
    """What is wrong with changes of an environment's model."""
    found = [text for name, change in changes.items() for text in change.problems(name)]
    for name in changes:
        try:
            check_names(env.model, name)
        except KeyError as error:
            found.append(f"randomise: {error.args[0]}")
    return found


def wrapped(env: Any, changes: Mapping[str, Change], worlds: int, seed: int) -> tuple[Any, Any]:
    """An environment of many worlds, each with a model of its own.

    Args:
        env: of one world.
        changes: by name.
        worlds: how many.
        seed: of the numbers.

    Returns:
        The environment, whose `model` argument takes what follows; and the leaves [worlds, ...] in which models differ,
        a Model that is None elsewhere (so that they can be shared between devices); None without changes.
    """
    if not changes:
        return envs.Vector(env), None
    keys = jax.random.split(jax.random.key(seed), worlds)
    models, axes = envs.randomise(env.model, {name: change.draw() for name, change in changes.items()}, keys)
    parts = jax.tree.map(lambda axis, x: None if axis is None else x, axes, models, is_leaf=_is_none)
    return _Varied(envs.Vector(env, in_axes=axes)), parts


class _Varied(envs.Wrapper):
    """Takes for `model` the leaves in which models differ."""

    def reset(self, key: Array, model: Any = None) -> envs.State:
        """The State [B] at the start, for keys [B]."""
        return self.env.reset(key, self._whole(model))

    def step(self, state: envs.State, action: Array, model: Any = None) -> envs.State:
        """The State [B] after actions [B, action_size]."""
        return self.env.step(state, action, self._whole(model))

    def _whole(self, parts: Any) -> js.Model:
        return jax.tree.map(lambda part, x: x if part is None else part, parts, self.model, is_leaf=_is_none)


def _is_none(x: Any) -> bool:
    return x is None
