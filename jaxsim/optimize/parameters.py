"""Parameters of a model by name, and as one vector without limits of sign: {"mass:torso": log(), "damping:*": log()}.

A name is a field of Model and a name or pattern of the elements that it belongs to, "dof_damping:knee" or
"geom_friction[0]:foot_*"; fields have the short names of ALIASES. Every number that matches is a parameter of its own.
In the vector theta zero is the value that the model has.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js
from jaxsim.core.named import model_rows
from jaxsim.optimize.inertia import NUMBERS, changed_inertia, numbers_of

Array = jax.Array

ALIASES = {
    "mass": "body_mass",
    "inertia": "body_inertia",
    "friction": "geom_friction[0]",
    "damping": "dof_damping",
    "armature": "dof_armature",
    "frictionloss": "dof_frictionloss",
    "stiffness": "jnt_stiffness",
    "gear": "actuator_gear[0]",
    "gain": "actuator_gainprm[0]",
}
NAME = re.compile(r"(?P<field>\w+)(\[(?P<column>\d+)\])?:(?P<pattern>.+)")


class Transform(NamedTuple):
    """How a number follows theta, and its bounds."""

    kind: str
    low: float
    high: float
    scale: float


def log(low: float = 0.0, high: float = np.inf) -> Transform:
    """A positive number, value * exp(theta), within bounds of its own unit."""
    return Transform("log", low, high, 1.0)


def linear(low: float = -np.inf, high: float = np.inf, scale: float = 1.0) -> Transform:
    """Any number, value + scale * theta, within bounds of its own unit."""
    return Transform("linear", low, high, scale)


def log_cholesky() -> Transform:
    """Mass, centre and inertia of a body, all ten numbers, as those of some distribution of mass ("inertia:thigh")."""
    return Transform("log_cholesky", -np.inf, np.inf, 1.0)


class Parameter(NamedTuple):
    """One number of theta: its name, and its place in a field of Model; of an inertia the place is the body's."""

    name: str
    field: str
    place: int
    transform: Transform


class Parameters(NamedTuple):
    """A flat vector theta [n] of parameters; hashable, so that it is static under `jit`."""

    entries: tuple[Parameter, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each number of theta."""
        return tuple(entry.name for entry in self.entries)

    def values(self, model: js.Model, theta: Array) -> Array:
        """The numbers [n] in their own units that theta [n] stands for."""
        return self._numbers(self._set(model, theta))

    def theta(self, model: js.Model, values: Array) -> Array:
        """The theta [n] of numbers [n] in their own units; zero for inertias."""
        nominal, kinds, scale = self._numbers(model), self._kinds(), self._scale()
        logs = kinds == "log"
        ratio = jnp.where(logs, values / jnp.where(logs, nominal, 1), 1)
        return jnp.where(logs, jnp.log(ratio), jnp.where(kinds == "linear", (values - nominal) / scale, 0))

    def bounds(self, model: js.Model) -> tuple[Array, Array]:
        """Least and largest theta, both [n]."""
        free = self._kinds() == "log_cholesky"
        low, high = (np.array([getattr(e.transform, side) for e in self.entries]) for side in ("low", "high"))
        inside = [self.theta(model, jnp.asarray(x, model.qpos0.dtype)) for x in (low, high)]
        return jnp.where(free, -jnp.inf, inside[0]), jnp.where(free, jnp.inf, inside[1])

    def apply(self, model: js.Model, theta: Array) -> js.Model:
        """The model with the parameters of theta [n], and all that follows from them (`js.set_const`)."""
        return js.set_const(self._set(model, theta))

    def _set(self, model: js.Model, theta: Array) -> js.Model:
        """The model with changed fields. A body's inertia follows its mass in proportion, unless it is wanted too."""
        for field in dict.fromkeys(e.field for e in self.entries):
            chosen = np.array([i for i, e in enumerate(self.entries) if e.field == field])
            entries = [self.entries[i] for i in chosen]
            if entries[0].transform.kind == "log_cholesky":
                bodies = np.array([e.place for e in entries[::NUMBERS]])
                model = changed_inertia(model, bodies, theta[chosen].reshape(-1, NUMBERS))
                continue
            old, places = getattr(model, field), np.array([e.place for e in entries])
            before, logs = old.reshape(-1)[places], self._kinds()[chosen] == "log"
            change = jnp.where(logs, theta[chosen], 0)
            after = jnp.where(logs, before * jnp.exp(change), before + self._scale()[chosen] * theta[chosen])
            changes = {field: old.reshape(-1).at[places].set(after).reshape(old.shape)}
            if field == "body_mass":
                ratio = jnp.ones_like(old).at[places].set(after / before)
                own = np.zeros(model.body_inertia.shape, bool)  # inertias that are parameters themselves
                own.flat[[e.place for e in self.entries if e.field == "body_inertia"]] = True
                changes["body_inertia"] = model.body_inertia * jnp.where(own, 1, ratio[:, None])
            model = model.replace(**changes)
        return model

    def _numbers(self, model: js.Model) -> Array:
        parts = []
        for i, entry in enumerate(self.entries):
            if entry.transform.kind != "log_cholesky":
                parts.append(getattr(model, entry.field).reshape(-1)[entry.place][None])
            elif i == 0 or self.entries[i - 1].name.split("[")[0] != entry.name.split("[")[0]:
                parts.append(numbers_of(model, entry.place))
        return jnp.concatenate(parts)

    def _kinds(self) -> np.ndarray:
        return np.array([e.transform.kind for e in self.entries])

    def _scale(self) -> np.ndarray:
        return np.array([e.transform.scale for e in self.entries])


def parameters(model: js.Model, wanted: Mapping[str, Transform]) -> Parameters:
    """Find the parameters of a model by their names.

    Args:
        model: the model, whose values are where theta is zero.
        wanted: name or pattern -> `log()`, `linear()` or `log_cholesky()`.

    Raises:
        KeyError: no field or no element has such a name; the message names the closest ones.
        ValueError: a name that is not FIELD:ELEMENT, a number given twice, or one that its transform cannot have.
    """
    entries: list[Parameter] = []
    for name, transform in wanted.items():
        if not isinstance(transform, Transform):
            raise TypeError(f"{name}: {transform!r} is no transform; expected log(), linear() or log_cholesky()")
        entries += _matching(model, name, transform)
    places = [(e.field, e.place, e.name if e.transform.kind == "log_cholesky" else "") for e in entries]
    twice = [e.name for e, place in zip(entries, places) if places.count(place) > 1]
    free = {e.place for e in entries if e.field == "body_inertia.free"}  # which have the mass and all inertias
    widths = {"body_mass": 1, "body_inertia": 3}
    twice += [e.name for e in entries if e.field in widths and e.place // widths[e.field] in free]
    if twice:
        raise ValueError(f"given more than once: {', '.join(dict.fromkeys(twice))}")
    if not entries:
        raise ValueError("no parameters are given")
    return Parameters(tuple(entries))


def _matching(model: js.Model, name: str, transform: Transform) -> list[Parameter]:
    """The parameters of one name or pattern."""
    parsed = NAME.fullmatch(name)
    if parsed is None:
        raise ValueError(f"{name!r} is no parameter, expected FIELD:ELEMENT such as 'mass:torso' or 'dof_damping:*'")
    short, column, pattern = parsed["field"], parsed["column"], parsed["pattern"]
    field, bracket = re.fullmatch(r"(\w+?)(?:\[(\d+)\])?", ALIASES.get(short, short)).groups()  # type: ignore[union-attr]
    column = column if column is not None else bracket
    try:
        rows = model_rows(model.topology, field, pattern)
    except KeyError as error:
        close = get_close_matches(short, ALIASES, 2)
        raise KeyError(f"{name}: {error.args[0]}" + (f"; short names: {', '.join(close)}" if close else "")) from None
    if transform.kind == "log_cholesky":
        return [e for row in rows for e in _inertia(model, name, field, int(row), transform)]
    width = int(np.prod(getattr(model, field).shape[1:], dtype=int))
    if column is not None and int(column) >= width:
        raise ValueError(f"{name}: {field} has {width} numbers for each element, there is no [{column}]")
    columns = range(width) if column is None else [int(column)]
    found = []
    for row in rows:
        own = _label(model, field, int(row))
        for c in columns:
            label = f"{short}:{own}" + (f"[{c}]" if len(columns) > 1 or parsed["column"] else "")
            found.append(Parameter(label, field, int(row) * width + c, transform))
    _check(model, field, found)
    return found


def _inertia(model: js.Model, name: str, field: str, body: int, transform: Transform) -> list[Parameter]:
    if field != "body_inertia":
        raise ValueError(f"{name}: log_cholesky() is for inertias, as 'inertia:torso'")
    if float(model.body_mass[body]) <= 0 or float(model.body_inertia[body].min()) <= 0:
        raise ValueError(f"{name}: the body has no mass or no inertia to start from")
    label = f"inertia:{_label(model, field, body)}"
    parts = ("mass", "x", "y", "z", "xx", "yy", "zz", "xy", "xz", "yz")
    return [Parameter(f"{label}[{part}]", "body_inertia.free", body, transform) for part in parts]


def _label(model: js.Model, field: str, row: int) -> str:
    """What the element that a row belongs to is called."""
    t, axis = model.topology, str(getattr(js.Model, field).dims[0])
    if axis in ("nv", "nq"):
        adr = np.asarray(t.jnt_dofadr if axis == "nv" else t.jnt_qposadr)
        joint = int(np.searchsorted(adr, row, "right")) - 1
        many = (adr[joint + 1] if joint + 1 < len(adr) else getattr(t, axis)) - adr[joint]
        return t.names["joint"][joint] + (f"[{row - adr[joint]}]" if many > 1 else "")
    kind = {"njnt": "joint", "nu": "actuator", "nout": "actuator", "neq": "equality", "ncam": "camera"}
    names = t.names.get(kind.get(axis, axis.removeprefix("n")), [])
    return names[row] if row < len(names) and names[row] else str(row)


def _check(model: js.Model, field: str, found: list[Parameter]) -> None:
    """Raise where a number cannot follow its transform."""
    values = np.asarray(getattr(model, field)).reshape(-1)
    for entry in found:
        value, transform = values[entry.place], entry.transform
        if transform.kind == "log" and value <= 0:
            raise ValueError(f"{entry.name} is {value:g}, and log() is for positive numbers; use linear(low=0)")
        if not transform.low <= value <= transform.high:
            raise ValueError(
                f"{entry.name} is {value:g}, outside of its bounds {transform.low:g} to {transform.high:g}"
            )
