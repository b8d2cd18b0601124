"""Quaternions and frames in float64: every way MJCF has of writing an orientation.

Quaternions are (w, x, y, z). Formulas and thresholds are MuJoCo's (user_util.cc): results agree to rounding.
"""

import math
from typing import Any

import numpy as np

from jaxsim.mjcf.errors import Fault

EPS = 1e-14  # mjEPS: below this a length counts as zero
Vector = np.ndarray

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
ZERO = np.zeros(3)


def normalize(v: Vector) -> tuple[Vector, float]:
    """v at unit length, and its length; a vector shorter than EPS stays as it is, with length 0."""
    square = float(v @ v)
    if square < EPS:
        return v, 0.0
    length = math.sqrt(square)
    return (v / length if abs(length - 1) > EPS else v), length


def unit(v: Vector) -> Vector:
    """v at unit length, unless it is zero."""
    return normalize(v)[0]


def quat_mul(a: Vector, b: Vector) -> Vector:
    """Product of two unit quaternions, at unit length."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    product = np.array(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ]
    )
    return unit(product)


def quat_conj(q: Vector) -> Vector:
    """Inverse of a unit quaternion."""
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def quat_to_mat(q: Vector) -> np.ndarray:
    """Rotation matrix [3,3] of a unit quaternion."""
    w, x, y, z = q
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def rotate(v: Vector, q: Vector) -> Vector:
    """v rotated by a unit quaternion."""
    t = q[0] * v + cross(q[1:], v)
    return v + 2 * cross(q[1:], t)


def cross(a: Vector, b: Vector) -> Vector:
    """Cross product; numpy's is slow for single vectors."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def compose(pos: Vector, quat: Vector, child_pos: Vector, child_quat: Vector) -> tuple[Vector, Vector]:
    """Pose of a child frame, given in the frame (pos, quat), in the parent of that frame."""
    return pos + quat_to_mat(quat) @ child_pos, quat_mul(quat, child_quat)


def invert(pos: Vector, quat: Vector) -> tuple[Vector, Vector]:
    """The inverse frame transformation."""
    inverse = quat_conj(quat)
    return -(quat_to_mat(inverse) @ pos), inverse


def from_z_axis(z: Vector) -> Vector:
    """Least rotation that takes (0, 0, 1) to the direction z."""
    axis, sine = normalize(np.array([-z[1], z[0], 0.0]))
    if sine < 1e-10:
        axis = np.array([1.0, 0.0, 0.0])
    angle = math.atan2(sine, z[2])
    return np.concatenate([[math.cos(angle / 2)], axis * math.sin(angle / 2)])


def from_axes(x: Vector, y: Vector, z: Vector) -> Vector:
    """Quaternion of the frame with these axes: from the largest component, for accuracy."""
    trace = x[0] + y[1] + z[2]
    if trace > 0:
        w = 0.5 * math.sqrt(1 + trace)
        q = [w, 0.25 * (y[2] - z[1]) / w, 0.25 * (z[0] - x[2]) / w, 0.25 * (x[1] - y[0]) / w]
    elif x[0] > y[1] and x[0] > z[2]:
        a = 0.5 * math.sqrt(1 + x[0] - y[1] - z[2])
        q = [0.25 * (y[2] - z[1]) / a, a, 0.25 * (y[0] + x[1]) / a, 0.25 * (z[0] + x[2]) / a]
    elif y[1] > z[2]:
        b = 0.5 * math.sqrt(1 - x[0] + y[1] - z[2])
        q = [0.25 * (z[0] - x[2]) / b, 0.25 * (y[0] + x[1]) / b, b, 0.25 * (z[1] + y[2]) / b]
    else:
        c = 0.5 * math.sqrt(1 - x[0] - y[1] + z[2])
        q = [0.25 * (x[1] - y[0]) / c, 0.25 * (z[0] + x[2]) / c, 0.25 * (z[1] + y[2]) / c, c]
    return unit(np.array(q))


def from_euler(angles: Vector, sequence: str) -> Vector:
    """Rotations about three axes in turn: lower case of the moving frame, upper case of the fixed one."""
    quat = IDENTITY
    for angle, axis in zip(angles, sequence):
        turn = np.zeros(4)
        turn[0] = math.cos(angle / 2)
        turn["xyz".index(axis.lower()) + 1] = math.sin(angle / 2)
        quat = quat_mul(quat, turn) if axis.islower() else quat_mul(turn, quat)
    return unit(quat)


def _unit_or_fault(v: Vector, what: str) -> Vector:
    direction, length = normalize(v)
    if length < EPS:
        raise Fault(f"{what} is too short to give a direction")
    return direction


def orientation(item: Any, settings: Any) -> Vector:
    """Unit quaternion of whichever orientation attribute an item has; the identity if none.

    Args:
        item: has the attributes quat, axisangle, xyaxes, zaxis, euler, all but at most one of them None.
        settings: compiler settings of the file that wrote it: `degree`, `eulerseq`.

    Raises:
        Fault: the orientation is degenerate.
    """
    scale = math.pi / 180 if settings.degree else 1.0
    if item.quat is not None:
        if not np.any(item.quat):
            raise Fault("quat is zero; a quaternion must not be")
        return unit(item.quat)
    if item.axisangle is not None:
        axis = _unit_or_fault(item.axisangle[:3], "the axis of axisangle")
        half = item.axisangle[3] * scale / 2
        return np.concatenate([[math.cos(half)], math.sin(half) * axis])
    if item.xyaxes is not None:
        x = _unit_or_fault(item.xyaxes[:3], "the x axis of xyaxes")
        y = item.xyaxes[3:]
        y = _unit_or_fault(y - x * (x @ y), "the y axis of xyaxes")
        return from_axes(x, y, unit(cross(x, y)))
    if item.zaxis is not None:
        return from_z_axis(_unit_or_fault(item.zaxis, "zaxis"))
    if item.euler is not None:
        return from_euler(item.euler * scale, settings.eulerseq)
    return IDENTITY
