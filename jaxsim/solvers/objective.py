"""The primal objective of constrained dynamics (Computation chapter, eq. 8).

    L(x) = 1/2 (x - a0)^T M (x - a0) + s(J x - aref)

with x the joint acceleration, a0 the unconstrained one and s the sum of the rows' convex penalties. Its
minimiser is qacc, its gradient M x - qfrc_smooth - J^T f, its Hessian H = M + J^T s'' J.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.blocks import Matrix
from jaxsim.algebra.select import scatter_add
from jaxsim.algebra.structured import product, product_t
from jaxsim.constraint.contact import ContactRows, as_matrix, contact_velocity, forces_of_bodies, velocity_of_bodies
from jaxsim.constraint.laws.soft import Law, law_of
from jaxsim.constraint.row_table import RowTable, row_table
from jaxsim.constraint.rows import Rows, RowValues, mul_scalar, mul_scalar_t
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology
from jaxsim.dynamics.com import Inertia, inertia_product

Array = jax.Array
HIGHEST = lax.Precision.HIGHEST


class Problem(NamedTuple):
    """Numbers of one solve, everything that may be differentiated: n scalar rows, nd of them on single dofs."""

    M: Any  # [nv, nv] kg, kg m^2, an Array, or Blocks where trees are many
    inertia: Inertia  # what M is made of
    qfrc_smooth: Array  # [nv] N, N m
    J: Array  # [n - nd, nv]
    D: Array  # [n] kg, kg m^2
    aref: Array  # [n] m/s^2, rad/s^2
    frictionloss: Array  # [n] N, N m
    contact: ContactRows | None


class Structure(NamedTuple):
    """What is static of a solve: whose rows there are, and the contact law."""

    table: RowTable
    law: Law
    inertia_product: Callable[[Inertia, Array], Array]
    topology: Topology


def structure_of(m: Model) -> Structure:
    """The static part of every solve of a model."""
    return Structure(row_table(m), law_of(m.opt.cone), functools.partial(inertia_product, m.topology), m.topology)


def problem_of(M: Matrix, inertia: Inertia, qfrc_smooth: Array, rows: Rows) -> Problem:
    """Gather the numbers of a solve: M [nv, nv] and its parts, qfrc_smooth [nv] and the constraint rows."""
    return Problem(M, inertia, qfrc_smooth, rows.J, rows.D, rows.aref, rows.frictionloss, rows.contact)


def scalar_jacobian(s: Structure, p: Problem) -> Array:
    """The Jacobian [n, nv] of the scalar rows, written out."""
    single = s.table.sign[:, None] * (s.table.dof[:, None] == np.arange(len(p.qfrc_smooth))[None])
    return jnp.concatenate([jnp.asarray(single, p.J.dtype), p.J])


def mul_j(s: Structure, p: Problem, x: Array) -> RowValues:
    """J x, for x [nv]."""
    scalar = mul_scalar(s.table, p.J, x)
    if p.contact is None:
        return RowValues(scalar, None)
    J = p.contact.J
    if J is None:
        return RowValues(scalar, velocity_of_bodies(s.topology, p.contact.motion, x))
    return RowValues(scalar, product(contact_velocity, as_matrix(J), p.contact.motion, x).reshape(J.shape[:2]))


def mul_jt(s: Structure, p: Problem, force: RowValues) -> Array:
    """J^T f [nv]."""
    total = mul_scalar_t(s.table, p.J, force.scalar, len(p.qfrc_smooth))
    if p.contact is not None and p.contact.J is None:
        return total + forces_of_bodies(s.topology, p.contact.motion, force.contact)
    if p.contact is not None:
        J, pull = as_matrix(p.contact.J), force.contact.reshape(-1)
        total = total + product_t(contact_velocity, J, p.contact.motion, pull)
    return total


def residual(s: Structure, p: Problem, x: Array) -> RowValues:
    """J x - aref, for x [nv]."""
    jx = mul_j(s, p, x)
    contact = None if p.contact is None else jx.contact - p.contact.aref
    return RowValues(jx.scalar - p.aref, contact)


def _slide_bound(s: Structure, p: Problem) -> Array:
    """Residual beyond which a friction row slides [n]: R frictionloss; infinite for other rows."""
    bound = p.frictionloss / jnp.where(p.D > 0, p.D, 1)
    return jnp.where(s.table.friction, bound, jnp.inf)


def scalar_D(s: Structure, p: Problem, jar: Array) -> Array:
    """Curvature of each scalar row [n] at its residual: D where the row is quadratic, else 0."""
    quadratic = (jar < 0) | s.table.equality
    if s.table.friction.any():
        quadratic = jnp.where(s.table.friction, jnp.abs(jar) < _slide_bound(s, p), quadratic)
    return jnp.where(quadratic, p.D, 0)


def _scalar_force(s: Structure, p: Problem, jar: Array) -> Array:
    """Minus the slope of each scalar row's penalty [n]."""
    quadratic = -scalar_D(s, p, jar) * jar
    if not s.table.friction.any():
        return quadratic
    sliding = s.table.friction & (jnp.abs(jar) >= _slide_bound(s, p)) & (p.D > 0)
    return jnp.where(sliding, -jnp.sign(jar) * p.frictionloss, quadratic)


def cost(s: Structure, p: Problem, r: RowValues) -> Array:
    """Sum of the penalties s(r) []."""
    jar = r.scalar
    penalty = 0.5 * scalar_D(s, p, jar) * jar * jar
    if s.table.friction.any():
        bound = jnp.where(s.table.friction, _slide_bound(s, p), 0)
        sliding = s.table.friction & (jnp.abs(jar) >= bound)
        penalty = jnp.where(sliding, p.frictionloss * (jnp.abs(jar) - 0.5 * bound), penalty)
    total = jnp.sum(penalty)
    return total if p.contact is None else total + s.law.cost(p.contact, r.contact)


def forces(s: Structure, p: Problem, r: RowValues) -> RowValues:
    """Constraint forces [n], [slots, dim] (N, N m): minus the gradient of the penalties at residuals r."""
    contact = None if p.contact is None else s.law.force(p.contact, r.contact)
    return RowValues(_scalar_force(s, p, r.scalar), contact)


def along(s: Structure, p: Problem, r: RowValues, dr: RowValues) -> Callable[[Array], tuple[Array, Array]]:
    """The penalties on a line: step length [] -> slope [] and curvature [] at r + alpha dr."""
    contact = None if p.contact is None else s.law.along(p.contact, r.contact, dr.contact)

    def at(alpha: Array) -> tuple[Array, Array]:
        jar = r.scalar + alpha * dr.scalar
        slope = -jnp.sum(_scalar_force(s, p, jar) * dr.scalar)
        curvature = jnp.sum(scalar_D(s, p, jar) * dr.scalar * dr.scalar)
        if contact is None:
            return slope, curvature
        more = contact(alpha)
        return slope + more[0], curvature + more[1]

    return at


def hessian(s: Structure, p: Problem, r: RowValues) -> tuple[Array, Array]:
    """H = M + J^T s'' J, as a matrix [nv, nv] and a further diagonal [nv] from the rows on single dofs."""
    curvature = scalar_D(s, p, r.scalar)
    dof = s.table.dof
    diagonal = scatter_add(dof, curvature[: len(dof)], p.M.shape[0])
    H = p.M
    if p.contact is not None:
        H = gram_blocks(p.contact.J, s.law.hessian(p.contact, r.contact)) + H
    if p.J.shape[0]:
        H = gram(p.J, curvature[len(dof) :, None] * p.J) + H
    return H, diagonal


def gram_blocks(J: Array, K: Array) -> Array:
    """sum_c J_c^T K_c J_c [nv, nv], for J [n, dim, nv] and K [n, dim, dim]."""
    weighted = jnp.sum(K[:, :, :, None] * J[:, None], axis=2)
    return gram(as_matrix(J), as_matrix(weighted))


def gram(a: Array, b: Array) -> Array:
    """a^T b [n, n], for a and b [k, n]."""
    return lax.dot_general(a, b, (((0,), (0,)), ((), ())), precision=HIGHEST)


def gradient(s: Structure, p: Problem, x: Array) -> Array:
    """M x - qfrc_smooth - J^T f(J x - aref) [nv]; zero at qacc."""
    pull = mul_jt(s, p, forces(s, p, residual(s, p, x)))
    return product(s.inertia_product, p.M, p.inertia, x) - p.qfrc_smooth - pull
