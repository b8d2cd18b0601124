"""Constraint rows (mj_makeConstraint): what the solver sees of a model in one state.

Scalar rows come first, family by family as the row table says: those on single dofs, whose Jacobian is one
entry +-1, then those with an explicit Jacobian. Contacts follow as blocks in the contact frame. Rows exist
statically; an idle row has D = 0 and exerts no force.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.select import scatter_add, take
from jaxsim.collision.slots import ContactSlots
from jaxsim.constraint.contact import ContactRows, adhesion_force, contact_rows
from jaxsim.constraint.impedance import end_of_step, impedance, regularization
from jaxsim.constraint.row_table import RowTable, row_table
from jaxsim.constraint.scalar import ScalarRows
from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology

Array = jax.Array


class Rows(NamedTuple):
    """All constraints of one world: n scalar rows, the first nd of them on single dofs, and the contact blocks.

    What is static of them is in the model's row table.
    """

    J: Array  # [n - nd, nv]
    D: Array  # [n], zero for idle rows
    aref: Array  # [n] m/s^2, rad/s^2
    frictionloss: Array  # [n] N, N m; zero except for friction rows
    pos: Array  # [n] m, rad
    margin: Array  # [n] m, rad
    contact: ContactRows | None


class RowValues(NamedTuple):
    """A number for every row: of the scalar rows [n], and along the axes of the contacts [slots, dim]."""

    scalar: Array
    contact: Array | None


def make_constraint(
    m: Model, d: Data, ten_J: Array, slots: ContactSlots | None, weigh: Callable[[Array], Array] | None = None
) -> Rows:
    """All constraint rows [n] of the current state; D and aref as in MuJoCo's makeImpedance.

    aref = -B vel - K I (pos - margin), for friction rows without the spring. `weigh` gives the diagonal [k] of
    J M^-1 J^T for rows J [k, nv], which D is relative to; by default it is diagApprox, of the bodies at qpos0.
    """
    table = row_table(m)
    contact = contact_rows(m, d, slots, weigh) if slots is not None else None
    if not table.blocks:
        nothing = jnp.zeros(0, d.qpos.dtype)
        return Rows(jnp.zeros((0, m.nv), d.qpos.dtype), nothing, nothing, nothing, nothing, nothing, contact)
    rows = _join([block.family.build(m, d, ten_J, block.elements) for block in table.blocks])
    J = jnp.zeros((0, m.nv), d.qpos.dtype) if rows.J is None else rows.J
    diag = rows.diag if weigh is None else _weighed(m, J, weigh)
    zero = jnp.zeros_like(rows.pos)
    past = rows.pos if rows.margin is None else rows.pos - rows.margin
    norm = past if rows.pos_norm is None else rows.pos_norm
    if rows.pos_norm is not None and rows.margin is not None:
        norm = norm - rows.margin
    imp = impedance(m, rows.solref, rows.solimp, norm, table.collides)
    if table.friction.any():  # it holds a dof where it is: there is no position to return to
        imp = imp._replace(stiffness=jnp.where(table.friction, 0, imp.stiffness))
    imp, softer = end_of_step(m, imp)
    aref = -imp.damping * mul_scalar(table, J, d.qvel) - imp.stiffness * imp.imp * past
    bias = rows.bias if rows.bias is None or softer is None else rows.bias / softer
    return Rows(
        J=J,
        D=jnp.where(rows.active, 1 / regularization(imp.imp, diag, softer), 0),
        aref=aref if bias is None else aref - bias,
        frictionloss=zero if rows.frictionloss is None else rows.frictionloss,
        pos=rows.pos,
        margin=zero if rows.margin is None else rows.margin,
        contact=contact,
    )


def _weighed(m: Model, J: Array, weigh: Callable[[Array], Array]) -> Array:
    """What scalar rows weigh [n]: those on single dofs, and those with J [n - nd, nv]."""
    dofs, back = np.unique(row_table(m).dof, return_inverse=True)
    weight = weigh(jnp.concatenate([jnp.asarray(np.eye(m.nv)[dofs], J.dtype), J]))
    return take(weight, np.concatenate([back, len(dofs) + np.arange(len(J))]).astype(np.int32))


def _join(families: list[ScalarRows]) -> ScalarRows:
    """The rows of all families, one after the other; what no family has stays None."""
    # a connect's three rows share the impedance of their distance; other families' depends on each row's pos
    if any(f.pos_norm is not None for f in families):
        families = [f._replace(pos_norm=f.pos if f.pos_norm is None else f.pos_norm) for f in families]
    joined = {}
    for name in ScalarRows._fields:
        parts = [getattr(f, name) for f in families]
        # the limits of a hinge have no bias, those of a connect do: zeros stand for the former. J alone stays shorter,
        # since rows on single dofs, which come first, have none
        if name != "J" and any(p is not None for p in parts):
            parts = [jnp.zeros_like(f.pos) if p is None else p for f, p in zip(families, parts)]
        parts = [p for p in parts if p is not None]
        joined[name] = jnp.concatenate(parts) if len(parts) > 1 else parts[0] if parts else None
    return ScalarRows(**joined)


def mul_scalar(table: RowTable, J: Array, x: Array) -> Array:
    """J x of the scalar rows [n], for J [n - nd, nv] and x [nv]."""
    # with limits of dof 4, low and high, and a weld: [x_4, -x_4, and six rows of J x]
    parts = []
    if len(table.dof) or not J.shape[0]:
        parts.append(take(x, table.dof) * jnp.asarray(table.sign, x.dtype))
    if J.shape[0]:
        parts.append(lax.dot(J, x, precision=lax.Precision.HIGHEST))
    return jnp.concatenate(parts) if len(parts) > 1 else parts[0]


def mul_scalar_t(table: RowTable, J: Array, force: Array, nv: int) -> Array:
    """J^T force of the scalar rows [nv], for J [n - nd, nv] and force [n]."""
    nd = len(table.dof)
    total = scatter_add(table.dof, force[:nd] * jnp.asarray(table.sign, force.dtype), nv)
    if J.shape[0]:
        total = total + lax.dot_general(force[nd:], J, (((0,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)
    return total


def adhesion_of(t: Topology, rows: Rows) -> Array | None:
    """qfrc_adhesion [nv] of sticky contacts; None where there are none."""
    sticky = rows.contact is not None and rows.contact.adhesion is not None
    return adhesion_force(t, rows.contact) if sticky else None


def count_rows(m: Model, rows: Rows) -> Array:
    """nefc []: the number of active rows, as MuJoCo counts them."""
    count = jnp.sum(rows.D > 0, dtype=jnp.int32)
    if rows.contact is None:
        return count
    return count + jnp.sum(row_table(m).rows_of_contact(rows.contact.condim), dtype=jnp.int32)
