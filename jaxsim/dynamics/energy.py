"""Potential and kinetic energy (mj_energyPos, mj_energyVel)."""

import jax.numpy as jnp

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.blocks import times
from jaxsim.algebra.select import gather_groups, take
from jaxsim.core.data import Data
from jaxsim.core.enums import DisableBit, EnableBit, JointType
from jaxsim.core.model import Model
from jaxsim.dynamics.coordinates import SCALAR, TURNING, joints_of, positions_of, quats_of, read
from jaxsim.dynamics.plastic import spring_rest


def energy(m: Model, d: Data) -> Data:
    """data.energy [2]: potential (gravity, joint and tendon springs) and kinetic, if enabled."""
    if not m.opt.enables(EnableBit.ENERGY):
        return d
    return d.replace(energy=jnp.stack([potential(m, d), kinetic(m, d)]))


def kinetic(m: Model, d: Data):
    """qvel^T M qvel / 2 [] (J)."""
    return 0.5 * jnp.sum(d.qvel * times(d.qM, d.qvel))


def potential(m: Model, d: Data):
    """Gravity and spring energy [] (J)."""
    total = jnp.zeros((), d.qpos.dtype)
    if not m.opt.disables(DisableBit.GRAVITY):
        total = total - jnp.sum(m.body_mass[:, None] * d.xipos * m.opt.gravity[None])
    if m.opt.disables(DisableBit.SPRING):
        return total
    qpos_spring, lengths = spring_rest(m, d)
    total = total + _spring(m.jnt_stiffness, m.jnt_stiffnesspoly, _joint_stretch(m, d, qpos_spring))
    for joints, x in _free_translation(m, d):
        total = total + _spring(take(m.jnt_stiffness, joints), take(m.jnt_stiffnesspoly, joints), x)
    if m.ntendon:
        low, high = lengths[:, 0], lengths[:, 1]
        x = jnp.maximum(d.ten_length - high, 0) + jnp.minimum(d.ten_length - low, 0)
        total = total + _spring(m.tendon_stiffness, m.tendon_stiffnesspoly, x)
    return total


def _spring(linear, poly, x):
    """Integral of a polynomial spring from rest to x (mju_polyPotential)."""
    return jnp.sum(x * x * (0.5 * linear + x * (poly[:, 0] / 3 + x * poly[:, 1] / 4)))


def _joint_stretch(m: Model, d: Data, qpos_spring):
    """Distance of each joint from qpos_spring [njnt]: signed for scalar joints, else the rotation angle."""
    groups = []
    scalar = joints_of(m, *SCALAR)
    if len(scalar):
        adr = m.jnt_qposadr[scalar]
        groups.append((scalar, take(d.qpos, adr) - take(qpos_spring, adr)))
    turning = joints_of(m, *TURNING)
    if len(turning):
        now, rest = (read(q, quats_of(m, turning)) for q in (d.qpos, qpos_spring))
        groups.append((turning, vector.norm(quaternion.subtract(vector.normalize(now), rest))))
    return gather_groups(groups, m.njnt) if groups else jnp.zeros(0, d.qpos.dtype)


def _free_translation(m: Model, d: Data):
    joints = joints_of(m, JointType.FREE)
    if len(joints):
        yield joints, vector.norm(read(d.qpos - m.qpos_spring, positions_of(m, joints)))
