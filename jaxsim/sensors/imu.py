"""Sensors of an inertial unit in a site: its velocities, its acceleration and the magnetic field."""

import jax
import numpy as np

from jaxsim.algebra import vector
from jaxsim.core.data import Data
from jaxsim.core.enums import SensorType
from jaxsim.core.model import Model
from jaxsim.sensors.frame import accelerations, pick, sites_of, to_frame, velocities

Array = jax.Array


def site_velocities(m: Model, d: Data, s: np.ndarray) -> Array:
    """VELOCIMETER (m/s) and GYRO (rad/s) [n, 3]."""
    sites = sites_of(m, d, s)
    return pick(m, s, to_frame(sites.mat, velocities(m, d, sites)), SensorType.VELOCIMETER)


def accelerometers(m: Model, d: Data, s: np.ndarray, cacc: Array) -> Array:
    """ACCELEROMETER [n, 3], m/s^2, gravity included; from the accelerations `cacc` [nbody, 6] of bodies."""
    sites = sites_of(m, d, s)
    return vector.matvec_t(sites.mat, accelerations(m, d, cacc, sites)[:, 3:])


def magnetometers(m: Model, d: Data, s: np.ndarray) -> Array:
    """MAGNETOMETER [n, 3], T."""
    return vector.matvec_t(sites_of(m, d, s).mat, m.opt.magnetic[None])
