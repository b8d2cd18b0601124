"""The model between reading and compiling: items with typed attribute values, in MuJoCo's order."""

from types import SimpleNamespace
from typing import Any

from jaxsim.mjcf.language import schema
from jaxsim.mjcf.language.defaults import Defaults, overlay
from jaxsim.mjcf.language.element import Element
from jaxsim.mjcf.language.errors import Place
from jaxsim.mjcf.language.files import Files

OBJECT_KINDS = {number: kind for kind, number in schema.OBJECT_TYPES.items()}

# kinds whose items live in a flat list of the spec, in order of definition
LISTS = [
    "mesh",
    "hfield",
    "texture",
    "material",
    "pair",
    "exclude",
    "equality",
    "tendon",
    "actuator",
    "sensor",
    "numeric",
    "text",
    "tuple",
    "key",
]
# kinds whose items live in bodies
IN_BODY = ("joint", "geom", "site", "camera", "light")


class Item(SimpleNamespace):
    """One thing of the model; every attribute of its schema element is an attribute of it.

    `kind` is the namespace of its name, `key` its schema element, `settings` the compiler settings of its
    file.
    """

    kind: str
    key: str
    place: Place
    name: str

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__  # type: ignore[assignment]


def make(kind: str, key: str, element: Element, base: dict[str, Any], settings: Any, **extra: Any) -> Item:
    """An item from the values it inherits and those of its element."""
    values = overlay(base, element.values)
    values["name"] = values.get("name") or ""
    return Item(kind=kind, key=key, place=element.place, settings=settings, **(values | extra))


def new_body(item_values: dict[str, Any], place: Place, settings: Any) -> Item:
    """A body without contents."""
    contents: dict[str, list] = {kind: [] for kind in (*IN_BODY, "body", "frame")}
    return Item(
        kind="body",
        key="body",
        place=place,
        settings=settings,
        inertial=None,
        frame=None,
        parent=None,
        contents=contents,
        **item_values,
    )


class Spec:
    """Everything a model file says."""

    def __init__(self, files: Files):
        self.files = files
        self.model_name = "MuJoCo Model"
        self.settings = SimpleNamespace()
        self.option = SimpleNamespace()
        self.authored: set[str] = set()  # options, sizes and flags that the file sets
        self.size = SimpleNamespace()
        self.statistic = SimpleNamespace()
        self.length_range = SimpleNamespace()
        self.defaults = Defaults()
        self.models: dict[str, Spec] = {}
        self.plugins: set[str] = set()  # declared ones
        self.instances: dict[str, tuple[str, dict[str, str]]] = {}  # of plugins: plugin and attributes by name
        self.lists: dict[str, list[Item]] = {kind: [] for kind in LISTS}
        self.znear = 0.01
        self.world: Item
        self.option_place: Place
        self.size_place: Place
        self.copied = 0  # elements that replicate and attach have made

    def bodies(self) -> list[Item]:
        """All bodies, parents before children, in depth-first order."""
        found, stack = [], [self.world]
        while stack:
            body = stack.pop()
            found.append(body)
            stack.extend(reversed(body.contents["body"]))
        return found

    def items(self, kind: str) -> list[Item]:
        """All items of one kind, in the order of their ids."""
        if kind == "body":
            return self.bodies()
        if kind in IN_BODY or kind == "frame":
            return [item for body in self.bodies() for item in body.contents[kind]]
        return self.lists.get(kind, [])


def references(item: Item) -> list[tuple[str, str, str]]:
    """Names an item refers to: (attribute, kind of what it names, the name)."""
    found = []
    for attribute in schema.references(item.key):
        name = getattr(item, attribute.name, None)
        if not name:
            continue
        kind = attribute.of
        if kind in ("objtype", "reftype"):
            written = getattr(item, kind)
            kind = written if isinstance(written, str) else OBJECT_KINDS.get(written, "unknown")
        found.append((attribute.name, "body" if kind == "xbody" else kind, name))
    return found
