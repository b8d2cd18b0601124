"""Vectors and small matrices, of numpy or of JAX.

Vectors are [..., 3], matrices [..., 3, 3]. Everything is written on component columns [..., 1], so that a
leading row axis and a trailing world axis both stay contiguous. Norms are safe: value and derivative are
finite at zero length.
"""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.arrays import Array, namespace, on_host
from jaxsim.algebra.select import take
from jaxsim.core.enums import MINVAL

NEXT, AFTER = np.array([1, 2, 0]), np.array([2, 0, 1])  # y z x and z x y: all components in one operation


def columns(x: Array) -> Sequence[Array]:
    """Split the last axis [..., n] into n columns [..., 1]; a single vector of the host into numbers, which is fast."""
    if on_host(x):
        return x.tolist() if x.ndim == 1 else [x[..., k : k + 1] for k in range(x.shape[-1])]
    return tuple(lax.split(x, (1,) * x.shape[-1], axis=x.ndim - 1))


def join(*cols: Array) -> Array:
    """Concatenate columns [..., k] along the last axis, the inverse of `columns` where they are [..., 1]."""
    if on_host(*cols):
        return np.array(cols) if isinstance(cols[0], float) else np.concatenate(cols, -1)
    return lax.concatenate(cols, cols[0].ndim - 1)


def dot(a: Array, b: Array) -> Array:
    """Inner product over the last axis: [..., n], [..., n] -> [...]."""
    return np.vecdot(a, b) if on_host(a, b) else jnp.sum(a * b, axis=-1)


def cross(a: Array, b: Array) -> Array:
    """Cross product [..., 3]."""
    last = a.ndim - 1
    if on_host(a, b):
        if last:
            return a.take(NEXT, -1) * b.take(AFTER, -1) - a.take(AFTER, -1) * b.take(NEXT, -1)
        (ax, ay, az), (bx, by, bz) = columns(a), columns(b)
        return join(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)
    (a1, a2), (b1, b2) = ((take(x, NEXT, last), take(x, AFTER, last)) for x in (a, b))
    return a1 * b2 - a2 * b1


def norm(x: Array) -> Array:
    """Length over the last axis, with derivative zero at zero: [..., n] -> [...]."""
    square = dot(x, x)
    if on_host(square):
        return np.sqrt(square)
    positive = square > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, square, 1)), 0)


def normalize_with_norm(x: Array) -> tuple[Array, Array]:
    """Unit vector [..., n] and length [...]; the zero vector gives the first axis, as mju_normalize3 does."""
    xp, length = namespace(x), norm(x)
    usable = length > MINVAL
    if on_host(x) and usable.all():
        return x / length[..., None], length
    unit = x / xp.where(usable, length, 1)[..., None]
    first = xp.asarray(np.eye(1, x.shape[-1])[0], x.dtype)
    return xp.where(usable[..., None], unit, xp.broadcast_to(first, x.shape)), length


def normalize(x: Array) -> Array:
    """Unit vector (or quaternion) [..., n]; zero gives the first axis (the identity rotation)."""
    return normalize_with_norm(x)[0]


def within(x: Array, low: Array | float, high: Array | float) -> Array:
    """Numbers [...] clamped to [low, high]. At the ends the derivative is that from within, where jnp.clip has half.

    For what cannot be beyond, such as a control at its limit, the other side has no meaning.
    """
    return jnp.where((low <= x) & (x <= high), x, jnp.clip(x, low, high))


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


def matvec(mat: Array, v: Array) -> Array:
    """[..., n, m] times [..., m] -> [..., n]."""
    return np.vecdot(mat, v[..., None, :]) if on_host(mat, v) else jnp.sum(mat * v[..., None, :], axis=-1)


def matvec_t(mat: Array, v: Array) -> Array:
    """[..., n, m] transposed times [..., n] -> [..., m]."""
    if on_host(mat, v):
        return (v[..., None, :] @ mat)[..., 0, :]
    return jnp.sum(mat * v[..., :, None], axis=-2)
