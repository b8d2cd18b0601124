"""Meshes, height fields, materials and textures, and who uses them."""

from typing import Any

import numpy as np

from jaxsim.mjcf.compiled import CompiledModel
from jaxsim.mjcf.errors import Fault, Problems
from jaxsim.mjcf.index import Index
from jaxsim.mjcf.spec import Spec


def compile_assets(spec: Spec, problems: Problems) -> dict[str, dict[str, Any]]:
    """Compiled meshes and height fields by name."""
    return {"mesh": {}, "hfield": {}}


def link_assets(spec: Spec, index: Index, problems: Problems) -> None:
    """Resolve the materials, textures, meshes and target bodies that items name."""
    for kind in ("geom", "site", "camera", "light", "tendon"):
        for item in spec.items(kind):
            for attribute, target in (("material", "material"), ("texture", "texture"), ("target", "body")):
                name = getattr(item, attribute, None)
                try:
                    found = index.find(target, name) if name else None
                except Fault:
                    found = None  # already reported
                setattr(item, f"{attribute}_item", found)
            item.data_item = None


def assemble_assets(spec: Spec, m: CompiledModel) -> None:
    """Arrays of meshes and height fields."""
    m.set(nmesh=0, nhfield=0, nhfielddata=0, hfield_size=np.zeros((0, 4)), hfield_data=np.zeros(0, np.float32))
