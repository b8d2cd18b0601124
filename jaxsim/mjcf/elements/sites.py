"""Sites."""

from typing import Any

import numpy as np

from jaxsim.core.enums import GeomType
from jaxsim.mjcf.algebra.conventions import unit
from jaxsim.mjcf.algebra.frames import compose
from jaxsim.mjcf.elements.shapes import check_size, set_frame
from jaxsim.mjcf.language.errors import Fault
from jaxsim.mjcf.language.spec import Item


def compile_site(site: Item, mesh: Any) -> None:
    """Resolve a site in the frame of its body; a mesh gives it its size but not its frame."""
    if site.type in (GeomType.PLANE, GeomType.HFIELD, GeomType.SDF):
        raise Fault("a site cannot be a plane, a height field or a signed distance field")
    if (site.type == GeomType.MESH) != bool(site.mesh):
        raise Fault("a site of type mesh, and no other, names a mesh")
    set_frame(site)
    if mesh is not None:
        site.size = np.maximum(np.abs(mesh.aamm[:3]), np.abs(mesh.aamm[3:]))
    if site.frame is not None:
        site.pos, site.quat = compose(site.frame.pos, site.frame.quat, site.pos, site.quat)
    site.quat = unit(site.quat)
    check_size(site)
