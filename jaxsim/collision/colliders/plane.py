"""Colliders of a plane with a convex shape: geom 1 is the plane, whose normal is its z axis.

Contacts are points of the other shape's surface, moved along the normal by half their height, so that
they lie midway between the surfaces.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.collision.shape import Candidates, Shape, detected, safe_norm, to_world, tolerance

Array = jax.Array

# half the corners of a box, none opposite another
CORNERS = np.array([[-1, -1, -1], [1, -1, -1], [-1, 1, -1], [1, 1, -1]])

# points of a cylinder's rim that make a manifold, as combinations of the lowest rim direction and the
# sideways one, and the cap they lie on: lowest point, the one above it, two that complete a triangle
RIM = np.array([[1, 0], [1, 0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]])
CAP = np.array([1, -1, 1, 1])


def plane_sphere(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [1], at the sphere's lowest point (mjc_PlaneSphere)."""
    normal = a.mat[:, 2]
    return _points(a, b, (-b.size[0] * normal)[None], margin)


def plane_capsule(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [2], one per end, frames aligned with the capsule (mjc_PlaneCapsule)."""
    normal, axis = a.mat[:, 2], b.mat[:, 2]
    ends = jnp.array([[1], [-1]], axis.dtype) * (b.size[1] * axis)[None]
    found = _points(a, b, ends - (b.size[0] * normal)[None], margin)
    return found._replace(tangent=jnp.broadcast_to(axis[None], (2, 3)))


def plane_box(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [4]: the corners below the box's centre (mjc_PlaneBox).

    Of two opposite corners exactly one is below, so each slot holds the lower one of a pair.
    """
    corners = to_world(b.mat, jnp.asarray(CORNERS, b.size.dtype) * b.size[None])
    height = jnp.sum(corners * a.mat[:, 2][None], axis=-1, keepdims=True)
    return _points(a, b, jnp.where(height > 0, -corners, corners), margin)


def plane_ellipsoid(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [1], at the ellipsoid's support point towards the plane (mjc_PlaneConvex)."""
    down = -jnp.sum(b.mat * a.mat[:, 2:], axis=0) * b.size
    lowest = b.size * down / safe_norm(down)
    return _points(a, b, to_world(b.mat, lowest[None]), margin)


def plane_cylinder(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [4]: the lowest rim point, the one above it and two that complete a triangle (mjc_PlaneCylinder).

    Rim directions are found in the cylinder's frame, where an upright cylinder causes no cancellation.
    """
    radius, half = b.size[0], b.size[1]
    normal = jnp.sum(b.mat * a.mat[:, 2:], axis=0)
    across, along = normal[:2], normal[2:]
    length = safe_norm(across)
    upright = length <= tolerance(length.dtype)
    east = jnp.array([1, 0], across.dtype)
    low = jnp.where(upright, east, -across / jnp.where(upright, 1, length)) * radius
    facing = jnp.where(along > 0, -half, half)
    side = jnp.concatenate([low[1:], -low[:1]]) * jnp.sign(facing)
    rim = jnp.asarray(RIM, low.dtype)
    disc = rim[:, :1] * low[None] + rim[:, 1:] * side[None]
    local = jnp.concatenate([disc, jnp.asarray(CAP, low.dtype)[:, None] * facing[None]], axis=1)
    return _points(a, b, to_world(b.mat, local), margin)


def _points(a: Shape, b: Shape, offset: Array, margin: Array) -> Candidates:
    """Contacts of a plane with surface points, given relative to the centre of b: [k, 3]."""
    normal = jnp.broadcast_to(a.mat[:, 2][None], offset.shape)
    # the height of the centre first: it is the large part, and common to all points
    height = jnp.sum(normal[0] * (b.pos - a.pos))
    dist = height + jnp.sum(normal * offset, axis=-1)
    pos = b.pos[None] + (offset - normal * (0.5 * dist)[:, None])
    return Candidates(detected(dist, margin), pos, normal, jnp.zeros_like(normal))
