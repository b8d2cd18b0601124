"""Sensors of tendons: length, velocity and the force of actuators."""

import jax
import numpy as np

from jaxsim.algebra.select import product, take
from jaxsim.core.data import Data
from jaxsim.core.enums import TrnType
from jaxsim.core.model import Model

Array = jax.Array


def lengths(m: Model, d: Data, s: np.ndarray) -> Array:
    """TENDONPOS [n], m."""
    return take(d.ten_length, m.sensor_objid[s])


def velocities(m: Model, d: Data, s: np.ndarray) -> Array:
    """TENDONVEL [n], m/s."""
    return take(d.ten_velocity, m.sensor_objid[s])


def actuator_forces(m: Model, d: Data, s: np.ndarray) -> Array:
    """TENDONACTFRC [n], N: the sum over the actuators that pull the tendon."""
    pulls = m.actuator_trntype == TrnType.TENDON
    owner = (m.actuator_trnid[None, :, 0] == m.sensor_objid[s][:, None]) & pulls[None]
    belongs = np.zeros((len(s), m.nout))
    belongs[:, m.actuator_outadr] = owner
    return product(belongs, d.actuator_force)
