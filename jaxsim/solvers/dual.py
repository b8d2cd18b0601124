"""The dual of the objective (Computation chapter, eq. 9): the constraint forces f themselves are searched for.

    min 1/2 f^T (A + R) f + f^T b,    A = J M^-1 J^T,    b = J a0 - aref,    f within bounds and cones

The rows are written out in MuJoCo's order: equalities, friction loss, limits, then contact by contact the axes of an
elliptic cone or the edges of a pyramid, plus and minus by turns. Rows that are idle take no part.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.select import take
from jaxsim.collision.compact import gather
from jaxsim.constraint.contact import ContactRows
from jaxsim.constraint.laws.soft import edge_forces, frictionless_masked
from jaxsim.constraint.rows import RowValues
from jaxsim.core.enums import Cone
from jaxsim.solvers.objective import Problem, Structure, forces, scalar_jacobian

Array = jax.Array
HIGHEST = lax.Precision.HIGHEST


class Forces(NamedTuple):
    """Constraint forces, along the axes of contacts and along the edges of pyramids."""

    rows: RowValues
    edges: Array | None  # [slots, 2 (dim - 1)], first all of plus; None for other contacts


class DualRows(NamedTuple):
    """N rows; those from `first` on are of contacts, `size` of them for each."""

    J: Array  # [N, nv]
    R: Array  # [N], zero for idle rows
    aref: Array  # [N]
    low: Array  # [N] bounds of the force, of a cone's those of its normal
    high: Array  # [N]
    active: Array  # [N] bool


def forces_at(s: Structure, p: Problem, r: RowValues) -> Forces:
    """The forces that go with the residual of the objective."""
    pyramids = p.contact is not None and s.table.cone == Cone.PYRAMIDAL and s.table.contact_dim > 1
    return Forces(forces(s, p, r), edge_forces(p.contact, r.contact) if pyramids else None)


def dual_rows(s: Structure, p: Problem, order: Array | None) -> DualRows:
    """All rows, with the contacts in an order [slots]."""
    t, infinite = s.table, jnp.full_like(p.D, jnp.inf)
    low = jnp.where(t.equality, -infinite, jnp.where(t.friction, -p.frictionloss, 0))
    high = jnp.where(t.friction, p.frictionloss, infinite)
    scalar = DualRows(scalar_jacobian(s, p), _inverse(p.D), p.aref, low, high, p.D > 0)
    scalar = DualRows(*(take(x, t.order) for x in scalar))
    if p.contact is None:
        return scalar
    c = _sorted(p.contact, order)
    J, aref, D = _edges(s, c) if t.cone == Cone.PYRAMIDAL and t.contact_dim > 1 else (c.J, c.aref, c.D)
    flat = (x.reshape(-1) for x in (_inverse(D), aref, jnp.zeros_like(D), jnp.full_like(D, jnp.inf), D > 0))
    contact = DualRows(J.reshape(-1, J.shape[-1]), *flat)
    return DualRows(*(jnp.concatenate(x) for x in zip(scalar, contact)))


def as_dual(s: Structure, p: Problem, f: Forces, order: Array | None) -> Array:
    """Forces as one vector [N] of the dual's rows."""
    scalar = take(f.rows.scalar, s.table.order)
    if f.rows.contact is None:
        return scalar
    contact = f.rows.contact
    if f.edges is not None:
        k = f.edges.shape[1] // 2
        contact = jnp.stack([f.edges[:, :k], f.edges[:, k:]], axis=2).reshape(-1, 2 * k)
    return jnp.concatenate([scalar, gather(contact, order).reshape(-1)])


def from_dual(s: Structure, p: Problem, force: Array, order: Array | None) -> Forces:
    """The forces of all rows from those [N] of the dual's."""
    n = len(s.table.order)
    scalar = take(force[:n], np.argsort(s.table.order))
    if p.contact is None:
        return Forces(RowValues(scalar, None), None)
    slots = p.contact.J.shape[0]
    index = np.arange(slots, dtype=np.int32)
    place = jnp.sum(jnp.where(order[None] == index[:, None], index[None], 0), axis=1)
    contact = gather(force[n:].reshape(slots, -1), place)
    if s.table.cone != Cone.PYRAMIDAL or s.table.contact_dim == 1:
        return Forces(RowValues(scalar, contact), None)
    pairs = contact.reshape(slots, -1, 2)
    plus, minus = pairs[:, :, 0], pairs[:, :, 1]
    tangents = frictionless_masked(p.contact).friction * (plus - minus)
    axes = jnp.concatenate([jnp.sum(plus + minus, axis=1, keepdims=True), tangents], axis=1)
    return Forces(RowValues(scalar, axes), jnp.concatenate([plus, minus], axis=1))


def _sorted(c: ContactRows, order: Array) -> ContactRows:
    """What the dual needs of contacts, in an order [slots]."""
    J, D, aref, friction, condim = (gather(x, order) for x in (c.J, c.D, c.aref, c.friction, c.condim))
    return c._replace(J=J, D=D, aref=aref, friction=friction, condim=condim)


def _edges(s: Structure, c: ContactRows) -> tuple[Array, Array, Array]:
    """J [slots, edges, nv], aref and D [slots, edges] of normal +- friction_i axis_i."""
    k = c.J.shape[1] - 1
    axis, sign = np.repeat(np.arange(k), 2), np.tile([1.0, -1.0], k)
    slip = take(frictionless_masked(c).friction, axis, axis=1) * jnp.asarray(sign, c.D.dtype)[None]
    J = c.J[:, :1] + slip[:, :, None] * take(c.J, axis + 1, axis=1)
    aref = c.aref[:, :1] + slip * take(c.aref, axis + 1, axis=1)
    live = np.arange(2 * k, dtype=np.int32)[None] < s.table.rows_of_contact(c.condim)[:, None]
    return J, aref, jnp.where(live, c.D[:, :1], 0)


def _inverse(D: Array) -> Array:
    return jnp.where(D > 0, 1 / jnp.where(D > 0, D, 1), 0)
