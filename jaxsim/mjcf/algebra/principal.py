"""Principal axes of an inertia, exactly as MuJoCo chooses them (mjuu_eig3).

The axes are defined only up to sign and order, and not at all where two moments are equal; poses of meshes
and bodies depend on the choice. Hence Jacobi's method with MuJoCo's order of rotations and its tolerances,
which are relative to the largest moment.
"""

import math

import numpy as np

from jaxsim.algebra import quaternion
from jaxsim.mjcf.algebra.conventions import IDENTITY, unit

Array = np.ndarray
ZERO, EQUAL = 4e-15, 1e-12  # products of inertia below the first vanish, moments closer than the second are equal
FOR_MESHES = 1e-7  # both of these for meshes, whose vertices have single precision


def principal_axes(full: Array, zero: float = ZERO, equal: float = EQUAL) -> tuple[Array, Array]:
    """Quaternion of the principal axes and moments [3], largest first, of an inertia (xx yy zz xy xz yz)."""
    xx, yy, zz, xy, xz, yz = (float(v) for v in full)
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    scale = float(np.abs(matrix).max())
    quat = IDENTITY
    for _ in range(500):
        axes = quaternion.to_mat(quat).reshape(3, 3)
        rotated = axes.T @ matrix @ axes
        row, col, axis = _largest_product(rotated)
        if not abs(rotated[row, col]) >= zero * scale or not 0 < scale < math.inf:
            break
        quat = unit(quaternion.mul(quat, _rotation(rotated, row, col, axis)))
    return _sorted(quat, np.diag(rotated).copy(), equal * scale)


def _largest_product(rotated: Array) -> tuple[int, int, int]:
    """Row and column of the largest off-diagonal element, and the axis of the rotation that removes it."""
    xy, xz, yz = abs(rotated[0, 1]), abs(rotated[0, 2]), abs(rotated[1, 2])
    if xy > xz and xy > yz:
        return 0, 1, 2
    return (0, 2, 1) if xz > yz else (1, 2, 0)


def _rotation(rotated: Array, row: int, col: int, axis: int) -> Array:
    """The smaller of the two rotations about an axis that make an off-diagonal element zero."""
    tau = (rotated[col, col] - rotated[row, row]) / (2 * rotated[row, col])
    half = math.atan(1 / (abs(tau) + math.sqrt(1 + tau * tau))) / 2
    turn = np.zeros(4)
    turn[0] = math.cos(half)
    turn[axis + 1] = math.sin(half) * (-1 if (tau >= 0) != (axis == 1) else 1)
    return turn


def _sorted(quat: Array, moments: Array, margin: float) -> tuple[Array, Array]:
    """Swap neighbouring axes, by quarter turns, until the moments decrease."""
    for lead in (0, 1, 0):
        if moments[lead] + margin < moments[lead + 1]:
            moments[[lead, lead + 1]] = moments[[lead + 1, lead]]
            turn = np.zeros(4)
            turn[0] = turn[(lead + 2) % 3 + 1] = math.sqrt(0.5)
            quat = unit(quaternion.mul(quat, turn))
    return quat, moments
