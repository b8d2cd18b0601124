"""Directions as a free body sees them, from its quaternion alone."""

import jax
import jax.numpy as jnp

Array = jax.Array


def seen_from(quat: Array, vector: Array) -> Array:
    """A vector [3] of the world in the axes of a body with orientation `quat` [4] (w, x, y, z), of any length."""
    unit = quat / jnp.linalg.norm(quat)
    w, xyz = unit[0], unit[1:]
    return vector + 2 * jnp.cross(jnp.cross(vector, xyz) + w * vector, xyz)


def up(quat: Array) -> Array:
    """The vertical [3] in the axes of a body with orientation `quat` [4]: its last number is 1 where it stands."""
    return seen_from(quat, jnp.array([0.0, 0.0, 1.0], quat.dtype))
