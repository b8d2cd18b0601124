"""Poses, and quaternions from axes and angles. Formulas and thresholds are MuJoCo's (user_util.cc)."""

import math

import numpy as np

from jaxsim.algebra import quaternion
from jaxsim.mjcf.algebra.conventions import IDENTITY, normalize, unit

Array = np.ndarray


def compose(pos: Array, quat: Array, child_pos: Array, child_quat: Array) -> tuple[Array, Array]:
    """Pose of a child frame, given in the frame (pos, quat), in the parent of that frame."""
    return pos + quaternion.rotate(quat, child_pos), unit(quaternion.mul(quat, child_quat))


def invert(pos: Array, quat: Array) -> tuple[Array, Array]:
    """The inverse frame transformation."""
    inverse = quaternion.conj(quat)
    return -quaternion.rotate(inverse, pos), inverse


def from_z_axis(z: Array) -> Array:
    """Least rotation that takes (0, 0, 1) to the direction z."""
    axis, sine = normalize(np.array([-z[1], z[0], 0.0]))
    if sine < 1e-10:
        axis = np.array([1.0, 0.0, 0.0])
    angle = math.atan2(sine, z[2])
    return np.concatenate([[math.cos(angle / 2)], axis * math.sin(angle / 2)])


def from_axes(x: Array, y: Array, z: Array) -> Array:
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


def from_euler(angles: Array, sequence: str) -> Array:
    """Rotations about three axes in turn: lower case of the moving frame, upper case of the fixed one."""
    quat = IDENTITY
    for angle, axis in zip(angles, sequence):
        turn = np.zeros(4)
        turn[0] = math.cos(angle / 2)
        turn["xyz".index(axis.lower()) + 1] = math.sin(angle / 2)
        quat = unit(quaternion.mul(quat, turn) if axis.islower() else quaternion.mul(turn, quat))
    return quat
