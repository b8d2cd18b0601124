"""Colliders of a sphere with a sphere, capsule, cylinder or box: geom 1 is the sphere.

All work with positions relative to the sphere's centre. Each finds the other shape's nearest point, and
the contact lies on the line to it: at the sphere's radius plus half the distance.
"""

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.shape import Candidates, Shape, detected, safe_norm, to_world, tolerance

Array = jax.Array


def sphere_sphere(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [1], on the line of centres (mjc_SphereSphere)."""
    return sphere_pairs(a, b, jnp.zeros_like(a.pos)[None], (b.pos - a.pos)[None], margin)


def sphere_capsule(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [1]: the sphere against the nearest sphere inside the capsule (mjc_SphereCapsule)."""
    axis, offset = b.mat[:, 2], b.pos - a.pos
    x = jnp.clip(-jnp.sum(axis * offset), -b.size[1], b.size[1])
    return sphere_pairs(a, b, jnp.zeros_like(offset)[None], (offset + x * axis)[None], margin)


def sphere_cylinder(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [1]: the sphere against the cylinder's side, cap or rim, whichever is nearest (mjc_SphereCylinder)."""
    radius, half = b.size[:1], b.size[1:2]
    axis, vec = b.mat[:, 2], a.pos - b.pos
    x = jnp.sum(axis * vec, keepdims=True)
    sign = jnp.where(x > 0, 1, -1).astype(x.dtype)
    radial = vec - axis * x
    out = safe_norm(radial)
    # over the side, over a cap, or over the rim; inside, the nearer of side and cap
    beside, above = jnp.abs(x) < half, out < radius
    nearer_cap = half - jnp.abs(x) < radius - out
    cap = above & (~beside | nearer_cap)
    side = beside & ~cap
    rim = radial * (radius / out - 1) + axis * (sign * half - x)
    gap = jnp.where(cap, -sign * axis, jnp.where(side, -radial, rim))
    length = safe_norm(gap)
    dist = jnp.where(cap, sign * x - half, length - jnp.where(side, radius, 0))
    normal = jnp.where(length > tolerance(length.dtype), gap / length, _fallback(a, b))
    return _on_line(a, dist, normal, margin)


def sphere_box(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [1]: the sphere against the nearest point of the box, or face from within (mjc_SphereBox)."""
    return spheres_box(a, b, vector.matvec_t(b.mat, a.pos - b.pos)[None], margin)


def spheres_box(a: Shape, b: Shape, centre: Array, margin: Array) -> Candidates:
    """Spheres [k, 3] of the radius of a, centres in the frame of the box b (mjraw_SphereBox)."""
    radius, size = a.size[0], b.size[None]
    gap = jnp.clip(centre, -size, size) - centre
    length = safe_norm(gap)
    inside = length <= tolerance(length.dtype)
    depth = size - jnp.abs(centre)
    shallow, face = vector.least(depth)
    inward = jnp.where(centre > 0, -1, 1).astype(gap.dtype)
    inward = jnp.where(face, inward, 0)
    dist = jnp.where(inside, -shallow, length) - radius
    normal = jnp.where(inside, inward, gap / length)
    pos = b.pos[None] + to_world(b.mat, centre + normal * (radius + 0.5 * dist))
    return Candidates(detected(dist[:, 0], margin), pos, to_world(b.mat, normal), jnp.zeros_like(pos))


def sphere_pairs(a: Shape, b: Shape, centre1: Array, centre2: Array, margin: Array) -> Candidates:
    """Spheres [k, 3] of the radii of a and b, centres relative to a (mjraw_SphereSphere)."""
    gap = centre2 - centre1
    length = safe_norm(gap)
    normal = jnp.where(length > tolerance(length.dtype), gap / length, _fallback(a, b)[None])
    dist = length - (a.size[0] + b.size[0])
    pos = a.pos[None] + (centre1 + normal * (a.size[0] + 0.5 * dist))
    return Candidates(detected(dist[:, 0], margin), pos, normal, jnp.zeros_like(pos))


def _on_line(a: Shape, dist: Array, normal: Array, margin: Array) -> Candidates:
    """The contact of a sphere whose centre is dist [1] from the other surface."""
    dist = dist - a.size[:1]
    pos = a.pos + normal * (a.size[:1] + 0.5 * dist)
    return Candidates(detected(dist, margin), pos[None], normal[None], jnp.zeros_like(pos)[None])


def _fallback(a: Shape, b: Shape) -> Array:
    """The normal where centres coincide: across both z axes, or x if these are parallel."""
    across = lax.stop_gradient(vector.cross(a.mat[:, 2], b.mat[:, 2]))
    length = safe_norm(across)
    return jnp.where(length > tolerance(length.dtype), across / length, jnp.array([1, 0, 0], across.dtype))
