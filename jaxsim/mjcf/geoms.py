"""Geoms and sites: frame, size, mass, bounding volumes, fluid coefficients."""

import math
from typing import Any

import numpy as np

from jaxsim.mjcf import frames, inertia
from jaxsim.mjcf.errors import Fault
from jaxsim.mjcf.frames import EPS
from jaxsim.mjcf.inertia import BOX, CAPSULE, CYLINDER, ELLIPSOID, HFIELD, MESH, PLANE, SDF, SPHERE
from jaxsim.mjcf.spec import Item

# how many size parameters each geom type has, all of them positive
SIZES = {PLANE: 3, HFIELD: 0, SPHERE: 1, CAPSULE: 2, ELLIPSOID: 3, CYLINDER: 2, BOX: 3, MESH: 0, SDF: 0}
INFINITE = 1e10  # mjMAXVAL: half size of a plane's bounding box


def compile_geom(geom: Item, mesh: Any, hfield: Any, infer: bool) -> None:
    """Resolve a geom in the frame of its body.

    Args:
        geom: the item; gains `mesh_data`, `hfield_data`, `mass`, `inertia`, `aabb`, `rbound`, `fluid`, and
            its final pos, quat and size.
        mesh: compiled mesh asset that the geom names, or None.
        hfield: compiled height field that the geom names, or None.
        infer: whether the body needs the geom's mass.

    Raises:
        Fault: the geom is inconsistent.
    """
    if geom.condim not in (1, 3, 4, 6):
        raise Fault(f"condim={geom.condim}; expected 1, 3, 4 or 6")
    if geom.type in (MESH, SDF) and mesh is None:
        raise Fault("attribute 'mesh' is missing; a geom of type mesh names one")
    if (geom.type == HFIELD) != (hfield is not None):
        raise Fault("a geom of type hfield, and no other, names an hfield")
    _frame(geom)
    geom.mesh_data, geom.hfield_data = mesh, hfield
    if mesh is not None:
        _mesh_frame(geom, mesh)
    check_size(geom)
    if geom.hfield_data is not None:
        x, y, top, bottom = hfield.size
        geom.size = np.array([x, y, 0.25 * top + 0.5 * bottom])
    elif geom.mesh_data is not None:
        geom.size = np.maximum(np.abs(mesh.aamm[:3]), np.abs(mesh.aamm[3:]))
    geom.aabb, geom.rbound = _bounds(geom)
    _mass(geom, infer)
    ellipsoid = geom.fluidshape != 0
    geom.fluid = inertia.fluid(geom.type, geom.size, geom.fluidcoef) if ellipsoid else np.zeros(12)
    if geom.frame is not None:
        geom.pos, geom.quat = frames.compose(geom.frame.pos, geom.frame.quat, geom.pos, geom.quat)


def compile_site(site: Item, mesh: Any) -> None:
    """Resolve a site in the frame of its body; a mesh gives it its size but not its frame."""
    if site.type in (PLANE, HFIELD, SDF):
        raise Fault("a site cannot be a plane, a height field or a signed distance field")
    if (site.type == MESH) != bool(site.mesh):
        raise Fault("a site of type mesh, and no other, names a mesh")
    _frame(site)
    if mesh is not None:
        site.size = np.maximum(np.abs(mesh.aamm[:3]), np.abs(mesh.aamm[3:]))
    if site.frame is not None:
        site.pos, site.quat = frames.compose(site.frame.pos, site.frame.quat, site.pos, site.quat)
    site.quat = frames.unit(site.quat)
    check_size(site)


def _frame(item: Item) -> None:
    """pos and quat (and size, when written as fromto) of a geom or site in its own frame element."""
    if item.fromto is None:
        item.quat = frames.orientation(item, item.settings)
        return
    if item.type not in (CAPSULE, CYLINDER, ELLIPSOID, BOX):
        raise Fault("fromto needs the type capsule, cylinder, ellipsoid or box")
    if np.any(item.pos):
        raise Fault("pos and fromto are both given; one of them is enough")
    if item.mesh:
        raise Fault("fromto cannot be used with a mesh")
    start, end = item.fromto[:3], item.fromto[3:]
    direction, length = frames.normalize(start - end)
    if length / 2 < EPS:
        raise Fault("the two points of fromto coincide")
    size = item.size.copy()
    size[1] = length / 2
    if item.type in (ELLIPSOID, BOX):
        size[1], size[2] = size[0], length / 2
    item.size, item.pos, item.quat = size, (start + end) / 2, frames.from_z_axis(direction)


def _mesh_frame(geom: Item, mesh: Any) -> None:
    """Fit a primitive to the mesh if asked, and move the geom to the mesh's own frame."""
    centre = np.zeros(3)
    if geom.type not in (MESH, SDF):
        try:
            geom.size, centre = mesh.fit(geom.type, geom.fitscale, geom.settings.fitaabb)
        except ValueError as error:
            raise Fault(str(error)) from None
        geom.mesh_data = None
    elif geom.shellinertia:
        raise Fault("shellinertia of a mesh is given by the mesh's attribute inertia='shell'")
    offset = frames.rotate(centre, mesh.quat) + mesh.pos
    geom.pos, geom.quat = frames.compose(geom.pos, geom.quat, offset, mesh.quat)
    if np.any(geom.surfacevel):
        linear, angular = geom.surfacevel[:3], geom.surfacevel[3:]
        back = frames.quat_conj(mesh.quat)
        linear = frames.rotate(linear + frames.cross(angular, offset), back)
        geom.surfacevel = np.concatenate([linear, frames.rotate(angular, back)])


def check_size(item: Item) -> None:
    """Raise Fault unless the size parameters that the type uses are positive."""
    if np.any(np.isnan(item.size)):
        raise Fault("size is not a number")
    if item.type == PLANE:
        if item.size[2] <= 0:
            raise Fault("the third size of a plane (its grid spacing) must be positive")
    elif np.any(item.size[: SIZES[item.type]] <= 0):
        raise Fault(f"size='{' '.join(f'{s:g}' for s in item.size)}': the first {SIZES[item.type]} must be positive")


def _bounds(geom: Item) -> tuple[np.ndarray, float]:
    """Bounding box (centre, half size) in the geom's frame, and radius of the bounding sphere."""
    size = geom.size
    zero = np.zeros(3)
    match geom.type:
        case 0:  # plane
            return np.array([0, 0, -INFINITE / 2, INFINITE, INFINITE, INFINITE / 2]), 0.0
        case 1:  # height field
            x, y, top, bottom = geom.hfield_data.size
            box = np.array([0, 0, (top - bottom) / 2, x, y, (top + bottom) / 2])
            return box, math.sqrt(x * x + y * y + max(top * top, bottom * bottom))
        case 2:
            return np.concatenate([zero, np.full(3, size[0])]), float(size[0])
        case 3:
            length = size[0] + size[1]
            return np.concatenate([zero, [size[0], size[0], length]]), float(length)
        case 5:
            return np.concatenate([zero, [size[0], size[0], size[1]]]), math.hypot(size[0], size[1])
        case 7 | 8:
            low, high = geom.mesh_data.aamm[:3], geom.mesh_data.aamm[3:]
            return np.concatenate([(high + low) / 2, (high - low) / 2]), float(np.sqrt(size @ size))
    radius = max(size) if geom.type == ELLIPSOID else np.sqrt(size @ size)
    return np.concatenate([zero, size]), float(radius)


def _mass(geom: Item, infer: bool) -> None:
    mass, geom.inertia = 0.0, np.zeros(3)
    if infer:
        volume = geom.mesh_data.volume if geom.mesh_data is not None else None
        if volume is None:
            volume = inertia.volume(geom.type, geom.size, geom.shellinertia)
        if geom.mass is None:
            mass = geom.density * volume
        elif volume > EPS:
            mass = geom.mass
        if geom.mesh_data is not None:
            x, y, z = geom.mesh_data.boxsz
            geom.inertia = mass * np.array([y * y + z * z, x * x + z * z, x * x + y * y]) / 3
        elif mass:
            geom.inertia = inertia.inertia(geom.type, mass, geom.size, geom.shellinertia)
        if mass < 0 or geom.density < 0 or np.any(geom.inertia < 0):
            raise Fault("mass, inertia and density must not be negative")
    geom.mass = mass
