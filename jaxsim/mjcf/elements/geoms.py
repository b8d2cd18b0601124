"""Geoms: frame, size, mass, bounding volumes, fluid coefficients."""

from typing import Any

import numpy as np

from jaxsim.algebra import quaternion, vector
from jaxsim.core.enums import MAXVAL, GeomType
from jaxsim.dynamics.reference import BOUND, hfield_bound
from jaxsim.mjcf.algebra.conventions import EPS
from jaxsim.mjcf.algebra.frames import compose
from jaxsim.mjcf.elements import inertia
from jaxsim.mjcf.elements.fluid import fluid
from jaxsim.mjcf.elements.shapes import check_size, set_frame
from jaxsim.mjcf.language.errors import Fault
from jaxsim.mjcf.language.spec import Item


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
    if geom.type in (GeomType.MESH, GeomType.SDF) and mesh is None:
        raise Fault("attribute 'mesh' is missing; a geom of type mesh names one")
    if (geom.type == GeomType.HFIELD) != (hfield is not None):
        raise Fault("a geom of type hfield, and no other, names an hfield")
    set_frame(geom)
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
    geom.fluid = fluid(geom.type, geom.size, geom.fluidcoef) if ellipsoid else np.zeros(12)
    if geom.frame is not None:
        geom.pos, geom.quat = compose(geom.frame.pos, geom.frame.quat, geom.pos, geom.quat)


def _mesh_frame(geom: Item, mesh: Any) -> None:
    """Fit a primitive to the mesh if asked, and move the geom to the mesh's own frame."""
    centre = np.zeros(3)
    if geom.type not in (GeomType.MESH, GeomType.SDF):
        geom.size, centre = mesh.fit(geom.type, geom.fitscale, geom.settings.fitaabb)
        geom.mesh_data = None
    elif geom.shellinertia:
        raise Fault("shellinertia of a mesh is given by the mesh's attribute inertia='shell'")
    offset = quaternion.rotate(mesh.quat, centre) + mesh.pos
    geom.pos, geom.quat = compose(geom.pos, geom.quat, offset, mesh.quat)
    if np.any(geom.surfacevel):
        linear, angular = geom.surfacevel[:3], geom.surfacevel[3:]
        back = quaternion.conj(mesh.quat)
        linear = quaternion.rotate(back, linear + vector.cross(angular, offset))
        geom.surfacevel = np.concatenate([linear, quaternion.rotate(back, angular)])


def _bounds(geom: Item) -> tuple[np.ndarray, float]:
    """Bounding box (centre, half size) in the geom's frame, and radius of the bounding sphere."""
    size = geom.size
    match geom.type:
        case GeomType.PLANE:
            return np.array([0, 0, -MAXVAL / 2, MAXVAL, MAXVAL, MAXVAL / 2]), 0.0
        case GeomType.HFIELD:
            x, y, top, bottom = geom.hfield_data.size
            box = np.array([0, 0, (top - bottom) / 2, x, y, (top + bottom) / 2])
            return box, float(hfield_bound(np.array([[x, y, top, bottom]]))[0])
        case GeomType.MESH | GeomType.SDF:
            low, high = geom.mesh_data.aamm[:3], geom.mesh_data.aamm[3:]
            return np.concatenate([(high + low) / 2, (high - low) / 2]), float(np.sqrt(size @ size))
        case GeomType.SPHERE:
            half = np.full(3, size[0])
        case GeomType.CAPSULE:
            half = np.array([size[0], size[0], size[0] + size[1]])
        case GeomType.CYLINDER:
            half = np.array([size[0], size[0], size[1]])
        case _:
            half = size
    return np.concatenate([np.zeros(3), half]), float(BOUND[geom.type](np.asarray(size)[None])[0])


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
        if not np.all(np.isfinite([mass, *geom.inertia])):
            raise Fault(f"its mass {mass:g} kg or its inertia is too large")
    geom.mass = mass
