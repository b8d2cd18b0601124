"""Copies of subtrees with new names: `replicate` within a model, `attach` from another or the same model.

A copy takes along what refers to it from outside the tree: pairs, tendons, actuators, sensors and so on.
"""

from types import SimpleNamespace

import numpy as np

from jaxsim.mjcf import frames
from jaxsim.mjcf.conflicts import resolve_conflicts
from jaxsim.mjcf.errors import Fault, nearest
from jaxsim.mjcf.reader import Element
from jaxsim.mjcf.schema import defaults
from jaxsim.mjcf.spec import IN_BODY, LISTS, Item, Spec, references

# lists whose items refer to things in the tree, in the order in which they refer to one another
_REFERRING = ("pair", "exclude", "tendon", "equality", "actuator", "sensor", "tuple")
# of these, a copy may refer to things outside the copied subtree too
_ALSO_OUTSIDE = ("pair", "exclude", "tendon", "sensor")
_ASSETS = ("mesh", "hfield", "texture", "material")


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
        """For each thing an item refers to in the tree, whether it belongs to the copy."""
        parts = [*getattr(item, "path", ()), *getattr(item, "parts", ())]
        found = [ref for one in (item, *parts) for ref in references(one)]
        return [name in self.names.get(kind, ()) for _, kind, name in found if kind not in _ASSETS]


def _copy_body(source: Item, parent: Item, rename: Renaming) -> Item:
    body = rename.copies[source] = Item(**vars(source))
    body.contents = {kind: [] for kind in source.contents}
    body.name, body.parent = rename(source.name), parent
    _copy_contents(source, body, {None: None}, rename)
    return body


def _copy_contents(source: Item, target: Item, frame_of: dict[Item | None, Item | None], rename: Renaming) -> None:
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
            new = _copy_body(child, target, rename)
            new.frame = frame_of[child.frame]
            target.contents["body"].append(new)


def replicate(spec: Spec, element: Element, body: Item, subtree: Item, holder: Item) -> None:
    """Put `count` copies of a subtree into a body, each displaced and turned from the one before."""
    values = defaults("replicate") | element.values
    count, settings = values["count"] or 0, spec.settings
    if any(joint.frame is not None for joint in subtree.contents["joint"]):
        raise Fault("joints cannot be direct children; put them in a body")
    pos, step = np.zeros(3), _turn(values["euler"], settings)
    for i in range(count):
        quat = _turn(i * values["euler"], settings)
        rename = Renaming("", f"{values['sep'] or ''}{i:0{len(str(count))}d}")
        rename.include(subtree)
        frame = Item(**vars(holder))
        frame.pos, frame.quat, frame.body = pos, quat, body
        body.contents["frame"].append(frame)
        _copy_contents(subtree, body, {holder: frame}, rename)
        _copy_references(spec, spec, rename)
        if i == 0:
            _follow(spec.lists["key"], rename)
        pos, _ = frames.compose(pos, quat, values["offset"], step)
    original = Renaming("", "")
    original.include(subtree)
    for kind in _REFERRING:
        kept = [item for item in spec.lists[kind] if not any(original.touches(item))]
        original.names[kind] |= {item.name for item in spec.lists[kind] if item not in kept}
        spec.lists[kind] = kept


def _turn(angles: np.ndarray, settings: SimpleNamespace) -> np.ndarray:
    scale = np.pi / 180 if settings.degree else 1.0
    return frames.from_euler(angles * scale, settings.eulerseq)


def _copy_references(source: Spec, target: Spec, rename: Renaming) -> None:
    """Copy what refers to the copied subtree into the lists of the target."""
    for kind in _REFERRING:
        for item in list(source.lists[kind]):
            touches = rename.touches(item)
            if not any(touches):
                continue
            if all(touches) or (source is target and kind in _ALSO_OUTSIDE):
                rename.names[kind].add(item.name)
                target.lists[kind].append(rename.copy(item))
            else:
                target.note(
                    item.place,
                    f"dropped, as MuJoCo does: this {kind} of a copied subtree also refers outside it",
                )


def attach(spec: Spec, element: Element, body: Item, frame: Item | None) -> None:
    """Put a copy of a body, a frame or a whole model into a body."""
    values = element.values
    source = spec
    if model := values.get("model"):
        if model not in spec.models:
            raise Fault(f"no model asset is called {model!r}{nearest(model, spec.models)}")
        source = spec.models[model]
    rename = Renaming(values.get("prefix", ""), "")
    kind = "body" if "body" in values else "frame" if "frame" in values else None
    if kind is None and source is spec:
        raise Fault("attaching a part of the same model needs 'body' or 'frame'")
    name = values.get(kind, "") if kind else ""
    found = next((item for item in source.items(kind) if item.name == name), None) if kind else source.world
    if found is None:
        names = [item.name for item in source.items(kind or "body")]
        where = "this model" if source is spec else repr(model)
        raise Fault(f"no {kind} is called {name!r} in {where}{nearest(name, names)}")
    if kind and any(item.name == rename(name) for item in spec.items(kind)):
        raise Fault(f"a {kind} called {rename(name)!r} exists already")
    if source is not spec:
        resolve_conflicts(spec, source)
        _copy_assets(source, spec, rename)
    if kind == "body":
        rename.names["body"].add(found.name)
        rename.include(found)
        copy = _copy_body(found, body, rename)
        copy.frame = frame
        body.contents["body"].append(copy)
    else:
        _copy_frame(found.body if kind else found, found if kind else None, body, frame, rename)
    _copy_references(source, spec, rename)
    if source is not spec:
        for kind in ("numeric", "text"):
            spec.lists[kind] += [rename.copy(item) for item in source.lists[kind]]
        spec.lists["key"] += [_attached_key(key, source, rename) for key in source.lists["key"]]


def _copy_frame(origin: Item, found: Item | None, body: Item, frame: Item | None, rename: Renaming) -> None:
    """Copy one frame of a body, or all that the body contains, into a frame of another body."""
    if found is None:
        rename.include(origin)
        _copy_contents(origin, body, {None: frame}, rename)
        return
    inside: set[Item | None] = {found}
    for inner in origin.contents["frame"]:  # outer frames come first
        if inner.frame in inside:
            inside.add(inner)
    rename.include(origin, inside)
    rename.names["frame"].add(found.name)
    top = rename.copy(found)
    top.frame, top.body = frame, body
    body.contents["frame"].append(top)
    _copy_contents(origin, body, {found: top}, rename)


def _attached_key(key: Item, source: Spec, rename: Renaming) -> Item:
    """A keyframe of an attached model: it sets the state of the copies and of nothing else."""
    new = rename.copy(key)
    owners = getattr(key, "owners", None)
    if owners is None:
        mocap = [body for body in source.bodies() if body.mocap]
        owned = {"joint": source.items("joint"), "actuator": source.lists["actuator"], "mocap": mocap}
        owners = {kind: [(item, item) for item in items] for kind, items in owned.items()}
    new.owners = {kind: [(item, rename.copies.get(copy)) for item, copy in pairs] for kind, pairs in owners.items()}
    return new


def _follow(keys: list[Item], rename: Renaming) -> None:
    """Keyframes of what was attached inside a replicate belong to the first replica."""
    for key in keys:
        if hasattr(key, "owners"):
            key.owners = {k: [(item, rename.copies.get(c, c)) for item, c in pairs] for k, pairs in key.owners.items()}


def _copy_assets(source: Spec, target: Spec, rename: Renaming) -> None:
    for kind in _ASSETS:
        rename.names[kind] |= {item.name for item in source.lists[kind]}
    taken = {kind: {item.name for item in target.lists[kind]} for kind in _ASSETS}
    for kind in _ASSETS:
        target.lists[kind] += [new for item in source.lists[kind] if (new := rename.copy(item)).name not in taken[kind]]
