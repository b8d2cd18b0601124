"""`attach`: a copy of a body, of a frame or of a whole model, from another model or from the same one."""

from jaxsim.mjcf.language.bounds import require_items
from jaxsim.mjcf.language.element import Element
from jaxsim.mjcf.language.errors import Fault, Problems, nearest
from jaxsim.mjcf.language.spec import Item, Spec
from jaxsim.mjcf.reading.conflicts import resolve_conflicts
from jaxsim.mjcf.reading.copies import ASSETS, Renaming, copy_body, copy_contents, copy_references, count_items


def attach(spec: Spec, element: Element, body: Item, frame: Item | None, problems: Problems) -> None:
    """Put a copy of a body, a frame or a whole model into a body."""
    values = element.values
    source = spec
    if model := values.get("model"):
        if model not in spec.models:
            raise problems.missing(model, f"no model asset is called {model!r}{nearest(model, spec.models)}")
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
        message = f"no {kind} is called {name!r} in {where}{nearest(name, names)}"
        raise problems.missing(name, message) if source is spec else Fault(message)
    if kind and any(item.name == rename(name) for item in spec.items(kind)):
        raise Fault(f"a {kind} called {rename(name)!r} exists already")
    spec.copied += 1 + count_items(found.body if kind == "frame" else found)
    require_items(spec.copied)
    if source is not spec:
        resolve_conflicts(spec, source)
        _copy_assets(source, spec, rename)
    if kind == "body":
        rename.names["body"].add(found.name)
        rename.include(found)
        copy = copy_body(found, body, rename)
        copy.frame = frame
        body.contents["body"].append(copy)
    else:
        _copy_frame(found.body if kind else found, found if kind else None, body, frame, rename)
    copy_references(source, spec, rename, problems)
    if source is not spec:
        for kind in ("numeric", "text"):
            spec.lists[kind] += [rename.copy(item) for item in source.lists[kind]]
        spec.lists["key"] += [_attached_key(key, source, rename) for key in source.lists["key"]]


def _copy_frame(origin: Item, found: Item | None, body: Item, frame: Item | None, rename: Renaming) -> None:
    """Copy one frame of a body, or all that the body contains, into a frame of another body."""
    if found is None:
        rename.include(origin)
        copy_contents(origin, body, {None: frame}, rename)
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
    copy_contents(origin, body, {found: top}, rename)


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


def _copy_assets(source: Spec, target: Spec, rename: Renaming) -> None:
    for kind in ASSETS:
        rename.names[kind] |= {item.name for item in source.lists[kind]}
    taken = {kind: {item.name for item in target.lists[kind]} for kind in ASSETS}
    for kind in ASSETS:
        target.lists[kind] += [new for item in source.lists[kind] if (new := rename.copy(item)).name not in taken[kind]]
