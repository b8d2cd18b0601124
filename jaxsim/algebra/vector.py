"""Vectors and small matrices.

Vectors are [..., 3], matrices [..., 3, 3]. Everything is written on component columns [..., 1], so that a
leading row axis and a trailing world axis both stay contiguous. Norms are safe: value and derivative are
finite at zero length.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.select import take
from jaxsim.core.enums import MINVAL

Array = jax.Array

NEXT, AFTER = np.array([1, 2, 0]), np.array([2, 0, 1])  # y z x and z x y: all components in one operation


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
    last = a.ndim - 1
    (a1, a2), (b1, b2) = ((take(x, NEXT, last), take(x, AFTER, last)) for x in (a, b))
    return a1 * b2 - a2 * b1


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
    first = jnp.asarray(np.eye(1, x.shape[-1])[0], x.dtype)
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


def matvec(mat: Array, v: Array) -> Array:
    """[..., n, m] times [..., m] -> [..., n]."""
    return jnp.sum(mat * v[..., None, :], axis=-1)


def matvec_t(mat: Array, v: Array) -> Array:
    """[..., n, m] transposed times [..., n] -> [..., m]."""
    return jnp.sum(mat * v[..., :, None], axis=-2)
