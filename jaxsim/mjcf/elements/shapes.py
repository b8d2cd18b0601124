"""What geoms and sites have in common: frames, written as a pose or as two points, and sizes."""

import numpy as np

from jaxsim.core.enums import GeomType
from jaxsim.mjcf.algebra.conventions import EPS, normalize
from jaxsim.mjcf.algebra.frames import from_z_axis
from jaxsim.mjcf.elements.orientation import orientation
from jaxsim.mjcf.language.bounds import MAX_SIZE
from jaxsim.mjcf.language.errors import Fault
from jaxsim.mjcf.language.spec import Item

# how many size parameters each geom type has, all of them positive
SIZES = {
    GeomType.PLANE: 3,
    GeomType.HFIELD: 0,
    GeomType.SPHERE: 1,
    GeomType.CAPSULE: 2,
    GeomType.ELLIPSOID: 3,
    GeomType.CYLINDER: 2,
    GeomType.BOX: 3,
    GeomType.MESH: 0,
    GeomType.SDF: 0,
}


def set_frame(item: Item) -> None:
    """pos and quat (and size, when written as fromto) of a geom or site in its own frame element."""
    if item.fromto is None:
        item.quat = orientation(item, item.settings)
        return
    if item.type not in (GeomType.CAPSULE, GeomType.CYLINDER, GeomType.ELLIPSOID, GeomType.BOX):
        raise Fault("fromto needs the type capsule, cylinder, ellipsoid or box")
    if np.any(item.pos):
        raise Fault("pos and fromto are both given; one of them is enough")
    if item.mesh:
        raise Fault("fromto cannot be used with a mesh")
    start, end = item.fromto[:3], item.fromto[3:]
    direction, length = normalize(start - end)
    if length / 2 < EPS:
        raise Fault("the two points of fromto coincide")
    size = item.size.copy()
    size[1] = length / 2
    if item.type in (GeomType.ELLIPSOID, GeomType.BOX):
        size[1], size[2] = size[0], length / 2
    item.size, item.pos, item.quat = size, (start + end) / 2, from_z_axis(direction)


def check_size(item: Item) -> None:
    """Raise Fault unless the size parameters that the type uses are positive, and none is absurd."""
    if np.any(np.isnan(item.size)):
        raise Fault("size is not a number")
    if item.type == GeomType.PLANE:
        if item.size[2] <= 0:
            raise Fault("the third size of a plane (its grid spacing) must be positive")
    elif np.any(item.size[: SIZES[item.type]] <= 0):
        raise Fault(f"size='{_text(item.size)}': the first {SIZES[item.type]} must be positive")
    elif np.any(item.size > MAX_SIZE):
        raise Fault(f"size='{_text(item.size)}': at most {MAX_SIZE:g} m is possible")


def _text(size: np.ndarray) -> str:
    return " ".join(f"{s:g}" for s in size)
