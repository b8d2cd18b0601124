"""Mehrotra's predictor-corrector method, ending on the central path at the kappa that is asked for.

Dojo's algorithm 2 with three changes. Predictor and corrector aim at b o c = kappa e and not at zero, so that the last
steps are Newton's own and the end is that point to rounding, whatever the way. Derivatives at kappa then are those of
one smooth function. A predictor that is soon at the boundary is not trusted: the shorter its way alpha there, the more
the corrector centres, and the less of the residual it removes. And a corrector that is sooner at the boundary than the
predictor has made up for what will not happen: near the boundary its second order may be far off, and keep a cone there
for good. So the step goes from the predictor to the corrector only as far as it then fits longest. (Of 200 solves along
a fall of the humanoid, each at three kappas, 19 took 17 to 54 iterations; now all 600 end within 13.) An iteration
factors once and solves twice:

    predictor  E' d = -E,  c o db + b o dc = kappa e - b o c,  alpha of it reaches the boundary, or all of it fits
    centring   sigma = (1 - alpha)^3,  excess = b . c / degree - kappa, at least a tenth of |b o c - kappa e|
    corrector  E' d = -(1 - sigma) E,  b o c = kappa + sigma excess,  and less db o dc
    step       the longest between both, to tau of the way to the boundary, halved while both violations grow

Friction is not the derivative of anything, so that this may run in circles (a foot that slides fast and is pressed
down by its own friction does it). Who is not done after some iterations begins anew and follows the path: Newton steps
to kappa e for the kappa of the start, then a third of it and so on, each only so long that b o c comes nearer. That
takes 40 to 60 iterations, and was seen to end whenever the path is without a fold.

Source: Dojo (Howell, Le Cleac'h et al. 2022), section V; Vandenberghe, CVXOPT, section 7.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.layout import queued
from jaxsim.solvers.interior_point.cones import Cones, on_path, product, step_length, unit
from jaxsim.solvers.interior_point.problem import Point, Problem

Array = jax.Array

SHARE = (0.95, 0.99)  # of the way to the boundary that a step goes, far from the solution and near it
HASTE = 20  # iterations before the path is followed
ASTRAY = 0.1  # of the largest violation of b o c = kappa e, that centring aims at where the mean is nearer
NEAR = 0.3  # of the target: so near counts as on the path, and so much nearer to zero the next place is
MIXES = (1, 0.75, 0.5, 0.25, 0)  # of the corrector in a step, the rest being predictor; of equals the first
PARTS = (1, 0.7, 0.5, 0.35, 0.25, 0.15, 0.08, 0.03, 0.01, 0.003)  # of a step, that are tried on that way
ROUNDING = 4.0  # last digits that a sum of products may be wrong by


class Settings(NamedTuple):
    """Bounds are static, tolerances traced."""

    kappa: Array  # [] b o c = kappa e
    tolerance: Array  # [] of |E|, in its own unit
    accuracy: Array  # [] of |b o c - kappa e|, relative to kappa
    iterations: int | Array = 50
    halvings: int = 0  # of a step; where E is linear in w none is needed
    haste: int | Array = HASTE  # iterations after which the way begins anew, along the path


class Outcome(NamedTuple):
    """How a solve ended: never differentiated."""

    iterations: Array  # [] int
    converged: Array  # [] bool: both violations are within their tolerances
    residual: Array  # [] |E|, the largest entry
    complementarity: Array  # [] |b o c - kappa e|, the largest entry


class _State(NamedTuple):
    w: Point
    errors: Any  # E at w
    residual: Array  # []
    complementarity: Array  # []
    iteration: Array  # [] int
    sound: Array  # [] bool: no step was infinite or a NaN
    patient: Array  # [] bool: on the way that follows the path
    target: Array  # [] kappa of the place on the path that this way is at
    best: "_Best"


class _Best(NamedTuple):
    """Of the points seen that of the least violation."""

    w: Point
    residual: Array  # []
    complementarity: Array  # []


def neutral(cones: Cones, a: Any, dtype: Any) -> Point:
    """A start at a with b = c = e."""
    e = jnp.asarray(unit(cones), dtype)
    return Point(a, e, e)


def lifted(problem: Problem, theta: Any, w: Point, kappa: Array, place: Array | None = None) -> Point:
    """A start near a solution w of a similar problem: with the same b - c, on the central path at kappa [], or at an
    earlier place [] of the way there."""
    aim = _aim(problem.cones, kappa, _weight(problem, theta, w), kappa if place is None else place)
    return Point(w.a, *on_path(problem.cones, w.b - w.c, aim))


def solve(problem: Problem, theta: Any, start: Point, settings: Settings) -> tuple[Point, Outcome]:
    """The point of the central path at kappa, from a start with b and c inside the cones; batches under vmap.

    A world that is done does not change any more while others go on. One whose step is not finite keeps its last
    point and has not converged. One that does not converge ends where the larger violation was least: digits may not
    suffice for more, or the path has a fold, and what came later is no better.
    """

    def unfinished(s: _State) -> Array:
        return s.sound & (s.iteration < settings.iterations) & ~_done(s, settings)

    def iterate(s: _State) -> _State:
        step, alpha = _direction(problem, theta, s, settings)
        w, errors, residual, complementarity = _searched(problem, theta, s, step, alpha, settings)
        sound = jnp.isfinite(residual) & jnp.isfinite(complementarity)
        w, errors = jax.tree.map(lambda new, old: jnp.where(sound, new, old), (w, errors), (s.w, s.errors))
        end = s._replace(w=w, errors=errors, residual=residual, complementarity=complementarity)
        better = sound & (violation(end) < violation(s.best))
        now = _Best(w, residual, complementarity)
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), now, s.best)
        return _next(problem.cones, end._replace(iteration=s.iteration + 1, sound=sound, best=best))

    def _next(cones: Cones, s: _State) -> _State:
        """Begin anew and patiently where haste did not end; and go on along the path where its place is reached."""
        anew = ~s.patient & ((s.iteration == settings.haste) | ~s.sound) & ~_done(s, settings)
        now = (s.w, s.errors, s.residual, s.complementarity)
        w, errors, residual, complementarity = jax.tree.map(lambda a, b: jnp.where(anew, a, b), (start, *first), now)
        there = _away(cones, w, along(s.target), weight) <= NEAR * s.target
        target = jnp.where(s.patient & there, jnp.maximum(NEAR * s.target, settings.kappa), s.target)
        s = s._replace(w=w, errors=errors, residual=residual, complementarity=complementarity, target=target)
        return s._replace(sound=s.sound | anew, patient=s.patient | anew)

    weight = _weight(problem, theta, start)
    along = functools.partial(_aim, problem.cones, settings.kappa, weight)
    first = _violations(problem, theta, start, settings.kappa)
    begin = _State(
        start, *first, jnp.zeros((), jnp.int32), jnp.ones((), bool), jnp.zeros((), bool),
        jnp.maximum(_mean(problem.cones, start.b, start.c, weight), settings.kappa),
        _Best(start, *first[1:]),
    )  # fmt: skip
    end = lax.while_loop(unfinished, queued(iterate), begin)
    converged = end.sound & _done(end, settings)
    last = _Best(end.w, end.residual, end.complementarity)
    w, residual, complementarity = jax.tree.map(lambda a, b: jnp.where(converged, a, b), last, end.best)
    return w, Outcome(end.iteration, converged, residual, complementarity)


def _done(s: _State, settings: Settings) -> Array:
    exact = s.complementarity <= settings.accuracy * settings.kappa
    return exact & (s.residual <= settings.tolerance)


def violation(s: _State | _Best | Outcome) -> Array:
    """[] the larger of both."""
    return jnp.maximum(s.residual, s.complementarity)


def _violations(problem: Problem, theta: Any, w: Point, kappa: Array) -> tuple[Any, Array, Array]:
    """E, |E| and |b o c - kappa e| [], the largest entries; of the latter what is beyond the products' rounding."""
    cones, (_, b, c), errors = problem.cones, w, problem.residual(theta, w)
    largest = [jnp.max(jnp.abs(r)) for r in jax.tree.leaves(errors) if r.size]
    away = jnp.abs(product(cones, b, c) - kappa * jnp.asarray(unit(cones), b.dtype)) - _rounding(cones, w)
    return errors, jnp.max(jnp.stack(largest)), jnp.max(away, initial=0)


def _direction(problem: Problem, theta: Any, s: _State, settings: Settings) -> tuple[Point, Array]:
    """The corrector's step, and how much of it is taken []."""
    cones, w, kappa = problem.cones, s.w, settings.kappa
    e = jnp.asarray(unit(cones), w.b.dtype)
    factors = problem.factor(theta, w)
    r = jax.tree.map(jnp.negative, s.errors)
    now = product(cones, w.b, w.c)
    weight = _weight(problem, theta, w)
    near = problem.solve(theta, w, factors, r, _aim(cones, kappa, weight, jnp.where(s.patient, s.target, kappa)) - now)
    alpha = jnp.minimum(_room(cones, w, near), 1)
    # cones may be far from kappa while their mean is near it, when some are too close to the boundary to move
    far = jnp.max((jnp.abs(now - kappa * e) - _rounding(cones, w)) / weight, initial=0)
    excess = jnp.maximum(_mean(cones, w.b, w.c, weight) - kappa, ASTRAY * far)
    sigma = (1 - alpha) ** 3
    less = jax.tree.map(lambda x: (1 - sigma) * x, r)
    aim = _aim(cones, kappa, weight, kappa + sigma * excess) - product(cones, near.b, near.c)
    step = _longest(cones, w, near, problem.solve(theta, w, factors, less, aim - now), s.patient)
    share = jnp.where(s.patient, SHARE[0], jnp.clip(1 - violation(s) ** 2, *SHARE))
    alpha = jnp.minimum(share * _room(cones, w, step), 1)
    return step, jnp.where(s.patient, _best(cones, s, step, alpha, settings, weight), alpha)


def _room(cones: Cones, w: Point, step: Point) -> Array:
    """How often a step fits into the cones []."""
    return jnp.minimum(step_length(cones, w.b, step.b), step_length(cones, w.c, step.c))


def _longest(cones: Cones, w: Point, predictor: Point, corrector: Point, patient: Array) -> Point:
    """Of the steps between both the one of which most fits into the cones; on the patient way [] the predictor."""
    mixes = jnp.asarray(MIXES, w.b.dtype)

    def between(share: Array) -> Point:
        return jax.tree.map(lambda x, y: x + share * (y - x), predictor, corrector)

    fits = jax.vmap(lambda share: jnp.minimum(_room(cones, w, between(share)), 1))(mixes)
    return between(jnp.where(patient, 0, jnp.max(jnp.where(fits >= jnp.max(fits), mixes, 0))))


def _best(cones: Cones, s: _State, step: Point, most: Array, settings: Settings, weight: Array) -> Array:
    """The part of a step [], of some up to the most, after which b o c is nearest to where the path is followed to."""
    parts = most * jnp.asarray(PARTS, most.dtype)

    def after(alpha: Array) -> Array:
        w = Point((), s.w.b + alpha * step.b, s.w.c + alpha * step.c)
        aim = _aim(cones, settings.kappa, weight, s.target)
        return _away(cones, w, aim, weight) / s.target + jnp.where(s.residual > settings.tolerance, 1 - alpha, 0)

    score = jax.vmap(after)(parts)
    return jnp.max(jnp.where(score <= jnp.min(score), parts, 0))


def _weight(problem: Problem, theta: Any, w: Point) -> Array:
    """[cones.size] the problem's, 1 by default."""
    return jnp.ones_like(w.b) if problem.weight is None else problem.weight(theta)


def _aim(cones: Cones, kappa: Array, weight: Array, place: Array) -> Array:
    """[cones.size] b o c at a place of the way, which ends at kappa e."""
    return (kappa + (place - kappa) * weight) * jnp.asarray(unit(cones), weight.dtype)


def _away(cones: Cones, w: Point, aim: Array, weight: Array) -> Array:
    """|b o c - aim| [], the length in units of the weights."""
    away = (product(cones, w.b, w.c) - aim) / weight
    return jnp.sqrt(jnp.sum(away * away))


def _mean(cones: Cones, b: Array, c: Array, weight: Array) -> Array:
    """b . c / degree [], in units of the weights."""
    return jnp.sum(b * c / weight) / cones.degree


def _rounding(cones: Cones, w: Point) -> Array:
    """[cones.size] how much of b o c may be rounding."""
    return ROUNDING * jnp.finfo(w.b.dtype).eps * product(cones, jnp.abs(w.b), jnp.abs(w.c))


def _searched(
    problem: Problem, theta: Any, s: _State, step: Point, alpha: Array, settings: Settings
) -> tuple[Point, Any, Array, Array]:
    """The point a step away with its E and its violations: the step is halved while both are larger than before."""

    def at(alpha: Array) -> tuple[Point, Any, Array, Array]:
        w = Point(problem.move(s.w.a, step.a, alpha), s.w.b + alpha * step.b, s.w.c + alpha * step.c)
        return (w, *_violations(problem, theta, w, settings.kappa))

    first = at(alpha)
    if not settings.halvings:
        return first

    def worse(carry: tuple) -> Array:
        _, k, _, _, residual, complementarity = carry
        better = (residual <= s.residual) | (complementarity <= s.complementarity)
        return (k < settings.halvings) & ~better

    def halve(carry: tuple) -> tuple:
        alpha, k, *_ = carry
        return alpha / 2, k + 1, *at(alpha / 2)

    return lax.while_loop(worse, halve, (alpha, jnp.zeros((), jnp.int32), *first))[2:]
