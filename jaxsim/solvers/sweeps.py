"""Projected sweeps over friction components, each set to the minimum of a quadratic given all others.

The derivative is that of the sweeps that were made. Components on a bound follow it, the others their minimum, and
which is which stays as it is.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.core.enums import MINVAL
from jaxsim.solvers.qcqp import qcqp

Array = jax.Array
LEAST, WORSE = 1e-10, 1e-10  # MuJoCo's: least diagonal of a cone's block, and the rise of cost that undoes a change


class Friction(NamedTuple):
    """N components of forces: first those with bounds, then those in cones, k for each contact."""

    A: Array  # [N, N] of the cost 1/2 t^T A t + t^T b
    residual: Array  # [N] A t + b at the start
    force: Array  # [N] t at the start
    bound: Array  # [bounds]
    normal: Array  # [cones] force, which stays
    friction: Array  # [cones, k] coefficients
    condim: Array  # [cones]
    gain: Array  # [] what the first sweep gains besides


class Stop(NamedTuple):
    """When to stop: the number of sweeps is static."""

    iterations: int
    tolerance: Array  # [] for the cost that a sweep gains


class Sweep(NamedTuple):
    """After some sweeps."""

    force: Array  # [N]
    residual: Array  # [N]
    iteration: Array  # []
    done: Array  # [] bool


def sweeps(q: Friction, stop: Stop) -> tuple[Array, Array]:
    """The forces [N] after the last sweep, and how many there were []; differentiable with respect to q."""

    @jax.custom_jvp
    def run(q: Friction, tolerance: Array) -> tuple[Array, Array]:
        last = lax.while_loop(
            lambda x: (x.iteration < stop.iterations) & ~x.done, lambda x: _sweep(q, tolerance, x), _start(q)
        )
        return last.force, last.iteration

    @run.defjvp
    def _(primals, tangents):
        q, tolerance = primals

        def repeat(q: Friction) -> tuple[Array, Array]:
            """The same, in a form that can be transposed."""

            def again(x: Sweep, _) -> tuple[Sweep, None]:
                return jax.tree.map(lambda old, new: jnp.where(x.done, old, new), x, _sweep(q, tolerance, x)), None

            last, _ = lax.scan(again, _start(q), None, length=stop.iterations)
            return last.force, last.iteration

        return jax.jvp(repeat, (q,), (tangents[0],))

    return run(q, stop.tolerance)


def _start(q: Friction) -> Sweep:
    return Sweep(q.force, q.residual, jnp.zeros((), jnp.int32), jnp.zeros((), bool))


def _sweep(q: Friction, tolerance: Array, x: Sweep) -> Sweep:
    """Visit every component once, those with bounds first."""
    gain = jnp.where(x.iteration == 0, q.gain, 0)
    force, residual, gain = _visit_bounds(q, x.force, x.residual, gain)
    force, residual, gain = _visit_cones(q, force, residual, gain)
    return Sweep(force, residual, x.iteration + 1, gain < tolerance)


def _visit_bounds(q: Friction, force: Array, residual: Array, gain: Array) -> tuple[Array, Array, Array]:
    n = len(q.bound)
    if not n:
        return force, residual, gain

    def visit(carry: tuple[Array, Array], row: Any) -> tuple[tuple[Array, Array], Array]:
        residual, gain = carry
        i, column, diagonal, bound, old = row
        here = residual.at[i].get(mode="promise_in_bounds")
        free = old - here / diagonal
        new = jnp.where(free < -bound, -bound, jnp.where(free > bound, bound, free))
        change = new - old
        gain = gain - change * (0.5 * diagonal * change + here)
        return (residual + column * change, gain), new

    diagonal = jnp.maximum(_diagonal(q.A[:n, :n]), MINVAL)
    rows = (np.arange(n, dtype=np.int32), q.A[:n], diagonal, q.bound, force[:n])
    (residual, gain), moved = lax.scan(visit, (residual, gain), rows)
    return jnp.concatenate([moved, force[n:]]), residual, gain


def _visit_cones(q: Friction, force: Array, residual: Array, gain: Array) -> tuple[Array, Array, Array]:
    count, k = q.friction.shape
    first = len(q.bound)
    if not count * k:
        return force, residual, gain

    def visit(carry: tuple[Array, Array], row: Any) -> tuple[tuple[Array, Array], Array]:
        residual, gain = carry
        index, columns, block, old, normal, friction, condim = row
        here = residual.at[index].get(mode="promise_in_bounds")
        free = here - _times(block, old)
        new = jnp.where(normal < MINVAL, 0, qcqp(block, free, friction, normal, condim))
        change = new - old
        rise = jnp.sum(change * (0.5 * _times(block, change) + here))
        change = jnp.where(rise > WORSE, 0, change)
        gain = gain - jnp.where(rise > WORSE, 0, rise)
        return (residual + jnp.sum(columns * change[:, None], axis=0), gain), old + change

    index = np.arange(first, first + count * k, dtype=np.int32).reshape(count, k)
    columns = q.A[first:].reshape(count, k, -1)
    eye = np.eye(k, dtype=bool)[None]
    blocks = _diagonal_blocks(columns, first, k)
    blocks = jnp.where(eye, jnp.maximum(blocks, LEAST), blocks)
    old = force[first:].reshape(count, k)
    rows = (index, columns, blocks, old, q.normal, q.friction, q.condim)
    (residual, gain), moved = lax.scan(visit, (residual, gain), rows)
    return jnp.concatenate([force[:first], moved.reshape(-1)]), residual, gain


def _diagonal(A: Array) -> Array:
    return jnp.sum(A * jnp.eye(len(A), dtype=A.dtype), axis=1)


def _diagonal_blocks(columns: Array, first: int, k: int) -> Array:
    """The blocks [n, k, k] of rows [n, k, first + n k] that are on the diagonal."""
    n = len(columns)
    blocks = columns[:, :, first:].reshape(n, k, n, k)
    here = jnp.eye(n, dtype=columns.dtype)[:, None, :, None]
    return jnp.sum(blocks * here, axis=2)


def _times(A: Array, x: Array) -> Array:
    return jnp.sum(A * x[None], axis=1)
