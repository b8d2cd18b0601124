"""Volume, centre of mass and inertia of a triangulated surface.

A surface is a union of pyramids over its triangles, with signed volumes; as a shell, a sum of triangles.
Following MuJoCo (and section 1.3.8 of O'Rourke, Computational Geometry in C) the pyramids have their apex
at the centroid of the surface; the mode "legacy" counts all of them as positive, convex or not.
"""

from typing import NamedTuple

import numpy as np

from jaxsim.core.enums import MINVAL
from jaxsim.mjcf.algebra.principal import FOR_MESHES, principal_axes
from jaxsim.mjcf.language.errors import Fault

Array = np.ndarray
MODES = ("convex", "exact", "legacy", "shell")


class MassProperties(NamedTuple):
    """For unit density: volume [m^3] or area [m^2], principal frame, half sizes [3] of the equal box."""

    volume: float
    pos: Array
    quat: Array
    boxsz: Array


def mass_properties(vert: Array, face: Array, hull_face: Array | None, mode: str) -> MassProperties:
    """Mass properties of the surface with vertices [nvert, 3] and triangles [nface, 3].

    Args:
        hull_face: triangles of the convex hull, which the mode "convex" integrates over.
        mode: one of MODES.

    Raises:
        Fault: there is nothing to integrate over, or it is inside out.
    """
    corners = vert[face]
    area, _, centre = _triangles(corners)
    if area.sum() < MINVAL:
        raise Fault("the surface area of the mesh is too small")
    apex = (area @ centre) / area.sum()
    if mode == "convex" and hull_face is not None:
        corners = vert[hull_face]
    centre_of_mass = _centre_of_mass(corners, apex, mode)
    volume, full = _inertia(corners - centre_of_mass, mode)
    return MassProperties(volume, centre_of_mass, *_principal_box(full, volume))


def _triangles(corners: Array) -> tuple[Array, Array, Array]:
    """Areas [n], unit normals [n, 3] and centres [n, 3] of triangles [n, 3, 3]; tiny ones have no area."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1)
    tiny = length < MINVAL
    area = np.where(tiny, 0.0, 0.5 * length)
    return area, normal / np.where(tiny, 1.0, length)[:, None], corners.sum(axis=1) / 3


def _centre_of_mass(corners: Array, apex: Array, mode: str) -> Array:
    area, normal, centre = _triangles(corners)
    if mode == "shell":
        weight = area
    else:
        weight = np.sum((centre - apex) * normal, axis=1) * area / 3
    if mode == "legacy":
        weight = np.abs(weight)
    total = weight.sum()
    if total < MINVAL and mode != "shell":
        if total < 0:
            raise Fault("the volume of the mesh is negative: its triangles are inside out")
        raise Fault("the volume of the mesh is too small; try inertia='shell'")
    return (weight @ (0.75 * centre + 0.25 * apex)) / total


def _inertia(corners: Array, mode: str) -> tuple[float, Array]:
    """Volume or area, and inertia (xx yy zz xy xz yz) about the origin, of triangles [n, 3, 3]."""
    area, normal, centre = _triangles(corners)
    weight = area if mode == "shell" else np.sum(centre * normal, axis=1) * area / 3
    if mode == "legacy":
        weight = np.abs(weight)
    # the second moments of a simplex follow from those of its corners and of the sum of them
    total = corners.sum(axis=1)
    products = np.einsum("n,nki,nkj->ij", weight, corners, corners) + np.einsum("n,ni,nj->ij", weight, total, total)
    products /= 12 if mode == "shell" else 20
    xx, yy, zz = np.diag(products)
    full = np.array([yy + zz, xx + zz, xx + yy, -products[0, 1], -products[0, 2], -products[1, 2]])
    return float(weight.sum()), full


def _principal_box(full: Array, volume: float) -> tuple[Array, Array]:
    """Orientation of the principal axes, and half sizes [3] of the box of equal volume and inertia."""
    quat, inertia = principal_axes(full, FOR_MESHES, FOR_MESHES)
    if not inertia[2] > 0:
        raise Fault("the inertia of the mesh is not positive definite")
    longest = inertia.sum() - 2 * inertia
    if np.any(longest < -1e-6 * inertia - 1e-9):
        raise Fault("the inertia of the mesh violates A + B >= C")
    return quat, 0.5 * np.sqrt(6 * np.maximum(longest, 0) / volume)
