"""No slip: the friction forces chosen anew, without regularisation, after the solver (mj_solNoSlip).

The soft model lets what friction holds creep. Here the friction components t of the forces, those of friction loss
and those along the tangent axes of contacts, go towards the minimum of

    1/2 t^T A t + t^T b,    A = J M^-1 J^T,    b + A t = J a - aref,

without the R of the solver's dual, within the friction loss and the friction cones; all other forces stay. Sweep after
sweep goes through them in MuJoCo's order. On a pyramid MuJoCo moves the forces of two opposite edges against each
other; their sum stays, so that is a step along one axis between two bounds that stay as well.

There are few sweeps, commonly three to five, and the result is not the minimum. So the derivative is that of the
sweeps that were made; an implicit one, of a fixed point that was not reached, would differ from finite differences.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.select import put, take
from jaxsim.collision.order import ContactOrder
from jaxsim.constraint.contact import ContactRows
from jaxsim.constraint.laws.soft import frictionless_masked
from jaxsim.constraint.rows import RowValues
from jaxsim.core.enums import MINVAL
from jaxsim.solvers.dual import Forces
from jaxsim.solvers.linear.solve import solve_columns
from jaxsim.solvers.objective import Problem, Structure, mul_jt, scalar_jacobian
from jaxsim.solvers.sweeps import Friction, Stop, sweeps

Array = jax.Array
HIGHEST = lax.Precision.HIGHEST


class Slid(NamedTuple):
    """The outcome."""

    qacc: Array  # [nv]
    force: Forces
    iterations: Array  # []


def noslip(s: Structure, p: Problem, solved: Forces, order: ContactOrder | None, stop: Stop) -> Slid | None:
    """The friction forces chosen anew, and the acceleration that follows; None for a model without friction.

    Args:
        s: the structure of the solve.
        p: its numbers.
        solved: the forces that the solver found.
        order: in which contacts are visited; None without contacts.
        stop: when to stop; the tolerance is that of MuJoCo, times meaninertia and nv.
    """
    start, edges = solved
    rows = s.table.order[s.table.friction[s.table.order]]
    if s.table.contact_dim < 2:  # frictionless
        order = None
    if order is None and not len(rows):
        return None
    J, aref, force = _components(s, p, rows, start, order)
    pull = p.qfrc_smooth + mul_jt(s, p, start)
    both = solve_columns(p.M, jnp.concatenate([J, pull[None]]).T)
    each, a = both[:, : len(force)], both[:, len(force)]
    A = lax.dot(J, each, precision=HIGHEST)
    q = _limits(p, rows, start, edges, order, A)
    at_start = lax.dot(J, a, precision=HIGHEST) - aref
    moved, iterations = sweeps(q._replace(residual=at_start, force=force, gain=_gain(p, solved)), stop)
    qacc = a + lax.dot(each, moved - force, precision=HIGHEST)
    scalar, contact = put(start.scalar, rows, moved[: len(rows)]), start.contact
    if order is not None:
        tangents = order.unsorted(moved[len(rows) :].reshape(contact.shape[0], -1))
        contact = jnp.concatenate([contact[:, :1], tangents], axis=1)
        edges = None if edges is None else _moved_edges(p.contact, edges, tangents)
    return Slid(qacc, Forces(RowValues(scalar, contact), edges), iterations)


def _components(
    s: Structure, p: Problem, rows: np.ndarray, start: RowValues, order: ContactOrder | None
) -> tuple[Array, Array, Array]:
    """J [N, nv], aref [N] and the forces [N] of friction loss, then of the tangent axes of contacts."""
    J, aref, force = take(scalar_jacobian(s, p), rows), take(p.aref, rows), take(start.scalar, rows)
    if order is None:
        return J, aref, force
    c = p.contact
    more, slip, push = (order.sorted(x[:, 1:]) for x in (c.J, c.aref, start.contact))
    J = jnp.concatenate([J, more.reshape(-1, J.shape[1])])
    return J, jnp.concatenate([aref, slip.reshape(-1)]), jnp.concatenate([force, push.reshape(-1)])


def _limits(
    p: Problem, rows: np.ndarray, start: RowValues, edges: Array | None, order: ContactOrder | None, A: Array
) -> Friction:
    """Bounds and cones of the components with the matrix A [N, N]; where they start is left out."""
    bound, none = take(p.frictionloss, rows), jnp.zeros(0, A.dtype)
    q = Friction(A, none, none, bound, none, jnp.zeros((0, 0), A.dtype), jnp.zeros(0, jnp.int32), none)
    if order is None:
        return q
    if edges is None:
        c = p.contact
        normal, friction, condim = (order.sorted(x) for x in (start.contact[:, 0], c.friction, c.condim))
        return q._replace(normal=normal, friction=friction, condim=condim)
    # the tangential force is at its bound where one of two opposite edges has all of their force
    friction = order.sorted(frictionless_masked(p.contact).friction)
    k = friction.shape[1]
    most = friction * order.sorted(edges[:, :k] + edges[:, k:])
    own = jnp.sum(A * jnp.eye(len(A), dtype=A.dtype), axis=1)[len(rows) :].reshape(friction.shape)
    most = jnp.where(4 * friction * friction * own < MINVAL, 0, most)
    return q._replace(bound=jnp.concatenate([bound, most.reshape(-1)]))


def _gain(p: Problem, solved: Forces) -> Array:
    """1/2 f^T R f [] of all rows: by how much the cost is less without R."""
    gain = jnp.sum(_times_R(solved.rows.scalar, p.D))
    if p.contact is None:
        return 0.5 * gain
    own = (solved.rows.contact, p.contact.D) if solved.edges is None else (solved.edges, p.contact.D[:, :1])
    return 0.5 * (gain + jnp.sum(_times_R(*own)))


def _times_R(force: Array, D: Array) -> Array:
    return jnp.where(D > 0, force * force / jnp.where(D > 0, D, 1), 0)


def _moved_edges(c: ContactRows, edges: Array, tangents: Array) -> Array:
    """The forces of the edges whose tangential sums are given [slots, k]; those of opposite edges stay in sum."""
    friction = frictionless_masked(c).friction
    k = friction.shape[1]
    half = jnp.where(friction > 0, tangents / jnp.where(friction > 0, friction, 1), edges[:, :k] - edges[:, k:])
    middle = edges[:, :k] + edges[:, k:]
    return 0.5 * jnp.concatenate([middle + half, middle - half], axis=1)
