"""The table of the MJCF language, parsed: what validation, default classes and messages go by."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from jaxsim.mjcf.language.table import (
    ACTUATORS,
    ATTRIBUTES,
    CHILDREN,
    DISABLE_BITS,
    ENABLE_BITS,
    ENUMS,
    OBJECT_TYPES,
    ORIENTATIONS,
    REFUSED,
    RULES,
)

__all__ = [
    "ACTUATORS",
    "ATTRIBUTES",
    "DISABLE_BITS",
    "ENABLE_BITS",
    "ENUMS",
    "OBJECT_TYPES",
    "ORIENTATIONS",
    "REFUSED",
    "RULES",
    "Attribute",
    "attributes",
    "children",
    "defaults",
    "references",
]


class Attribute(NamedTuple):
    """One attribute: its type, how many values it takes, and its value when absent."""

    name: str
    type: str  # real float int bool text file enum flags name ref
    of: str  # the enumeration, or the kind of thing named
    least: int
    most: int | None
    default: Any
    required: bool
    in_defaults: bool


def _declare(line: str) -> Attribute:
    name, kind, *rest = line.split()
    required, in_defaults = "!" in name, "~" not in name
    name = name.rstrip("!~")
    if kind[0] in "@>":
        return Attribute(name, "name" if kind[0] == "@" else "ref", kind[1:], 1, 1, None, required, in_defaults)
    kind, _, of = kind.partition(":")
    if kind in ("real", "float", "int"):
        count, *values = rest
        least, _, most = count.partition("-")
        low, high = (1, None) if count == "*" else (int(least), int(most or least))
        return Attribute(name, kind, "", low, high, _numbers(kind, values, high), required, in_defaults)
    default: Any = rest[0] if rest else None
    if default is not None and kind in ("enum", "flags"):
        default = ENUMS[of][default]
    elif default is not None and kind == "bool":
        default = default == "true"
    return Attribute(name, kind, of, 1, 1, default, required, in_defaults)


def _numbers(kind: str, words: list[str], most: int | None) -> Any:
    if not words:
        return None
    if most == 1:
        return int(words[0]) if kind == "int" else float(words[0])
    if most is None:
        return np.zeros(0)
    return np.array(words, np.int64 if kind == "int" else np.float64)


@cache
def attributes(key: str) -> dict[str, Attribute]:
    """The attributes of an element, by name."""
    entries = ATTRIBUTES[key].replace("\n", ";").split(";")
    table = [_declare(entry) for entry in entries if entry.strip()]
    return {a.name: a for a in table}


@cache
def references(key: str) -> tuple[Attribute, ...]:
    """The attributes of an element that name other things, default classes and models apart."""
    return tuple(a for a in attributes(key).values() if a.type == "ref" and a.of not in ("default", "model"))


@cache
def children(key: str) -> dict[str, tuple[str, bool]]:
    """The children of an element: tag -> (element key, whether it may be repeated)."""
    words = CHILDREN.get(key, "").split()
    return {word[:-1].rpartition("/")[2]: (word[:-1], word[-1] == "*") for word in words}


@cache
def defaults(key: str) -> dict[str, Any]:
    """The value of every attribute of an element when nothing sets it."""
    return {a.name: a.default for a in attributes(key).values()}
