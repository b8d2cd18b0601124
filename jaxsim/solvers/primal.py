"""What the solvers that search for the acceleration share: where they start, what they stop by, how they end."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxsim.algebra.blocks import times
from jaxsim.constraint.rows import RowValues
from jaxsim.solvers.objective import Problem, Structure, along, cost, residual

Array = jax.Array
Line = Callable[[Array], tuple[Array, Array]]


class Start(NamedTuple):
    """Where to begin: the unconstrained acceleration [nv], and, unless warm starts are off, the previous one [nv]."""

    smooth: Array
    warm: Array | None
    order: Array | None = None  # [slots] MuJoCo's order of contacts, for solvers that go one by one


class Outcome(NamedTuple):
    """How a solve ended: for people and for reports, never differentiated."""

    iterations: Array  # [] int
    converged: Array  # [] bool: a stopping criterion was met; false if the iterations ran out
    residual: Array  # [] |gradient| / trace(M), what the criterion compares with the tolerance


class Settings(NamedTuple):
    """Solver options: iteration bounds are static, tolerances traced."""

    iterations: int
    ls_iterations: int
    tolerance: Array
    ls_tolerance: Array


def begin(s: Structure, p: Problem, start: Start) -> tuple[Array, Array, RowValues]:
    """The start of lower cost [nv], with M times it [nv] and its residual; M smooth is qfrc_smooth."""
    smooth, warm = start.smooth, start.warm
    cold = (smooth, p.qfrc_smooth, residual(s, p, smooth))
    if warm is None:
        return cold
    Mx = times(p.M, warm)
    previous = (warm, Mx, residual(s, p, warm))
    gauss = 0.5 * jnp.sum((warm - smooth) * (Mx - p.qfrc_smooth))
    better = gauss + cost(s, p, previous[2]) < cost(s, p, cold[2])
    return jax.tree.map(lambda a, b: jnp.where(better, a, b), previous, cold)


def objective_along(
    s: Structure, p: Problem, r: RowValues, Mx: Array, step: Array, Mstep: Array, dr: RowValues
) -> Line:
    """The objective from x along a direction [nv]: step length -> slope and curvature.

    Args:
        s: the structure of the solve.
        p: its numbers.
        r: the residual at x, Mx: M x [nv].
        step: the direction, Mstep: M times it, dr: J times it.
    """
    gauss_slope = jnp.sum(step * (Mx - p.qfrc_smooth))
    gauss_curvature = jnp.sum(step * Mstep)
    penalties = along(s, p, r, dr)

    def at(alpha: Array) -> tuple[Array, Array]:
        slope, curvature = penalties(alpha)
        return gauss_slope + alpha * gauss_curvature + slope, gauss_curvature + curvature

    return at


def norm(x: Array) -> Array:
    """|x| []."""
    return jnp.sqrt(jnp.sum(x * x))
