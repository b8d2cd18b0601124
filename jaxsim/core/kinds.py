"""Kinds of named elements, and access to one of them by name: `model.body("torso").mass`."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

from jaxsim.core.fields import MODEL_REAL, STATIC


class Kind(NamedTuple):
    """A kind of named element: the prefix of its fields, the size that counts it, and its mjtObj."""

    prefix: str
    size: str
    obj: str


KINDS = {
    "body": Kind("body_", "nbody", "BODY"),
    "joint": Kind("jnt_", "njnt", "JOINT"),
    "geom": Kind("geom_", "ngeom", "GEOM"),
    "site": Kind("site_", "nsite", "SITE"),
    "camera": Kind("cam_", "ncam", "CAMERA"),
    "light": Kind("light_", "nlight", "LIGHT"),
    "mesh": Kind("mesh_", "nmesh", "MESH"),
    "hfield": Kind("hfield_", "nhfield", "HFIELD"),
    "material": Kind("mat_", "nmat", "MATERIAL"),
    "pair": Kind("pair_", "npair", "PAIR"),
    "exclude": Kind("exclude_", "nexclude", "EXCLUDE"),
    "equality": Kind("eq_", "neq", "EQUALITY"),
    "tendon": Kind("tendon_", "ntendon", "TENDON"),
    "actuator": Kind("actuator_", "nactuator", "ACTUATOR"),
    "sensor": Kind("sensor_", "nsensor", "SENSOR"),
    "numeric": Kind("numeric_", "nnumeric", "NUMERIC"),
    "text": Kind("text_", "ntext", "TEXT"),
    "tuple": Kind("tuple_", "ntuple", "TUPLE"),
    "key": Kind("key_", "nkey", "KEY"),
}


class ByName:
    """Attribute of Model: a function from the name or index of an element to its fields without their prefix."""

    def __init__(self, kind: str):
        self.kind = kind
        self.__doc__ = f"The {kind} of a name or index: its `id`, `name`, and fields without `{KINDS[kind].prefix}`."

    def __get__(self, model: Any, owner: type | None = None) -> Callable[[str | int], SimpleNamespace]:
        return lambda which: _element(model, self.kind, which)


def _element(model: Any, kind: str, which: str | int) -> SimpleNamespace:
    """Fields of one element, which are the rows of arrays, or the stretches of custom data."""
    topology, (prefix, size, _) = model.topology, KINDS[kind]
    index = topology.id_of(kind, which) if isinstance(which, str) else int(which)
    count, names = getattr(topology, size), topology.names.get(kind, [])
    if not 0 <= index < count:
        raise KeyError(f"no {kind} {index}: the model has {count}")
    element: dict[str, Any] = {"id": index, "name": names[index] if index < len(names) else ""}
    for name, field in (STATIC | MODEL_REAL).items():
        where = _where(topology, kind, index, field.dims[0]) if name.startswith(prefix) else None
        if where is not None:
            element[name.removeprefix(prefix)] = getattr(model, name)[where]
    return SimpleNamespace(**element)


def _where(topology: Any, kind: str, index: int, dim: str | int) -> int | slice | None:
    """What of an array whose first axis is `dim` belongs to an element; None if that axis counts other things."""
    if dim == KINDS[kind].size:
        return index
    if kind == "actuator" and dim in ("nu", "nout"):
        return int((topology.actuator_ctrladr if dim == "nu" else topology.actuator_outadr)[index])
    if dim == f"n{kind}data" and kind != "hfield":
        start = getattr(topology, f"{kind}_adr")[index]
        return slice(start, start + getattr(topology, f"{kind}_size")[index])
    return None
