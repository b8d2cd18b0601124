"""Elements of a document, with their lines."""

from typing import Any

from jaxsim.mjcf.language.errors import Place


class Element:
    """One XML element: tag, raw attributes, children, and where it was written."""

    __slots__ = ("attributes", "children", "place", "tag", "values")

    def __init__(self, tag: str, attributes: dict[str, str], place: Place):
        self.tag = tag
        self.attributes = attributes
        self.place = place
        self.children: list[Element] = []
        self.values: dict[str, Any] = {}  # typed attributes, set by validation

    def find(self, *tags: str) -> list["Element"]:
        """Children with one of these tags."""
        return [c for c in self.children if c.tag in tags]

    def names(self) -> list[str]:
        """The names that this element and those inside it give, to things and to default classes."""
        own = [self.attributes[key] for key in ("name", "class") if key in self.attributes]
        return own + [name for child in self.children for name in child.names()]
