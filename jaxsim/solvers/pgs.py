"""Projected Gauss and Seidel on the dual (mj_solPGS): block by block, each at its minimum given all others.

A block is a row, whose force stays within its bounds, or a contact with an elliptic cone: first its force moves along
itself, or, where there is none, along the normal; then, with the normal force held, the friction forces go to the
minimum within the ellipsoid (see `qcqp`). Sweeps go through the blocks in an order that is shuffled each time. Between
sweeps the forces are carried on by momentum (Nesterov), which starts anew when a sweep goes against it.

MuJoCo's iteration can stop short of the minimum: a contact without force, whose bodies slide apart slowly and along
each other fast, gets none, since the cost rises along the normal and falls along the side of the cone alone. When it
stops, sweeps that try the sides as well go on from there.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.collision.compact import chosen, gather
from jaxsim.core.enums import MINVAL, Cone
from jaxsim.solvers.dual import DualRows, Forces, as_dual, dual_rows, forces_at, from_dual
from jaxsim.solvers.linear.spd_solve import spd_solve
from jaxsim.solvers.objective import Problem, Structure, gradient, residual
from jaxsim.solvers.primal import Outcome, Settings, Start, norm
from jaxsim.solvers.qcqp import qcqp
from jaxsim.solvers.shuffle import draws, shuffled

Array = jax.Array
HIGHEST = lax.Precision.HIGHEST
WORSE = 1e-10  # MuJoCo's: the rise of cost that undoes a change


class Blocks(NamedTuple):
    """The quadratic of the dual and its n blocks; rows are followed by dim - 1 idle ones, so that all blocks end."""

    A: Array  # [N, N] with R
    b: Array  # [N]
    low: Array  # [N]
    high: Array  # [N]
    first: np.ndarray  # [n] the first row of each block
    active: Array  # [n] bool
    condim: Array  # [n] of cones; 1 for single rows
    friction: Array  # [n, dim - 1]
    dim: int
    singles: int  # blocks before those of contacts, of one row each


class Iterate(NamedTuple):
    """Forces [N] after some sweeps, and those before the last one."""

    force: Array
    before: Array
    order: Array  # [n] of the blocks
    pace: Array  # [] sweeps since the momentum started
    sides: Array  # [] bool: whether MuJoCo's iteration has stopped, and the sides of cones are tried too
    iteration: Array  # []
    done: Array  # [] bool


def pgs(s: Structure, p: Problem, start: Start, options: Settings) -> tuple[Array, tuple[Outcome, Forces]]:
    """Minimise the dual; returns the acceleration [nv] that follows, how the solve ended, and the forces.

    Starts from the forces that go with the previous acceleration, or from none if that is better. Stops when a sweep
    gains less than the tolerance, which here is not scaled.
    """
    rows = dual_rows(s, p, start.order)
    each = spd_solve(p.M, jnp.zeros_like(start.smooth), rows.J.T)
    blocks = _blocks(s, p, rows, each, start)
    force = _warm(s, p, blocks, start)
    count = jnp.sum(blocks.active, dtype=jnp.int32)
    size = len(blocks.first)
    table = draws(options.iterations * max(size - 1, 0))

    def iterate(here: Iterate) -> Iterate:
        beta = (here.pace - 1).astype(force.dtype) / (here.pace + 2).astype(force.dtype)
        carried = _projected(blocks, here.force + beta * (here.force - here.before))
        began = jnp.where((here.iteration > 0) & (beta > 0), carried, here.force)
        order = shuffled(here.order, count, here.iteration, table)
        moved, gain = _swept(blocks, began, order, here.sides)
        against = jnp.sum((moved - began) * (began - here.force)) < 0
        sides = here.sides | (gain <= options.tolerance)
        pace = jnp.where((here.iteration > 0) & against | (sides != here.sides), 0, here.pace + 1)
        done = here.sides & (gain < options.tolerance)
        return Iterate(moved, here.force, order, pace, sides, here.iteration + 1, done)

    zero = jnp.zeros((), jnp.int32)
    sides = jnp.asarray(blocks.dim == 1)
    first = Iterate(force, force, chosen(blocks.active, size), zero, sides, zero, jnp.zeros((), bool))
    last = lax.while_loop(lambda here: (here.iteration < options.iterations) & ~here.done, iterate, first)
    force = last.force[: len(rows.R)]
    x = start.smooth + lax.dot(each, force, precision=HIGHEST)
    left = norm(gradient(s, p, x)) / jnp.trace(p.M)
    return x, (Outcome(last.iteration, last.done, left), from_dual(s, p, force, start.order))


def _blocks(s: Structure, p: Problem, rows: DualRows, each: Array, start: Start) -> Blocks:
    """The blocks, for M^-1 J^T [nv, N]."""
    n, cones = len(s.table.order), p.contact is not None and s.table.cone == Cone.ELLIPTIC
    dim = s.table.contact_dim if cones else 1
    A = lax.dot(rows.J, each, precision=HIGHEST) + rows.R[:, None] * jnp.eye(len(rows.R), dtype=rows.R.dtype)
    b = lax.dot(rows.J, start.smooth, precision=HIGHEST) - rows.aref
    fill = dim - 1
    A = jnp.pad(A, (0, fill))
    b, low, high = (jnp.pad(x, (0, fill)) for x in (b, rows.low, rows.high))
    first = np.concatenate([np.arange(n), np.arange(n, len(rows.R), dim)]).astype(np.int32)
    active = rows.active if dim == 1 else jnp.concatenate([rows.active[:n], rows.active[n::dim]])
    condim = jnp.ones(len(first), jnp.int32)
    friction = jnp.ones((len(first), fill), A.dtype)
    if cones:
        condim = jnp.concatenate([condim[:n], gather(p.contact.condim, start.order)])
        friction = jnp.concatenate([friction[:n], gather(p.contact.friction, start.order)])
    return Blocks(A, b, low, high, first, active, condim, friction, dim, n)


def _warm(s: Structure, p: Problem, q: Blocks, start: Start) -> Array:
    """The forces [N] to start from."""
    if start.warm is None:
        return jnp.zeros_like(q.b)
    force = as_dual(s, p, forces_at(s, p, residual(s, p, start.warm)), start.order)
    force = jnp.pad(force, (0, q.dim - 1))
    cost = jnp.sum(force * (q.b + 0.5 * lax.dot(q.A, force, precision=HIGHEST)))
    return jnp.where(cost > 0, 0, force)


def _projected(q: Blocks, force: Array) -> Array:
    """Forces [N] brought back into bounds and cones: the friction of a cone is scaled, its normal force stays."""
    bounded = jnp.clip(force, q.low, q.high)
    if q.dim == 1:
        return bounded
    n, end = q.singles, len(force) - (q.dim - 1)
    axes = force[n:end].reshape(-1, q.dim)
    slip = axes[:, 1:] / q.friction[n:]
    square, normal = jnp.sum(slip * slip, axis=1), jnp.maximum(axes[:, 0], 0)
    outside = square > normal * normal
    scale = jnp.where(outside, normal / jnp.sqrt(jnp.where(outside, square, 1)), 1)
    axes = jnp.concatenate([normal[:, None], axes[:, 1:] * scale[:, None]], axis=1)
    return jnp.concatenate([bounded[:n], axes.reshape(-1), bounded[end:]])


def _swept(q: Blocks, force: Array, order: Array, sides: Array) -> tuple[Array, Array]:
    """The forces [N] after a visit of every active block, and what the cost fell by []."""
    first = gather(jnp.asarray(q.first), order)
    rows = first[:, None] + np.arange(q.dim, dtype=np.int32)[None]
    friction, condim = gather(q.friction, order), gather(q.condim, order)
    index, count = np.arange(len(force), dtype=np.int32), len(q.first)

    def visit(carry: tuple[Array, Array, Array], row: tuple) -> tuple[tuple[Array, Array, Array], None]:
        force, residual, gain = carry
        rows, friction, condim, block = row
        columns = q.A.at[rows].get(mode="promise_in_bounds")
        own = columns.at[:, rows].get(mode="promise_in_bounds")
        here, old, low, high = (x.at[rows].get(mode="promise_in_bounds") for x in (residual, force, q.low, q.high))
        new = _row(own, here, old, low, high)
        if q.dim > 1:
            new = jnp.where(condim > 1, _cone(own, here, old, friction, condim, sides), new)
        change = new - old
        rise = jnp.sum(change * (0.5 * _times(own, change) + here))
        kept = (block < count) & (rise <= WORSE)
        change = jnp.where(kept, change, 0)
        places = index[:, None] == rows[None]
        force = force + jnp.sum(jnp.where(places, change[None], 0), axis=1)
        residual = residual + jnp.sum(columns * change[:, None], axis=0)
        return (force, residual, gain - jnp.where(kept, rise, 0)), None

    residual = q.b + lax.dot(q.A, force, precision=HIGHEST)
    begin = force, residual, jnp.zeros_like(residual[0])
    (force, _, gain), _ = lax.scan(visit, begin, (rows, friction, condim, order))
    return force, gain


def _row(A: Array, residual: Array, old: Array, low: Array, high: Array) -> Array:
    """The first row's force at its minimum within bounds [dim]; the other rows stay."""
    own = A[0, 0]
    free = old - residual / jnp.where(own > 0, own, 1)
    return jnp.where(np.arange(len(old)) == 0, jnp.clip(free, low, high), old)


def _cone(A: Array, residual: Array, old: Array, friction: Array, condim: Array, sides: Array) -> Array:
    """The forces [dim] of a contact with an elliptic cone: a step along a ray, then friction at that normal force.

    From zero the ray is the normal; or if `sides`, where the cost falls along the side of the cone only, that side.
    """
    dim = len(old)
    live = np.arange(1, dim, dtype=np.int32) < condim
    pull = jnp.where(live, friction * residual[1:], 0)
    square = jnp.sum(pull * pull)
    length = jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)
    aside = sides & (residual[0] >= 0) & (residual[0] < length)
    lean = jnp.where(aside, -friction * pull / jnp.where(square > 0, length, 1), 0)
    empty = old[0] < MINVAL
    ray = jnp.where(empty, jnp.concatenate([jnp.ones_like(old[:1]), lean]), old)
    along = jnp.sum(ray * _times(A, ray))
    step = jnp.where(along >= MINVAL, -jnp.sum(ray * residual) / jnp.where(along >= MINVAL, along, 1), 0)
    normal = jnp.where(empty, jnp.maximum(step, 0), old[0] * (1 + jnp.maximum(step, -1)))  # it does not turn round
    free = residual[1:] - _times(A[1:, 1:], old[1:]) + A[1:, 0] * (normal - old[0])
    tangents = jnp.where(normal < MINVAL, 0, qcqp(A[1:, 1:], free, friction, normal, condim))
    return jnp.concatenate([normal[None], tangents])


def _times(A: Array, x: Array) -> Array:
    return jnp.sum(A * x[None], axis=1)
