"""How far two geoms may come closer within a step: what the hard contact law has to know before they touch."""

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.core.data import Data
from jaxsim.core.model import Model

Array = jax.Array

ACCELERATION = 20  # times that of gravity, and of 1 m/s^2, that geoms are allowed to have


def look_ahead(m: Model, d: Data) -> Array:
    """A distance [] (m) that no two geoms come closer within the next step, twice as far as they go at these speeds.

    Reads cvel [nbody, 6], which is about the com of a tree.
    """
    velocity, root = take(d.cvel, m.geom_bodyid), m.body_rootid[m.geom_bodyid]
    spin, arm = velocity[:, :3], d.geom_xpos - take(d.subtree_com, root)
    linear = velocity[:, 3:] + vector.cross(spin, arm)
    h, fastest = m.opt.timestep, jnp.max(vector.norm(linear) + vector.norm(spin) * m.geom_rbound)
    gained = ACCELERATION * (1 + vector.norm(m.opt.gravity)) * h
    return lax.stop_gradient(2 * h * (fastest + gained))
