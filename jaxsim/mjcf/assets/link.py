"""Who uses which asset."""

from jaxsim.core.enums import GeomType
from jaxsim.mjcf.language.errors import Fault, Refused
from jaxsim.mjcf.language.names import Index
from jaxsim.mjcf.language.spec import Item, Spec


def link_assets(spec: Spec, index: Index) -> None:
    """Resolve the materials, textures, meshes, height fields and target bodies that items name."""

    def named(kind: str, name: str | None) -> Item | None:
        try:
            return index.find(kind, name) if name else None
        except (Fault, Refused):
            return None  # already reported

    def kept(item: Item | None) -> Item | None:
        return None if item is None or getattr(item, "discard", False) else item

    for kind in ("geom", "site", "camera", "light", "tendon"):
        for item in spec.items(kind):
            item.material_item = kept(named("material", getattr(item, "material", None)))
            item.texture_item = kept(named("texture", getattr(item, "texture", None)))
            item.target_item = named("body", getattr(item, "target", None))
            item.data_item = None
            if kind in ("geom", "site"):
                mesh = named("mesh", item.mesh)
                if item.type in (GeomType.MESH, GeomType.SDF):
                    item.data_item = mesh
                elif item.type == GeomType.HFIELD and kind == "geom":
                    item.data_item = named("hfield", item.hfield)
                if mesh is not None and item.material is None:
                    item.material_item = kept(named("material", mesh.material))
