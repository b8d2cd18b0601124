"""How far two geoms may come closer within a step: what the hard contact law has to know before they touch."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.algebra.tree import ancestor
from jaxsim.core.data import Data
from jaxsim.core.model import Model

Array = jax.Array

ACCELERATION = 20  # times that of gravity, and of 1 m/s^2, that geoms are allowed to have


def looking_ahead(m: Model, d: Data) -> tuple[Model, Array]:
    """The model with gaps that reach as far as its geoms get within a step, and how far each does [ngeom] (m)."""
    ahead = look_ahead(m, d)
    both = take(ahead, m.pair_geom1) + take(ahead, m.pair_geom2)
    return m.replace(geom_gap=m.geom_gap + ahead, pair_gap=m.pair_gap + both), ahead


def look_ahead(m: Model, d: Data) -> Array:
    """A distance [ngeom] (m) that no geom moves within the next step, twice as far as it goes at its speed.

    Reads cvel [nbody, 6], which is about the com of a tree.
    """
    velocity, root = take(d.cvel, m.geom_bodyid), m.body_rootid[m.geom_bodyid]
    spin, arm = velocity[:, :3], d.geom_xpos - take(d.subtree_com, root)
    linear = velocity[:, 3:] + vector.cross(spin, arm)
    h, speed = m.opt.timestep, vector.norm(linear) + vector.norm(spin) * m.geom_rbound
    gained = ACCELERATION * (1 + vector.norm(m.opt.gravity)) * h
    moves = jnp.asarray(np.any(ancestor(m.topology), axis=1)[m.geom_bodyid], speed.dtype)
    return lax.stop_gradient(h * (2 * speed + gained * moves))
