"""The com-based frame: centres of mass, motion axes, inertias, velocities (mj_comPos, mj_crb, mj_comVel)."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import spatial, vector
from jaxsim.algebra.arrays import Array, namespace, rows_of
from jaxsim.algebra.select import gather_groups, matmul, product, products, take
from jaxsim.algebra.tree import ancestor, dof_chain, dof_local_com, subtree, velocity_before
from jaxsim.core.data import Data
from jaxsim.core.enums import MINVAL, DisableBit, JointType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology
from jaxsim.dynamics.armature import joint_armature


def com_pos(m: Model, d: Data) -> Data:
    """Compute subtree_com [nbody, 3] (m), cinert [nbody, 10] (kg m^2, kg m, kg) and cdof [nv, 6] (mj_comPos)."""
    # row b of the matrix sums over b and all below it: in the chain 0 - 1 - 2 row 1 is [0 1 1]
    xp, moment = namespace(d.xipos), product(subtree(m.topology), m.body_mass[..., None] * d.xipos)
    has_mass = m.body_subtreemass > MINVAL
    com = moment / xp.where(has_mass, m.body_subtreemass, 1)[..., None]
    com = xp.where(has_mass[..., None], com, d.xipos)
    # one origin for a whole tree, so that its velocities, inertias and forces add up without being shifted
    root = take(com, m.body_rootid)
    cinert = spatial.com_inertia(m.body_inertia, d.ximat, d.xipos - root, m.body_mass)
    not_world = rows_of(np.arange(m.nbody) > 0, cinert)  # the world's inertia counts as zero
    d = d.replace(subtree_com=com, cinert=cinert * xp.asarray(not_world, cinert.dtype))
    return d.replace(cdof=motion_axes(m, d, com))


def motion_axes(m: Model, d: Data, centre: Array) -> Array:
    """[nv, 6]: the motion that each dof gives its body, about the centre [nbody, 3] of its tree's root; cdof is that
    about its com."""
    joint, kind = m.dof_jntid, m.jnt_type[m.dof_jntid]
    within = np.arange(m.nv) - m.jnt_dofadr[joint]  # of a free joint 0 1 2 translate and 3 4 5 rotate
    is_free, is_ball = kind == JointType.FREE, kind == JointType.BALL
    translate = np.flatnonzero(is_free & (within < 3))
    slide = np.flatnonzero(kind == JointType.SLIDE)
    hinge = np.flatnonzero(kind == JointType.HINGE)
    spin = np.flatnonzero(is_ball | (is_free & (within >= 3)))
    groups = []
    xp, dtype, worlds = namespace(d.xpos), d.xpos.dtype, d.xpos.shape[1:-1]
    if len(translate):
        # along the axes of the world: rows (0 0 0 1 0 0), (0 0 0 0 1 0), (0 0 0 0 0 1)
        axes_of_world = np.eye(6)[3 + within[translate]].reshape(-1, *(1,) * len(worlds), 6)
        groups.append((translate, xp.asarray(np.broadcast_to(axes_of_world, (len(translate), *worlds, 6)), dtype)))
    if len(slide):
        axis = take(d.xaxis, joint[slide])
        groups.append((slide, vector.join(xp.zeros_like(axis), axis)))
    turning = np.concatenate([hinge, spin])
    if len(turning):
        axes = []
        if len(hinge):
            axes.append(take(d.xaxis, joint[hinge]))
        if len(spin):  # about the body's own axes: the columns of its rotation matrix, three rows a body here
            body, k = m.dof_bodyid[spin], within[spin] % 3
            columns = xp.moveaxis(take(d.xmat, body).reshape(-1, *worlds, 3, 3), -1, 1).reshape(-1, *worlds, 3)
            axes.append(take(columns, 3 * np.arange(len(spin)) + k))
        axis = xp.concatenate(axes) if len(axes) > 1 else axes[0]
        # a turn about the anchor moves the point at the com by axis x (com - anchor)
        root = dof_local_com(m.topology)[turning]
        offset = take(centre, root) - take(d.xanchor, joint[turning])
        groups.append((turning, vector.join(axis, vector.cross(axis, offset))))
    return gather_groups(groups, m.nv) if groups else xp.zeros((0, *worlds, 6), dtype)


def crb(m: Model, d: Data) -> Data:
    """Joint-space inertia matrix qM [nv, nv] (mj_crb, mj_tendonArmature aside).

    With crb_b the composite inertia of the subtree of b: M_ij = cdof_j . crb_body(i) cdof_i for j in the
    chain of i, and the armature on the diagonal.
    """
    composite = product(subtree(m.topology), d.cinert)
    force = spatial.inertia_mul(take(composite, m.dof_bodyid), d.cdof)
    lower = dof_chain(m.topology)
    # all pairs in one product; those on different branches, which do not couple, are struck out
    half = products(force, d.cdof)
    xp, dtype = namespace(half), half.dtype
    half = half * xp.asarray(lower - 0.5 * np.eye(m.nv), dtype)  # half the diagonal, then add the transpose
    armature = joint_armature(m)[:, None] * xp.asarray(np.eye(m.nv), dtype)
    return d.replace(qM=half + xp.swapaxes(half, -1, -2) + armature)


class Inertia(NamedTuple):
    """What qM [nv, nv] is made of, to multiply by it without it."""

    cdof: Array  # [nv, 6]
    cinert: Array  # [nbody, 10]
    armature: Array  # [nv] of joints
    tendons: Array | None  # [nv, nv] what tendons add


def inertia_of(m: Model, d: Data, tendons: Array | None) -> Inertia:
    """The parts of qM [nv, nv], of which `tendons` [nv, nv] is what `tendon_inertia` gives."""
    return Inertia(d.cdof, d.cinert, joint_armature(m), tendons)


def inertia_product(t: Topology, parts: Inertia, x: Array) -> Array:
    """qM x [nv]: the forces that move bodies with the accelerations of x [nv] at rest."""
    cacc = product(ancestor(t), parts.cdof * x[:, None])
    total = product(subtree(t), spatial.inertia_mul(parts.cinert, cacc))
    force = vector.dot(parts.cdof, take(total, t.dof_bodyid)) + parts.armature * x
    return force if parts.tendons is None else force + matmul(parts.tendons, x)


def com_vel(m: Model, d: Data) -> tuple[Data, Array]:
    """cvel [nbody, 6], and cdof_dot [nv, 6], the rate of change of cdof (mj_comVel)."""
    motion = d.cdof * d.qvel[..., None]
    cvel = product(ancestor(m.topology), motion)
    carrying = product(velocity_before(m.topology), motion)
    return d.replace(cvel=cvel), spatial.cross_motion(carrying, d.cdof)


def rne(m: Model, d: Data, cdof_dot: Array, qacc: Array | None = None) -> Array:
    """Inverse dynamics [nv] without constraints: M qacc + qfrc_bias, or the bias alone (mj_rne)."""
    rate = cdof_dot * d.qvel[..., None]
    if qacc is not None:
        rate = rate + d.cdof * qacc[:, None]
    # a world that accelerates upwards weighs all bodies at once
    cacc = product(ancestor(m.topology), rate) + gravity_acceleration(m)
    return inertial_forces(m, d, cacc)


def inertial_forces(m: Model, d: Data, cacc: Array) -> Array:
    """Generalised force [nv] that moves bodies with accelerations cacc [nbody, 6] at their velocities cvel."""
    force = spatial.inertia_mul(d.cinert, cacc) + spatial.cross_force(d.cvel, spatial.inertia_mul(d.cinert, d.cvel))
    return project_forces(m, d, force)


def gravity_acceleration(m: Model) -> Array:
    """[1, 6] acceleration of the world that stands for gravity."""
    g = m.opt.gravity * (0 if m.opt.disables(DisableBit.GRAVITY) else 1)
    return jnp.concatenate([jnp.zeros_like(g), -g])[None]


def project_forces(m: Model, d: Data, force: Array) -> Array:
    """Generalised force [nv] of force vectors [nbody, 6] on bodies, about each tree's com."""
    total = product(subtree(m.topology), force)
    return vector.dot(d.cdof, take(total, m.dof_bodyid))


def on_chains(m: Model, lower: Array, upper: Array) -> Array:
    """[nv, nv] for pairs of dofs of one branch: lower [i, j] where dof i is j or below it, and upper [j, i] above."""
    chain = dof_chain(m.topology)
    above = jnp.asarray(chain - np.eye(m.nv), upper.dtype)
    return lower * jnp.asarray(chain, lower.dtype) + (upper * above).T


def project_wrenches(m: Model, d: Data, force: Array, torque: Array, point: Array) -> Array:
    """Generalised force [nv] of world forces and torques [nbody, 3] at points [nbody, 3] of bodies."""
    arm = point - take(d.subtree_com, m.body_rootid)
    return project_forces(m, d, vector.join(torque + vector.cross(arm, force), force))


def wrench_rows(m: Model, d: Data, body: np.ndarray, force: Array, torque: Array, point: Array) -> Array:
    """Generalised forces [n, nv] of world forces and torques [n, 3] at points [n, 3] of bodies [n], one row each."""
    arm = point - take(d.subtree_com, m.body_rootid[body])
    rows = products(vector.join(torque + vector.cross(arm, force), force), d.cdof)
    return rows * namespace(rows).asarray(ancestor(m.topology)[body], rows.dtype)
