"""Rigid bodies on SE(3): the first-order variational integrator of the midpoint Lagrangian.

Unknown are the velocities of the middle of the step, v in the world's frame and w in the body's own:

    x+ = x + h v,    q+ = q c(w),    c(w) = (sqrt(1 - h^2 w.w / 4), h w / 2)

With those the discrete Euler-Lagrange equations are balances of impulses at the step's beginning,

    m (v+ - v-)         = h m g + forces h
    p(w+) - p(-w-)'     = torques h,        p(w) = sqrt(1 - h^2 w.w / 4) J w + h/2 w x J w

where p(-w-)' is the momentum that the step before left, sqrt(..) J w - h/2 w x J w. (Manchester & Manchester,
"Quaternion variational integrators", which Dojo uses; reference/dojo.md 1.1.)
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import quaternion, vector

Array = jax.Array

SMALL = 1e-8  # rad^2, below which two terms of a series are exact
FASTEST = 3.9 / 4  # of (h w / 2)^2, beyond which a half turn in a step is near and the sign of c(w) not known


CROSS = np.zeros((3, 3, 3))  # component k of a at [k, i, j] of the matrix of its cross product
CROSS[[0, 1, 2], [2, 0, 1], [1, 2, 0]], CROSS[[0, 1, 2], [1, 2, 0], [2, 0, 1]] = 1, -1


def skew(a: Array) -> Array:
    """Matrix [n, 3, 3] of the cross product with a [n, 3]."""
    return jnp.einsum("nk,kij->nij", a, jnp.asarray(CROSS, a.dtype), precision="highest")


def product(a: Array, b: Array) -> Array:
    """Products [n, i, k] of matrices [n, i, j] and [n, j, k], at full precision."""
    return jnp.einsum("nij,njk->nik", a, b, precision="highest")


def transposed(a: Array) -> Array:
    """[n, j, i] of [n, i, j]."""
    return jnp.swapaxes(a, 1, 2)


def identities(n: int, size: int, dtype) -> Array:
    """[n, size, size] identity matrices."""
    return jnp.broadcast_to(jnp.eye(size, dtype=dtype), (n, size, size))


def rotation(q: Array) -> Array:
    """Rotation matrix [n, 3, 3] of unit quaternions [n, 4]."""
    return quaternion.to_mat(q).reshape(-1, 3, 3)


def exponential(v: Array) -> Array:
    """Rotation matrix [n, 3, 3] of rotation vectors [n, 3] (rad), smooth at zero (Rodrigues)."""
    square = vector.dot(v, v)
    small = square < SMALL
    half = 0.5 * jnp.sqrt(jnp.where(small, 1, square))
    # sin(a) / a and sin(a/2) / (a/2), by series where a is tiny
    sine = jnp.where(small, 1 - square / 6, jnp.sin(2 * half) / (2 * half))
    sine_half = jnp.where(small, 1 - square / 24, jnp.sin(half) / half)
    generator = skew(v)
    linear, quadratic = sine[:, None, None], (0.5 * sine_half * sine_half)[:, None, None]
    return identities(len(v), 3, v.dtype) + linear * generator + quadratic * product(generator, generator)


def exponential_rate(v: Array) -> Array:
    """[n, 3, 3]: rotation of the turned frame, in its own axes, with a change of the rotation vector v [n, 3]."""
    square = vector.dot(v, v)
    small = square < 0.1
    angle = jnp.sqrt(jnp.where(small, 1, square))
    series = 1 / 6 - square / 120 * (1 - square / 42 * (1 - square / 72 * (1 - square / 110)))
    cubic = jnp.where(small, series, (angle - jnp.sin(angle)) / angle**3)
    halves = jnp.where(small, 1 - square / 24 * (1 - square / 80 * (1 - square / 168)), 2 * jnp.sin(angle / 2) / angle)
    generator = skew(v)
    linear, quadratic = (0.5 * halves * halves)[:, None, None], cubic[:, None, None]
    return identities(len(v), 3, v.dtype) - linear * generator + quadratic * product(generator, generator)


def _cosine(w: Array, h: Array) -> Array:
    """sqrt(1 - h^2 w.w / 4) [n, 1] of angular velocities [n, 3] (rad/s)."""
    square = 0.25 * h * h * vector.dot(w, w)[..., None]
    return jnp.sqrt(1 - jnp.minimum(square, FASTEST))


def turn(w: Array, h: Array) -> Array:
    """c(w) [n, 4]: how far bodies turn in a step h [] (s) at angular velocities [n, 3] (rad/s)."""
    return vector.join(_cosine(w, h), 0.5 * h * w)


def turn_rate(w: Array, h: Array) -> Array:
    """[n, 3, 3]: change of orientation after the step, in the turned body's frame, with the velocity w [n, 3]."""
    cosine = _cosine(w, h)[..., None]
    outer = w[..., :, None] * w[..., None, :]
    return h * (cosine * jnp.eye(3, dtype=w.dtype)[None] + (0.25 * h * h) * outer / cosine - 0.5 * h * skew(w))


def _spin(inertia: Array, w: Array) -> tuple[Array, Array]:
    momentum = vector.matvec(inertia, w)
    return momentum, vector.cross(w, momentum)


def momentum_ahead(inertia: Array, w: Array, h: Array) -> Array:
    """Angular momentum [n, 3] (kg m^2/s, body frame) at the beginning of a step with velocity w; J [n, 3, 3]."""
    momentum, gyroscopic = _spin(inertia, w)
    return _cosine(w, h) * momentum + 0.5 * h * gyroscopic


def momentum_behind(inertia: Array, w: Array, h: Array) -> Array:
    """Angular momentum [n, 3] (kg m^2/s, body frame) at the end of a step with velocity w; J [n, 3, 3]."""
    momentum, gyroscopic = _spin(inertia, w)
    return _cosine(w, h) * momentum - 0.5 * h * gyroscopic


def momentum_slope(inertia: Array, w: Array, h: Array) -> Array:
    """Derivative [n, 3, 3] of `momentum_ahead` with respect to w [n, 3], for J [n, 3, 3]."""
    cosine = _cosine(w, h)[..., None]
    momentum = vector.matvec(inertia, w)
    stretch = momentum[..., :, None] * w[..., None, :] * (0.25 * h * h) / cosine
    return cosine * inertia - stretch + 0.5 * h * (product(skew(w), inertia) - skew(momentum))
