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
from jaxsim.collision.compact import gather, rank_in_order, slots_from_rank
from jaxsim.collision.shape import NO_CONTACT
from jaxsim.constraint.contact import ContactRows
from jaxsim.constraint.laws.soft import law_of
from jaxsim.constraint.rows import Rows
from jaxsim.core.data import Data
from jaxsim.core.enums import Cone, EqType, JointType
from jaxsim.core.model import Model
from jaxsim.solvers.objective import Residual, Structure, forces, problem_of, residual
from jaxsim.stages.forward import Intermediate, position_velocity

Array = jax.Array

# mjtConstraint
EQUALITY, FRICTION_DOF, FRICTION_TENDON, LIMIT_JOINT, LIMIT_TENDON = range(5)
CONTACT_FRICTIONLESS, CONTACT_PYRAMIDAL, CONTACT_ELLIPTIC = range(5, 8)

EQUALITY_ROWS = {EqType.CONNECT: 3, EqType.WELD: 6, EqType.JOINT: 1, EqType.TENDON: 1}


class ConstraintRows(NamedTuple):
    """All constraint rows of a state, n of them, under the names of MuJoCo's efc arrays.

    `id` is the equality, dof, tendon, joint or contact slot that a row belongs to.
    """

    J: Array  # [n, nv]
    pos: Array  # [n]
    margin: Array  # [n]
    aref: Array  # [n]
    D: Array  # [n]
    frictionloss: Array  # [n]
    force: Array  # [n]
    active: Array  # [n] bool
    type: Array  # [n] mjtConstraint
    id: Array  # [n]

    def compact(self) -> "ConstraintRows":
        """The active rows alone, as numpy arrays: what MuJoCo has in d.efc_J, efc_pos ... (host only)."""
        host = jax.device_get(self)
        return ConstraintRows(*(np.asarray(x)[np.asarray(host.active)] for x in host))


@jax.jit
def constraint_rows(model: Model, data: Data) -> ConstraintRows:
    """Every constraint row of the state of `data`, with the forces that go with `data.qacc`.

    Args:
        model: the model.
        data: after `forward`.

    Source: mj_makeConstraint, mj_referenceConstraint, mj_constraintUpdate.
    """
    _, mid = position_velocity(model, data)
    rows, force = mid.rows, _forces(model, data, mid)
    parts = [_scalar_rows(model, rows, force.scalar)]
    if rows.contact is not None:
        parts.append(_contact_part(model, data, mid, force.contact))
    return ConstraintRows(*(jnp.concatenate(x) for x in zip(*parts)))


@jax.jit
def contact_force(model: Model, data: Data, slot: Array | int) -> Array:
    """Force (N) and torque (N m) [6] in a slot of `data.contact`, in the contact frame (mj_contactForce).

    The force acts on the body of the second geom and, reversed, on the first; its first component is along
    the normal. Idle slots have none.

    Args:
        model: the model.
        data: after `forward`.
        slot: index into `data.contact`, may be traced.
    """
    _, mid = position_velocity(model, data)
    if mid.rows.contact is None:
        return jnp.zeros(6, data.qpos.dtype)
    order, idle = _slots(model, mid)
    force = jnp.where(idle[:, None], 0, gather(_forces(model, data, mid).contact, order))
    return jnp.pad(force, ((0, 0), (0, 6 - force.shape[1])))[slot]


def _forces(model: Model, data: Data, mid: Intermediate) -> Residual:
    """Constraint forces at the acceleration of `data`."""
    structure = Structure(mid.rows.kind, law_of(model.opt.cone))
    problem = problem_of(data.qM, data.qfrc_smooth, mid.rows)
    return forces(structure, problem, residual(structure, problem, data.qacc))


def _slots(model: Model, mid: Intermediate) -> tuple[Array, Array]:
    """Contact row of each slot of `data.contact`, and which slots are idle."""
    touching = mid.touching
    order = slots_from_rank(rank_in_order(touching.dist < NO_CONTACT), int(model.nconmax))
    return order, order >= touching.dist.shape[0]


class _Layout(NamedTuple):
    """Static order of the scalar rows: source row, type and id of each row in MuJoCo's order."""

    row: np.ndarray
    type: np.ndarray
    id: np.ndarray


def _layout(model: Model, rows: Rows) -> _Layout:
    """Sort rows by family, then by element; rows of one element keep their order."""
    dof, nd = rows.kind.dof, len(rows.kind.dof.dof)
    f = dof.nfriction
    family = [np.repeat([FRICTION_DOF, LIMIT_JOINT], [f, nd - f])]
    element = [np.concatenate([dof.dof[:f], dof.joint[f:]])]
    source = rows.kind.source
    for order in np.unique(source):
        owner = _owners(model, int(order))
        family.append(np.full(len(owner), order))
        element.append(owner)
    kind, owner = np.concatenate(family).astype(int), np.concatenate(element).astype(int)
    order = np.lexsort((np.arange(len(kind)), owner, kind))
    return _Layout(order, kind[order], owner[order])


def _owners(model: Model, family: int) -> np.ndarray:
    """Element of each general row of a family, in the order in which the engine makes them."""
    if family == EQUALITY:
        owners = []
        for kind, size in EQUALITY_ROWS.items():
            owners.append(np.repeat(np.flatnonzero(model.eq_type == kind), size))
        return np.concatenate(owners)
    if family == FRICTION_TENDON:
        return np.flatnonzero(model.tendon_hasfriction)
    if family == LIMIT_JOINT:
        return np.flatnonzero(np.asarray(model.jnt_limited, bool) & (model.jnt_type == JointType.BALL))
    return np.repeat(np.flatnonzero(np.asarray(model.tendon_limited, bool)), 2)


def _scalar_rows(model: Model, rows: Rows, force: Array) -> ConstraintRows:
    """Rows of equalities, friction loss and limits."""
    layout = _layout(model, rows)
    dof = rows.kind.dof
    single = dof.sign[:, None] * (dof.dof[:, None] == np.arange(model.nv)[None])
    J = jnp.concatenate([jnp.asarray(single, rows.J.dtype), rows.J])
    of = layout.row
    return ConstraintRows._make(
        (
            *(take(x, of) for x in (J, rows.pos, rows.margin, rows.aref, rows.D, rows.frictionloss, force)),
            take(rows.D, of) > 0,
            jnp.asarray(layout.type, jnp.int32),
            jnp.asarray(layout.id, jnp.int32),
        )
    )


def _contact_part(model: Model, data: Data, mid: Intermediate, force: Array) -> ConstraintRows:
    """Rows of the contacts, slot by slot."""
    order, idle = _slots(model, mid)
    c = mid.rows.contact
    c = c._replace(**{k: gather(x, order) for k, x in c._asdict().items()})
    c = c._replace(condim=jnp.where(idle, 0, c.condim))
    if model.opt.cone == Cone.ELLIPTIC:
        return _elliptic(c, gather(force, order))
    return _pyramidal(c, data.qacc)


def _elliptic(c: ContactRows, force: Array) -> ConstraintRows:
    """One row per axis; only the normal has a position and a margin."""
    axis = np.arange(c.D.shape[1], dtype=np.int32)[None]
    pos, margin = (jnp.where(axis == 0, x[:, None], 0) for x in (c.pos, c.margin))
    return _flat(c, c.J, pos, margin, c.aref, c.D, force, axis < c.condim[:, None], CONTACT_ELLIPTIC)


def _pyramidal(c: ContactRows, qacc: Array) -> ConstraintRows:
    """Rows normal +- friction_i axis_i, or the normal alone where there is no friction."""
    dim = c.D.shape[1]
    if dim == 1:
        return _elliptic(c, jnp.maximum(c.D * (c.aref - jnp.sum(c.J * qacc[None, None], axis=2)), 0))
    pair = np.repeat(np.arange(1, dim, dtype=np.int32), 2)
    sign = np.tile(np.array([1, -1], np.int32), dim - 1)
    slips = c.friction[:, pair - 1] * jnp.asarray(sign[None], c.D.dtype)
    slips = jnp.where(pair[None] < c.condim[:, None], slips, 0)
    J = c.J[:, :1] + slips[:, :, None] * c.J[:, pair]
    aref = c.aref[:, :1] + slips * c.aref[:, pair]
    count = jnp.where(c.condim > 1, 2 * (c.condim - 1), c.condim)
    active = np.arange(2 * (dim - 1), dtype=np.int32)[None] < count[:, None]
    D = jnp.where(active, c.D[:, :1], 0)
    force = jnp.maximum(D * (aref - jnp.sum(J * qacc[None, None], axis=2)), 0)
    pos, margin = (jnp.broadcast_to(x[:, None], D.shape) for x in (c.pos, c.margin))
    return _flat(c, J, pos, margin, aref, D, force, active, CONTACT_PYRAMIDAL)


def _flat(c: ContactRows, J, pos, margin, aref, D, force, active, kind) -> ConstraintRows:
    """Join the rows [n, k] of all slots."""
    n, k = D.shape
    kind = jnp.where(c.condim == 1, CONTACT_FRICTIONLESS, kind)
    return ConstraintRows._make(
        (
            J.reshape(n * k, -1),
            *(x.reshape(-1) for x in (pos, margin, aref, D)),
            jnp.zeros(n * k, D.dtype),
            force.reshape(-1),
            active.reshape(-1),
            jnp.repeat(kind.astype(jnp.int32), k),
            jnp.asarray(np.repeat(np.arange(n), k), jnp.int32),
        )
    )
