"""Mehrotra's predictor-corrector method, ending on the central path at the kappa that is asked for.

Dojo's algorithm 2, with one change: predictor and corrector aim at b o c = kappa e and not at zero, so that the last
steps are Newton's own and the end is that point to rounding, whatever the way. Derivatives at kappa then are those of
one smooth function. An iteration factors once and solves twice:

    predictor  E' d = -E,  c o db + b o dc = kappa e - b o c
    centring   sigma = (excess(w + alpha d) / excess(w))^3,  excess = b . c / degree - kappa, or |b o c - kappa e|
    corrector  the same with  b o c = kappa + sigma excess  and less the second order db o dc
    step       to tau of the way to the boundary, halved while both violations grow

Source: Dojo (Howell, Le Cleac'h et al. 2022), section V; Vandenberghe, CVXOPT, section 7.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.solvers.interior_point.cones import Cones, product, step_length, unit
from jaxsim.solvers.interior_point.problem import Point, Problem

Array = jax.Array

SHARE = (0.95, 0.99)  # of the way to the boundary that a step goes, far from the solution and near it
ROUNDING = 4.0  # last digits that a sum of products may be wrong by


class Settings(NamedTuple):
    """Bounds are static, tolerances traced."""

    kappa: Array  # [] b o c = kappa e
    tolerance: Array  # [] of |E|, in its own unit
    accuracy: Array  # [] of |b o c - kappa e|, relative to kappa
    iterations: int = 50
    halvings: int = 0  # of a step; where E is linear in w none is needed


class Outcome(NamedTuple):
    """How a solve ended: never differentiated."""

    iterations: Array  # [] int
    converged: Array  # [] bool: both violations are within their tolerances
    residual: Array  # [] |E|, the largest entry
    complementarity: Array  # [] |b o c - kappa e|, the largest entry


class _State(NamedTuple):
    w: Point
    residual: Array  # []
    complementarity: Array  # []
    iteration: Array  # [] int
    sound: Array  # [] bool: no step was infinite or a NaN


def neutral(cones: Cones, a: Any, dtype: Any) -> Point:
    """A start at a with b = c = e."""
    e = jnp.asarray(unit(cones), dtype)
    return Point(a, e, e)


def solve(problem: Problem, theta: Any, start: Point, settings: Settings) -> tuple[Point, Outcome]:
    """The point of the central path at kappa, from a start with b and c inside the cones; batches under vmap.

    A world that is done does not change any more while others go on. One whose step is not finite keeps its last
    point and has not converged.
    """

    def unfinished(s: _State) -> Array:
        return s.sound & (s.iteration < settings.iterations) & ~_done(s, settings)

    def iterate(s: _State) -> _State:
        step, tau = _direction(problem, theta, s, settings.kappa)
        alpha = tau * jnp.minimum(step_length(problem.cones, s.w.b, step.b), step_length(problem.cones, s.w.c, step.c))
        w, residual, complementarity = _searched(problem, theta, s, step, jnp.minimum(alpha, 1), settings)
        sound = jnp.isfinite(residual) & jnp.isfinite(complementarity)
        w = jax.tree.map(lambda new, old: jnp.where(sound, new, old), w, s.w)
        return _State(w, residual, complementarity, s.iteration + 1, sound)

    first = _violations(problem, theta, start, settings.kappa)
    end = lax.while_loop(unfinished, iterate, _State(start, *first, jnp.zeros((), jnp.int32), jnp.ones((), bool)))
    return end.w, Outcome(end.iteration, end.sound & _done(end, settings), end.residual, end.complementarity)


def _done(s: _State, settings: Settings) -> Array:
    exact = s.complementarity <= settings.accuracy * settings.kappa
    return exact & (s.residual <= settings.tolerance)


def _violations(problem: Problem, theta: Any, w: Point, kappa: Array) -> tuple[Array, Array]:
    """|E| and |b o c - kappa e| [], the largest entries; of the latter what is beyond the products' rounding."""
    cones, (_, b, c) = problem.cones, w
    largest = [jnp.max(jnp.abs(r)) for r in jax.tree.leaves(problem.residual(theta, w)) if r.size]
    rounding = ROUNDING * jnp.finfo(b.dtype).eps * product(cones, jnp.abs(b), jnp.abs(c))
    away = jnp.abs(product(cones, b, c) - kappa * jnp.asarray(unit(cones), b.dtype)) - rounding
    return jnp.max(jnp.stack(largest)), jnp.max(away, initial=0)


def _direction(problem: Problem, theta: Any, s: _State, kappa: Array) -> tuple[Point, Array]:
    """The corrector's step, and how much of the way to the boundary it may go []."""
    cones, w = problem.cones, s.w
    e = jnp.asarray(unit(cones), w.b.dtype)
    factors = problem.factor(theta, w)
    r = jax.tree.map(jnp.negative, problem.residual(theta, w))
    away = kappa * e - product(cones, w.b, w.c)
    near = problem.solve(theta, w, factors, r, away)
    alpha = jnp.minimum(jnp.minimum(step_length(cones, w.b, near.b), step_length(cones, w.c, near.c)), 1)
    # cones may be far from kappa while their mean is near it, when some are too close to the boundary to move
    excess = jnp.maximum(_mean(cones, w.b, w.c) - kappa, s.complementarity)
    left = _mean(cones, w.b + alpha * near.b, w.c + alpha * near.c) - kappa
    left = jnp.maximum(left, (1 - alpha) * s.complementarity)
    ratio = jnp.clip(left / jnp.where(excess > 0, excess, 1), 0, 1)
    centring = ratio * ratio * ratio * excess
    step = problem.solve(theta, w, factors, r, away + centring * e - product(cones, near.b, near.c))
    violation = jnp.maximum(s.residual, s.complementarity)
    return step, jnp.clip(1 - violation * violation, *SHARE)


def _mean(cones: Cones, b: Array, c: Array) -> Array:
    """b . c / degree []."""
    return jnp.sum(b * c) / cones.degree


def _searched(
    problem: Problem, theta: Any, s: _State, step: Point, alpha: Array, settings: Settings
) -> tuple[Point, Array, Array]:
    """The point a step away with its violations: the step is halved while both are larger than before."""

    def at(alpha: Array) -> tuple[Point, Array, Array]:
        w = Point(problem.move(s.w.a, step.a, alpha), s.w.b + alpha * step.b, s.w.c + alpha * step.c)
        return (w, *_violations(problem, theta, w, settings.kappa))

    first = at(alpha)
    if not settings.halvings:
        return first

    def worse(carry: tuple) -> Array:
        _, k, _, residual, complementarity = carry
        better = (residual <= s.residual) | (complementarity <= s.complementarity)
        return (k < settings.halvings) & ~better

    def halve(carry: tuple) -> tuple:
        alpha, k, *_ = carry
        return alpha / 2, k + 1, *at(alpha / 2)

    return lax.while_loop(worse, halve, (alpha, jnp.zeros((), jnp.int32), *first))[2:]
