"""Mass, volume and inertia of primitive shapes, and of bodies made of several."""

import math
from typing import NamedTuple

import numpy as np

from jaxsim.mjcf.errors import Fault
from jaxsim.mjcf.frames import EPS, quat_to_mat
from jaxsim.mjcf.principal import principal_axes
from jaxsim.mjcf.schema import ENUMS

PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF = ENUMS["geom"].values()


def volume(kind: int, size: np.ndarray, shell: bool) -> float:
    """Volume of a primitive [m^3], or its surface area [m^2] for a shell."""
    a, b, c = (float(s) for s in size)
    match kind:
        case 2:  # sphere
            return 4 * math.pi * a**2 if shell else 4 * math.pi * a**3 / 3
        case 3:  # capsule: radius, half the length of the cylinder
            return 4 * math.pi * a**2 + 4 * math.pi * a * b if shell else math.pi * (2 * a**2 * b + 4 * a**3 / 3)
        case 5:  # cylinder
            return 2 * math.pi * a**2 + 4 * math.pi * a * b if shell else 2 * math.pi * a**2 * b
        case 4:  # ellipsoid; the area is Thomsen's approximation
            if not shell:
                return 4 * math.pi * a * b * c / 3
            p = 1.6075
            mean = ((a * b) ** p + (b * c) ** p + (c * a) ** p) / 3
            return 4 * math.pi * mean ** (1 / p)
        case 1 | 6:  # height field and box
            return 8 * (a * b + b * c + c * a) if shell else 8 * a * b * c
    return 0.0


def inertia(kind: int, mass: float, size: np.ndarray, shell: bool) -> np.ndarray:
    """Diagonal inertia [3] of a primitive about its centre."""
    a, b, _ = (float(s) for s in size)
    match kind:
        case 2:
            return np.full(3, mass * a**2 * (2 / 3 if shell else 2 / 5))
        case 3:
            return _capsule_shell(mass, a, b) if shell else _capsule(mass, a, b)
        case 5:
            return _cylinder_shell(mass, a, b) if shell else _cylinder(mass, a, b)
        case 4:
            return _ellipsoid_shell(mass, size) if shell else _ellipsoid(mass, size)
        case 1 | 6:
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
    inner_volume, outer_volume = volume(ELLIPSOID, size, False), volume(ELLIPSOID, outer, False)
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
        rotation = quat_to_mat(part.quat)
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


# 15-point Gauss-Kronrod quadrature on [0, inf) after l = x^3 / (1-x)^2: nodes l, dl/dx, weights
_L = np.array([
    7.865151709349917e-08, 1.7347976913907274e-05, 0.0003548008144506193, 0.002846636252924549,
    0.014094260903596077, 0.053063261727396636, 0.17041978741317773, 0.5, 1.4036301548686991,
    3.9353484827022642, 11.644841677041734, 39.53187807410903, 177.5711362220801, 1429.4772912937397,
    54087.416549217705,
])  # fmt: skip
_DL = np.array([
    5.538677720489877e-05, 0.002080868285293228, 0.016514126520723166, 0.07261900344370877,
    0.23985243401862602, 0.6868318249020725, 1.8551129519182894, 5.0, 14.060031152313941,
    43.28941239611009, 156.58546376397112, 747.9826085305024, 5827.4042950027115, 116754.0197944512,
    25482945.327264845,
])  # fmt: skip
_W = np.array([0.01146766, 0.03154605, 0.05239501, 0.07032663, 0.08450236, 0.09517529, 0.10221647, 0.10474107])
_W = np.concatenate([_W, _W[-2::-1]])


def _kappa(x: float, y: float, z: float) -> float:
    """Added mass coefficient of an ellipsoid moving along its axis x."""
    inverse = 1 / np.array([x * x, y * y, z * z])
    scale = (x**3 * y * z) ** 0.4
    lam = scale * _L[:, None] * inverse
    integrand = _DL / ((1 + lam[:, 0]) * np.sqrt(np.prod(1 + lam, axis=1)))
    return float(scale * inverse[0] * (integrand @ _W))


def semiaxes(kind: int, size: np.ndarray) -> np.ndarray:
    """Semi-axes of the ellipsoid that stands for a geom in a fluid."""
    a, b, c = (float(s) for s in size)
    match kind:
        case 2:
            return np.array([a, a, a])
        case 3:
            return np.array([a, a, a + b])
        case 5:
            return np.array([a, a, b])
    return np.array([a, b, c])


def fluid(kind: int, size: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """geom_fluid [12] of the ellipsoid model: 1, five coefficients, virtual mass and inertia [3] each."""
    axes = semiaxes(kind, size)
    x, y, z = axes
    kappa = np.array([_kappa(x, y, z), _kappa(y, z, x), _kappa(z, x, y)])
    total = 4 / 3 * math.pi * x * y * z
    mass = total * kappa / np.maximum(EPS, 2 - kappa)
    square = axes**2
    moment = np.zeros(3)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        difference, both = square[j] - square[k], square[j] + square[k]
        top = difference**2 * abs(kappa[k] - kappa[j])
        moment[i] = top / max(EPS, abs(2 * difference + both * (kappa[j] - kappa[k])))
    return np.concatenate([[1.0], coefficients, mass, total * moment / 5])
