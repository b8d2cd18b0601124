"""Friction of a contact whose normal force is given: a quadratic over an ellipsoid (mju_QCQP).

    min 1/2 x^T A x + b^T x    subject to    sum_i (x_i / d_i)^2 <= r^2

In y = x / d the ellipsoid is a ball: y(l) = -(A' + l)^-1 b' with A'_ij = d_i A_ij d_j and b'_i = d_i b_i. Inside the
ball l = 0 serves; else Newton's method finds the l > 0 at which |y(l)| = r.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.core.enums import MINVAL

Array = jax.Array

ITERATIONS, CLOSE, SINGULAR = 19, 1e-10, 1e-10  # MuJoCo's: of its 20 rounds the last one moves nothing


def qcqp(A: Array, b: Array, d: Array, r: Array, condim: Array) -> Array:
    """The minimiser x [k]; zero where A counts as singular.

    Args:
        A: [k, k], b: [k], d: [k] semi-axes, positive.
        r: [] size of the ellipsoid.
        condim: [] of the contact: components from condim - 1 on are idle, and x is zero there.
    """
    k = len(b)
    live = np.arange(1, k + 1, dtype=np.int32) < condim
    eye = jnp.eye(k, dtype=A.dtype)
    scaled = jnp.where(live[:, None] & live[None], A * d[:, None] * d[None], eye)
    shift = jnp.where(live, b * d, 0)
    many = condim > 4  # whether MuJoCo's test of singularity is that of its general routine
    multiplier = _multiplier(scaled, shift, r, many)
    inverse, regular = _inverse(scaled + multiplier * eye, many)
    y = -_times(inverse, shift)
    on_boundary = regular & (multiplier > 0)
    length = jnp.maximum(jnp.where(on_boundary, jnp.sum(y * y), 1), MINVAL)
    y = y * jnp.where(on_boundary, r / jnp.sqrt(length), 1)  # exactly there, though l is approximate
    return jnp.where(regular & live, y * d, 0)


@jax.custom_jvp
def _multiplier(A: Array, b: Array, r: Array, many: Array) -> Array:
    """l [] with |(A + l)^-1 b| = r, or 0 if that is shorter at l = 0."""
    eye = jnp.eye(len(b), dtype=A.dtype)

    def step(state):
        multiplier, count, _ = state
        inverse, regular = _inverse(A + multiplier * eye, many)
        y = -_times(inverse, b)
        excess = jnp.sum(y * y) - r * r
        change = excess / jnp.where(excess > 0, 2 * jnp.sum(y * _times(inverse, y)), 1)
        done = ~regular | (excess < CLOSE) | (change < CLOSE)
        return jnp.where(done, multiplier, multiplier + change), count + 1, done

    start = jnp.zeros_like(r), jnp.zeros((), jnp.int32), jnp.zeros((), bool)
    return lax.while_loop(lambda s: (s[1] < ITERATIONS) & ~s[2], step, start)[0]


@_multiplier.defjvp
def _(primals, tangents):
    """|y|^2 = r^2 stays so: dl = -d(|y|^2 - r^2) / (d|y|^2 / dl) at fixed l, and 0 inside the ball."""
    A, b, r, many = primals
    multiplier = _multiplier(*primals)
    inverse, regular = _inverse(A + multiplier * jnp.eye(len(b), dtype=A.dtype), many)
    y = -_times(inverse, b)
    A_dot, b_dot, r_dot, _ = tangents
    z = _times(inverse, y)
    change = -2 * jnp.sum(z * (b_dot + _times(A_dot, y))) - 2 * r * r_dot
    slope = 2 * jnp.sum(y * z)
    return multiplier, jnp.where((multiplier > 0) & regular, change / jnp.where(slope > 0, slope, 1), 0)


def _inverse(A: Array, many: Array) -> tuple[Array, Array]:
    """A^-1 [k, k] by elimination, and whether A is regular: its pivots if `many`, else its determinant."""
    k = len(A)
    eye = np.eye(k, dtype=bool)
    rows = jnp.concatenate([A, jnp.asarray(eye, A.dtype)], axis=1)
    pivots = []
    for i in range(k):
        row, column = lax.index_in_dim(rows, i, 0, False), lax.index_in_dim(rows, i, 1, False)
        pivot = lax.index_in_dim(row, i, 0, False)
        row = row / jnp.where(pivot > 0, pivot, 1)
        rows = jnp.where(eye[i][:, None], row[None], rows - column[:, None] * row[None])
        pivots.append(pivot)
    least = jnp.min(jnp.stack(pivots))
    det = jnp.prod(jnp.stack(pivots))
    return rows[:, k:], (least > 0) & (jnp.where(many, least, det) >= SINGULAR)


def _times(A: Array, x: Array) -> Array:
    return jnp.sum(A * x[None], axis=1)
