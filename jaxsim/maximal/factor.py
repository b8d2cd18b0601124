"""The linear system of a step: the tree is eliminated first, and the rows of loops last."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxsim.core.topology import Topology
from jaxsim.maximal import elimination
from jaxsim.maximal.elimination import factor_tree, solve_tree
from jaxsim.maximal.equations import Matrix, Unknowns
from jaxsim.solvers.linear.inverse import inverse

Array = jax.Array

SOFTNESS = 1e-10  # of loops, relative: redundant rows share their impulse


class Factors(NamedTuple):
    """A factored `Matrix`."""

    tree: elimination.Factors
    rows: Array  # [rows, n, 12 + width]
    through: Array  # [n, 12 + width, rows] the tree's solutions for the columns of loops
    schur: Array  # [rows, rows] inverse of what is left for the loops


def factor(t: Topology, a: Matrix) -> Factors:
    """Eliminate the tree, and then the loops: their inverse [rows, rows]."""
    tree = factor_tree(t, a.tree)
    if not len(a.rows):
        return Factors(tree, a.rows, a.columns, jnp.zeros((0, 0), a.rows.dtype))
    through = solve_tree(t, tree, a.columns)
    schur = -jnp.einsum("rni,nik->rk", a.rows, through, precision="highest")
    scale = jnp.max(jnp.abs(jnp.diagonal(schur)))
    softened = schur + SOFTNESS * scale * jnp.eye(len(schur), dtype=schur.dtype)
    return Factors(tree, a.rows, through, inverse(softened))


def solve_bordered(t: Topology, a: Factors, right: Unknowns) -> Unknowns:
    """Solution [n, 12 + width], [rows] of a system with the matrix of a step; loops are eliminated last."""
    x = solve_tree(t, a.tree, right.link[:, :, None])[:, :, 0]
    if not len(right.loop):
        return Unknowns(x, right.loop)
    left = right.loop - jnp.einsum("rni,ni->r", a.rows, x, precision="highest")
    loop = jnp.einsum("rk,k->r", a.schur, left, precision="highest")
    return Unknowns(x - jnp.einsum("nik,k->ni", a.through, loop, precision="highest"), loop)
