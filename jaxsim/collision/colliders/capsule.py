"""Capsule with capsule: the nearest points of two segments, then spheres there."""

import jax
import jax.numpy as jnp

from jaxsim.algebra import vector
from jaxsim.collision.colliders.sphere import sphere_pairs
from jaxsim.collision.shape import NO_CONTACT, Candidates, Shape

Array = jax.Array

# squared sine of the angle between axes below which capsules count as parallel
PARALLEL = 1e-8


def capsule_capsule(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [2]: one, or two between parallel capsules (mjc_CapsuleCapsule).

    Points of the segments are s z1 and r + t z2, with z the axes and r the offset of the centres. At the
    nearest, s = z1.r + (z1.z2) t and t = (z1.z2) s - z2.r, each clipped to its segment. Parallel capsules
    touch at both ends of their common stretch.
    """
    z1, z2, offset = a.mat[:, 2], b.mat[:, 2], b.pos - a.pos
    half1, half2 = a.size[1:2], b.size[1:2]
    cos = jnp.sum(z1 * z2)
    e1, e2 = jnp.sum(z1 * offset), jnp.sum(z2 * offset)
    # by cross products: 1 - cos^2 and z1.r - cos z2.r would cancel for small angles
    across = vector.cross(z1, z2)
    sin2 = jnp.sum(across * across)
    general = jnp.sum(across * vector.cross(offset, z2), keepdims=True) / jnp.maximum(sin2, PARALLEL)
    parallel = sin2 < PARALLEL

    # ends of b in the order in which they lie along a, and the points of a beside them
    ends = half2 * jnp.array([-1, 1], half2.dtype) * jnp.where(cos < 0, -1, 1).astype(half2.dtype)
    facing = e1 + cos * ends
    s = jnp.clip(jnp.where(parallel, facing, general), -half1, half1)
    t = jnp.clip(cos * s - e2, -half2, half2)
    t = jnp.where(parallel & (jnp.abs(facing) <= half1), ends, t)
    s = jnp.where(parallel, s, jnp.clip(e1 + cos * t, -half1, half1))
    found = sphere_pairs(a, b, s[:, None] * z1[None], offset[None] + t[:, None] * z2[None], margin)
    single = ~parallel & jnp.array([False, True])
    return found._replace(dist=jnp.where(single, NO_CONTACT, found.dist))
