"""Sensors of the limits of joints and tendons: distance, velocity and force of the first active limit row."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra.select import take
from jaxsim.constraint.row_table import row_table
from jaxsim.constraint.rows import mul_scalar
from jaxsim.constraint.solution import Solution
from jaxsim.core.data import Data
from jaxsim.core.enums import ConstraintType, SensorType
from jaxsim.core.model import Model

Array = jax.Array

POSITIONS = (SensorType.JOINTLIMITPOS, SensorType.TENDONLIMITPOS)
VELOCITIES = (SensorType.JOINTLIMITVEL, SensorType.TENDONLIMITVEL)


def joint_limits(m: Model, d: Data, s: np.ndarray, solution: Solution) -> Array:
    """JOINTLIMITPOS (m, rad), JOINTLIMITVEL and JOINTLIMITFRC [n]."""
    return _limits(m, d, s, solution, ConstraintType.LIMIT_JOINT)


def tendon_limits(m: Model, d: Data, s: np.ndarray, solution: Solution) -> Array:
    """TENDONLIMITPOS (m), TENDONLIMITVEL and TENDONLIMITFRC [n]."""
    return _limits(m, d, s, solution, ConstraintType.LIMIT_TENDON)


def _limits(m: Model, d: Data, s: np.ndarray, solution: Solution, kind: ConstraintType) -> Array:
    """Distance less margin, velocity or force of the first active limit row of each sensor's object; else 0."""
    table, rows = row_table(m), solution.rows
    # the lower and the upper limit of each, -1 where there is no such row
    found = np.array([(*table.rows_of(kind, int(i)), -1, -1)[:2] for i in m.sensor_objid[s]])
    result = jnp.zeros(len(s), d.qpos.dtype)
    if not (found >= 0).any():
        return result
    velocity = mul_scalar(table, rows.J, d.qvel)
    values = jnp.stack([rows.pos - rows.margin, velocity, solution.force.scalar]).reshape(-1)
    of = m.sensor_type[s]
    quantity = np.where(np.isin(of, POSITIONS), 0, np.where(np.isin(of, VELOCITIES), 1, 2)) * len(table.type)
    for row in found.T[::-1]:
        exists = row >= 0
        if exists.any():
            active = take(rows.D, np.maximum(row, 0)) > 0
            result = jnp.where(active & exists, take(values, quantity + np.maximum(row, 0)), result)
    return result
