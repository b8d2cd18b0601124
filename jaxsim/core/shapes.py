"""Whether a Model and a Data fit each other and a function of one world; a sentence where they do not.

Shapes and types are known when a function is traced, so that the checks cost nothing when it runs.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxsim.core.data import Data
from jaxsim.core.fields import CONTACT, DATA_DERIVED, DATA_STATE, MODEL_REAL, OPTION_REAL, STAT_REAL, Field
from jaxsim.core.model import Model

KINDS = {"int": jnp.integer, "bool": jnp.bool_}  # of the fields that are not real, by unit
SHOWN = 3  # most fields of another model listed


class Fault(NamedTuple):
    """A field whose shape is not the declared one."""

    field: str
    found: tuple[int, ...]
    expected: tuple[int, ...]
    dims: tuple[str | int, ...]

    @property
    def batched(self) -> bool:
        """Whether there are only more axes in front, as in a batch of worlds."""
        extra = len(self.found) - len(self.expected)
        return extra > 0 and self.found[extra:] == self.expected

    def __str__(self) -> str:
        dims = f" [{', '.join(map(str, self.dims))}]" if self.dims else ""
        return f"{self.field} has shape {self.found}, expected {self.expected}{dims}"


def check_one_world(caller: str, data: Data) -> None:
    """Raise a ValueError if `data` is that of a batch, for functions of one world that read what they need of it."""
    if data.time.ndim:
        raise ValueError(
            f"{caller} takes one world, got {data.time.shape}: use jax.vmap(js.{caller}, ...) over the axis of worlds"
        )


def check(caller: str, model: Any, data: Any, in_axes: str = "(None, 0)") -> None:
    """Raise unless `model` and `data` are those of one world, and of the same model.

    Args:
        caller: the public function that got them.
        model: expected to be a Model, every field of its declared shape.
        data: expected to be a Data made for this model.
        in_axes: what `jax.vmap` of the caller needs for a batch of Data.

    Raises:
        TypeError: something else, the arguments swapped, or a field of another type.
        ValueError: a field of another shape.
    """
    if not (isinstance(model, Model) and isinstance(data, Data)):
        raise TypeError(f"{caller} takes (model, data), got ({type(model).__name__}, {type(data).__name__})")
    check_model(caller, model)
    derived = [*_faults(model, data, DATA_DERIVED), *_faults(model, data.contact, CONTACT, "contact.")]
    faults = [*_faults(model, data, DATA_STATE), *derived]
    if faults:
        raise ValueError(_explain(caller, faults, derived, in_axes))
    _check_types(model, data, DATA_STATE | DATA_DERIVED)
    _check_types(model, data.contact, CONTACT, "contact.")


def check_model(caller: str, model: Any) -> None:
    """Raise unless `model` is one Model, every field of its declared shape.

    Raises:
        TypeError: something else, or a field that is not real.
        ValueError: a field of another shape, such as that of a batch.
    """
    if not isinstance(model, Model):
        raise TypeError(f"{caller} takes a Model, got {type(model).__name__}")
    parts = ((model, MODEL_REAL, ""), (model.opt, OPTION_REAL, "opt."), (model.stat, STAT_REAL, "stat."))
    for owner, table, prefix in parts:
        for fault in _faults(model, owner, table, prefix):
            raise ValueError(f"model.{fault}{_use_models(caller, fault)}")
        _check_types(model, owner, table, f"model.{prefix}")


def _faults(model: Model, owner: Any, table: dict[str, Field], prefix: str = "") -> list[Fault]:
    """The fields of a table whose shapes in `owner` are not the declared ones."""
    shapes = [(field, jnp.shape(getattr(owner, name)), field.shape(model)) for name, field in table.items()]
    return [Fault(prefix + f.name, found, expected, f.dims) for f, found, expected in shapes if found != expected]


def _explain(caller: str, faults: list[Fault], derived: list[Fault], in_axes: str) -> str:
    if all(fault.batched for fault in faults):
        shown = next((f for f in faults if f.field == "qpos"), faults[0])
        return f"{shown}: use jax.vmap(js.{caller}, in_axes={in_axes})"
    if derived:  # which nobody sets by hand
        more = ", ..." if len(faults) > SHOWN else ""
        listed = ", ".join(map(str, faults[:SHOWN]))
        return f"data belongs to another model: {listed}{more}; use js.make_data(model)"
    return ", ".join(map(str, faults))


def _use_models(caller: str, fault: Fault) -> str:
    """How to run a batch of models."""
    if not fault.batched:
        return ""
    part, _, name = fault.field.rpartition(".")
    change = f"{part}=model.{part}.replace({name}=x)" if part else f"{name}=x"
    rest = "" if caller == "set_const" else ", data"
    return f": use jax.vmap(lambda x: js.{caller}(model.replace({change}){rest}))"


def _check_types(model: Model, owner: Any, table: dict[str, Field], prefix: str = "") -> None:
    """Reals are of the model's precision, the others integers and booleans."""
    real = model.qpos0.dtype
    for name, field in table.items():
        dtype = jnp.result_type(getattr(owner, name))
        kind = KINDS.get(field.unit)
        if kind is None and dtype != real:
            raise TypeError(f"{prefix}{name} is {dtype}, expected {real}, as model.qpos0 is")
        if kind is not None and not jnp.issubdtype(dtype, kind):
            raise TypeError(f"{prefix}{name} is {dtype}, expected {field.unit}")
