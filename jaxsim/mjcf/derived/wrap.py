"""The shortest path of a tendon around, or through, a sphere or cylinder (MuJoCo: mju_wrap).

Everything happens in a plane through the centre of the geom, with the geom's outline a circle of radius r
about the origin. A path from p0 to p1 is characterised by its winding W, the signed angle by which it turns
about the origin. Seen from the origin the straight pieces from the end points to their tangent points cover
acos(r/|p0|) and acos(r/|p1|), so that

    arc on the circle = |W| - acos(r/|p0|) - acos(r/|p1|)

and the path touches the circle if and only if this is positive. Without a side site W is the angle between
the end points; with one it is the winding of the polyline p0 -> side -> p1.
"""

from typing import NamedTuple

import numpy as np

from jaxsim.core.enums import MINVAL
from jaxsim.mjcf.algebra.quaternion import cross, norm, times

Array = np.ndarray


class Wrap(NamedTuple):
    """Where a path touches a geom: whether it does, length on the surface [...], first and last point."""

    touches: Array
    length: Array
    first: Array
    last: Array


def wrap(x0: Array, x1: Array, pos: Array, mat: Array, radius: Array, is_sphere: bool, side: Array | None) -> Wrap:
    """Path between the points x0 and x1 [..., 3] around a geom.

    Args:
        pos, mat: position [..., 3] and orientation [..., 3, 3] of the geom; a cylinder's axis is its z axis.
        radius: [...] of the sphere or the (infinitely long) cylinder, metre.
        side: position [..., 3] of the side site, or None; inside the geom it makes the path pass through it.
    """
    p0, p1 = _local(mat, x0 - pos), _local(mat, x1 - pos)
    axes = _plane_through(p0, p1) if is_sphere else np.broadcast_to(np.eye(3)[:2], (*p0.shape[:-1], 2, 3))
    d0, d1 = times(axes, p0), times(axes, p1)
    if side is None:
        touches, length, t0, t1 = _around(d0, d1, None, radius)
    else:
        local = _local(mat, side - pos)
        inside = norm(local) < radius
        touches, length, t0, t1 = _around(d0, d1, times(axes, local), radius)
        if inside.any():  # which takes much longer
            through = _through(d0, d1, radius)
            touches, length = (np.where(inside, a, b) for a, b in zip(through[:2], (touches, length)))
            t0, t1 = (np.where(inside[..., None], a, b) for a, b in zip(through[2:], (t0, t1)))
    w0, w1 = (np.einsum("...k,...kj->...j", t, axes) for t in (t0, t1))
    if not is_sphere:
        straight0, straight1 = norm(d0 - t0), norm(d1 - t1)
        slope = (p1[..., 2] - p0[..., 2]) / np.maximum(straight0 + length + straight1, MINVAL)
        w0[..., 2] = p0[..., 2] + slope * straight0
        w1[..., 2] = p0[..., 2] + slope * (straight0 + length)
        length = np.hypot(length, w1[..., 2] - w0[..., 2])
    return Wrap(touches, length, pos + times(mat, w0), pos + times(mat, w1))


def _local(mat: Array, vec: Array) -> Array:
    return times(np.swapaxes(mat, -1, -2), vec)


def _unit(vec: Array) -> Array:
    return vec / np.maximum(norm(vec)[..., None], MINVAL)


def _plane_through(p0: Array, p1: Array) -> Array:
    """Two orthonormal directions [..., 2, 3] that span the plane of the origin, p0 and p1."""
    first = _unit(p0)
    normal = cross(p0, p1)
    collinear = norm(normal)[..., None] < MINVAL  # any plane does
    largest = np.arange(3) == np.argmax(np.abs(first), axis=-1)[..., None]
    normal = _unit(np.where(collinear, cross(first, np.where(largest, 0.0, 1.0)), normal))
    return np.stack([first, _unit(cross(normal, first))], -2)


def _angle(a: Array, b: Array) -> Array:
    """Signed angle from a to b [..., 2], in (-pi, pi]."""
    return np.arctan2(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0], np.sum(a * b, axis=-1))


def _turned(direction: Array, angle: Array, length: Array) -> Array:
    """Vectors [..., 2] of given lengths, turned by angles from directions."""
    c, s = np.cos(angle), np.sin(angle)
    vec = _unit(direction) * length[..., None]
    return np.stack([c * vec[..., 0] - s * vec[..., 1], s * vec[..., 0] + c * vec[..., 1]], -1)


def _around(d0: Array, d1: Array, side: Array | None, radius: Array) -> tuple[Array, Array, Array, Array]:
    """Whether the path around the circle touches it, its length on the circle, and the tangent points."""
    len0, len1 = norm(d0), norm(d1)
    outside = (len0 >= radius) & (len1 >= radius) & (radius >= MINVAL)
    winding = _angle(d0, d1) if side is None else _angle(d0, side) + _angle(side, d1)
    reach0, reach1 = (np.arccos(np.minimum(radius / np.maximum(n, MINVAL), 1.0)) for n in (len0, len1))
    arc = np.abs(winding) - reach0 - reach1
    way = np.copysign(1.0, winding)
    t0, t1 = _turned(d0, way * reach0, radius), _turned(d1, -way * reach1, radius)
    return outside & (arc > 0), radius * np.maximum(arc, 0.0), t0, t1


def _through(d0: Array, d1: Array, radius: Array) -> tuple[Array, Array, Array, Array]:
    """Whether a path that must reach the circle touches it from outside, length 0, and twice the point where.

    At the touching point the two straight pieces make equal angles with the circle: with z the sine of that
    angle, asin(A z) + asin(B z) - 2 asin(z) + G = 0, A = r/|d0|, B = r/|d1|, G the angle between d0 and d1.
    """
    len0, len1 = norm(d0), norm(d1)
    outside = (len0 > radius) & (len1 > radius) & (radius >= MINVAL)
    step = d1 - d0
    square = np.sum(step * step, axis=-1)
    at = -np.sum(step * d0, axis=-1) / np.maximum(square, MINVAL)
    nearest = norm(d0 + at[..., None] * step)
    crosses = (square > MINVAL) & (at > 0) & (at < 1) & (nearest <= radius)
    between = np.abs(_angle(d0, d1))
    touches = outside & ~crosses & (np.cos(between) >= -1 + MINVAL)
    a, b = (np.minimum(radius / np.maximum(n, MINVAL), 1 - 1e-15) for n in (len0, len1))
    touch = _touching_point(d0, d1, a, b, between, radius)
    return touches, np.zeros_like(len0), touch, touch


def _touching_point(d0: Array, d1: Array, a: Array, b: Array, between: Array, radius: Array) -> Array:
    """Newton's method for the angle asin(z); where there is none, the point in the middle of the directions.

    The equation's left side is concave and falls: from the right of the solution, where the tangent at zero
    leads, the iterates approach it without passing it.
    """
    nearly = 1 - 1e-7
    unsolvable = np.arcsin(a * nearly) + np.arcsin(b * nearly) - 2 * np.arcsin(nearly) + between > 0
    unsolvable |= np.cos(between) > 1 - MINVAL
    angle = np.minimum(between / np.maximum(2 - a - b, MINVAL), np.pi / 2)
    for _ in range(12):
        z, c = np.sin(angle), np.cos(angle)
        excess = np.arcsin(a * z) + np.arcsin(b * z) - 2 * angle + between
        slope = a * c / np.sqrt(1 - (a * z) ** 2) + b * c / np.sqrt(1 - (b * z) ** 2) - 2
        angle = np.clip(angle - excess / np.minimum(slope, -MINVAL), 0.0, np.pi / 2)
    way = np.copysign(1.0, _angle(d0, d1))
    touch = _turned(d0, way * (angle - np.arcsin(a * np.sin(angle))), radius)
    return np.where(unsolvable[..., None], _unit(d0 + d1) * radius[..., None], touch)
