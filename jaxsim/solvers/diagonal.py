"""A cheap approximate solver of our own, after the diagonal one of the 2012 paper (Todorov, Erez, Tassa, section II.E).

Every force is found as if no other acted: that of row i from the diagonal of the dual's matrix, then brought into the
row's bounds or the contact's cone,

    f_i = -b_i / (A_ii + R_i),    A = J M^-1 J^T,    b = J a0 - aref

Contacts of one body would thus hold it several times over. So, unlike in the paper, all forces are scaled by the one
number in [0, 1] at which the dual's cost is least along them; they never put energy in, and one force alone is exact
where it does not slide. There is no iteration, and the derivative is that of these formulas.
"""

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.core.enums import Cone
from jaxsim.solvers.dual import Forces, dual_rows, from_dual
from jaxsim.solvers.linear.solve import solve_columns
from jaxsim.solvers.objective import Problem, Structure

Array = jax.Array
HIGHEST = lax.Precision.HIGHEST


def diagonal(s: Structure, p: Problem, smooth: Array) -> tuple[Array, Forces]:
    """The acceleration [nv] and the forces, from the unconstrained acceleration `smooth` [nv]."""
    slots = 0 if p.contact is None else p.contact.J.shape[0]
    order = jnp.arange(slots, dtype=jnp.int32)
    rows = dual_rows(s, p, order)
    each = solve_columns(p.M, rows.J.T)
    own = jnp.sum(rows.J.T * each, axis=0) + rows.R
    b = lax.dot(rows.J, smooth, precision=HIGHEST) - rows.aref
    force = jnp.where(rows.active, -b / jnp.where(rows.active, own, 1), 0)
    if slots and s.table.cone == Cone.ELLIPTIC:
        n = len(s.table.order)
        cones = _in_cones(force[n:].reshape(slots, -1), p.contact.friction)
        force = jnp.concatenate([jnp.clip(force[:n], rows.low[:n], rows.high[:n]), cones.reshape(-1)])
    else:
        force = jnp.clip(force, rows.low, rows.high)
    moved = lax.dot(each, force, precision=HIGHEST)
    curvature = jnp.sum(force * (lax.dot(rows.J, moved, precision=HIGHEST) + rows.R * force))
    share = jnp.clip(-jnp.sum(force * b) / jnp.where(curvature > 0, curvature, 1), 0, 1)
    return smooth + share * moved, from_dual(s, p, share * force, order)


def _in_cones(force: Array, friction: Array) -> Array:
    """Forces [slots, dim] with what pulls left out, and friction scaled to what the normal force allows."""
    normal = jnp.maximum(force[:, :1], 0)
    slip = force[:, 1:] / friction
    square = jnp.sum(slip * slip, axis=1, keepdims=True)
    outside = square > normal * normal
    scale = jnp.where(outside, normal / jnp.sqrt(jnp.where(outside, square, 1)), 1)
    return jnp.concatenate([normal, force[:, 1:] * scale], axis=1)
