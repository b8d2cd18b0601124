"""Quaternions [..., 4] in (w, x, y, z) order, of numpy or of JAX, written on component columns."""

import jax.numpy as jnp

from jaxsim.algebra import vector
from jaxsim.algebra.arrays import Array, namespace


def mul(a: Array, b: Array) -> Array:
    """Hamilton product [..., 4] (mju_mulQuat)."""
    aw, ax, ay, az = vector.columns(a)
    bw, bx, by, bz = vector.columns(b)
    return vector.join(
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def conj(q: Array) -> Array:
    """Inverse of a unit quaternion [..., 4] (mju_negQuat)."""
    return q * namespace(q).array([1, -1, -1, -1], q.dtype).reshape((1,) * (q.ndim - 1) + (4,))


def to_mat(q: Array) -> Array:
    """Rotation matrix [..., 9], row-major, of a unit quaternion [..., 4] (mju_quat2Mat)."""
    w, x, y, z = vector.columns(q)
    ww, xx, yy, zz = w * w, x * x, y * y, z * z
    wx, wy, wz, xy, xz, yz = w * x, w * y, w * z, x * y, x * z, y * z
    return vector.join(
        ww + xx - yy - zz, 2 * (xy - wz), 2 * (xz + wy),
        2 * (xy + wz), ww - xx + yy - zz, 2 * (yz - wx),
        2 * (xz - wy), 2 * (yz + wx), ww - xx - yy + zz,
    )  # fmt: skip


def rotate(q: Array, v: Array) -> Array:
    """Rotate v [..., 3] by the unit quaternion q [..., 4] (mju_rotVecQuat)."""
    w, u = q[..., :1], q[..., 1:]
    t = 2 * vector.cross(u, v)
    return v + w * t + vector.cross(u, t)


def from_axis_angle(axis: Array, angle: Array) -> Array:
    """Quaternion [..., 4] of a rotation about a unit axis [..., 3] by angle [...] (rad)."""
    xp, half = namespace(angle), 0.5 * angle[..., None]
    return vector.join(xp.cos(half), xp.sin(half) * axis)


def exp(v: Array) -> Array:
    """Exponential map: quaternion [..., 4] of a rotation vector [..., 3] (rad), smooth at zero."""
    xp, square = namespace(v), vector.dot(v, v)[..., None]
    small = square < 1e-8
    half = 0.5 * xp.sqrt(xp.where(small, 1, square))
    # sin(a/2)/a and cos(a/2) by series where a is tiny, which also keeps derivatives finite
    s = xp.where(small, 0.5 - square / 48, xp.sin(half) / (2 * half))
    c = xp.where(small, 1 - square / 8, xp.cos(half))
    return vector.join(c, s * v)


def log(q: Array) -> Array:
    """Rotation vector [..., 3] (rad) of a unit quaternion [..., 4], angle in (-pi, pi] (mju_quat2Vel, dt = 1)."""
    xp, w, axis = namespace(q), q[..., :1], q[..., 1:]
    sin_half = vector.norm(axis)[..., None]
    angle = 2 * xp.arctan2(sin_half, w)
    angle = xp.where(angle > jnp.pi, angle - 2 * jnp.pi, angle)
    small = sin_half < 1e-6 if q.dtype == jnp.float64 else sin_half < 1e-4
    # near identity angle/sin(angle/2) tends to 2 (with the sign of w)
    scale = xp.where(small, 2 * xp.where(w < 0, -1, 1).astype(q.dtype), angle / xp.where(small, 1, sin_half))
    return scale * axis


def integrate(q: Array, angular_velocity: Array, dt: Array) -> Array:
    """Turn q [..., 4] at a body-frame angular velocity [..., 3] (rad/s) for a time dt [] (s) (mju_quatIntegrate)."""
    return mul(q, exp(angular_velocity * dt))


def subtract(a: Array, b: Array) -> Array:
    """Rotation vector [..., 3] (rad) that takes b [..., 4] to a [..., 4], in the frame of b (mju_subQuat)."""
    return log(mul(conj(b), a))
