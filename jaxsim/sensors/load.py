"""Sensors of the loads that a body gets from its parent, measured in a site."""

import jax
import numpy as np

from jaxsim.algebra import spatial
from jaxsim.algebra.select import take
from jaxsim.constraint.solution import Solution
from jaxsim.core.data import Data
from jaxsim.core.enums import SensorType
from jaxsim.core.model import Model
from jaxsim.sensors.frame import arm_of, pick, sites_of, to_frame
from jaxsim.sensors.rne_post import internal_force

Array = jax.Array


def forces_torques(m: Model, d: Data, s: np.ndarray, solution: Solution, cacc: Array) -> Array:
    """FORCE (N) and TORQUE (N m) [n, 3] at each site: what its body gets from its parent."""
    bodies, which = np.unique(m.site_bodyid[m.sensor_objid[s]], return_inverse=True)
    cfrc_int = internal_force(m, d, solution, cacc, bodies)
    sites = sites_of(m, d, s)
    wrench = spatial.shift_force(take(cfrc_int, which), -arm_of(m, d, sites))
    return pick(m, s, to_frame(sites.mat, wrench), SensorType.FORCE)
