"""Names: what is called what, and whether everything referred to exists."""

from collections.abc import Iterator
from typing import Any

from jaxsim.mjcf.language.errors import Fault, Problems, Refused, nearest
from jaxsim.mjcf.language.spec import IN_BODY, LISTS, Item, Spec, references

_KINDS = ("body", "frame", *IN_BODY, *LISTS)
_NAMED = ("mesh", "hfield", "material")  # kinds that must have a name


class Index:
    """The items of a spec by kind and name."""

    def __init__(self, spec: Spec, problems: Problems):
        self._problems = problems
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
            Refused: it is known to be wrong, or may have been left out.
        """
        item = self._named(kind, name)
        self._problems.require(item)
        return item

    def require(self, *items: Item) -> None:
        """Raise Refused if one of these items, or parts of items, is known to be wrong."""
        self._problems.require(*items)

    def _named(self, kind: str, name: str) -> Item:
        names = self.by_name.get("body" if kind == "xbody" else kind, {})
        if name not in names:
            raise self._problems.missing(name, f"no {kind} is called {name!r}{nearest(name, names)}")
        return names[name]

    def check(self, spec: Spec) -> None:
        """Report every reference to something that does not exist."""
        for item in _all_items(spec):
            for attribute, kind, name in references(item):
                try:
                    self._named(kind, name)
                except Fault as fault:
                    self._problems.add(item.place, f"{attribute}={name!r}: {fault}")
                except Refused:
                    self._problems.refuse(item.place)


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
