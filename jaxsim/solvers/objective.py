"""The primal objective of constrained dynamics (Computation chapter, eq. 8).

    L(x) = 1/2 (x - a0)^T M (x - a0) + s(J x - aref)

with x the joint acceleration, a0 the unconstrained one and s the sum of the rows' convex penalties. Its
minimiser is qacc, its gradient M x - qfrc_smooth - J^T f, its Hessian H = M + J^T s'' J.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.algebra.select import scatter_add
from jaxsim.constraint.contact import ContactRows
from jaxsim.constraint.rows import RowKinds, Rows, mul_scalar, mul_scalar_t

Array = jax.Array
HIGHEST = lax.Precision.HIGHEST


class Problem(NamedTuple):
    """Numbers of one solve: everything that may be differentiated."""

    M: Array  # [nv, nv]
    qfrc_smooth: Array  # [nv]
    J: Array
    D: Array
    aref: Array
    frictionloss: Array
    contact: ContactRows | None


class Structure(NamedTuple):
    """What is static of a solve: the kinds of the rows and the contact law."""

    kind: RowKinds
    law: Any


class Residual(NamedTuple):
    """J x - aref of the scalar rows [nd + ng] and along the contacts' axes [n, dim]."""

    scalar: Array
    contact: Array | None


def problem_of(M: Array, qfrc_smooth: Array, rows: Rows) -> Problem:
    """Gather the numbers of a solve."""
    return Problem(M, qfrc_smooth, rows.J, rows.D, rows.aref, rows.frictionloss, rows.contact)


def _matrix(J: Array) -> Array:
    """Contact Jacobians [n, dim, nv] as one matrix [n dim, nv]."""
    return J.reshape(-1, J.shape[-1])


def mul_j(s: Structure, p: Problem, x: Array) -> Residual:
    """J x."""
    scalar = mul_scalar(s.kind, p.J, x)
    if p.contact is None:
        return Residual(scalar, None)
    return Residual(scalar, lax.dot(_matrix(p.contact.J), x, precision=HIGHEST).reshape(p.contact.J.shape[:2]))


def mul_jt(s: Structure, p: Problem, force: Residual) -> Array:
    """J^T f [nv]."""
    total = mul_scalar_t(s.kind, p.J, force.scalar, p.M.shape[0])
    if p.contact is not None:
        total = total + lax.dot(force.contact.reshape(-1), _matrix(p.contact.J), precision=HIGHEST)
    return total


def residual(s: Structure, p: Problem, x: Array) -> Residual:
    """J x - aref."""
    jx = mul_j(s, p, x)
    contact = None if p.contact is None else jx.contact - p.contact.aref
    return Residual(jx.scalar - p.aref, contact)


def _slide_bound(s: Structure, p: Problem) -> Array:
    """Residual beyond which a friction row slides: R frictionloss; infinite for other rows."""
    bound = p.frictionloss / jnp.where(p.D > 0, p.D, 1)
    return jnp.where(s.kind.friction, bound, jnp.inf)


def _scalar_D(s: Structure, p: Problem, jar: Array) -> Array:
    """Curvature of each scalar row at its residual: D where the row is quadratic, else 0."""
    always = s.kind.equality
    quadratic = jnp.where(s.kind.friction, jnp.abs(jar) < _slide_bound(s, p), always | (jar < 0))
    return jnp.where(quadratic, p.D, 0)


def _scalar_force(s: Structure, p: Problem, jar: Array) -> Array:
    quadratic = -_scalar_D(s, p, jar) * jar
    sliding = s.kind.friction & (jnp.abs(jar) >= _slide_bound(s, p)) & (p.D > 0)
    return jnp.where(sliding, -jnp.sign(jar) * p.frictionloss, quadratic)


def cost(s: Structure, p: Problem, r: Residual) -> Array:
    """Sum of the penalties s(r)."""
    jar = r.scalar
    bound = jnp.where(s.kind.friction, _slide_bound(s, p), 0)
    sliding = s.kind.friction & (jnp.abs(jar) >= bound)
    linear = p.frictionloss * (jnp.abs(jar) - 0.5 * bound)
    total = jnp.sum(jnp.where(sliding, linear, 0.5 * _scalar_D(s, p, jar) * jar * jar))
    return total if p.contact is None else total + s.law.cost(p.contact, r.contact)


def forces(s: Structure, p: Problem, r: Residual) -> Residual:
    """Constraint forces: minus the gradient of the penalties."""
    contact = None if p.contact is None else s.law.force(p.contact, r.contact)
    return Residual(_scalar_force(s, p, r.scalar), contact)


def along(s: Structure, p: Problem, r: Residual, dr: Residual) -> Callable[[Array], tuple[Array, Array]]:
    """The penalties on a line: step length -> slope and curvature at r + alpha dr."""
    contact = None if p.contact is None else s.law.along(p.contact, r.contact, dr.contact)

    def at(alpha: Array) -> tuple[Array, Array]:
        jar = r.scalar + alpha * dr.scalar
        slope = -jnp.sum(_scalar_force(s, p, jar) * dr.scalar)
        curvature = jnp.sum(_scalar_D(s, p, jar) * dr.scalar * dr.scalar)
        if contact is None:
            return slope, curvature
        more = contact(alpha)
        return slope + more[0], curvature + more[1]

    return at


def hessian(s: Structure, p: Problem, r: Residual) -> tuple[Array, Array]:
    """H = M + J^T s'' J, as a matrix [nv, nv] and a further diagonal [nv] from the rows on single dofs."""
    curvature = _scalar_D(s, p, r.scalar)
    dof = s.kind.dof.dof
    diagonal = scatter_add(dof, curvature[: len(dof)], p.M.shape[0])
    H = p.M
    if p.contact is not None:
        H = _gram_blocks(p.contact.J, s.law.hessian(p.contact, r.contact)) + H
    if p.J.shape[0]:
        H = _gram(p.J, curvature[len(dof) :, None] * p.J) + H
    return H, diagonal


def _gram_blocks(J: Array, K: Array) -> Array:
    """sum_c J_c^T K_c J_c [nv, nv], for J [n, dim, nv] and symmetric K [n, dim, dim]."""
    weighted = jnp.sum(K[:, :, :, None] * J[:, None], axis=2)
    return _gram(_matrix(J), _matrix(weighted))


def _gram(a: Array, b: Array) -> Array:
    """a^T b."""
    return lax.dot_general(a, b, (((0,), (0,)), ((), ())), precision=HIGHEST)


def gradient(s: Structure, p: Problem, x: Array) -> Array:
    """M x - qfrc_smooth - J^T f(J x - aref) [nv]; zero at qacc."""
    pull = mul_jt(s, p, forces(s, p, residual(s, p, x)))
    return lax.dot(p.M, x, precision=HIGHEST) - p.qfrc_smooth - pull
