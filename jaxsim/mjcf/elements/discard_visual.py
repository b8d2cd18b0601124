"""discardvisual: drop what is only there to be seen."""

from jaxsim.core.enums import GeomType
from jaxsim.mjcf.language.enums import Tristate
from jaxsim.mjcf.language.errors import Problems
from jaxsim.mjcf.language.spec import Spec, references

_REFERRING = ("pair", "equality", "tendon", "actuator", "sensor", "tuple")


def mark_visual(spec: Spec) -> None:
    """Mark the geoms and assets to drop; before resolving, while nothing is compiled."""
    needed = _needed(spec)
    for geom in spec.items("geom"):
        collides = geom.contype or geom.conaffinity
        geom.discard = not (collides or geom.fluidshape or (geom.name and geom.name in needed["geom"]))
    used = {geom.mesh for geom in spec.items("geom") if not geom.discard and geom.type in (GeomType.MESH, GeomType.SDF)}
    used |= {site.mesh for site in spec.items("site")} | needed["mesh"]
    for mesh in spec.lists["mesh"]:
        mesh.discard = mesh.name not in used
    for kind in ("material", "texture"):
        for item in spec.lists[kind]:
            item.discard = item.name not in needed[kind]


def _needed(spec: Spec) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {kind: set() for kind in ("geom", "mesh", "material", "texture")}
    for kind in _REFERRING:
        for item in spec.lists[kind]:
            for part in (item, *getattr(item, "path", ()), *getattr(item, "parts", ())):
                for _, target, name in references(part):
                    if target in names:
                        names[target].add(name)
    return names


def drop_visual(spec: Spec, problems: Problems) -> None:
    """Drop what was marked; the inertia of bodies has been taken from all geoms."""
    for body in spec.bodies():
        lost = [geom for geom in body.contents["geom"] if geom.discard]
        if body.settings.inertiafromgeom == Tristate.TRUE:
            for geom in lost:
                if not problems.refused(geom.place) and geom.mass > 0:
                    problems.add(geom.place, "discardvisual drops this geom, but inertiafromgeom='true' needs its mass")
        body.contents["geom"] = [geom for geom in body.contents["geom"] if not geom.discard]
    for kind in ("mesh", "material", "texture"):
        spec.lists[kind] = [item for item in spec.lists[kind] if not item.discard]
