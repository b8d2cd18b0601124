"""fusestatic: bodies without joints become part of their parents."""

import numpy as np

from jaxsim.algebra import quaternion
from jaxsim.core.enums import MINVAL
from jaxsim.mjcf.algebra.conventions import IDENTITY
from jaxsim.mjcf.algebra.frames import compose
from jaxsim.mjcf.elements import inertia
from jaxsim.mjcf.language.enums import Tristate
from jaxsim.mjcf.language.spec import IN_BODY, Item, Spec, references


def fuse_static(spec: Spec) -> None:
    """Fuse every static body with its parent unless something depends on it; bodies are already resolved."""
    needed = _referenced(spec)
    for body in spec.bodies()[1:]:
        if _fusable(body, needed, spec):
            _fuse(body, body.parent)


def _referenced(spec: Spec) -> set[str]:
    """Names of bodies that other elements refer to, or that carry the site of a force or torque sensor."""
    names: set[str] = set()
    for kind in ("camera", "light", "exclude", "equality", "actuator", "sensor", "tuple"):
        for item in spec.items(kind):
            for part in (item, *getattr(item, "parts", ())):
                names |= {name for _, target, name in references(part) if target == "body"}
    measured = {s.site for s in spec.lists["sensor"] if s.key in ("sensor/force", "sensor/torque")}
    return names | {site.body.name for site in spec.items("site") if site.name in measured}


def _fusable(body: Item, needed: set[str], spec: Spec) -> bool:
    if body.contents["joint"] or body.mocap or not body.fuse or body.sleep or (body.name and body.name in needed):
        return False
    if body.settings.inertiafromgeom == Tristate.TRUE and (body.adjusted or body.parent.adjusted):
        return False
    if body.weld.parent is None:  # it never moves
        return True
    fluid = spec.option.density > 0 or spec.option.viscosity > 0
    if fluid and any(geom.fluidshape for geom in body.contents["geom"]):
        return False
    return not (body.mass > 0 and (fluid or body.gravcomp != body.parent.gravcomp))


def _fuse(body: Item, parent: Item) -> None:
    if parent.parent is not None and body.mass >= MINVAL:
        _add_inertia(body, parent)
    for child in body.contents["body"]:
        child.parent = parent
        child.pos, child.quat = compose(body.pos, body.quat, child.pos, child.quat)
    siblings = parent.contents["body"]
    at = siblings.index(body)
    siblings[at : at + 1] = body.contents["body"]
    for kind in IN_BODY:
        for item in body.contents[kind]:
            item.body = parent
            if kind == "light":
                item.pos, _ = compose(body.pos, body.quat, item.pos, IDENTITY)
                item.dir = quaternion.rotate(body.quat, item.dir)
            else:
                item.pos, item.quat = compose(body.pos, body.quat, item.pos, item.quat)
        parent.contents[kind] += body.contents[kind]


def _add_inertia(body: Item, parent: Item) -> None:
    """Add a fused body's mass and inertia to its parent's."""
    pos, quat = compose(body.pos, body.quat, body.ipos, body.iquat)
    parts = [
        inertia.Body(parent.mass, parent.ipos, parent.iquat, parent.inertia),
        inertia.Body(body.mass, pos, quat, body.inertia),
    ]
    if parent.mass + body.mass < MINVAL:
        parent.mass, parent.ipos, parent.iquat, parent.inertia = 0.0, np.zeros(3), IDENTITY, np.zeros(3)
        return
    parent.mass, parent.ipos, full = inertia.combine(parts)
    parent.iquat, parent.inertia = inertia.principal(full)
