"""Surfaces that move like conveyor belts while their geoms need not (mj_addSurfaceVel)."""

import jax
import jax.numpy as jnp

from jaxsim.algebra import vector
from jaxsim.collision.slots import ContactSlots, of_geoms
from jaxsim.core.data import Data
from jaxsim.core.model import Model

Array = jax.Array


def surface_velocity(m: Model, d: Data, slots: ContactSlots, dim: int) -> Array:
    """What the surfaces add to the relative velocity along the first dim axes of each contact [n, dim].

    A surface moves at v + w x (p - centre of its geom), seen from the geom; of that counts what lies in the tangent
    plane of the contact, and the spin about its normal.
    """
    mat = d.geom_xmat.reshape(-1, 3, 3)
    v, w = (vector.matvec(mat, x) for x in (m.geom_surfacevel[:, :3], m.geom_surfacevel[:, 3:]))
    field = vector.join(v, w, d.geom_xpos)
    linear, angular = jnp.zeros_like(slots.pos), jnp.zeros_like(slots.pos)
    for side, sign in ((1, 1), (0, -1)):
        own = of_geoms(m, slots, side, field)
        v, w, center = own[:, :3], own[:, 3:6], own[:, 6:]
        linear = linear + sign * (v + vector.cross(w, slots.pos - center))
        angular = angular + sign * w
    along = vector.matvec(slots.frame, linear)
    spin = vector.dot(slots.frame[:, 0], angular)[:, None]
    nothing = jnp.zeros_like(spin)
    return jnp.concatenate([nothing, along[:, 1:], spin, nothing, nothing], axis=1)[:, :dim]
