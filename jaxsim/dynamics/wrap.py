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

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.arrays import Array, namespace, on_host
from jaxsim.algebra.vector import columns, cross, dot, join, matvec, matvec_t, norm, normalize
from jaxsim.core.enums import MINVAL


class Wrap(NamedTuple):
    """Where a path touches a geom: whether it does, length on the surface [...], first and last point [..., 3]."""

    touches: Array
    length: Array
    first: Array
    last: Array


def wrap(x0: Array, x1: Array, pos: Array, mat: Array, radius: Array, is_sphere: bool, side: Array | None) -> Wrap:
    """Path between the points x0 and x1 [..., 3] around a geom.

    Args:
        x0, x1: ends of the path, metre.
        pos, mat: position [..., 3] and orientation [..., 3, 3] of the geom; a cylinder's axis is its z axis.
        radius: [...] of the sphere or the (infinitely long) cylinder, metre.
        is_sphere: whether the geom is a sphere.
        side: position [..., 3] of the side site, or None; inside the geom it makes the path pass through it.

    Returns:
        What touches, finite in value and derivative also where nothing does.
    """
    p0, p1 = matvec_t(mat, x0 - pos), matvec_t(mat, x1 - pos)
    plane = _plane_through(p0, p1) if is_sphere else None
    touches, length, t0, t1 = _in_plane(plane, p0, p1, None if side is None else matvec_t(mat, side - pos), radius)
    if plane is not None:
        w0, w1 = (matvec_t(plane, t) for t in (t0, t1))
    else:  # along the axis the path rises evenly
        straight0, straight1 = norm(p0[..., :2] - t0), norm(p1[..., :2] - t1)
        slope = (p1[..., 2] - p0[..., 2]) / namespace(p0).maximum(straight0 + length + straight1, MINVAL)
        rise0 = slope * straight0
        rise1 = rise0 + slope * length
        w0, w1 = (join(t, (p0[..., 2] + rise)[..., None]) for t, rise in ((t0, rise0), (t1, rise1)))
        length = norm(join(length[..., None], (slope * length)[..., None]))
    return Wrap(touches, length, pos + matvec(mat, w0), pos + matvec(mat, w1))


def _in_plane(plane: Array | None, p0: Array, p1: Array, side: Array | None, radius: Array) -> tuple[Array, ...]:
    """Whether the path touches the circle, its length on it, and the points [..., 2] where it begins and ends."""
    d0, d1 = _flat(plane, p0), _flat(plane, p1)
    if side is None:
        return _around(d0, d1, None, radius)
    around = _around(d0, d1, _flat(plane, side), radius)
    inside = norm(side) < radius  # rarely: the path through takes much longer
    if on_host(inside):
        return _chosen(inside, _through(d0, d1, radius), around) if inside.any() else around
    return lax.cond(jnp.any(inside), lambda: _chosen(inside, _through(d0, d1, radius), around), lambda: around)


def _chosen(which: Array, a: tuple[Array, ...], b: tuple[Array, ...]) -> tuple[Array, ...]:
    """Of two paths [...] those of the first where `which` says so."""
    xp = namespace(which)
    return tuple(xp.where(which.reshape(which.shape + (1,) * (x.ndim - which.ndim)), x, y) for x, y in zip(a, b))


def _flat(plane: Array | None, p: Array) -> Array:
    """Coordinates [..., 2] in a plane [..., 2, 3], or in that of x and y."""
    return p[..., :2] if plane is None else matvec(plane, p)


def _plane_through(p0: Array, p1: Array) -> Array:
    """Two orthonormal directions [..., 2, 3] that span the plane of the origin, p0 and p1."""
    xp, first, normal = namespace(p0), normalize(p0), cross(p0, p1)
    collinear = norm(normal)[..., None] < MINVAL  # any plane does
    components = np.arange(3).reshape((1,) * (p0.ndim - 1) + (3,))
    largest = components == xp.argmax(xp.abs(first), axis=-1)[..., None]
    other = xp.where(largest, 0, 1).astype(p0.dtype)
    normal = normalize(xp.where(collinear, cross(first, other), normal))
    return xp.stack([first, normalize(cross(normal, first))], -2)


def _angle(a: Array, b: Array) -> Array:
    """Signed angle from a to b [..., 2], in (-pi, pi]; zero, with a finite derivative, if one of them is zero."""
    xp, along = namespace(a, b), dot(a, b)
    across = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return xp.arctan2(across, xp.where((across == 0) & (along == 0), 1, along))


def _turned(direction: Array, angle: Array, length: Array) -> Array:
    """Vectors [..., 2] of given lengths [...], turned by angles [...] from directions [..., 2]."""
    xp = namespace(direction)
    c, s = xp.cos(angle)[..., None], xp.sin(angle)[..., None]
    x, y = columns(normalize(direction) * length[..., None])
    return join(c * x - s * y, s * x + c * y)


def _reach(distance: Array, radius: Array) -> Array:
    """acos(radius / distance) [...]: the angle that the straight piece from a point to the circle covers."""
    xp, square = namespace(distance, radius), distance * distance - radius * radius
    outside = square > 0
    return xp.where(outside, xp.arctan2(xp.sqrt(xp.where(outside, square, 1)), radius), 0)


def _around(d0: Array, d1: Array, side: Array | None, radius: Array) -> tuple[Array, Array, Array, Array]:
    """Whether the path around the circle touches it, its length on the circle, and the tangent points."""
    xp, len0, len1 = namespace(d0), norm(d0), norm(d1)
    outside = (len0 >= radius) & (len1 >= radius) & (radius >= MINVAL)
    winding = _angle(d0, d1) if side is None else _angle(d0, side) + _angle(side, d1)
    reach0, reach1 = _reach(len0, radius), _reach(len1, radius)
    arc = xp.abs(winding) - reach0 - reach1
    way = xp.where(winding < 0, -1, 1).astype(winding.dtype)
    t0, t1 = _turned(d0, way * reach0, radius), _turned(d1, -way * reach1, radius)
    return outside & (arc > 0), radius * xp.maximum(arc, 0), t0, t1


def _through(d0: Array, d1: Array, radius: Array) -> tuple[Array, Array, Array, Array]:
    """Whether a path that must reach the circle touches it from outside, length 0, and twice the point where.

    At the touching point the two straight pieces make equal angles with the circle: with z the sine of that
    angle, asin(A z) + asin(B z) - 2 asin(z) + G = 0, A = r/|d0|, B = r/|d1|, G the angle between d0 and d1.
    """
    xp, len0, len1 = namespace(d0), norm(d0), norm(d1)
    outside = (len0 > radius) & (len1 > radius) & (radius >= MINVAL)
    step = d1 - d0
    square = dot(step, step)
    at = -dot(step, d0) / xp.maximum(square, MINVAL)
    nearest = norm(d0 + at[..., None] * step)
    crosses = (square > MINVAL) & (at > 0) & (at < 1) & (nearest <= radius)
    between = xp.abs(_angle(d0, d1))
    touches = outside & ~crosses & (xp.cos(between) >= -1 + MINVAL)
    below_one = 1 - 8 * float(np.finfo(d0.dtype).eps)
    a, b = (xp.minimum(radius / xp.maximum(n, MINVAL), below_one) for n in (len0, len1))
    touch = _touching_point(d0, d1, a, b, between, radius)
    return touches, xp.zeros_like(len0), touch, touch


def _touching_point(d0: Array, d1: Array, a: Array, b: Array, between: Array, radius: Array) -> Array:
    """Newton's method for the angle asin(z); where there is none, the point in the middle of the directions."""
    xp, nearly = namespace(d0), 1 - 1e-7
    unsolvable = xp.arcsin(a * nearly) + xp.arcsin(b * nearly) - 2 * float(np.arcsin(nearly)) + between > 0
    unsolvable |= xp.cos(between) > 1 - MINVAL
    angle = _solved(a, b, between)
    way = xp.where(_angle(d0, d1) < 0, -1, 1).astype(angle.dtype)
    touch = _turned(d0, way * (angle - xp.arcsin(a * xp.sin(angle))), radius)
    return xp.where(unsolvable[..., None], normalize(d0 + d1) * radius[..., None], touch)


def _solved(a: Array, b: Array, between: Array) -> Array:
    """The angle [...] at which asin(a sin) + asin(b sin) - 2 angle + between = 0.

    The left side is concave and falls: from the right of the solution, where the tangent at zero leads, the iterates
    approach it without passing it. Only the last two steps are differentiated: at the solution a step of Newton's
    method has the derivative of the solution, and two have the first three.
    """
    given = (a, b, between)
    if on_host(*given):
        angle = _start(*given)
        for _ in range(10):
            angle = _newton(angle, *given)
    else:
        fixed = lax.stop_gradient(given)
        angle = lax.fori_loop(0, 10, lambda _, x: _newton(x, *fixed), _start(*fixed))
    return _newton(_newton(angle, *given), *given)


def _start(a: Array, b: Array, between: Array) -> Array:
    xp = namespace(between)
    return xp.minimum(between / xp.maximum(2 - a - b, MINVAL), np.pi / 2)


def _newton(angle: Array, a: Array, b: Array, between: Array) -> Array:
    xp = namespace(angle)
    z, c = xp.sin(angle), xp.cos(angle)
    excess = xp.arcsin(a * z) + xp.arcsin(b * z) - 2 * angle + between
    slope = a * c / xp.sqrt(1 - (a * z) ** 2) + b * c / xp.sqrt(1 - (b * z) ** 2) - 2
    return xp.clip(angle - excess / xp.minimum(slope, -MINVAL), 0, np.pi / 2)
