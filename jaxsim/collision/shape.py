"""What every collider takes and gives, and the contact frame.

A collider is pure geometry: two shapes and a detection distance [] (m) in, a fixed number of contact
candidates out. It knows nothing of models, bodies or solvers, and is written for one pair; the driver
maps it over pairs and worlds.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.algebra import vector
from jaxsim.core.enums import MINVAL

Array = jax.Array

# distance of a candidate that is not a contact: large, but finite so that derivatives are finite too
NO_CONTACT = 1e10


class Hull(NamedTuple):
    """The convex hull of a mesh.

    vertex [n, 3] are positions in the geom's frame (m) and number [n] their numbers in polygons, which has the faces
    of all meshes (`convex.polygons.Polygons`, host arrays). Vertices that only fill up repeat the first.
    """

    vertex: Array
    number: Array
    polygons: Any


class Shape(NamedTuple):
    """One geom: centre [3] (m), orientation [3, 3], MuJoCo's size parameters [3] (m).

    `data` is what some colliders read beyond that: a mesh's `Hull`, a convex routine's `Form`.
    """

    pos: Array
    mat: Array
    size: Array
    data: Any = None


class Candidates(NamedTuple):
    """k contact candidates of one pair.

    dist [k] is the signed distance of the surfaces (m), NO_CONTACT where there is none; pos [k, 3] lies
    midway between the surfaces (m); normal [k, 3] points from geom 1 to geom 2; tangent [k, 3] is the
    wish for the second frame axis, zero where any will do.
    """

    dist: Array
    pos: Array
    normal: Array
    tangent: Array


def tolerance(dtype) -> float:
    """Length of a difference of positions (m) or unit vectors below which its direction is rounding noise.

    Directions of shorter ones are replaced: their derivatives, of order 1 / length, are noise as well.
    """
    return MINVAL if dtype == jnp.float64 else 1e-6


def detected(dist: Array, margin: Array, also: Array | bool = True) -> Array:
    """Distances [k], with NO_CONTACT in place of those beyond the margin or not wanted."""
    return jnp.where((dist <= margin) & also, dist, NO_CONTACT)


def safe_norm(x: Array) -> Array:
    """Length over the last axis, kept: [..., n] -> [..., 1]; never below MINVAL, so safe to divide by."""
    return jnp.sqrt(jnp.maximum(jnp.sum(x * x, axis=-1, keepdims=True), MINVAL * MINVAL))


def to_world(mat: Array, local: Array) -> Array:
    """Rotate points [k, 3] out of the frame of mat [3, 3]."""
    return jnp.sum(mat[None] * local[:, None, :], axis=-1)


def first_true(mask: Array) -> Array:
    """The first set element along the last axis, as a one-hot mask [..., n]; empty if none is set."""
    n = mask.shape[-1]
    order = lax.broadcasted_iota(jnp.int32, mask.shape, mask.ndim - 1)
    return order == jnp.min(jnp.where(mask, order, n), axis=-1, keepdims=True)


def pick(hot: Array, x: Array) -> Array:
    """The rows of x [n, ...] that one-hot masks [m, n] choose: [m, ...]; zero where a mask is empty."""
    mask = hot.reshape(*hot.shape, *(1,) * (x.ndim - 1))
    return jnp.sum(jnp.where(mask, x[None], 0), axis=1)


def make_frame(normal: Array, tangent: Array) -> Array:
    """Orthonormal frames [..., 3, 3] with rows normal, tangent 1, tangent 2 (mju_makeFrame).

    The first tangent is the wish, or the y axis (z where the normal is close to y) if there is none,
    made orthogonal to the normal. A wish parallel to the normal gives the x axis, as in MuJoCo.
    """
    n = normal / safe_norm(normal)
    basis = jnp.eye(3, dtype=n.dtype).reshape((1,) * (n.ndim - 1) + (3, 3))
    level = jnp.abs(n[..., 1:2]) < 0.5
    default = jnp.where(level, basis[..., 1, :], basis[..., 2, :])
    wish = jnp.where(jnp.sum(tangent * tangent, axis=-1, keepdims=True) < 0.25, default, tangent)
    t = _orthogonal(wish, n)
    tiny = tolerance(n.dtype)
    length = safe_norm(t)
    usable = length > tiny
    # the second pass removes what cancellation left along the normal in the first
    t = _orthogonal(t / jnp.where(usable, length, 1), n)
    t = jnp.where(usable, t / safe_norm(t), jnp.broadcast_to(basis[..., 0, :], t.shape))
    return jnp.concatenate([x[..., None, :] for x in (n, t, vector.cross(n, t))], axis=-2)


def _orthogonal(x: Array, n: Array) -> Array:
    return x - n * jnp.sum(n * x, axis=-1, keepdims=True)
