"""Newton's method on the equations of a step, and its derivative by the implicit function theorem."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.core.topology import Topology
from jaxsim.maximal import elimination
from jaxsim.maximal.bodies import FASTEST
from jaxsim.maximal.elimination import factor_tree, solve_tree
from jaxsim.maximal.equations import Begin, Matrix, Unknowns, begin, guess, linearised, residual
from jaxsim.maximal.forces import Forces
from jaxsim.maximal.mechanism import Mechanism, State

Array = jax.Array

ITERATIONS = 25
SOFTNESS = 1e-10  # of loops, relative: redundant rows share their impulse


class Solved(NamedTuple):
    """How a step's solve ended."""

    iterations: Array  # []
    residual: Array  # [] the largest, in N s, m or rad, before the last of Newton's steps


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
    return Factors(tree, a.rows, through, jnp.linalg.inv(softened))


def solve_bordered(t: Topology, a: Factors, right: Unknowns) -> Unknowns:
    """Solution [n, 12 + width], [rows] of a system with the matrix of a step; loops are eliminated last."""
    x = solve_tree(t, a.tree, right.link[:, :, None])[:, :, 0]
    if not len(right.loop):
        return Unknowns(x, right.loop)
    left = right.loop - jnp.einsum("rni,ni->r", a.rows, x, precision="highest")
    loop = jnp.einsum("rk,k->r", a.schur, left, precision="highest")
    return Unknowns(x - jnp.einsum("nik,k->ni", a.through, loop, precision="highest"), loop)


def largest(u: Unknowns) -> Array:
    """The largest magnitude [] of residuals."""
    return jnp.maximum(jnp.max(jnp.abs(u.link), initial=0), jnp.max(jnp.abs(u.loop), initial=0))


class _Search(NamedTuple):
    at: Unknowns
    done: Array  # [] steps
    size: Array  # of the residual at the point before


def newton(mechanism: Mechanism, state: State, b: Begin, start: Unknowns) -> tuple[Unknowns, Solved]:
    """The unknowns [n, 12 + width], [rows] of a step: the step that starts from a residual near the square root of
    rounding is the last, which leaves rounding."""
    t, small = mechanism.model.topology, 0.1 * jnp.sqrt(jnp.finfo(state.pos.dtype).eps)

    def searching(s: _Search) -> Array:
        return (s.size > small) & (s.done < ITERATIONS)

    def improved(s: _Search) -> _Search:
        error, derivative = linearised(mechanism, state, b, s.at)
        change = solve_bordered(t, factor(t, derivative), error)
        at = _slowed(mechanism, jax.tree.map(jnp.subtract, s.at, change))
        return _Search(at, s.done + 1, largest(error))

    infinite = jnp.full((), jnp.inf, state.pos.dtype)
    end = lax.while_loop(searching, improved, _Search(start, jnp.zeros((), jnp.int32), infinite))
    return end.at, Solved(end.done, end.size)


def _slowed(mechanism: Mechanism, u: Unknowns) -> Unknowns:
    """Unknowns whose links turn less than half a turn in a step."""
    h = mechanism.model.opt.timestep
    square = 0.25 * h * h * jnp.sum(u.ang * u.ang, axis=1, keepdims=True)
    share = jnp.sqrt(FASTEST / jnp.maximum(square, FASTEST))
    return u._replace(link=u.link.at[:, 3:6].multiply(share))


@jax.custom_jvp
def solved(mechanism: Mechanism, state: State, forces: Forces) -> tuple[Unknowns, Solved]:
    """The unknowns [n, 12 + width], [rows] of a step, differentiable in both modes with respect to everything."""
    b = begin(mechanism, state, forces)
    return newton(mechanism, state, b, guess(mechanism, state))


@solved.defjvp
def _(primals, tangents):
    mechanism = primals[0]
    unknowns, how = solved(*primals)

    _, change = jax.jvp(lambda m, s, f: residual(m, s, f, unknowns), primals, tangents)
    _, derivative = linearised(mechanism, primals[1], begin(*primals), unknowns)
    t = mechanism.model.topology
    moved = solve_bordered(t, factor(t, derivative), jax.tree.map(jnp.negative, change))
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, jax.dtypes.float0 if x.dtype == jnp.int32 else x.dtype), how)
    return (unknowns, how), (moved, nothing)
