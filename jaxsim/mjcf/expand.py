"""Copies of subtrees with new names: `replicate` within a model, `attach` from another or the same model.

A copy takes along what refers to it from outside the tree: pairs, tendons, actuators, sensors and so on.
"""

from types import SimpleNamespace

import numpy as np

from jaxsim.mjcf import frames
from jaxsim.mjcf.errors import Fault, nearest
from jaxsim.mjcf.reader import Element
from jaxsim.mjcf.spec import IN_BODY, LISTS, Item, Spec, new_body, references
from jaxsim.mjcf.schema import defaults

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

    def __call__(self, name: str) -> str:
        return f"{self.prefix}{name}{self.suffix}" if name else name

    def include(self, body: Item, whole: bool = True) -> None:
        """The names of a body and everything below it are part of the copy."""
        if whole:
            self.names["body"].add(body.name)
        for kind in (*IN_BODY, "frame"):
            self.names[kind] |= {item.name for item in body.contents[kind]}
        for child in body.contents["body"]:
            self.include(child)

    def copy(self, item: Item) -> Item:
        """An item under its new name, referring to the new names."""
        new = Item(**vars(item))
        new.name = self(item.name) if item.kind else item.name
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
    body = Item(**vars(source))
    body.contents = {kind: [] for kind in source.contents}
    body.name, body.parent = rename(source.name), parent
    _copy_contents(source, body, {None: None}, rename)
    return body


def _copy_contents(source: Item, target: Item, frame_of: dict[Item | None, Item | None], rename: Renaming) -> None:
    """Copy what is in the frames that `frame_of` maps (or in no frame, if it maps None) into another body."""
    for frame in source.contents["frame"]:
        if frame in frame_of or frame.frame not in frame_of:
            continue
        new = rename.copy(frame)
        new.frame, new.body = frame_of[frame.frame], target
        frame_of[frame] = new
        target.contents["frame"].append(new)
    for kind in IN_BODY:
        for item in source.contents[kind]:
            if item.frame in frame_of:
                new = rename.copy(item)
                new.frame, new.body = frame_of[item.frame], target
                target.contents[kind].append(new)
    for child in source.contents["body"]:
        if child.frame in frame_of:
            new = _copy_body(child, target, rename)
            new.frame = frame_of[child.frame]
            target.contents["body"].append(new)


def replicate(spec: Spec, element: Element, body: Item, subtree: Item, holder: Item) -> None:
    """Put `count` copies of a subtree into a body, each displaced and turned from the one before."""
    values = defaults("replicate") | element.values
    count, settings = values["count"] or 0, spec.settings
    if count <= 0:
        raise Fault(f"count={count}; it must be positive")
    if any(joint.frame is not None for joint in subtree.contents["joint"]):
        raise Fault("joints cannot be direct children; put them in a body")
    pos, step = np.zeros(3), _turn(values["euler"], settings)
    for i in range(count):
        quat = _turn(i * values["euler"], settings)
        rename = Renaming("", f"{values['sep'] or ''}{i:0{len(str(count))}d}")
        rename.include(subtree, whole=False)
        frame = Item(**vars(holder))
        frame.pos, frame.quat, frame.body = pos, quat, body
        body.contents["frame"].append(frame)
        _copy_contents(subtree, body, {holder: frame}, rename)
        _copy_references(spec, spec, rename)
        pos, _ = frames.compose(pos, quat, values["offset"], step)
    original = Renaming("", "")
    original.include(subtree, whole=False)
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
                target.note(item.place, f"dropped from a copied subtree, as MuJoCo does: this {kind} also refers to what is not copied")


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
        raise Fault(f"no {kind} is called {name!r} in {'this model' if source is spec else repr(model)}{nearest(name, names)}")
    if kind and any(item.name == rename(name) for item in spec.items(kind)):
        raise Fault(f"a {kind} called {rename(name)!r} exists already")
    if source is not spec:
        _copy_assets(source, spec, rename)
    if kind == "body":
        rename.include(found)
        copy = _copy_body(found, body, rename)
        copy.frame = frame
        body.contents["body"].append(copy)
    else:
        _attach_frame(found if kind else None, source, body, frame, rename)
    _copy_references(source, spec, rename)
    if source is not spec:
        for kind in ("numeric", "text"):
            spec.lists[kind] += [rename.copy(item) for item in source.lists[kind]]


def _attach_frame(found: Item | None, source: Spec, body: Item, frame: Item | None, rename: Renaming) -> None:
    """Attach the contents of one frame, or of the whole world body."""
    origin = found.body if found else source.world
    shadow = new_body({**defaults("body"), "name": ""}, origin.place, origin.settings)
    if found is None:
        _copy_contents(origin, shadow, {None: None}, Renaming("", ""))
    else:
        top = Item(**vars(found))
        top.frame = None
        _copy_contents(origin, shadow, {found: top}, Renaming("", ""))
        shadow.contents["frame"].insert(0, top)
    rename.include(shadow, whole=False)
    _copy_contents(shadow, body, {None: frame}, rename)


def _copy_assets(source: Spec, target: Spec, rename: Renaming) -> None:
    for kind in _ASSETS:
        rename.names[kind] |= {item.name for item in source.lists[kind]}
    taken = {kind: {item.name for item in target.lists[kind]} for kind in _ASSETS}
    for kind in _ASSETS:
        target.lists[kind] += [new for item in source.lists[kind] if (new := rename.copy(item)).name not in taken[kind]]
