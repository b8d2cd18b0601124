"""Sensors of subtrees: centre of mass, its velocity, angular momentum."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import spatial, vector
from jaxsim.algebra.select import product, take
from jaxsim.algebra.tree import subtree
from jaxsim.core.data import Data
from jaxsim.core.enums import MINVAL, SensorType
from jaxsim.core.model import Model
from jaxsim.sensors.frame import Frames, pick, velocities

Array = jax.Array


def subtree_coms(m: Model, d: Data, s: np.ndarray) -> Array:
    """SUBTREECOM [n, 3], m."""
    return take(d.subtree_com, m.sensor_objid[s])


def subtree_velocities(m: Model, d: Data, s: np.ndarray) -> Array:
    """SUBTREELINVEL (m/s) and SUBTREEANGMOM (kg m^2/s) [n, 3] (mj_subtreeVel)."""
    bodies = m.sensor_objid[s]
    inside = subtree(m.topology)[bodies]
    everything = Frames(d.xipos, d.ximat.reshape(-1, 3, 3), np.arange(m.nbody))
    omega, velocity = spatial.halves(velocities(m, d, everything))
    mass = m.body_mass[:, None]
    total = jnp.maximum(take(m.body_subtreemass, bodies), MINVAL)[:, None]
    linear = product(inside, mass * velocity) / total
    if not np.any(m.sensor_type[s] == SensorType.SUBTREEANGMOM):
        return linear
    spin = vector.matvec(everything.mat, m.body_inertia * vector.matvec_t(everything.mat, omega))
    arm = d.xipos[None] - take(d.subtree_com, bodies)[:, None]
    orbit = vector.cross(arm, mass[None] * (velocity[None] - linear[:, None]))
    angular = product(inside, spin) + jnp.sum(orbit * jnp.asarray(inside, orbit.dtype)[:, :, None], axis=1)
    return pick(m, s, vector.join(angular, linear), SensorType.SUBTREELINVEL)
