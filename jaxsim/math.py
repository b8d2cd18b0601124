"""Vectors, quaternions and frames.

Vectors are [..., 3], quaternions [..., 4] in (w, x, y, z) order, matrices [..., 3, 3]. Everything is
written on component columns [..., 1], so that a leading row axis and a trailing world axis both stay
contiguous. Norms are safe: value and derivative are finite at zero length.
"""

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.types import MINVAL

Array = jax.Array


def columns(x: Array) -> tuple[Array, ...]:
    """Split the last axis [..., n] into n columns [..., 1]."""
    return tuple(lax.split(x, (1,) * x.shape[-1], axis=x.ndim - 1))


def join(*cols: Array) -> Array:
    """Concatenate columns along the last axis."""
    return lax.concatenate(cols, cols[0].ndim - 1)


def dot(a: Array, b: Array) -> Array:
    """Inner product over the last axis: [..., n], [..., n] -> [...]."""
    return jnp.sum(a * b, axis=-1)


def cross(a: Array, b: Array) -> Array:
    """Cross product [..., 3]."""
    # components twice over, so that all components are one operation
    a, b = join(a, a), join(b, b)
    return a[..., 1:4] * b[..., 2:5] - a[..., 2:5] * b[..., 1:4]


def norm(x: Array) -> Array:
    """Length over the last axis, with derivative zero at zero: [..., n] -> [...]."""
    square = dot(x, x)
    positive = square > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, square, 1)), 0)


def normalize_with_norm(x: Array) -> tuple[Array, Array]:
    """Unit vector and length; the zero vector gives the first axis, as mju_normalize3 does."""
    length = norm(x)
    usable = length > MINVAL
    unit = x / jnp.where(usable, length, 1)[..., None]
    first = jnp.zeros(x.shape[-1], x.dtype).at[0].set(1)
    return jnp.where(usable[..., None], unit, jnp.broadcast_to(first, x.shape)), length


def normalize(x: Array) -> Array:
    """Unit vector (or quaternion); zero gives the first axis (the identity rotation)."""
    return normalize_with_norm(x)[0]


def least(x: Array) -> tuple[Array, Array]:
    """The smallest element along a short last axis, [..., n] -> [..., 1], and a one-hot mask of where it is first.

    Element by element, because `x == min(x)`, and with it JAX's derivative of min, marks nothing at all where
    XLA computes x once for the comparison and once for the minimum, and rounds differently.
    """
    first, *others = columns(x)
    place = jnp.zeros_like(first, jnp.int32)
    for i, other in enumerate(others, 1):
        closer = other < first
        first, place = jnp.where(closer, other, first), jnp.where(closer, i, place)
    return first, place == lax.broadcasted_iota(jnp.int32, x.shape, x.ndim - 1)


def quat_mul(a: Array, b: Array) -> Array:
    """Hamilton product [..., 4] (mju_mulQuat)."""
    aw, ax, ay, az = columns(a)
    bw, bx, by, bz = columns(b)
    return join(
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def quat_conj(q: Array) -> Array:
    """Inverse of a unit quaternion."""
    return q * jnp.array([1, -1, -1, -1], q.dtype).reshape((1,) * (q.ndim - 1) + (4,))


def quat_to_mat(q: Array) -> Array:
    """Rotation matrix [..., 9], row-major, of a unit quaternion [..., 4] (mju_quat2Mat)."""
    w, x, y, z = columns(q)
    ww, xx, yy, zz = w * w, x * x, y * y, z * z
    wx, wy, wz, xy, xz, yz = w * x, w * y, w * z, x * y, x * z, y * z
    return join(
        ww + xx - yy - zz, 2 * (xy - wz), 2 * (xz + wy),
        2 * (xy + wz), ww - xx + yy - zz, 2 * (yz - wx),
        2 * (xz - wy), 2 * (yz + wx), ww - xx - yy + zz,
    )  # fmt: skip


def rotate(q: Array, v: Array) -> Array:
    """Rotate v [..., 3] by the unit quaternion q [..., 4] (mju_rotVecQuat)."""
    w, u = q[..., :1], q[..., 1:]
    t = 2 * cross(u, v)
    return v + w * t + cross(u, t)


def axis_angle_to_quat(axis: Array, angle: Array) -> Array:
    """Quaternion of a rotation about a unit axis [..., 3] by angle [...] (rad)."""
    half = 0.5 * angle[..., None]
    return join(jnp.cos(half), jnp.sin(half) * axis)


def rotation_vector_to_quat(v: Array) -> Array:
    """Exponential map of a rotation vector [..., 3] (rad), smooth at zero."""
    square = dot(v, v)[..., None]
    small = square < 1e-8
    half = 0.5 * jnp.sqrt(jnp.where(small, 1, square))
    # sin(a/2)/a and cos(a/2) by series where a is tiny, which also keeps derivatives finite
    s = jnp.where(small, 0.5 - square / 48, jnp.sin(half) / (2 * half))
    c = jnp.where(small, 1 - square / 8, jnp.cos(half))
    return join(c, s * v)


def quat_to_rotation_vector(q: Array) -> Array:
    """Logarithm of a unit quaternion, angle in (-pi, pi] (mju_quat2Vel with dt = 1)."""
    w, axis = q[..., :1], q[..., 1:]
    sin_half = norm(axis)[..., None]
    angle = 2 * jnp.arctan2(sin_half, w)
    angle = jnp.where(angle > jnp.pi, angle - 2 * jnp.pi, angle)
    small = sin_half < 1e-6 if q.dtype == jnp.float64 else sin_half < 1e-4
    # near identity angle/sin(angle/2) tends to 2 (with the sign of w)
    scale = jnp.where(small, 2 * jnp.where(w < 0, -1, 1).astype(q.dtype), angle / jnp.where(small, 1, sin_half))
    return scale * axis


def quat_integrate(q: Array, angular_velocity: Array, dt: Array) -> Array:
    """Advance a quaternion by a body-frame angular velocity for a time dt (mju_quatIntegrate)."""
    return quat_mul(q, rotation_vector_to_quat(angular_velocity * dt))


def quat_subtract(a: Array, b: Array) -> Array:
    """Rotation vector that takes b to a, in the frame of b (mju_subQuat)."""
    return quat_to_rotation_vector(quat_mul(quat_conj(b), a))


def matvec(mat: Array, v: Array) -> Array:
    """[..., n, m] times [..., m] -> [..., n]."""
    return jnp.sum(mat * v[..., None, :], axis=-1)


def matvec_t(mat: Array, v: Array) -> Array:
    """[..., n, m] transposed times [..., n] -> [..., m]."""
    return jnp.sum(mat * v[..., :, None], axis=-2)
