"""Positions and velocities on the manifold of joint coordinates (mj_integratePos, mj_differentiatePos)."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.select import put, take
from jaxsim.core.enums import JointType
from jaxsim.core.model import Model

Array = jax.Array


def integrate_pos(m: Model, qpos: Array, qvel: Array, dt: Array) -> Array:
    """Advance qpos [nq] by a velocity [nv] for a time dt [] (s), on the manifold (mj_integratePos)."""
    for kind, skip_q, skip_v in ((JointType.FREE, 3, 3), (JointType.BALL, 0, 0)):
        joints = np.flatnonzero(m.jnt_type == kind)
        if not len(joints):
            continue
        adr = (m.jnt_qposadr[joints][:, None] + skip_q + np.arange(4)).ravel()
        dof = (m.jnt_dofadr[joints][:, None] + skip_v + np.arange(3)).ravel()
        quat, omega = take(qpos, adr).reshape(-1, 4), take(qvel, dof).reshape(-1, 3)
        turned = quaternion.integrate(vector.normalize(quat), omega, dt)
        qpos = put(qpos, adr, vector.normalize(turned).reshape(-1))
    position, velocity = straight_coordinates(m)
    return put(qpos, position, take(qpos, position) + dt * take(qvel, velocity))


def differentiate_pos(m: Model, dt: Array, qpos1: Array, qpos2: Array) -> Array:
    """Velocity [nv] that takes qpos1 to qpos2, both [nq], in a time dt [] (s) (mj_differentiatePos)."""
    velocity = jnp.zeros(m.nv, qpos1.dtype)
    for kind, skip_q, skip_v in ((JointType.FREE, 3, 3), (JointType.BALL, 0, 0)):
        joints = np.flatnonzero(m.jnt_type == kind)
        if not len(joints):
            continue
        adr = (m.jnt_qposadr[joints][:, None] + skip_q + np.arange(4)).ravel()
        dof = (m.jnt_dofadr[joints][:, None] + skip_v + np.arange(3)).ravel()
        q1, q2 = (take(q, adr).reshape(-1, 4) for q in (qpos1, qpos2))
        velocity = put(velocity, dof, quaternion.subtract(q2, q1).reshape(-1))
    position, dof = straight_coordinates(m)
    return put(velocity, dof, take(qpos2, position) - take(qpos1, position)) / dt


def straight_coordinates(m: Model) -> tuple[np.ndarray, np.ndarray]:
    """Addresses [k] in qpos and in qvel of the coordinates that add like numbers."""
    q: list[int] = []
    v: list[int] = []
    for j in range(m.njnt):
        n = {JointType.FREE: 3, JointType.BALL: 0}.get(JointType(int(m.jnt_type[j])), 1)
        q.extend(range(int(m.jnt_qposadr[j]), int(m.jnt_qposadr[j]) + n))
        v.extend(range(int(m.jnt_dofadr[j]), int(m.jnt_dofadr[j]) + n))
    return np.array(q, int), np.array(v, int)
