"""Where two segments, either of which may be a point, are nearest."""

import jax
import jax.numpy as jnp

from jaxsim.algebra import vector

Array = jax.Array

PARALLEL = 1e-8  # squared sine of the angle below which segments count as parallel


def parallel(u: Array, v: Array) -> Array:
    """[n] bool: whether vectors [n, 3] are parallel, neither being zero."""
    across = vector.cross(u, v)
    return vector.dot(across, across) < PARALLEL * vector.dot(u, u) * vector.dot(v, v)


def nearest(u: Array, v: Array, offset: Array) -> tuple[Array, Array]:
    """Places s and t [n], from -1 to 1, where s u and offset + t v are nearest; u, v, offset [n, 3] (m).

    With u and v halves of the segments: s u.u = u.offset + t u.v and t v.v = s u.v - v.offset where they cross, else
    one of them clipped and the other nearest to it. Parallel segments have any such places; finite in value and
    derivative.
    """
    across, both = vector.cross(u, v), vector.dot(u, v)
    square, usable = vector.dot(across, across), ~parallel(u, v)
    # u.offset v.v - u.v v.offset by cross products, which keeps its digits at small angles
    crossing = _share(vector.dot(across, vector.cross(offset, v)), jnp.where(usable, square, 0))
    s = jnp.clip(crossing, -1, 1)
    t = jnp.clip(_share(s * both - vector.dot(v, offset), vector.dot(v, v)), -1, 1)
    return jnp.clip(_share(vector.dot(u, offset) + t * both, vector.dot(u, u)), -1, 1), t


def _share(x: Array, of: Array) -> Array:
    """x / of, and zero where that is zero."""
    return jnp.where(of > 0, x / jnp.where(of > 0, of, 1), 0)
