"""Signed distances of analytical shapes and their slopes, as MuJoCo takes them where one meets a signed distance field.

Value [...] (m) and slope [..., 3] at points [..., 3] in the geom's frame, from its sizes [3] (m). Slopes are those of
engine_collision_sdf.c, which inside a box and off an ellipsoid are not the gradients of the values.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.shape import safe_norm, tolerance
from jaxsim.core.enums import GeomType

Array = jax.Array


def _unit(x: Array) -> Array:
    """Unit vectors, without derivatives where these are noise."""
    unit = x / safe_norm(x)
    return jnp.where(vector.norm(x)[..., None] > tolerance(x.dtype), unit, lax.stop_gradient(unit))


def _side(p: Array) -> Array:
    """-1 or 1, but 1 in the middle, where searches may start: rounding would decide, otherwise in each derivative."""
    return jnp.where(p < -tolerance(p.dtype), -1, 1).astype(p.dtype)


def _sphere(p: Array, size: Array) -> tuple[Array, Array]:
    return vector.norm(p) - size[0], _unit(p)


def _capsule(p: Array, size: Array) -> tuple[Array, Array]:
    across, along = p[..., :2], p[..., 2:]
    rest = vector.join(across, along - jnp.clip(along, -size[1], size[1]))
    return vector.norm(rest) - size[0], _unit(rest)


def _ellipsoid(p: Array, size: Array) -> tuple[Array, Array]:
    size = jnp.broadcast_to(size, p.shape)
    a = p / size
    b = a / size
    k0, k1 = safe_norm(a), safe_norm(b)
    slope = b / k0 * (2 * k0 - 1) / k1 - b / (k1 * size * size) * k0 * (k0 - 1) / (k1 * k1)
    return (k0 * (k0 - 1) / k1)[..., 0], _unit(slope)


def _cylinder(p: Array, size: Array) -> tuple[Array, Array]:
    across, height = vector.norm(p[..., :2])[..., None], jnp.abs(p[..., 2:])
    beyond = vector.join(across, height) - jnp.broadcast_to(size[:2], (*p.shape[:-1], 2))
    out = jnp.maximum(beyond, 0)
    value = jnp.minimum(jnp.max(beyond, axis=-1), 0) + vector.norm(out)
    inside = jnp.max(beyond, axis=-1, keepdims=True) < 0
    round_side = beyond[..., :1] > beyond[..., 1:]
    nearest = vector.join(round_side, ~round_side).astype(p.dtype)
    share = jnp.where(inside, nearest, _unit(out))
    flat = _unit(p[..., :2]) * share[..., :1]
    return value, vector.join(flat, jnp.sign(p[..., 2:]) * share[..., 1:])


def _box(p: Array, size: Array) -> tuple[Array, Array]:
    """Inside, along a field that turns from radial to the faces' normals."""
    size = jnp.broadcast_to(size, p.shape)
    beyond = jnp.abs(p) - size
    inside = jnp.max(beyond, axis=-1, keepdims=True) < 0
    out = jnp.maximum(beyond, 0)
    depth = jnp.where(inside, -beyond, 1)
    least, nearest = vector.least(depth)
    # size / depth, in units in which derivatives stay finite at the face
    field = _unit(size * jnp.where(nearest, 1, least / depth))
    within = -vector.least(depth / field)[0][..., 0]
    value = jnp.where(inside[..., 0], within, vector.norm(out))
    return value, _side(p) * jnp.where(inside, field, _unit(out))


SLOPES: dict[int, Callable[[Array, Array], tuple[Array, Array]]] = {
    GeomType.SPHERE: _sphere,
    GeomType.CAPSULE: _capsule,
    GeomType.ELLIPSOID: _ellipsoid,
    GeomType.CYLINDER: _cylinder,
    GeomType.BOX: _box,
}
