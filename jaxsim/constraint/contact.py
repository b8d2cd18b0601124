"""Contact rows: Jacobian, regularisation and reference in the contact frame (mj_instantiateContact)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.algebra.tree import ancestor
from jaxsim.collision.slots import ContactSlots, are_many, of_bodies, of_slots, pairs_of, slot_params
from jaxsim.constraint.impedance import impedance, reference, regularization
from jaxsim.constraint.row_table import row_table
from jaxsim.core.data import Data
from jaxsim.core.enums import MAXIMP, MINIMP, MINVAL, Cone
from jaxsim.core.model import Model

Array = jax.Array


class ContactRows(NamedTuple):
    """Contacts of one world in n slots; axes of a slot are normal, two tangents, spin, two rolls.

    `dim` is the largest condim of any candidate; a contact of smaller condim leaves the last axes idle.
    """

    J: Array  # [n, dim, nv] relative velocity of the bodies along each axis
    D: Array  # [n, dim] (pyramidal: the edges' common D in column 0; idle contacts: 0)
    aref: Array  # [n, dim] m/s^2, rad/s^2
    friction: Array  # [n, dim - 1]
    mu: Array  # [n] friction of the regularised cone
    condim: Array  # [n] number of axes, 0 for idle contacts
    pos: Array  # [n]
    margin: Array  # [n] m


def contact_rows(m: Model, d: Data, slots: ContactSlots) -> ContactRows:
    """Rows of all contacts: J [n, dim, nv], D and aref [n, dim] per axis of the contact frames of n slots.

    A pyramid edge is normal +- friction_i * axis_i, so its aref is the same combination of the axes' aref.
    """
    p, dim = slot_params(m, slots), row_table(m).contact_dim
    active = slots.dist < p.margin
    # far from zero only in idle slots, where it would overflow in float32
    pos = jnp.where(active, slots.dist - p.margin, 0)
    condim = jnp.where(active, of_slots(m, slots, jnp.asarray(pairs_of(m).condim, jnp.int32)), 0)

    J = contact_jacobian(m, d, slots, dim)
    velocity = jnp.sum(J * d.qvel[None, None], axis=-1)
    imp = impedance(m, p.solref, p.solimp, pos)
    normal = -imp.stiffness * imp.imp * pos
    damping = jnp.broadcast_to(imp.damping[:, None], velocity.shape)
    mu = p.friction[:, 0] / jnp.sqrt(jnp.maximum(m.opt.impratio, MINVAL))
    if m.opt.cone == Cone.ELLIPTIC:
        damping = _friction_damping(m, damping, p.solreffriction, p.solimp)
        D = _elliptic_D(m, imp.imp, p.invweight, p.friction, dim)
    else:
        D = _pyramidal_D(imp.imp, p.invweight, p.friction, mu, condim)[:, None] * jnp.ones((1, dim), pos.dtype)
    aref = -damping * velocity
    aref = jnp.concatenate([(aref[:, 0] + normal)[:, None], aref[:, 1:]], axis=1)
    live = np.arange(dim, dtype=np.int32)[None] < condim[:, None]
    friction = p.friction[:, : max(dim - 1, 0)]
    return ContactRows(J, jnp.where(live, D, 0), aref, friction, mu, condim, slots.dist, p.margin)


def _pyramidal_D(imp: Array, translation: Array, friction: Array, mu: Array, condim: Array) -> Array:
    """1/R of the edges, or of the normal where the contact is frictionless."""
    fri = friction[:, 0]
    edge = regularization(imp, translation + fri * fri * translation)
    return jnp.where(condim > 1, 1 / (2 * mu * mu * edge), 1 / regularization(imp, translation))


def _elliptic_D(m: Model, imp: Array, translation: Array, friction: Array, dim: int) -> Array:
    """1/R per axis: R_1 = R_0 / impratio, and R_j friction_j^2 the same for all friction axes."""
    normal = regularization(imp, translation)
    first = normal / jnp.maximum(m.opt.impratio, MINVAL)
    ratio = friction[:, :1] / friction[:, : max(dim - 1, 0)]
    return 1 / jnp.concatenate([normal[:, None], first[:, None] * ratio * ratio], axis=1)


def _friction_damping(m: Model, damping: Array, solreffriction: Array, solimp: Array) -> Array:
    """Damping per axis [n, dim]: the friction axes use solreffriction where it is given."""
    _, own = reference(m, solreffriction, jnp.clip(solimp[:, 1], MINIMP, MAXIMP))
    same_sign = (solreffriction[:, 0] > 0) == (solreffriction[:, 1] > 0)
    given = jnp.any(solreffriction != 0, axis=1) & same_sign
    tangent = jnp.where(given[:, None], own[:, None], damping[:, 1:])
    return jnp.concatenate([damping[:, :1], tangent], axis=1)


def contact_jacobian(m: Model, d: Data, slots: ContactSlots, dim: int) -> Array:
    """Velocity of body 2 relative to body 1 along the contact axes, per unit qvel [n, dim, nv].

    With w the unit force (or torque) along an axis moved to the com of a tree, a dof contributes w . cdof,
    counted +1 where it moves body 2 and -1 where it moves body 1.
    """
    pairs = pairs_of(m)
    body1, body2 = m.geom_bodyid[pairs.geom1], m.geom_bodyid[pairs.geom2]
    frame = slots.frame
    moves = ancestor(m.topology)
    if m.ntree <= 1 and not are_many(m):
        moved = of_slots(m, slots, jnp.asarray(moves[body2] - moves[body1], frame.dtype))
        root = int(m.body_rootid[m.dof_bodyid[0]])
        center = jnp.broadcast_to(d.subtree_com[root][None], slots.pos.shape)
        return moved[:, None] * _along(d, frame, slots.pos - center, dim)
    total = None
    some = np.any(moves, axis=1, keepdims=True)
    for body, side, sign in ((body2, 1, 1), (body1, 0, -1)):
        if not some[body].any():
            continue
        moved = of_bodies(m, slots, side, jnp.asarray(sign * moves, frame.dtype))
        center = of_bodies(m, slots, side, take(d.subtree_com, m.body_rootid))
        part = moved[:, None] * _along(d, frame, slots.pos - center, dim)
        total = part if total is None else total + part
    return total


def _along(d: Data, frame: Array, arm: Array, dim: int) -> Array:
    """w . cdof for the first dim axes of each contact [n, dim, nv]."""
    n = frame.shape[0]
    linear = frame[:, : min(dim, 3)]
    torque = vector.cross(jnp.broadcast_to(arm[:, None], linear.shape), linear)
    wrench = vector.join(torque, linear)
    if dim > 3:
        spin = frame[:, : dim - 3]
        wrench = jnp.concatenate([wrench, vector.join(spin, jnp.zeros_like(spin))], axis=1)
    flat = lax.dot_general(
        wrench.reshape(n * dim, 6), d.cdof, (((1,), (1,)), ((), ())), precision=lax.Precision.HIGHEST
    )
    return flat.reshape(n, dim, -1)
