"""Sensors of joints: position, velocity and the force of actuators."""

import jax
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.dynamics.coordinates import quats_of, read, spins_of

Array = jax.Array


def positions(m: Model, d: Data, s: np.ndarray) -> Array:
    """JOINTPOS [n], m or rad."""
    return take(d.qpos, m.jnt_qposadr[m.sensor_objid[s]])


def velocities(m: Model, d: Data, s: np.ndarray) -> Array:
    """JOINTVEL [n], m/s or rad/s."""
    return take(d.qvel, m.jnt_dofadr[m.sensor_objid[s]])


def actuator_forces(m: Model, d: Data, s: np.ndarray) -> Array:
    """JOINTACTFRC [n], N or N m."""
    return take(d.qfrc_actuator, m.jnt_dofadr[m.sensor_objid[s]])


def ball_quats(m: Model, d: Data, s: np.ndarray) -> Array:
    """BALLQUAT [n, 4]."""
    return vector.normalize(read(d.qpos, quats_of(m, m.sensor_objid[s])))


def ball_velocities(m: Model, d: Data, s: np.ndarray) -> Array:
    """BALLANGVEL [3 n], rad/s."""
    return take(d.qvel, spins_of(m, m.sensor_objid[s]).ravel())
