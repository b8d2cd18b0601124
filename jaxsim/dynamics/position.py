"""Positions and velocities on the manifold of joint coordinates (mj_integratePos, mj_differentiatePos)."""

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.arrays import Array, namespace
from jaxsim.algebra.select import put, take
from jaxsim.core.model import Model
from jaxsim.dynamics.coordinates import TURNING, joints_of, quats_of, read, spins_of, straight_coordinates, write


def integrate_pos(m: Model, qpos: Array, qvel: Array, dt: Array) -> Array:
    """Advance qpos [nq] by a velocity [nv] for a time dt [] (s), on the manifold (mj_integratePos)."""
    joints = joints_of(m, *TURNING)
    if len(joints):
        quat, spin = quats_of(m, joints), spins_of(m, joints)
        turned = quaternion.integrate(vector.normalize(read(qpos, quat)), read(qvel, spin), dt)
        qpos = write(qpos, quat, vector.normalize(turned))
    position, velocity = straight_coordinates(m)
    return put(qpos, position, take(qpos, position) + dt * take(qvel, velocity))


def differentiate_pos(m: Model, dt: Array, qpos1: Array, qpos2: Array) -> Array:
    """Velocity [nv] that takes qpos1 to qpos2, both [nq], in a time dt [] (s) (mj_differentiatePos)."""
    velocity = namespace(qpos1).zeros(m.nv, qpos1.dtype)
    joints = joints_of(m, *TURNING)
    if len(joints):
        q1, q2 = (read(q, quats_of(m, joints)) for q in (qpos1, qpos2))
        velocity = write(velocity, spins_of(m, joints), quaternion.subtract(q2, q1))
    position, dof = straight_coordinates(m)
    return put(velocity, dof, take(qpos2, position) - take(qpos1, position)) / dt
