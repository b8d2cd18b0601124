"""The orientation of an element, in every way that MJCF has of writing one."""

import math
from typing import Any

import numpy as np

from jaxsim.algebra import vector
from jaxsim.mjcf.algebra.conventions import EPS, IDENTITY, normalize, unit
from jaxsim.mjcf.algebra.frames import from_axes, from_euler, from_z_axis
from jaxsim.mjcf.language.errors import Fault


def _unit_or_fault(v: np.ndarray, what: str) -> np.ndarray:
    direction, length = normalize(v)
    if length < EPS:
        raise Fault(f"{what} is too short to give a direction")
    return direction


def orientation(item: Any, settings: Any) -> np.ndarray:
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
        return from_axes(x, y, unit(vector.cross(x, y)))
    if item.zaxis is not None:
        return from_z_axis(_unit_or_fault(item.zaxis, "zaxis"))
    if item.euler is not None:
        return from_euler(item.euler * scale, settings.eulerseq)
    return IDENTITY
