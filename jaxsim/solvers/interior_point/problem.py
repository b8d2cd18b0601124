"""What the solver is asked: find a, b, c with

    E(a, b, c; theta) = 0,    b o c = kappa e,    b and c in a product of cones.

A problem is four functions. `solve` has the structure: contact laws condense the system to the velocities, trees
eliminate along their branches; `dense` serves small problems that have none.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree

from jaxsim.solvers.interior_point.cones import Cones, product
from jaxsim.solvers.linear.inverse import inverse

Array = jax.Array
Move = Callable[[Any, Any, Array], Any]


class Point(NamedTuple):
    """The variables, or a step of them: a is any pytree, b and c are vectors of the cones."""

    a: Any
    b: Array  # [cones.size]
    c: Array  # [cones.size]


def added(a: Any, step: Any, alpha: Array) -> Any:
    """a + alpha [] times a step, for variables of a vector space."""
    return jax.tree.map(lambda x, dx: x + alpha * dx, a, step)


def zeros(a: Any) -> Any:
    """The step that changes nothing, for variables of a vector space."""
    return jax.tree.map(jnp.zeros_like, a)


class Problem(NamedTuple):
    """Functions of the traced theta; static. E is any pytree of residuals, and a step is linear in (r, s).

    Where a holds quaternions, `solve` gives steps of their tangents (through the attitude Jacobian), and `move` turns.
    """

    cones: Cones
    residual: Callable[[Any, Point], Any]  # (theta, w) -> E
    factor: Callable[[Any, Point], Any]  # (theta, w) -> whatever `solve` is to reuse
    # (theta, w, factors, r, s) -> step with E' step = r and c o db + b o dc = s
    solve: Callable[[Any, Point, Any, Any, Array], Point]
    move: Move = added  # (a, step of a, alpha) -> a
    # theta -> [cones.size] or None: how many times farther than others products of cones are on the way from afar
    weight: Callable[[Any], Array] | None = None


def dense(
    cones: Cones, residual: Callable[[Any, Point], Any], move: Move = added, still: Callable[[Any], Any] = zeros
) -> Problem:
    """A small problem without structure: the whole Jacobian by forward mode, and its inverse.

    `still(a)` is the step of a that `move` takes to stay: as many numbers as a has freedoms, three for a quaternion.
    """

    def moved(w: Point, step: Point) -> Point:
        return Point(move(w.a, step.a, jnp.ones((), w.b.dtype)), w.b + step.b, w.c + step.c)

    def equations(theta: Any, w: Point) -> Array:
        return ravel_pytree((residual(theta, w), product(cones, w.b, w.c)))[0]

    def stay(w: Point) -> tuple[Array, Callable[[Array], Point]]:
        return ravel_pytree(Point(still(w.a), jnp.zeros_like(w.b), jnp.zeros_like(w.c)))

    def factor(theta: Any, w: Point) -> Array:
        flat, unravel = stay(w)
        return inverse(jax.jacfwd(lambda x: equations(theta, moved(w, unravel(x))))(flat))

    def solve(theta: Any, w: Point, factors: Array, r: Any, s: Array) -> Point:
        _, unravel = stay(w)
        return unravel(lax.dot(factors, ravel_pytree((r, s))[0], precision=lax.Precision.HIGHEST))

    return Problem(cones, residual, factor, solve, move)
