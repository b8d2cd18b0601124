"""Sensors of actuators: length, velocity and force of each of their outputs."""

import jax
import numpy as np

from jaxsim.algebra.select import take
from jaxsim.core.data import Data
from jaxsim.core.model import Model

Array = jax.Array


def lengths(m: Model, d: Data, s: np.ndarray) -> Array:
    """ACTUATORPOS [sum of sensor_dim]."""
    return take(d.actuator_length, _outputs(m, s))


def velocities(m: Model, d: Data, s: np.ndarray) -> Array:
    """ACTUATORVEL [sum of sensor_dim]."""
    return take(d.actuator_velocity, _outputs(m, s))


def forces(m: Model, d: Data, s: np.ndarray) -> Array:
    """ACTUATORFRC [sum of sensor_dim], N."""
    return take(d.actuator_force, _outputs(m, s))


def _outputs(m: Model, s: np.ndarray) -> np.ndarray:
    """Outputs of the actuators of sensors, one after the other."""
    adr = m.actuator_outadr[m.sensor_objid[s]]
    return np.concatenate([np.arange(a, a + n) for a, n in zip(adr, m.sensor_dim[s])])
