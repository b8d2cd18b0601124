"""Accelerations of bodies and the forces between them (mj_rnePostConstraint).

Only the bodies that a sensor asks for are computed: the force that body b gets from its parent is the sum
over the subtree of b of what moves it less what acts on it from outside.
"""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import quaternion, spatial, vector
from jaxsim.algebra.select import product, take
from jaxsim.algebra.tree import ancestor, subtree
from jaxsim.collision.driver import pairs_of
from jaxsim.constraint.contact import rows_of
from jaxsim.constraint.equality import anchor_points, weld_sides
from jaxsim.core.data import Data
from jaxsim.core.enums import EqType
from jaxsim.core.model import Model
from jaxsim.dynamics.com import gravity_acceleration

if TYPE_CHECKING:
    from jaxsim.stages.forward import Intermediate

Array = jax.Array


def body_acceleration(m: Model, d: Data, mid: "Intermediate") -> Array:
    """cacc [nbody, 6]: accelerations about each tree's com, gravity counting as an upward acceleration."""
    rate = mid.cdof_dot * d.qvel[:, None] + d.cdof * d.qacc[:, None]
    return product(ancestor(m.topology), rate) + gravity_acceleration(m)


def internal_force(m: Model, d: Data, mid: "Intermediate", cacc: Array, bodies: np.ndarray) -> Array:
    """cfrc_int [n, 6] of the given bodies: what each gets from its parent, about its tree's com.

    cfrc_int_b = sum over the subtree of b of (I cacc + cvel x* I cvel - cfrc_ext).
    """
    inside = subtree(m.topology)[bodies] * (np.arange(m.nbody) > 0)
    moving = spatial.inertia_mul(d.cinert, cacc)
    moving = moving + spatial.cross_force(d.cvel, spatial.inertia_mul(d.cinert, d.cvel))
    arm = d.xipos - take(d.subtree_com, m.body_rootid)
    applied = spatial.shift_force(vector.join(d.xfrc_applied[:, 3:], d.xfrc_applied[:, :3]), arm)
    total = product(inside, moving - applied)
    if mid.force is None:
        return total
    if mid.force.contact is not None:
        total = total - _contact_wrench(m, d, mid, inside)
    if mid.rows.kind.equality.any():
        total = total - _equality_wrench(m, d, mid, inside)
    return total


def _contact_wrench(m: Model, d: Data, mid: "Intermediate", inside: np.ndarray) -> Array:
    """Sum [n, 6] of the contact wrenches on the bodies that each row of `inside` [n, nbody] marks."""
    pairs, touching, force = pairs_of(m), mid.touching, mid.force.contact
    turn, push = jnp.zeros_like(touching.pos), _along(touching.frame, force[:, :3])
    if force.shape[1] > 3:
        turn = _along(touching.frame, force[:, 3:])
    wrench = vector.join(turn, push)
    total = jnp.zeros((len(inside), 6), wrench.dtype)
    for geom, sign in ((pairs.geom2, 1), (pairs.geom1, -1)):
        body = m.geom_bodyid[geom]
        member = sign * inside[:, body].T
        if not member.any():
            continue
        weight = rows_of(jnp.asarray(member, wrench.dtype), touching.pair)
        center = rows_of(take(d.subtree_com, m.body_rootid[body]), touching.pair)
        total = total + _sum(weight, spatial.shift_force(wrench, touching.pos - center))
    return total


def _along(frame: Array, x: Array) -> Array:
    """Sum of the first rows of frames [n, 3, 3] with weights x [n, k]."""
    return vector.matvec_t(frame[:, : x.shape[1]], x)


def _sum(weight: Array, rows: Array) -> Array:
    """weight^T rows."""
    return lax.dot_general(weight, rows, (((0,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)


def _equality_wrench(m: Model, d: Data, mid: "Intermediate", inside: np.ndarray) -> Array:
    """Sum [n, 6] of the wrenches of connects and welds on the bodies that `inside` marks."""
    start = len(mid.rows.kind.dof.dof)
    total = jnp.zeros((len(inside), 6), d.xpos.dtype)
    for eq_type, size, first, second in ((EqType.CONNECT, 3, 0, 3), (EqType.WELD, 6, 3, 0)):
        chosen = np.flatnonzero(m.eq_type == eq_type)
        if not len(chosen):
            continue
        force = take(mid.force.scalar, start + np.arange(size * len(chosen))).reshape(-1, size)
        start += size * len(chosen)
        bodies, points = anchor_points(m, d, chosen, first, second)
        push, turn = force[:, :3], jnp.zeros_like(force[:, :3])
        if size == 6:
            left, right, scale = weld_sides(m, d, chosen, *bodies)
            turn = 0.5 * scale * _untwist(left, right, force[:, 3:])
        for body, point, sign in zip(bodies, points, (1, -1)):
            arm = point - take(d.subtree_com, m.body_rootid[body])
            total = total + product(sign * inside[:, body], spatial.shift_force(vector.join(turn, push), arm))
    return total


def _untwist(left: Array, right: Array, force: Array) -> Array:
    """Transpose of w -> imaginary part of left (0, w) right, for unit quaternions."""
    pure = vector.join(jnp.zeros_like(force[:, :1]), force)
    return quaternion.mul(quaternion.mul(quaternion.conj(left), pure), quaternion.conj(right))[:, 1:]
