"""Constraint rows in families (mj_makeConstraint): what the solver sees of a model in one state.

Scalar rows come first: friction loss and limits of single dofs (whose Jacobian is one entry, +-1), then
general rows with an explicit Jacobian (equalities, tendon friction, ball and tendon limits). Contacts
follow as blocks in the contact frame. Rows exist statically; an idle row has D = 0 and exerts no force.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.select import scatter_add, take
from jaxsim.collision.driver import Touching
from jaxsim.constraint.contact import ContactRows, contact_rows
from jaxsim.constraint.equality import equality_rows
from jaxsim.constraint.impedance import impedance, regularization
from jaxsim.core.data import Data
from jaxsim.core.enums import DisableBit, JointType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology

Array = jax.Array


class DofRows(NamedTuple):
    """Static layout of the rows on single dofs: friction first, then lower and upper limits per joint."""

    dof: np.ndarray  # [nd] column
    sign: np.ndarray  # [nd] Jacobian entry
    joint: np.ndarray  # [nd] joint of a limit row, -1 for friction
    nfriction: int


class Rows(NamedTuple):
    """All constraints of one world; `nd` dof rows, `ng` general rows, and the contact blocks."""

    J: Array  # [ng, nv]
    D: Array  # [nd + ng], zero for idle rows
    aref: Array  # [nd + ng]
    frictionloss: Array  # [nd + ng], zero except for friction rows
    pos: Array  # [nd + ng]
    margin: Array  # [nd + ng]
    contact: ContactRows | None
    kind: "RowKinds"


class RowKinds(NamedTuple):
    """Static kind of each scalar row."""

    dof: DofRows
    equality: np.ndarray  # [nd + ng] bool
    friction: np.ndarray  # [nd + ng] bool
    source: np.ndarray  # [ng] general rows: position in MuJoCo's order of families


@per_topology
def dof_rows(t: Topology, disableflags: int) -> DofRows:
    """Which dofs have friction rows and which joints have limit rows."""
    off = bool(disableflags & DisableBit.CONSTRAINT)
    friction = np.flatnonzero(t.dof_hasfriction)
    if off or disableflags & DisableBit.FRICTIONLOSS:
        friction = friction[:0]
    scalar = (t.jnt_type == JointType.SLIDE) | (t.jnt_type == JointType.HINGE)
    limited = np.flatnonzero(np.asarray(t.jnt_limited, bool) & scalar)
    if off or disableflags & DisableBit.LIMIT:
        limited = limited[:0]
    joint = np.repeat(limited, 2)
    return DofRows(
        dof=np.concatenate([friction, t.jnt_dofadr[joint]]).astype(int),
        sign=np.concatenate([np.ones(len(friction)), np.tile([1.0, -1.0], len(limited))]),
        joint=np.concatenate([np.full(len(friction), -1), joint]).astype(int),
        nfriction=len(friction),
    )


class _Scalar(NamedTuple):
    """A family of scalar rows before impedance; `pos_norm` is what the impedance depends on."""

    J: Array
    pos: Array
    margin: Array
    active: Array
    solref: Array
    solimp: Array
    diag: Array
    frictionloss: Array
    pos_norm: Array
    bias: Array  # subtracted from aref: the Jdot v of connect and weld


def make_constraint(m: Model, d: Data, ten_J: Array, touching: Touching | None) -> Rows:
    """All constraint rows of the current state; D and aref as in MuJoCo's makeImpedance."""
    flags = int(m.opt.disableflags)
    layout = dof_rows(m.topology, flags)
    families, equality, friction, source = [_dof_family(m, d, layout)], [], [], []
    nd = len(layout.dof)
    equality.append(np.zeros(nd, bool))
    friction.append(np.arange(nd) < layout.nfriction)
    if not flags & DisableBit.CONSTRAINT:
        for order, is_equality, is_friction, family in _general_families(m, d, ten_J, flags):
            n = family.pos.shape[0]
            families.append(family)
            equality.append(np.full(n, is_equality))
            friction.append(np.full(n, is_friction))
            source.append(np.full(n, order))
    all_rows = _Scalar(*(jnp.concatenate(x) if len(x) > 1 else x[0] for x in zip(*families)))
    kind = RowKinds(
        layout,
        np.concatenate(equality),
        np.concatenate(friction),
        np.concatenate([np.zeros(0, int), *source]),
    )
    contact = contact_rows(m, d, touching) if touching is not None else None
    return _finish(m, d, all_rows, kind, contact)


def _finish(m: Model, d: Data, rows: _Scalar, kind: RowKinds, contact: ContactRows | None) -> Rows:
    """D and aref from impedance: aref = -B vel - K I (pos - margin), friction rows without the spring."""
    jacobian = rows.J
    velocity = mul_scalar(kind, jacobian, d.qvel)
    imp = impedance(m, rows.solref, rows.solimp, rows.pos_norm - rows.margin)
    stiffness = jnp.where(kind.friction, 0, imp.stiffness)
    D = jnp.where(rows.active, 1 / regularization(imp.imp, rows.diag), 0)
    aref = -imp.damping * velocity - stiffness * imp.imp * (rows.pos - rows.margin) - rows.bias
    return Rows(jacobian, D, aref, rows.frictionloss, rows.pos, rows.margin, contact, kind)


def mul_scalar(kind: RowKinds, J: Array, x: Array) -> Array:
    """J x of the scalar rows [nd + ng]."""
    dof = kind.dof
    parts = [take(x, dof.dof) * jnp.asarray(dof.sign, x.dtype)]
    if J.shape[0]:
        parts.append(lax.dot(J, x, precision=lax.Precision.HIGHEST))
    return jnp.concatenate(parts) if len(parts) > 1 else parts[0]


def mul_scalar_t(kind: RowKinds, J: Array, force: Array, nv: int) -> Array:
    """J^T force of the scalar rows [nv]."""
    dof = kind.dof
    nd = len(dof.dof)
    total = scatter_add(dof.dof, force[:nd] * jnp.asarray(dof.sign, force.dtype), nv)
    if J.shape[0]:
        total = total + lax.dot_general(force[nd:], J, (((0,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)
    return total


def _dof_family(m: Model, d: Data, layout: DofRows) -> _Scalar:
    """Friction loss rows and the lower and upper limits of slide and hinge joints."""
    f = layout.nfriction
    dofs, joints = layout.dof[:f], layout.joint[f:]
    sign = jnp.asarray(layout.sign[f:], d.qpos.dtype)
    bound = take(m.jnt_range.reshape(-1), 2 * joints + np.tile([0, 1], len(joints) // 2))
    distance = sign * (take(d.qpos, m.jnt_qposadr[joints]) - bound)
    margin = take(m.jnt_margin, joints)
    zero = jnp.zeros(f, d.qpos.dtype)
    nothing = jnp.zeros(f + len(joints), d.qpos.dtype)
    pos = jnp.concatenate([zero, distance])
    return _Scalar(
        J=jnp.zeros((0, m.nv), d.qpos.dtype),
        pos=pos,
        margin=jnp.concatenate([zero, margin]),
        active=jnp.concatenate([take(m.dof_frictionloss, dofs) > 0, distance < margin]),
        solref=jnp.concatenate([take(m.dof_solref, dofs), take(m.jnt_solref, joints)]),
        solimp=jnp.concatenate([take(m.dof_solimp, dofs), take(m.jnt_solimp, joints)]),
        diag=take(m.dof_invweight0, layout.dof),
        frictionloss=jnp.concatenate([take(m.dof_frictionloss, dofs), jnp.zeros_like(margin)]),
        pos_norm=pos,
        bias=nothing,
    )


def _general_families(m: Model, d: Data, ten_J: Array, flags: int):
    """Yield (MuJoCo order, is equality, is friction, family) of the rows with explicit Jacobians."""
    if not flags & DisableBit.EQUALITY and m.neq:
        for e in equality_rows(m, d, ten_J):
            zero = jnp.zeros_like(e.pos)
            yield (
                0,
                True,
                False,
                _Scalar(e.J, e.pos, zero, e.active, e.solref, e.solimp, e.diag, zero, e.pos_norm, e.bias),
            )
    if not flags & DisableBit.FRICTIONLOSS and np.any(m.tendon_hasfriction):
        yield 2, False, True, _tendon_friction(m, ten_J)
    if not flags & DisableBit.LIMIT:
        balls = np.flatnonzero(np.asarray(m.jnt_limited, bool) & (m.jnt_type == JointType.BALL))
        if len(balls):
            yield 3, False, False, _ball_limits(m, d, balls)
        tendons = np.flatnonzero(np.asarray(m.tendon_limited, bool))
        if len(tendons):
            yield 4, False, False, _tendon_limits(m, d, ten_J, tendons)


def _tendon_friction(m: Model, ten_J: Array) -> _Scalar:
    tendons = np.flatnonzero(m.tendon_hasfriction)
    loss = take(m.tendon_frictionloss, tendons)
    zero = jnp.zeros_like(loss)
    return _Scalar(
        take(ten_J, tendons), zero, zero, loss > 0, take(m.tendon_solref_fri, tendons),
        take(m.tendon_solimp_fri, tendons), take(m.tendon_invweight0, tendons), loss, zero, zero,
    )  # fmt: skip


def _ball_limits(m: Model, d: Data, balls: np.ndarray) -> _Scalar:
    adr = (m.jnt_qposadr[balls][:, None] + np.arange(4)).ravel()
    quat = vector.normalize(take(d.qpos, adr).reshape(-1, 4))
    axis, angle = vector.normalize_with_norm(quaternion.log(quat))
    span = take(m.jnt_range, balls)
    distance = jnp.maximum(span[:, 0], span[:, 1]) - angle
    dofs = m.jnt_dofadr[balls][:, None] + np.arange(3)
    columns = jnp.asarray(dofs[:, :, None] == np.arange(m.nv), axis.dtype)
    margin = take(m.jnt_margin, balls)
    zero = jnp.zeros_like(margin)
    return _Scalar(
        -jnp.sum(axis[:, :, None] * columns, axis=1), distance, margin, distance < margin,
        take(m.jnt_solref, balls), take(m.jnt_solimp, balls), take(m.dof_invweight0, m.jnt_dofadr[balls]),
        zero, distance, zero,
    )  # fmt: skip


def _tendon_limits(m: Model, d: Data, ten_J: Array, tendons: np.ndarray) -> _Scalar:
    both = np.repeat(tendons, 2)
    sign = jnp.asarray(np.tile([1.0, -1.0], len(tendons)), d.qpos.dtype)
    bound = take(m.tendon_range.reshape(-1), 2 * both + np.tile([0, 1], len(tendons)))
    distance = sign * (take(d.ten_length, both) - bound)
    margin = take(m.tendon_margin, both)
    zero = jnp.zeros_like(margin)
    return _Scalar(
        sign[:, None] * take(ten_J, both), distance, margin, distance < margin,
        take(m.tendon_solref_lim, both), take(m.tendon_solimp_lim, both), take(m.tendon_invweight0, both),
        zero, distance, zero,
    )  # fmt: skip
