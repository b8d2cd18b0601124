"""Accelerations of bodies and the forces between them (mj_rnePostConstraint).

Only the bodies that a sensor asks for are computed: the force that body b gets from its parent is the sum
over the subtree of b of what moves it less what acts on it from outside.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import spatial, vector
from jaxsim.algebra.select import product, take
from jaxsim.algebra.tree import ancestor, subtree
from jaxsim.collision.slots import ContactSlots, of_bodies
from jaxsim.constraint.equality import ANCHORS, wrenches
from jaxsim.constraint.row_table import row_table
from jaxsim.constraint.solution import Solution
from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.dynamics.com import gravity_acceleration
from jaxsim.dynamics.spatial_tendon import paths
from jaxsim.sensors.tension import tendon_wrench

Array = jax.Array


def body_acceleration(m: Model, d: Data, cdof_dot: Array) -> Array:
    """cacc [nbody, 6]: accelerations about each tree's com, gravity counting as an upward acceleration.

    `cdof_dot` [nv, 6] is the rate of the dofs' axes.
    """
    rate = cdof_dot * d.qvel[:, None] + d.cdof * d.qacc[:, None]
    return product(ancestor(m.topology), rate) + gravity_acceleration(m)


def internal_force(m: Model, d: Data, solution: Solution, cacc: Array, bodies: np.ndarray) -> Array:
    """cfrc_int [n, 6] (N m, N) of the given bodies: what each gets from its parent, about its tree's com.

    cfrc_int_b = sum over the subtree of b of (I cacc + cvel x* I cvel - cfrc_ext).
    """
    inside = subtree(m.topology)[bodies] * (np.arange(m.nbody) > 0)
    moving = spatial.inertia_mul(d.cinert, cacc)
    moving = moving + spatial.cross_force(d.cvel, spatial.inertia_mul(d.cinert, d.cvel))
    arm = d.xipos - take(d.subtree_com, m.body_rootid)
    applied = spatial.shift_force(vector.join(d.xfrc_applied[:, 3:], d.xfrc_applied[:, :3]), arm)
    total = product(inside, moving - applied)
    if paths(m.topology):
        total = total - tendon_wrench(m, d, solution, cacc, inside)
    if solution.slots is not None:
        total = total - _contact_wrench(m, d, solution.slots, solution.between_surfaces(), inside)
    return total - _equality_wrench(m, d, solution.force.scalar, inside)


def _contact_wrench(m: Model, d: Data, slots: ContactSlots, force: Array, inside: np.ndarray) -> Array:
    """Sum [n, 6] of the contact wrenches on the bodies that each row of `inside` [n, nbody] marks."""
    turn, push = jnp.zeros_like(slots.pos), _along(slots.frame, force[:, :3])
    if force.shape[1] > 3:
        turn = _along(slots.frame, force[:, 3:])
    wrench = vector.join(turn, push)
    total = jnp.zeros((len(inside), 6), wrench.dtype)
    for side, sign in ((1, 1), (0, -1)):
        weight = of_bodies(m, slots, side, jnp.asarray(sign * inside.T, wrench.dtype))
        center = of_bodies(m, slots, side, take(d.subtree_com, m.body_rootid))
        total = total + _sum(weight, spatial.shift_force(wrench, slots.pos - center))
    return total


def _along(frame: Array, x: Array) -> Array:
    """Sum of the first rows of frames [n, 3, 3] with weights x [n, k]."""
    return vector.matvec_t(frame[:, : x.shape[1]], x)


def _sum(weight: Array, rows: Array) -> Array:
    """weight^T rows."""
    return lax.dot_general(weight, rows, (((0,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)


def _equality_wrench(m: Model, d: Data, force: Array, inside: np.ndarray) -> Array:
    """Sum [n, 6] of the wrenches of connects and welds on the bodies that `inside` marks."""
    total = jnp.zeros((len(inside), 6), d.xpos.dtype)
    for block in row_table(m).blocks:
        kind = block.family.equality
        if kind not in ANCHORS:
            continue
        part = take(force, np.arange(block.start, block.stop)).reshape(-1, block.family.size)
        bodies, points, wrench = wrenches(m, d, block.elements, kind, part)
        for body, point, sign in zip(bodies, points, (1, -1)):
            arm = point - take(d.subtree_com, m.body_rootid[body])
            total = total + product(sign * inside[:, body], spatial.shift_force(wrench, arm))
    return total
