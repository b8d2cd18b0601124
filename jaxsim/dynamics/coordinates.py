"""Where the coordinates of joints lie in qpos and in qvel.

              qpos                    qvel
    free      x y z  qw qx qy qz      vx vy vz  wx wy wz
    ball             qw qx qy qz                wx wy wz
    slide, hinge     one number       one number

Velocities of rotations are in the body's frame, those of translations in the world's.
"""

import numpy as np

from jaxsim.algebra.arrays import Array, on_host
from jaxsim.algebra.select import put, take
from jaxsim.core.enums import JointType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology

SCALAR = (JointType.SLIDE, JointType.HINGE)
TURNING = (JointType.FREE, JointType.BALL)  # those with a quaternion


def joints_of(m: Model, *types: JointType) -> np.ndarray:
    """The joints [n] of some types, in order."""
    return _joints_of(m.topology, types)


@per_topology
def _joints_of(t: Topology, types: tuple[JointType, ...]) -> np.ndarray:
    return np.flatnonzero(np.isin(t.jnt_type, types))


def positions_of(m: Model | Topology, joints: np.ndarray) -> np.ndarray:
    """Where the positions of free joints [n] are in qpos: [n, 3]."""
    return m.jnt_qposadr[joints][:, None] + np.arange(3)


def quats_of(m: Model, joints: np.ndarray) -> np.ndarray:
    """Where the quaternions of free and ball joints [n] are in qpos: [n, 4]."""
    return (m.jnt_qposadr[joints] + _translations(m, joints))[:, None] + np.arange(4)


def spins_of(m: Model, joints: np.ndarray) -> np.ndarray:
    """Where the angular velocities of free and ball joints [n] are in qvel: [n, 3]."""
    return (m.jnt_dofadr[joints] + _translations(m, joints))[:, None] + np.arange(3)


def _translations(m: Model, joints: np.ndarray) -> np.ndarray:
    return np.where(m.jnt_type[joints] == JointType.FREE, 3, 0)


def read(x: Array, address: np.ndarray) -> Array:
    """Numbers of a vector x [n] at addresses [k, c]: [k, c]."""
    if on_host(x):
        return x[address] if x.ndim == 1 else x[address].swapaxes(1, 2)
    return take(x, address.ravel()).reshape(address.shape)


def write(x: Array, address: np.ndarray, values: Array) -> Array:
    """A vector x [n] with other numbers [k, c] at addresses [k, c]."""
    if on_host(x, values):
        return put(x, address, values if x.ndim == 1 else values.swapaxes(1, 2))
    return put(x, address.ravel(), values.reshape(-1))


def straight_coordinates(m: Model) -> tuple[np.ndarray, np.ndarray]:
    """Addresses [k] in qpos and in qvel of the coordinates that add like numbers."""
    return _straight_coordinates(m.topology)


@per_topology
def _straight_coordinates(t: Topology) -> tuple[np.ndarray, np.ndarray]:
    free, scalar = _joints_of(t, (JointType.FREE,)), _joints_of(t, SCALAR)
    q = np.concatenate([positions_of(t, free).ravel(), t.jnt_qposadr[scalar]])
    v = np.concatenate([(t.jnt_dofadr[free][:, None] + np.arange(3)).ravel(), t.jnt_dofadr[scalar]])
    return np.sort(q).astype(int), np.sort(v).astype(int)
