"""Names: what is called what, and whether everything referred to exists."""

from collections.abc import Iterator
from typing import Any

from jaxsim.mjcf.errors import Fault, Problems, nearest
from jaxsim.mjcf.spec import IN_BODY, LISTS, Item, Spec, references

_KINDS = ("body", "frame", *IN_BODY, *LISTS)
_NAMED = ("mesh", "hfield", "material")  # kinds that must have a name


class Index:
    """The items of a spec by kind and name."""

    def __init__(self, spec: Spec, problems: Problems):
        self.by_name: dict[str, dict[str, Item]] = {}
        for kind in _KINDS:
            names = self.by_name[kind] = {}
            for item in spec.items(kind):
                if item.name and item.name in names:
                    first = names[item.name].place.line
                    problems.add(item.place, f"the name {item.name!r} is taken by the {kind} in line {first}")
                elif not item.name and kind in _NAMED:
                    problems.add(item.place, "attribute 'name' is missing")
                names.setdefault(item.name, item)
            names.pop("", None)

    def find(self, kind: str, name: str) -> Item:
        """The item of this name.

        Raises:
            Fault: there is none.
        """
        names = self.by_name.get("body" if kind == "xbody" else kind, {})
        if name not in names:
            raise Fault(f"no {kind} is called {name!r}{nearest(name, names)}")
        return names[name]

    def check(self, spec: Spec, problems: Problems) -> None:
        """Report every reference to something that does not exist."""
        for item in _all_items(spec):
            for attribute, kind, name in references(item):
                try:
                    self.find(kind, name)
                except Fault as fault:
                    problems.add(item.place, f"{attribute}={name!r}: {fault}")


def _all_items(spec: Spec) -> Iterator[Item]:
    for kind in _KINDS:
        for item in spec.items(kind):
            yield item
            parts: Any = getattr(item, "path", None) or getattr(item, "parts", None) or ()
            yield from parts


def number(spec: Spec) -> None:
    """Give every item its id: its place in the list of its kind."""
    for kind in _KINDS:
        for i, item in enumerate(spec.items(kind)):
            item.id = i
