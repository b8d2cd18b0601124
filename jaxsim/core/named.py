"""Elements by name: where they are in the arrays of Data and Model.

Data carries, as its only static part, the names of the elements and their places in its arrays (`labels`), so that
`data.joint("knee").qpos` needs no model. They are compared by content and hashed once: Data of two models with the same
names and places are of one type, whatever else the models compile in.
"""

import fnmatch
from difflib import get_close_matches
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.core.enums import JointType
from jaxsim.core.fields import DATA_DERIVED, DATA_STATE, MODEL_REAL, Field
from jaxsim.core.kinds import KINDS
from jaxsim.core.topology import Topology, per_topology

Array = jax.Array


class Axis(NamedTuple):
    """Whose elements an axis holds: one row for each, or from a place on as many as each has."""

    kind: str
    place: str = ""
    number: str = ""


AXES = {kind.size: Axis(name) for name, kind in KINDS.items() if name not in ("mesh", "hfield", "key")} | {
    "nq": Axis("joint", "jnt_qposadr"),
    "nv": Axis("joint", "jnt_dofadr"),
    "nu": Axis("actuator", "actuator_ctrladr", "actuator_ctrlnum"),
    "nout": Axis("actuator", "actuator_outadr", "actuator_outnum"),
    "na": Axis("actuator", "actuator_actadr", "actuator_actnum"),
    "nmocap": Axis("body", "body_mocapid"),
    "nsensordata": Axis("sensor", "sensor_adr", "sensor_dim"),
}
IN_DATA = ("body", "joint", "geom", "site", "tendon", "equality", "actuator", "sensor")
PREFIX = {"tendon": "ten_", "geom": "geom_", "site": "site_", "equality": "eq_", "actuator": "actuator_"}


def rows(t: Topology, axis: str, index: int) -> np.ndarray:
    """[n] rows of an element along an axis, by the name of its size."""
    kind, place, number = AXES[axis]
    if not place:
        return np.array([index])
    start = int(getattr(t, place)[index])
    if kind == "joint":
        joint = JointType(t.jnt_type[index])
        many = joint.nq if axis == "nq" else joint.nv
    else:
        many = int(getattr(t, number)[index]) if number else 1
    return np.arange(start, start + many) if start >= 0 else np.zeros(0, int)


def ids(t: Topology, kind: str, pattern: str) -> np.ndarray:
    """[n] ids of the elements whose names match a pattern such as "leg_*", in their order.

    Raises:
        KeyError: there is no such kind, or no element with such a name; the message names the closest ones.
    """
    if kind not in KINDS:
        close = get_close_matches(kind, KINDS, 3) or KINDS
        raise KeyError(f"no kind of element is called {kind!r}; closest: {', '.join(close)}")
    if not any(c in pattern for c in "*?["):
        return np.array([t.id_of(kind, pattern)])
    found = [i for i, name in enumerate(t.names.get(kind, [])) if name and fnmatch.fnmatchcase(name, pattern)]
    if not found:
        known = ", ".join(sorted(filter(None, t.names.get(kind, []))))
        raise KeyError(f"no {kind} has a name like {pattern!r}; there are: {known or 'none with a name'}")
    return np.array(found)


def model_rows(t: Topology, field: str, pattern: str) -> np.ndarray:
    """[n] rows of a real field of Model that belong to the elements whose names match a pattern.

    Raises:
        KeyError: there is no such field or no such element, or the field does not belong to named elements.
    """
    if field not in MODEL_REAL:
        close = get_close_matches(field, MODEL_REAL, 3)
        hint = f"; closest: {', '.join(close)}" if close else ""
        raise KeyError(f"no real field of Model is called {field!r}{hint}")
    axis = MODEL_REAL[field].dims[0]
    if axis not in AXES:
        raise KeyError(f"{field} [{axis}] does not belong to elements that have names")
    found = ids(t, AXES[axis].kind, pattern)
    return np.concatenate([rows(t, axis, int(i)) for i in found])


def with_rows(field: Field, old: Array, places: np.ndarray, value: Any, several: bool) -> Array:
    """`old` [..., n, *row] with some rows changed to `value`: of one row, or [..., len(places), *row] of each.

    `several` says that more than one might have been meant: then [1, *row] is of each, also where there is one.

    Raises:
        ValueError: `value` has another shape.
    """
    own = old.shape[old.ndim - len(field.dims) :]
    row = own[1:]
    value = jnp.asarray(value, old.dtype)
    each = (len(places), *row)
    if (several or len(places) > 1) and value.shape[value.ndim - len(each) :] == each and value.ndim >= len(each):
        lead = value.shape[: value.ndim - len(each)]
    elif (
        value.ndim >= len(row)
        and value.shape[value.ndim - len(row) :] == row
        and (len(places) == 1 or value.shape == row)
    ):
        lead = value.shape[: value.ndim - len(row)]
        value = value.reshape(*lead, 1, *row)
    else:
        hint = f", or {each} for the {len(places)} rows" if len(places) > 1 else ""
        raise ValueError(f"{field.name} has rows of shape {row}, got {value.shape}: expected {row}{hint}")
    lead = jnp.broadcast_shapes(lead, old.shape[: old.ndim - len(own)])
    at = (..., places, *[slice(None)] * len(row))
    return jnp.broadcast_to(old, (*lead, *own)).at[at].set(jnp.broadcast_to(value, (*lead, *each)))


@per_topology
def labels(t: Topology) -> Topology:
    """The part of a Topology that places the elements in Data."""
    needed = {"jnt_type"}
    for axis in AXES.values():
        if axis.kind in IN_DATA:
            needed |= {KINDS[axis.kind].size, axis.place, axis.number}
    return Topology(
        {name: getattr(t, name) for name in needed if name}, {kind: t.names.get(kind, []) for kind in IN_DATA}
    )


class Element:
    """What Data holds of one element: its fields as attributes, without the prefix of its kind.

    One number is [], several [n]; in a batch [B, ...]. `id` and `name` are the element's own.
    """

    def __init__(self, data: Any, kind: str, index: int):
        self._data, self._kind = data, kind
        self.id = index
        names = data._static.names[kind]
        self.name = names[index] if index < len(names) else ""

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_"):
            raise AttributeError(name)
        fields = _fields(self._kind)
        if name not in fields:
            close = get_close_matches(name, fields, 3) or sorted(fields)
            raise AttributeError(f"Data holds no {name!r} of a {self._kind}; closest: {', '.join(close)}")
        field = fields[name]
        return taken(
            getattr(self._data, field.name), len(field.dims), rows(self._data._static, str(field.dims[0]), self.id)
        )

    def __dir__(self) -> list[str]:
        return ["id", "name", *_fields(self._kind)]

    def __repr__(self) -> str:
        return f"<{self._kind} {self.name or self.id} of Data: {', '.join(_fields(self._kind))}>"


def _fields(kind: str) -> dict[str, Field]:
    """The fields of Data that belong to a kind of element, by their names without its prefix."""
    all_fields = DATA_STATE | DATA_DERIVED
    own = {k: f for k, f in all_fields.items() if f.dims and f.dims[0] in AXES and AXES[f.dims[0]].kind == kind}
    return {name.removeprefix(PREFIX.get(kind, "")): field for name, field in own.items()}


def taken(array: Array, own: int, places: np.ndarray) -> Array:
    """Rows [..., n, *row] of an array whose last `own` axes are its own; [..., *row] of one row."""
    start, stop = int(places[0]) if len(places) else 0, int(places[-1]) + 1 if len(places) else 0
    where: Any = start if len(places) == 1 else slice(start, stop)
    return array[(..., where, *[slice(None)] * (own - 1))]


class DataByName:
    """Attribute of Data: a function from the name or index of an element to what Data holds of it."""

    def __init__(self, kind: str):
        self.kind = kind
        self.__doc__ = f"The {kind} of a name or index: `data.{kind}(name)` has {', '.join(_fields(kind))}."

    def __get__(self, data: Any, owner: type | None = None) -> Any:
        return self if data is None else lambda which: _found(data, self.kind, which)


def _found(data: Any, kind: str, which: str | int) -> Any:
    """An element; of a sensor its reading, [] or [n]."""
    t = data._static
    index = t.id_of(kind, which) if isinstance(which, str) else int(which)
    count = getattr(t, KINDS[kind].size)
    if not 0 <= index < count:
        raise KeyError(f"no {kind} {index}: the model has {count}")
    if kind == "sensor":
        return taken(data.sensordata, 1, rows(t, "nsensordata", index))
    return Element(data, kind, index)
