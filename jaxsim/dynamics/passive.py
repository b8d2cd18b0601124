"""Springs, dampers, fluid forces and gravity compensation (mj_passive)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.select import gather_groups, scatter_add, take
from jaxsim.core.data import Data
from jaxsim.core.enums import DisableBit, JointType, TrnType
from jaxsim.core.model import Model
from jaxsim.dynamics.com import project_wrenches
from jaxsim.dynamics.coordinates import SCALAR, TURNING, joints_of, positions_of, quats_of, read, spins_of
from jaxsim.dynamics.extension import extension_of
from jaxsim.dynamics.fluid import fluid_force, has_fluid
from jaxsim.dynamics.plastic import spring_rest

Array = jax.Array

AT_REST = 16  # units in the last place by which a length may miss its rest, where MuJoCo's, at qpos0 say, is exact


def poly_force(linear: Array, poly: Array, x: Array, odd: bool = False) -> Array:
    """Coefficient [n] of polynomial springs or dampers, poly [n, 2]: force = -x * poly_force (mju_polyForce).

    `odd` is for velocities: the force changes sign with x.
    """
    x = jnp.abs(x) if odd else x
    return linear + x * (poly[..., 0] + x * poly[..., 1])


def poly_force_slope(linear: Array, poly: Array, x: Array, odd: bool = False) -> Array:
    """Derivative [n] of x * poly_force with respect to x [n] (mjd_xPolyForce)."""
    x = jnp.abs(x) if odd else x
    return linear + x * (2 * poly[..., 0] + x * 3 * poly[..., 1])


def passive(m: Model, d: Data, ten_J: Array, adhesion: Array | None = None) -> tuple[Data, Array]:
    """qfrc_passive [nv], and the gravity compensation [nv] that actuators may carry instead.

    `adhesion` [nv] is what sticky contacts contribute.
    """
    zero = jnp.zeros(m.nv, d.qpos.dtype)
    springs, dampers = (not m.opt.disables(b) for b in (DisableBit.SPRING, DisableBit.DAMPER))
    if not springs and not dampers:
        return d.replace(qfrc_passive=zero), zero
    force = zero
    if springs:
        force = force + _joint_springs(m, d)
    if dampers:
        force = force - d.qvel * poly_force(*damping(m), d.qvel, odd=True)
    if m.ntendon:
        pull = tendon_forces(m, d)
        force = force + lax.dot_general(ten_J, pull, (((0,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)
    if has_fluid(m):
        force = force + fluid_force(m, d)
    if adhesion is not None:
        force = force + adhesion
    gravcomp = _gravity_compensation(m, d)
    passive_share = ~np.asarray(m.jnt_actgravcomp, bool)[m.dof_jntid]
    if m.ngravcomp:
        force = force + jnp.where(passive_share, gravcomp, 0)
    d = d.replace(qfrc_passive=force)
    more = extension_of(m).passive
    return (d if more is None else d.replace(qfrc_passive=force + more(m, d))), gravcomp


def _joint_springs(m: Model, d: Data) -> Array:
    """Spring forces [nv], towards qpos_spring or where the springs have yielded to."""
    groups = []
    qpos_spring, _ = spring_rest(m, d)
    scalar = joints_of(m, *SCALAR)
    if len(scalar):
        adr = m.jnt_qposadr[scalar]
        x = take(d.qpos, adr) - take(qpos_spring, adr)
        k = poly_force(take(m.jnt_stiffness, scalar), take(m.jnt_stiffnesspoly, scalar), x)
        groups.append((m.jnt_dofadr[scalar], -k * x))
    free, turning = joints_of(m, JointType.FREE), joints_of(m, *TURNING)
    if len(free):
        x = read(d.qpos - qpos_spring, positions_of(m, free))
        groups.append(_vector_spring(m, free, x, m.jnt_dofadr[free][:, None] + np.arange(3)))
    if len(turning):
        now, rest = (read(q, quats_of(m, turning)) for q in (d.qpos, qpos_spring))
        x = quaternion.subtract(vector.normalize(now), rest)
        groups.append(_vector_spring(m, turning, x, spins_of(m, turning)))
    return gather_groups(groups, m.nv) if groups else jnp.zeros(m.nv, d.qpos.dtype)


def spring_slopes(m: Model, d: Data) -> Array:
    """Stiffness [nv] of the joints' springs as they are stretched: of the whole spring for balls and free joints."""
    groups = []
    qpos_spring, _ = spring_rest(m, d)
    scalar, free, turning = joints_of(m, *SCALAR), joints_of(m, JointType.FREE), joints_of(m, *TURNING)
    if len(scalar):
        adr = m.jnt_qposadr[scalar]
        stretch = take(d.qpos, adr) - take(qpos_spring, adr)
        groups.append((m.jnt_dofadr[scalar], _spring_slope(m, scalar, stretch)))
    if len(free):
        stretch = vector.norm(read(d.qpos - qpos_spring, positions_of(m, free)))
        dofs = m.jnt_dofadr[free][:, None] + np.arange(3)
        groups.append((dofs.ravel(), jnp.repeat(_spring_slope(m, free, stretch), 3)))
    if len(turning):
        now, rest = (read(q, quats_of(m, turning)) for q in (d.qpos, qpos_spring))
        stretch = vector.norm(quaternion.subtract(vector.normalize(now), rest))
        groups.append((spins_of(m, turning).ravel(), jnp.repeat(_spring_slope(m, turning, stretch), 3)))
    return gather_groups(groups, m.nv) if groups else jnp.zeros(m.nv, d.qpos.dtype)


def _spring_slope(m: Model, joints: np.ndarray, x: Array) -> Array:
    return poly_force_slope(take(m.jnt_stiffness, joints), take(m.jnt_stiffnesspoly, joints), x)


def _vector_spring(m: Model, joints: np.ndarray, x: Array, dofs: np.ndarray) -> tuple[np.ndarray, Array]:
    """Dofs and forces [3 n] of springs of joints [n] stretched by x [n, 3], on dofs [n, 3]."""
    k = poly_force(take(m.jnt_stiffness, joints), take(m.jnt_stiffnesspoly, joints), vector.norm(x))
    return dofs.ravel(), (-k[:, None] * x).reshape(-1)


def damping(m: Model) -> tuple[Array, Array]:
    """Linear [nv] and polynomial [nv, 2] damping of the dofs, with what actuators contribute."""
    linear, poly = m.dof_damping, m.dof_dampingpoly
    drives = np.flatnonzero(np.isin(m.actuator_trntype, (TrnType.JOINT, TrnType.JOINTINPARENT)))
    if not len(drives):
        return linear, poly
    joint = m.actuator_trnid[drives, 0]
    added = _actuator_damping(m, drives, joint, m.njnt)
    return linear + take(added[:, 0], m.dof_jntid), poly + take(added[:, 1:], m.dof_jntid)


def _actuator_damping(m: Model, actuators: np.ndarray, target: np.ndarray, size: int) -> Array:
    """Damping [size, 3] (linear, poly) that actuators give their joints or tendons (mj_actuatorDamping)."""
    gear = take(m.actuator_gear, m.actuator_outadr[actuators])[:, 0]
    own = jnp.concatenate([m.actuator_damping[:, None], m.actuator_dampingpoly], axis=1)
    return scatter_add(target, take(own, actuators) * (gear * gear)[:, None], size)


def tendon_damping(m: Model) -> tuple[Array, Array]:
    """Linear [ntendon] and polynomial [ntendon, 2] damping of tendons, with what actuators contribute."""
    linear, poly = m.tendon_damping, m.tendon_dampingpoly
    pulls = np.flatnonzero(m.actuator_trntype == TrnType.TENDON)
    if not len(pulls):
        return linear, poly
    added = _actuator_damping(m, pulls, m.actuator_trnid[pulls, 0], m.ntendon)
    return linear + added[:, 0], poly + added[:, 1:]


def tendon_slopes(m: Model, d: Data) -> tuple[Array, Array]:
    """Stiffness and damping [ntendon] of the tendons as they move; springs that are slack or at rest have none."""
    stiffness, rate = jnp.zeros((2, m.ntendon), d.qpos.dtype)
    if not m.opt.disables(DisableBit.SPRING):
        _, rest = spring_rest(m, d)
        x = jnp.maximum(d.ten_length - rest[:, 1], 0) + jnp.minimum(d.ten_length - rest[:, 0], 0)
        still = jnp.abs(x) <= AT_REST * float(jnp.finfo(x.dtype).eps) * jnp.abs(d.ten_length)
        stiffness = jnp.where(still, 0, poly_force_slope(m.tendon_stiffness, m.tendon_stiffnesspoly, x))
    if not m.opt.disables(DisableBit.DAMPER):
        rate = poly_force_slope(*tendon_damping(m), d.ten_velocity, odd=True)
    return stiffness, rate


def tendon_forces(m: Model, d: Data) -> Array:
    """Forces [ntendon] (N) of the tendons' springs (with a dead band) and dampers, along their lengths."""
    force = jnp.zeros(m.ntendon, d.qpos.dtype)
    if not m.opt.disables(DisableBit.SPRING):
        _, rest = spring_rest(m, d)
        low, high = rest[:, 0], rest[:, 1]
        x = jnp.maximum(d.ten_length - high, 0) + jnp.minimum(d.ten_length - low, 0)
        force = force - x * poly_force(m.tendon_stiffness, m.tendon_stiffnesspoly, x)
    if not m.opt.disables(DisableBit.DAMPER):
        force = force - d.ten_velocity * poly_force(*tendon_damping(m), d.ten_velocity, odd=True)
    return force


def _gravity_compensation(m: Model, d: Data) -> Array:
    """qfrc_gravcomp [nv]: forces on bodies that cancel a share of gravity."""
    if not m.ngravcomp or m.opt.disables(DisableBit.GRAVITY):
        return jnp.zeros(m.nv, d.qpos.dtype)
    force = -(m.body_mass * m.body_gravcomp)[:, None] * m.opt.gravity[None]
    return project_wrenches(m, d, force, jnp.zeros_like(force), d.xipos)
