"""`replicate`: copies of a subtree, each displaced and turned from the one before."""

from types import SimpleNamespace

import numpy as np

from jaxsim.mjcf.algebra.frames import compose, from_euler
from jaxsim.mjcf.language.bounds import require_items
from jaxsim.mjcf.language.element import Element
from jaxsim.mjcf.language.errors import Fault, Problems
from jaxsim.mjcf.language.schema import defaults
from jaxsim.mjcf.language.spec import Item, Spec
from jaxsim.mjcf.reading.copies import REFERRING, Renaming, copy_contents, copy_references, count_items


def replicate(spec: Spec, element: Element, body: Item, subtree: Item, holder: Item, problems: Problems) -> None:
    """Put `count` copies of a subtree into a body, each displaced and turned from the one before."""
    values = defaults("replicate") | element.values
    count, settings = max(0, values["count"] or 0), spec.settings
    if any(joint.frame is not None for joint in subtree.contents["joint"]):
        raise Fault("joints cannot be direct children; put them in a body")
    spec.copied += count * max(1, count_items(subtree))
    require_items(spec.copied)
    if not np.all(np.isfinite(count * values["euler"])):
        raise Fault(f"the turn of the last of {count} copies is not finite")
    pos, step = np.zeros(3), _turn(values["euler"], settings)
    for i in range(count):
        quat = _turn(i * values["euler"], settings)
        rename = Renaming("", f"{values['sep'] or ''}{i:0{len(str(count))}d}")
        rename.include(subtree)
        frame = Item(**vars(holder))
        frame.pos, frame.quat, frame.body = pos, quat, body
        body.contents["frame"].append(frame)
        copy_contents(subtree, body, {holder: frame}, rename)
        copy_references(spec, spec, rename, problems)
        if i == 0:
            _follow(spec.lists["key"], rename)
        pos, _ = compose(pos, quat, values["offset"], step)
    original = Renaming("", "")
    original.include(subtree)
    for kind in REFERRING:
        kept = [item for item in spec.lists[kind] if not any(original.touches(item))]
        original.names[kind] |= {item.name for item in spec.lists[kind] if item not in kept}
        spec.lists[kind] = kept


def _turn(angles: np.ndarray, settings: SimpleNamespace) -> np.ndarray:
    scale = np.pi / 180 if settings.degree else 1.0
    return from_euler(angles * scale, settings.eulerseq)


def _follow(keys: list[Item], rename: Renaming) -> None:
    """Keyframes of what was attached inside a replicate belong to the first replica."""
    for key in keys:
        if hasattr(key, "owners"):
            key.owners = {k: [(item, rename.copies.get(c, c)) for item, c in pairs] for k, pairs in key.owners.items()}
