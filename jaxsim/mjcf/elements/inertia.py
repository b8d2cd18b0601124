"""Mass, volume and inertia of primitive shapes, and of bodies made of several."""

import math
from typing import NamedTuple

import numpy as np

from jaxsim.algebra import quaternion
from jaxsim.core.enums import GeomType
from jaxsim.mjcf.algebra.conventions import EPS
from jaxsim.mjcf.algebra.principal import principal_axes
from jaxsim.mjcf.language.errors import Fault


def volume(kind: int, size: np.ndarray, shell: bool) -> float:
    """Volume of a primitive [m^3], or its surface area [m^2] for a shell."""
    a, b, c = (float(s) for s in size)
    match kind:
        case GeomType.SPHERE:
            return 4 * math.pi * a**2 if shell else 4 * math.pi * a**3 / 3
        case GeomType.CAPSULE:  # radius, half the length of the cylinder
            return 4 * math.pi * a**2 + 4 * math.pi * a * b if shell else math.pi * (2 * a**2 * b + 4 * a**3 / 3)
        case GeomType.CYLINDER:
            return 2 * math.pi * a**2 + 4 * math.pi * a * b if shell else 2 * math.pi * a**2 * b
        case GeomType.ELLIPSOID:  # the area is Thomsen's approximation
            if not shell:
                return 4 * math.pi * a * b * c / 3
            p = 1.6075
            mean = ((a * b) ** p + (b * c) ** p + (c * a) ** p) / 3
            return 4 * math.pi * mean ** (1 / p)
        case GeomType.HFIELD | GeomType.BOX:
            return 8 * (a * b + b * c + c * a) if shell else 8 * a * b * c
    return 0.0


def inertia(kind: int, mass: float, size: np.ndarray, shell: bool) -> np.ndarray:
    """Diagonal inertia [3] of a primitive about its centre."""
    a, b, _ = (float(s) for s in size)
    match kind:
        case GeomType.SPHERE:
            return np.full(3, mass * a**2 * (2 / 3 if shell else 2 / 5))
        case GeomType.CAPSULE:
            return _capsule_shell(mass, a, b) if shell else _capsule(mass, a, b)
        case GeomType.CYLINDER:
            return _cylinder_shell(mass, a, b) if shell else _cylinder(mass, a, b)
        case GeomType.ELLIPSOID:
            return _ellipsoid_shell(mass, size) if shell else _ellipsoid(mass, size)
        case GeomType.HFIELD | GeomType.BOX:
            return _box_shell(mass, size) if shell else _others(mass * np.asarray(size, float) ** 2) / 3
    return np.zeros(3)


def _others(v: np.ndarray) -> np.ndarray:
    """(y + z, x + z, x + y)."""
    return np.array([v[1] + v[2], v[0] + v[2], v[0] + v[1]])


def _capsule(mass: float, radius: float, half: float) -> np.ndarray:
    height = 2 * half
    ball = mass * 4 * radius / (4 * radius + 3 * height)
    tube = mass - ball
    sphere = 2 * ball * radius**2 / 5
    across = tube * (3 * radius**2 + height**2) / 12 + sphere + ball * height * (3 * radius + 2 * height) / 8
    return np.array([across, across, tube * radius**2 / 2 + sphere])


def _capsule_shell(mass: float, radius: float, half: float) -> np.ndarray:
    height = 2 * half
    ball_area, tube_area = 4 * math.pi * radius**2, 2 * math.pi * radius * height
    ball = mass * ball_area / (ball_area + tube_area)
    tube = mass - ball
    sphere = 2 * ball * radius**2 / 3
    cap = radius / 2  # distance of a hemispherical shell's centre of mass from its rim
    across = tube * (6 * radius**2 + height**2) / 12 + sphere + ball * ((half + cap) ** 2 - cap**2)
    return np.array([across, across, tube * radius**2 + sphere])


def _cylinder(mass: float, radius: float, half: float) -> np.ndarray:
    across = mass * (3 * radius**2 + 4 * half**2) / 12
    return np.array([across, across, mass * radius**2 / 2])


def _cylinder_shell(mass: float, radius: float, half: float) -> np.ndarray:
    height = 2 * half
    disk_area, tube_area = math.pi * radius**2, 2 * math.pi * radius * height
    disk = mass * disk_area / (2 * disk_area + tube_area)
    tube = mass - 2 * disk
    across = tube * (6 * radius**2 + height**2) / 12 + 2 * disk * (radius**2 / 4 + half**2)
    return np.array([across, across, tube * radius**2 + disk * radius**2])


def _ellipsoid(mass: float, size: np.ndarray) -> np.ndarray:
    return mass * _others(np.asarray(size, float) ** 2) / 5


def _ellipsoid_shell(mass: float, size: np.ndarray) -> np.ndarray:
    # a thin layer: the difference of two solid ellipsoids
    outer = np.asarray(size, float) + 1e-6
    inner_volume, outer_volume = volume(GeomType.ELLIPSOID, size, False), volume(GeomType.ELLIPSOID, outer, False)
    density = mass / (outer_volume - inner_volume)
    return _ellipsoid(outer_volume * density, outer) - _ellipsoid(inner_volume * density, size)


def _box_shell(mass: float, size: np.ndarray) -> np.ndarray:
    half = np.asarray(size, float)
    side = 2 * half
    total = np.zeros(3)
    area = np.array([side[1] * side[2], side[2] * side[0], side[0] * side[1]])
    for axis in range(3):  # the two faces normal to this axis
        face = mass * area[axis] / (2 * area.sum())
        square = side**2
        square[axis] = 0.0
        offset = np.full(3, half[axis] ** 2)
        offset[axis] = 0.0
        total += 2 * face * (_others(square) / 12 + offset)
    return total


class Body(NamedTuple):
    """Mass, centre of mass, principal axes and principal inertia."""

    mass: float
    pos: np.ndarray
    quat: np.ndarray
    inertia: np.ndarray


def combine(parts: list[Body]) -> tuple[float, np.ndarray, np.ndarray]:
    """Total mass, centre of mass, and full inertia (xx yy zz xy xz yz) about it."""
    mass = float(sum(p.mass for p in parts))
    centre = np.sum([p.mass * p.pos for p in parts], axis=0) / mass
    full = np.zeros(6)
    for part in parts:
        rotation = quaternion.to_mat(part.quat).reshape(3, 3)
        about_centre = (rotation * part.inertia) @ rotation.T
        offset = part.pos - centre
        about_centre = about_centre + part.mass * (np.dot(offset, offset) * np.eye(3) - np.outer(offset, offset))
        full += about_centre[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return mass, centre, full


def principal(full: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Principal axes (quaternion) and inertia of a full inertia (xx yy zz xy xz yz), largest first.

    Raises:
        Fault: the inertia is not positive definite.
    """
    quat, values = principal_axes(full)
    if not values[2] >= EPS:
        raise Fault("inertia must have positive eigenvalues")
    return quat, values
