"""Copies of subtrees under new names, for `replicate` and `attach`.

A copy takes along what refers to it from outside the tree: pairs, tendons, actuators, sensors and so on.
"""

from jaxsim.mjcf.language.bounds import require_items
from jaxsim.mjcf.language.errors import Problems
from jaxsim.mjcf.language.spec import IN_BODY, LISTS, Item, Spec, references

# lists whose items refer to things in the tree, in the order in which they refer to one another
REFERRING = ("pair", "exclude", "tendon", "equality", "actuator", "sensor", "tuple")
# of these, a copy may refer to things outside the copied subtree too
_ALSO_OUTSIDE = ("pair", "exclude", "tendon", "sensor")
WORLD = ("body", "world")
ASSETS = ("mesh", "hfield", "texture", "material")


class Renaming:
    """A prefix and suffix for the names of one copy, and which names they apply to."""

    def __init__(self, prefix: str, suffix: str):
        self.prefix, self.suffix = prefix, suffix
        self.names: dict[str, set[str]] = {kind: set() for kind in ("body", "frame", *IN_BODY, *LISTS)}
        self.copies: dict[Item, Item] = {}

    def __call__(self, name: str) -> str:
        return f"{self.prefix}{name}{self.suffix}" if name else name

    def include(self, body: Item, inside: set[Item | None] | None = None) -> None:
        """What a body has in these frames (by default everything) and below belongs to the copy."""
        for kind in (*IN_BODY, "frame"):
            self.names[kind] |= {item.name for item in body.contents[kind] if inside is None or item.frame in inside}
        for child in body.contents["body"]:
            if inside is None or child.frame in inside:
                self.names["body"].add(child.name)
                self.include(child)

    def copy(self, item: Item) -> Item:
        """An item under its new name, referring to the new names."""
        new = self.copies[item] = Item(**vars(item))
        new.name = self(item.name)
        for attribute, kind, name in references(item):
            if name in self.names.get(kind, ()):
                setattr(new, attribute, self(name))
        for parts in ("path", "parts"):
            if hasattr(item, parts):
                setattr(new, parts, [self._part(part) for part in getattr(item, parts)])
        if item.key == "material":
            new.layers = [layer | {"texture": self(layer["texture"])} for layer in item.layers if "texture" in layer]
        return new

    def _part(self, part: Item) -> Item:
        new = Item(**vars(part))
        for attribute, kind, name in references(part):
            if name in self.names.get(kind, ()):
                setattr(new, attribute, self(name))
        return new

    def touches(self, item: Item) -> list[bool]:
        """For each thing an item refers to in the tree, but for the world: whether it belongs to the copy."""
        found = [ref for ref in _in_tree(item) if ref[1:] != WORLD]
        return [name in self.names.get(kind, ()) for _, kind, name in found]


def _in_tree(item: Item) -> list[tuple[str, str, str]]:
    """What an item and its parts refer to, but for assets."""
    parts = [*getattr(item, "path", ()), *getattr(item, "parts", ())]
    return [ref for one in (item, *parts) for ref in references(one) if ref[1] not in ASSETS]


def _stands_alone(item: Item) -> bool:
    """Whether an item goes with every copy: a sensor without an object, such as a clock, or a tuple of the world."""
    found = _in_tree(item)
    return (item.kind == "sensor" and not found) or (item.kind == "tuple" and all(ref[1:] == WORLD for ref in found))


def count_items(body: Item) -> int:
    """Number of bodies, and of what they contain, below a body."""
    own = sum(len(body.contents[kind]) for kind in IN_BODY)
    return own + sum(1 + count_items(child) for child in body.contents["body"])


def copy_body(source: Item, parent: Item, rename: Renaming) -> Item:
    """A copy of a body and of all that it contains."""
    body = rename.copies[source] = Item(**vars(source))
    body.contents = {kind: [] for kind in source.contents}
    body.name, body.parent = rename(source.name), parent
    copy_contents(source, body, {None: None}, rename)
    if source.inertial is not None:
        frame = source.inertial.frame
        body.inertial = Item(**{**vars(source.inertial), "frame": rename.copies.get(frame, frame)})
    return body


def copy_contents(source: Item, target: Item, frame_of: dict[Item | None, Item | None], rename: Renaming) -> None:
    """Copy what is in the frames that `frame_of` maps (or in no frame, if it maps None) into another body."""
    contents = {kind: list(items) for kind, items in source.contents.items()}  # the target may be the source
    for frame in contents["frame"]:
        if frame in frame_of or frame.frame not in frame_of:
            continue
        new = rename.copy(frame)
        new.frame, new.body = frame_of[frame.frame], target
        frame_of[frame] = new
        target.contents["frame"].append(new)
    for kind in IN_BODY:
        for item in contents[kind]:
            if item.frame in frame_of:
                new = rename.copy(item)
                new.frame, new.body = frame_of[item.frame], target
                target.contents[kind].append(new)
    for child in contents["body"]:
        if child.frame in frame_of:
            new = copy_body(child, target, rename)
            new.frame = frame_of[child.frame]
            target.contents["body"].append(new)


def copy_references(source: Spec, target: Spec, rename: Renaming, problems: Problems) -> None:
    """Copy what refers to the copied subtree into the lists of the target, and sensors that refer to nothing.

    With each replica these sensors are copied again, and their copies too: so does MuJoCo.

    Raises:
        Fault: there would be too many of them.
    """
    for kind in REFERRING:
        for item in list(source.lists[kind]):
            touches, alone = rename.touches(item), _stands_alone(item)
            if alone or (any(touches) and (all(touches) or (source is target and kind in _ALSO_OUTSIDE))):
                target.copied += alone
                require_items(target.copied)
                rename.names[kind].add(item.name)
                target.lists[kind].append(rename.copy(item))
            elif any(touches):
                message = f"this {kind} of a copied subtree also refers outside it; the copy lacks it, as in MuJoCo"
                problems.remark(item.place, message)
