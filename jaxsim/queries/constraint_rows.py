"""Constraint rows written out, and contact forces: for people, tests and analysis.

The engine keeps constraints as an operator (section 6 of the design); here every row gets an explicit
Jacobian, in MuJoCo's order of families: equality, friction loss of dofs and tendons, limits of joints and
tendons, contacts. Contacts follow the slots of `data.contact`. Rows exist statically; `active` marks those
that MuJoCo would have made.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra.select import take
from jaxsim.collision.compact import gather
from jaxsim.collision.shape import NO_CONTACT
from jaxsim.collision.slots import ContactSlots, buffer_order, contact_buffer
from jaxsim.constraint.contact import ContactRows, written_out
from jaxsim.constraint.row_table import RowTable, row_table
from jaxsim.constraint.solution import Solution
from jaxsim.core.data import Data
from jaxsim.core.enums import Cone, ConstraintType
from jaxsim.core.model import Model
from jaxsim.core.shapes import check_one_world
from jaxsim.stages.constrained import solution_at
from jaxsim.stages.forward import position_velocity

Array = jax.Array

MOVED = 1e-5  # relative, by which xpos differs from where qpos puts bodies: more than rounding


class ConstraintRows(NamedTuple):
    """All constraint rows of a state, n of them, under the names of MuJoCo's efc arrays.

    `id` is the equality, dof, tendon, joint or contact slot that a row belongs to.
    """

    J: Array  # [n, nv]
    pos: Array  # [n] m, rad
    margin: Array  # [n] m, rad
    aref: Array  # [n] m/s^2, rad/s^2
    D: Array  # [n] kg, kg m^2; zero for idle rows
    frictionloss: Array  # [n] N, N m
    force: Array  # [n] N, N m
    active: Array  # [n] bool
    type: Array  # [n] ConstraintType
    id: Array  # [n]

    def compact(self) -> "ConstraintRows":
        """The active rows [nefc] alone, as numpy arrays: what MuJoCo has in d.efc_J, efc_pos ... (host only)."""
        host = jax.device_get(self)
        return ConstraintRows(*(np.asarray(x)[np.asarray(host.active)] for x in host))


@jax.jit
def constraint_rows(model: Model, data: Data) -> ConstraintRows:
    """Every constraint row of the state of `data`, with the forces [n] that go with `data.qacc` [nv].

    Args:
        model: the model.
        data: after `forward`. Where qpos has moved on since, rows are those of the contacts at qpos.

    Source: mj_makeConstraint, mj_referenceConstraint, mj_constraintUpdate.
    """
    check_one_world("constraint_rows", data)
    here, solution = _solution(model, data)
    parts = [_scalar_rows(model, solution)]
    if solution.slots is not None:
        parts.append(_contact_part(model, data, here, solution))
    return ConstraintRows(*(jnp.concatenate(x) for x in zip(*parts)))


@jax.jit
def contact_force(model: Model, data: Data, slot: Array | int) -> Array:
    """Force (N) and torque (N m) [6] in a slot of `data.contact`, in the contact frame (mj_contactForce).

    The force acts on the body of the second geom and, reversed, on the first; its first component is along
    the normal. Idle slots have none, nor has a contact that is at the edge of what is detected or of what there is
    room for, where rounding may leave it out as it is found again.

    Args:
        model: the model.
        data: after `forward`. A step moves qpos on and leaves the contacts where they were: then, as soon as a body is
            elsewhere than its xpos, all forces are NaN, since what touches there may stand in other slots.
        slot: index into `data.contact`, may be traced.
    """
    check_one_world("contact_force", data)
    here, solution = _solution(model, data)
    if solution.slots is None:
        return jnp.zeros(6, data.qpos.dtype)
    order, idle = _slots_of(model, data, here, solution.slots)
    force = jnp.where(idle[:, None], 0, gather(solution.between_surfaces(), order))
    return jnp.where(_moved(data, here), jnp.nan, jnp.pad(force, ((0, 0), (0, 6 - force.shape[1])))[slot])


def _solution(model: Model, data: Data) -> tuple[Data, Solution]:
    """Where a state is, and its constraints with their forces at its acceleration."""
    here, mid = position_velocity(model, data)
    return here, solution_at(model, data, mid)


def _moved(data: Data, here: Data) -> Array:
    """Whether bodies are elsewhere than at `data.xpos`, so that `data.contact` is of another state."""
    return jnp.max(jnp.abs(here.xpos - data.xpos)) > MOVED * (1 + jnp.max(jnp.abs(here.xpos)))


def _scalar_rows(model: Model, solution: Solution) -> ConstraintRows:
    """Rows of equalities, friction loss and limits, in MuJoCo's order."""
    table, rows = row_table(model), solution.rows
    single = table.sign[:, None] * (table.dof[:, None] == np.arange(model.nv)[None])
    J = jnp.concatenate([jnp.asarray(single, rows.J.dtype), rows.J])
    values = (J, rows.pos, rows.margin, rows.aref, rows.D, rows.frictionloss, solution.force.scalar)
    return ConstraintRows._make(
        (
            *(take(x, table.order) for x in values),
            take(rows.D, table.order) > 0,
            jnp.asarray(table.type[table.order], jnp.int32),
            jnp.asarray(table.id[table.order], jnp.int32),
        )
    )


def _contact_part(model: Model, data: Data, here: Data, solution: Solution) -> ConstraintRows:
    """Rows of the contacts, slot by slot."""
    order, idle = _slots_of(model, data, here, solution.slots)
    rows = solution.rows.contact
    rows = rows._replace(J=written_out(model.topology, rows), motion=())
    c = jax.tree.map(lambda x: gather(x, order), rows)
    c = c._replace(condim=jnp.where(idle, 0, c.condim))
    if model.opt.cone == Cone.ELLIPTIC:
        return _elliptic(c, gather(solution.force.contact, order))
    edges = solution.edges
    return _pyramidal(row_table(model), c, data.qacc, None if edges is None else gather(edges, order))


def _slots_of(model: Model, data: Data, here: Data, slots: ContactSlots) -> tuple[Array, Array]:
    """The engine's slot of each contact in `data.contact` [nconmax], and which of these have none [nconmax].

    Where more are near than there is room for, or one is as far as is detected, rounding decides which are found; then
    the same ones may stand elsewhere as they are found again. If bodies have moved since, all are those found now.
    """
    order, idle = buffer_order(model, slots)
    found = contact_buffer(model, here, slots).contact
    own = jax.tree.map(lambda new, old: jnp.where(_moved(data, here), new, old), found, data.contact)
    same = jnp.all(own.geom[:, None] == found.geom[None], axis=2) & ((own.dist < NO_CONTACT)[:, None] & ~idle[None])
    apart = jnp.max(jnp.abs(own.pos[:, None] - found.pos[None]), axis=2)
    apart = jnp.where(apart > MOVED * (1 + jnp.max(jnp.abs(own.pos))), apart, 0)
    apart = jnp.where(same, apart, jnp.inf)
    place = np.arange(len(order))
    shift = np.abs(place[:, None] - place[None]).astype(np.int32)
    nearest = jnp.where(apart <= jnp.min(apart, axis=1, keepdims=True), shift, len(order))  # of those, the same place
    return gather(order, jnp.argmin(nearest, axis=1).astype(jnp.int32)), ~jnp.any(same, axis=1)


def _elliptic(c: ContactRows, force: Array) -> ConstraintRows:
    """One row per axis; only the normal has a position and a margin."""
    axis = np.arange(c.D.shape[1], dtype=np.int32)[None]
    pos, margin = (jnp.where(axis == 0, x[:, None], 0) for x in (c.pos, c.margin))
    return _flat(c, c.J, pos, margin, c.aref, c.D, force, axis < c.condim[:, None], ConstraintType.CONTACT_ELLIPTIC)


def _pyramidal(table: RowTable, c: ContactRows, qacc: Array, edges: Array | None) -> ConstraintRows:
    """Rows normal +- friction_i axis_i, or the normal alone where there is no friction.

    Their forces [n, 2 (dim - 1)] are `edges`, all of plus and then all of minus, or what follows from qacc [nv].
    """
    dim = c.D.shape[1]
    if dim == 1:
        return _elliptic(c, jnp.maximum(c.D * (c.aref - jnp.sum(c.J * qacc[None, None], axis=2)), 0))
    pair = np.repeat(np.arange(1, dim, dtype=np.int32), 2)
    sign = np.tile(np.array([1, -1], np.int32), dim - 1)
    slips = c.friction[:, pair - 1] * jnp.asarray(sign[None], c.D.dtype)
    slips = jnp.where(pair[None] < c.condim[:, None], slips, 0)
    J = c.J[:, :1] + slips[:, :, None] * c.J[:, pair]
    aref = c.aref[:, :1] + slips * c.aref[:, pair]
    active = np.arange(table.contact_size, dtype=np.int32)[None] < table.rows_of_contact(c.condim)[:, None]
    D = jnp.where(active, c.D[:, :1], 0)
    if edges is None:
        force = jnp.maximum(D * (aref - jnp.sum(J * qacc[None, None], axis=2)), 0)
    else:
        force = jnp.where(active, take(edges, np.arange(2 * (dim - 1)).reshape(2, -1).T.ravel(), axis=1), 0)
    pos, margin = (jnp.broadcast_to(x[:, None], D.shape) for x in (c.pos, c.margin))
    return _flat(c, J, pos, margin, aref, D, force, active, ConstraintType.CONTACT_PYRAMIDAL)


def _flat(c: ContactRows, J, pos, margin, aref, D, force, active, kind: ConstraintType) -> ConstraintRows:
    """Join the rows [n, k] of all slots."""
    n, k = D.shape
    kinds = jnp.where(c.condim == 1, int(ConstraintType.CONTACT_FRICTIONLESS), int(kind)).astype(jnp.int32)
    return ConstraintRows._make(
        (
            J.reshape(n * k, -1),
            *(x.reshape(-1) for x in (pos, margin, aref, D)),
            jnp.zeros(n * k, D.dtype),
            force.reshape(-1),
            active.reshape(-1),
            jnp.repeat(kinds, k),
            jnp.asarray(np.repeat(np.arange(n), k), jnp.int32),
        )
    )
