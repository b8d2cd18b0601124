"""Rays against signed distance fields, by steps as long as the distance (mj_raySdf)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.collision.sdf.field import served, solids
from jaxsim.collision.shape import safe_norm
from jaxsim.core.model import Model

Array = jax.Array

STEPS, NEAR, FAR = 40, 1e-7, 1e6  # most steps; distances (m) at which one has arrived, and at which it never will
NEAR_SINGLE = 1e-5  # m, in single precision


def field_distances(m: Model, geom: np.ndarray, start: Array, along: Array) -> Array:
    """Where rays [n, 3] in the frames of geoms [n] meet them: [n] in units of the length of `along`, infinite if
    they do not. The distance is that at which the field vanishes, and differentiable as such.
    """
    kinds = served(m.topology, tuple(geom.tolist()))
    solid = solids(m, kinds, geom)
    length = safe_norm(along)
    unit = along / length

    def field(x: Array) -> Array:
        """Distances [n] after lengths [n] of the rays."""
        spot = start + x[:, None] * unit
        return jax.vmap(lambda p, s: kinds.value(p[None], s)[0])(spot, solid)

    near = NEAR if start.dtype == jnp.float64 else NEAR_SINGLE
    x, arrived = lax.stop_gradient(_marched(lambda x: lax.stop_gradient(field(x)), len(geom), near, start.dtype))
    value, slope = jax.jvp(field, (x,), (jnp.ones_like(x),))
    slope = lax.stop_gradient(slope)
    steep = jnp.abs(slope) > 1e-9
    x = x - (value - lax.stop_gradient(value)) / jnp.where(steep, slope, 1)
    return jnp.where(arrived & _meets_box(m, geom, start, unit), x / length[:, 0], jnp.inf)


def field_normals(m: Model, geom: int, spot: Array) -> Array:
    """Outward normals [r, 3], of any length, of a field at points [r, 3] of its surface, in its frame."""
    kinds = served(m.topology, (geom,))
    solid = jax.tree.map(lambda x: x[0], solids(m, kinds, np.array([geom])))
    return jax.vmap(jax.grad(lambda p: kinds.value(p[None], solid)[0]))(spot)


def _marched(field, n: int, near: float, dtype) -> tuple[Array, Array]:
    """Lengths [n] after the last step, and which rays have arrived."""

    def step(state):
        k, x, arrived, lost = state
        away = jnp.abs(field(x))
        going = ~(arrived | lost)
        return k + 1, jnp.where(going, x + away, x), arrived | going & (away < near), lost | going & (away > FAR)

    def unfinished(state):
        k, _, arrived, lost = state
        return (k < STEPS) & jnp.any(~(arrived | lost))

    none = jnp.zeros(n, bool)
    _, x, arrived, _ = lax.while_loop(unfinished, step, (jnp.zeros((), jnp.int32), jnp.zeros(n, dtype), none, none))
    return x, arrived


def _meets_box(m: Model, geom: np.ndarray, start: Array, unit: Array) -> Array:
    """[n] whether rays meet the boxes of geoms, which reach as far to one side as to the other."""
    half = m.geom_size[geom]
    way = jnp.where(jnp.abs(unit) < 1e-12, 1e-12, unit)
    one, two = (-half - start) / way, (half - start) / way
    enter, leave = jnp.max(jnp.minimum(one, two), axis=1), jnp.min(jnp.maximum(one, two), axis=1)
    return (enter <= leave) & (leave >= 0)
