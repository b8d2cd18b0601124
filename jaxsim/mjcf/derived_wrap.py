"""The shortest path of a tendon around, or through, a sphere or cylinder (MuJoCo: mju_wrap).

Everything happens in a plane through the centre of the geom, with the geom's outline a circle of radius r
about the origin. A path from p0 to p1 is characterised by its winding W, the signed angle by which it turns
about the origin. Seen from the origin the straight pieces from the end points to their tangent points cover
acos(r/|p0|) and acos(r/|p1|), so that

    arc on the circle = |W| - acos(r/|p0|) - acos(r/|p1|)

and the path touches the circle if and only if this is positive. Without a side site W is the angle between
the end points; with one it is the winding of the polyline p0 -> side -> p1.
"""

import math

import numpy as np

from jaxsim.types import MINVAL

Array = np.ndarray


def wrap(
    x0: Array, x1: Array, pos: Array, mat: Array, radius: float, is_sphere: bool, side: Array | None
) -> tuple[float, Array, Array] | None:
    """Path between the points x0 and x1 [3] around a geom.

    Args:
        pos, mat: position [3] and orientation [3, 3] of the geom; the axis of a cylinder is its z axis.
        radius: of the sphere or the (infinitely long) cylinder, metre.
        side: position [3] of the side site, or None; inside the geom it makes the path pass through the geom.

    Returns:
        length on the surface and the two points where the path meets it, or None if it is a straight line.
    """
    p0, p1 = mat.T @ (x0 - pos), mat.T @ (x1 - pos)
    if np.linalg.norm(p0) < MINVAL or np.linalg.norm(p1) < MINVAL:
        return None
    axes = _plane_through(p0, p1) if is_sphere else np.eye(3)[:2]
    d0, d1 = axes @ p0, axes @ p1
    if side is None:
        arc = _around(d0, d1, None, radius)
    else:
        local = mat.T @ (side - pos)
        inside = np.linalg.norm(local) < radius
        arc = _through(d0, d1, radius) if inside else _around(d0, d1, axes @ local, radius)
    if arc is None:
        return None
    length, t0, t1 = arc
    w0, w1 = t0 @ axes, t1 @ axes
    if not is_sphere:
        straight0, straight1 = np.linalg.norm(d0 - t0), np.linalg.norm(d1 - t1)
        slope = (p1[2] - p0[2]) / (straight0 + length + straight1)
        w0[2] = p0[2] + slope * straight0
        w1[2] = p0[2] + slope * (straight0 + length)
        length = math.hypot(length, w1[2] - w0[2])
    return length, pos + mat @ w0, pos + mat @ w1


def _plane_through(p0: Array, p1: Array) -> Array:
    """Two orthonormal directions [2, 3] that span the plane of the origin, p0 and p1."""
    first = p0 / np.linalg.norm(p0)
    normal = np.cross(p0, p1)
    norm = np.linalg.norm(normal)
    if norm < MINVAL:  # collinear: any plane does
        other = np.ones(3)
        other[np.argmax(np.abs(first))] = 0
        normal = np.cross(first, other)
        norm = np.linalg.norm(normal)
    second = np.cross(normal / norm, first)
    return np.stack([first, second / np.linalg.norm(second)])


def _angle(a: Array, b: Array) -> float:
    """Signed angle from a to b [2], in (-pi, pi]."""
    return math.atan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1])


def _turned(direction: Array, angle: float, length: float) -> Array:
    """A vector of given length, turned by an angle from a direction."""
    c, s = math.cos(angle), math.sin(angle)
    x, y = direction * (length / math.hypot(*direction))
    return np.array([c * x - s * y, s * x + c * y])


def _around(d0: Array, d1: Array, side: Array | None, radius: float) -> tuple[float, Array, Array] | None:
    """Arc length and tangent points of the path around the circle, or None if it does not touch it."""
    len0, len1 = math.hypot(*d0), math.hypot(*d1)
    if len0 < radius or len1 < radius or radius < MINVAL:
        return None
    if side is None:
        winding = _angle(d0, d1)
    else:
        winding = _angle(d0, side) + _angle(side, d1)
    reach0, reach1 = math.acos(radius / len0), math.acos(radius / len1)
    arc = abs(winding) - reach0 - reach1
    if arc <= 0:
        return None
    way = math.copysign(1.0, winding)
    return radius * arc, _turned(d0, way * reach0, radius), _turned(d1, -way * reach1, radius)


def _through(d0: Array, d1: Array, radius: float) -> tuple[float, Array, Array] | None:
    """The point where a path constrained to reach the circle touches it, or None if it crosses it.

    At the touching point the two straight pieces make equal angles with the circle: with z the sine of that
    angle, asin(A z) + asin(B z) - 2 asin(z) + G = 0, A = r/|d0|, B = r/|d1|, G the angle between d0 and d1.
    """
    len0, len1 = math.hypot(*d0), math.hypot(*d1)
    if len0 <= radius or len1 <= radius or radius < MINVAL:
        return None
    step = d1 - d0
    square = float(step @ step)
    if square > MINVAL:
        a = -float(step @ d0) / square
        if 0 < a < 1 and math.hypot(*(d0 + a * step)) <= radius:
            return None
    between = abs(_angle(d0, d1))
    if math.cos(between) < -1 + MINVAL:
        return None
    touch = _touching_point(d0, d1, radius / len0, radius / len1, between, radius)
    return 0.0, touch, touch


def _touching_point(d0: Array, d1: Array, a: float, b: float, between: float, radius: float) -> Array:
    middle = d0 + d1
    fallback = middle * (radius / max(math.hypot(*middle), MINVAL))
    if math.cos(between) > 1 - MINVAL:
        return fallback

    def excess(z: float) -> float:
        return math.asin(a * z) + math.asin(b * z) - 2 * math.asin(z) + between

    low, high = 0.0, 1 - 1e-7
    if excess(high) > 0:
        return fallback
    for _ in range(200):  # bisection: excess falls from `between` > 0 to below 0
        z = 0.5 * (low + high)
        low, high = (z, high) if excess(z) > 0 else (low, z)
        if high - low < 1e-16:
            break
    way = math.copysign(1.0, _angle(d0, d1))
    return _turned(d0, way * (math.asin(z) - math.asin(a * z)), radius)
