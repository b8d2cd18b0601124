"""Default classes: what an element starts from before its own attributes.

A class starts as a copy of its parent and is then overlaid by its own elements, in document order. Actuators
are special: a class has one actuator default, written with one of the shortcuts (see actuators/defaults.py).
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jaxsim.mjcf.language.element import Element
from jaxsim.mjcf.language.errors import Problems, nearest
from jaxsim.mjcf.language.schema import ACTUATORS, ORIENTATIONS, defaults

_KEYS = {"equality": "default/equality", "tendon": "default/tendon"}


def overlay(base: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """base with values written over it.

    A vector shorter than the one it replaces keeps the rest of it; any orientation replaces any other.
    """
    merged = dict(base)
    if any(name in values for name in ORIENTATIONS):
        for name in ORIENTATIONS:
            merged[name] = None
    for name, value in values.items():
        old = merged.get(name)
        if isinstance(value, np.ndarray) and isinstance(old, np.ndarray) and value.size < old.size:
            value = np.concatenate([value, old[value.size :]])
        merged[name] = value
    return merged


@dataclass
class DefaultClass:
    """One default class: attribute values per kind of element, and the history of its actuator default.

    `spoilt` are the kinds whose values have a problem, so that nothing can be said of elements that start from them;
    of an `unknown` class, one that does not exist, these are all kinds.
    """

    name: str
    parent: "DefaultClass | None" = None
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    actuators: list[Element] = field(default_factory=list)
    spoilt: set[str] = field(default_factory=set)
    unknown: bool = False

    def spoils(self, kind: str) -> bool:
        """Whether what an element of this kind starts from is known to be wrong."""
        return self.unknown or kind in self.spoilt

    def of(self, kind: str) -> dict[str, Any]:
        """Values that an element of this kind starts from; `kind` is its schema key."""
        found = self.values.get(kind)
        return defaults(_KEYS.get(kind, kind)) if found is None else found

    def lineage(self) -> list["DefaultClass"]:
        """This class, its parent, and so on up to main."""
        return [self] + (self.parent.lineage() if self.parent else [])


class Defaults:
    """All default classes of a model, by name."""

    def __init__(self) -> None:
        self.main = DefaultClass("main")
        self.classes = {"main": self.main}

    def read(self, section: Element, problems: Problems) -> None:
        """Read one top-level <default> section."""
        name = section.values.get("class")
        if name not in (None, "", "main"):
            problems.add(section.place, f"the top-level class is called {name!r}; it can only be called 'main'")
        self._read(section, self.main, problems)

    def _read(self, section: Element, cls: DefaultClass, problems: Problems) -> None:
        for element in section.children:
            if element.tag in ACTUATORS:
                cls.actuators.append(element)
            elif element.tag != "default":
                cls.values[element.tag] = overlay(cls.of(element.tag), element.values)
                if problems.refused(element.place):
                    cls.spoilt.add(element.tag)
        for nested in section.find("default"):
            name = nested.values.get("class")
            if not name:
                problems.add(nested.place, "attribute 'class' is missing")
            elif name in self.classes:
                problems.add(nested.place, f"class {name!r} is defined more than once")
            child = DefaultClass(name or "", cls, dict(cls.values), spoilt=set(cls.spoilt))
            self.classes.setdefault(name or "", child)
            self._read(nested, child, problems)

    def find(self, element: Element, attribute: str, inherited: DefaultClass, problems: Problems) -> DefaultClass:
        """The class that an element's `class` or `childclass` names, else the inherited one."""
        name = element.values.get(attribute)
        if name is None:
            return inherited
        if name in self.classes:
            return self.classes[name]
        if not problems.lost(name):
            problems.add(element.place, f"{attribute}={name!r} is not a default class{nearest(name, self.classes)}")
        return DefaultClass(name, self.main, unknown=True)
