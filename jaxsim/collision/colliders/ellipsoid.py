"""Collider of a sphere with an ellipsoid: geom 1 is the sphere.

The point x of an ellipsoid with semi-axes e, of which m is the least, that is nearest to p lies where p is off it along
the normal x / e^2:

    x = e^2 p / (s + e^2 - m^2),   f(s) = sum (e p / (s + e^2 - m^2))^2 - 1 = 0,   s > 0

f falls and is convex there, so Newton's method comes to the root from below without ever passing it. It begins where
the largest of the three terms alone is one, and f at most two. Counted from -m^2, s has all its digits near the centre.
"""

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.shape import Candidates, Shape, detected, safe_norm, to_world

Array = jax.Array

# six do but where p is nearly on a plane of symmetry, and nearly where two points of it are nearest
STEPS = 12


def sphere_ellipsoid(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [1]: the sphere against the nearest point of the ellipsoid, from without or within (mjc_Convex)."""
    place = vector.matvec_t(b.mat, a.pos - b.pos)
    foot = _nearest(place, b.size)
    outward = foot / (b.size * b.size)
    outward = outward / safe_norm(outward)
    dist = jnp.sum(outward * (place - foot), keepdims=True) - a.size[:1]
    normal = -to_world(b.mat, outward[None])
    pos = a.pos[None] + (a.size[0] + 0.5 * dist)[:, None] * normal
    return Candidates(detected(dist, margin), pos, normal, jnp.zeros_like(pos))


def _nearest(place: Array, size: Array) -> Array:
    """The point [3] (m) of the surface of an ellipsoid of semi-axes [3] (m) that is nearest to a place [3] (m)."""
    tiny = jnp.finfo(place.dtype).eps
    side = jnp.where(place < 0, -1, 1).astype(place.dtype)
    # of a place on a plane of symmetry there may be two, one on either side: a hair beside it there is one
    still = lax.stop_gradient(place)
    p = place + jnp.where(jnp.abs(still) < tiny * size, side * tiny * size, 0)
    least = jnp.min(lax.stop_gradient(size))
    positive = side * p
    s = _root(*lax.stop_gradient((positive, size)), least)
    s = s - _step(s, positive, size, least)  # no step but of derivatives
    return size * size * p / _beyond(s, size, least)


def _root(p: Array, size: Array, least: Array) -> Array:
    """The root s [] (m^2) for a place [3] whose coordinates are positive."""
    s = jnp.max(size * p - _beyond(jnp.zeros((), p.dtype), size, least))
    for _ in range(STEPS):
        s = s - _step(s, p, size, least)
    return s


def _beyond(s: Array, size: Array, least: Array) -> Array:
    """s + e^2 - m^2 [3]."""
    return s + (size - least) * (size + least)


def _step(s: Array, p: Array, size: Array, least: Array) -> Array:
    """What a step of Newton's method takes from s []; its own slope counts as constant."""
    beyond = _beyond(s, size, least)
    term = size * p / beyond
    slope = -2 * jnp.sum(term * term / beyond)
    return (jnp.sum(term * term) - 1) / lax.stop_gradient(slope)
