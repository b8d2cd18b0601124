"""The ellipsoid that stands for a geom in a fluid."""

import math

import numpy as np

from jaxsim.core.enums import GeomType
from jaxsim.mjcf.algebra.conventions import EPS

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
        case GeomType.SPHERE:
            return np.array([a, a, a])
        case GeomType.CAPSULE:
            return np.array([a, a, a + b])
        case GeomType.CYLINDER:
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
