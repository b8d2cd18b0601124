"""Newton's equations where kinematic trees are many: conjugate gradients, preconditioned tree by tree.

    (M + J^T s'' J) x = b

M couples no two trees, and contacts couple those that touch. So the matrix is not formed. Its products go through the
bodies: what bodies move like, what that is along the axes of contacts, and back. The preconditioner has a block for
each tree: that of M, and the curvature of the tree's own contacts, as if what it touches stood still. It enters as
inertia does: a contact adds a matrix of 6 x 6 to a body, and the blocks follow as those of M do from inertias.

Where no two trees touch each other, and no tree touches itself, the preconditioner is the matrix.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.blocks import Blocks, times, with_diagonal
from jaxsim.algebra.select import product, scatter_add, take
from jaxsim.algebra.tree import subtree
from jaxsim.constraint.rows import RowValues
from jaxsim.core.topology import Topology
from jaxsim.dynamics.trees import gram_within, on_chains_of_trees
from jaxsim.solvers.linear.solve import inverse_of
from jaxsim.solvers.objective import Problem, Structure, mul_j, mul_jt, scalar_D

Array = jax.Array

INEXACT = 1e-3  # of Newton's steps: by how much the residual is to fall
MOST = 500  # rounds of conjugate gradients
EXACT = {"float32": 1e-6, "float64": 1e-13}  # where derivatives are solved for
UPPER = np.triu_indices(6)  # a symmetric matrix of 6 x 6 as its 21 numbers
FULL = np.zeros((6, 6), int)
FULL[UPPER] = FULL.T[UPPER] = np.arange(21)


class Curvature(NamedTuple):
    """s'' at a point: of scalar rows [n], and of the axes of contacts [slots, dim, dim]."""

    scalar: Array
    contact: Array | None


def curvature_at(s: Structure, p: Problem, r: RowValues) -> Curvature:
    """The curvature of the penalties at a residual."""
    contact = None if p.contact is None else s.law.hessian(p.contact, r.contact)
    return Curvature(scalar_D(s, p, r.scalar), contact)


def mul_h(s: Structure, p: Problem, c: Curvature, x: Array) -> Array:
    """(M + J^T s'' J) x [nv], for x [nv]."""
    jx = mul_j(s, p, x)
    contact = None if c.contact is None else jnp.sum(c.contact * jx.contact[:, None], axis=2)
    return times(p.M, x) + mul_jt(s, p, RowValues(c.scalar * jx.scalar, contact))


def solve_by_trees(s: Structure, p: Problem, c: Curvature, b: Array, sharp: float) -> Array:
    """x [nv] for which the residual, as the preconditioner measures it, has fallen to `sharp` times that of 0."""
    near = inverse_of(own_blocks(s, p, c))
    return _conjugate_gradients(lambda x: mul_h(s, p, c, x), lambda x: times(near, x), b, sharp)


def solve_exactly(s: Structure, p: Problem, c: Curvature, b: Array) -> Array:
    """The same [nv] to rounding, differentiable in both modes and nested."""
    fixed_p, fixed_c = lax.stop_gradient((p, c))
    return lax.custom_linear_solve(
        lambda x: mul_h(s, p, c, x),
        b,
        solve=lambda _, rhs: solve_by_trees(s, fixed_p, fixed_c, rhs, EXACT[str(rhs.dtype)]),
        symmetric=True,
    )


def own_blocks(s: Structure, p: Problem, c: Curvature) -> Blocks:
    """The blocks of M + J^T s'' J, with a contact's two bodies apart from each other."""
    single, blocks = len(s.table.dof), p.M
    assert isinstance(blocks, Blocks)
    diagonal = scatter_add(s.table.dof, c.scalar[:single], len(p.qfrc_smooth))
    if c.contact is not None:
        blocks = blocks + _of_contacts(s.topology, p, c.contact)
    if p.J.shape[0]:
        blocks = blocks + gram_within(blocks.groups, p.J, c.scalar[single:])
    return with_diagonal(blocks, diagonal)


def _of_contacts(t: Topology, p: Problem, K: Array) -> Blocks:
    """What curvatures K [n, dim, dim] of contacts add to the blocks."""
    motion, one, two = p.contact.motion, *UPPER
    on_bodies = jnp.zeros((t.nbody, 21), K.dtype)
    for wrench, body in zip(motion.wrenches, motion.bodies):
        pulled = jnp.sum(K[:, :, :, None] * wrench[:, None], axis=2)  # K W
        own = jnp.sum(take(wrench, one, axis=2) * take(pulled, two, axis=2), axis=1)
        on_bodies = on_bodies.at[body].add(own, mode="promise_in_bounds")
    whole = take(product(subtree(t), on_bodies), t.dof_bodyid)
    matrices = take(whole, FULL.ravel(), axis=1).reshape(-1, 6, 6)
    force = jnp.sum(matrices * motion.cdof[:, None], axis=2)
    return on_chains_of_trees(t, force, motion.cdof)


class _Search(NamedTuple):
    x: Array  # [nv]
    residual: Array  # [nv]
    direction: Array  # [nv]
    size: Array  # [] r^T P^-1 r
    round: Array  # []


def _conjugate_gradients(matrix, near, b: Array, sharp: float) -> Array:
    """matrix^-1 b [nv], for functions that multiply by a matrix and by the inverse of one that is near it."""

    def advance(here: _Search) -> _Search:
        pulled = matrix(here.direction)
        curvature = jnp.sum(here.direction * pulled)
        alpha = here.size / jnp.where(curvature > 0, curvature, 1)
        residual = here.residual - alpha * pulled
        smaller = near(residual)
        size = jnp.sum(residual * smaller)
        direction = smaller + size / here.size * here.direction
        return _Search(here.x + alpha * here.direction, residual, direction, size, here.round + 1)

    start = near(b)
    first = _Search(jnp.zeros_like(b), b, start, jnp.sum(b * start), jnp.zeros((), jnp.int32))
    goal = sharp * sharp * first.size
    return lax.while_loop(lambda here: (here.size > goal) & (here.round < MOST), advance, first).x
