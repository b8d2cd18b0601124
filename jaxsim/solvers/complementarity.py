"""Coulomb's law and hard limits exactly: where the central path of the interior-point solver ends, at kappa = 0.

Impulse and velocity of a row exclude each other, so that one hybrid number x stands for both: along a normal the
impulse where x is positive, the gap at the end of the step where it is negative; in the plane of friction the impulse
where x is within its bound, and else the bound's nearest point, with the rest as the slip,

    gamma = max(x, 0),           s / h = rho max(-x, 0)
    beta  = nearest(x; gamma),   slip  = rho (beta - x)

Velocities follow from impulses, and what is left are the equations of gaps, slips and equalities, F(x) = 0: as many as
unknowns, smooth but for planes and cones. A Newton step takes the derivative on the side where x is, condensed to the
velocities as in impacts.py. It is damped as if every row gave way a little, by mu rho dx, since impulses need not be
unique (a box has four corners): the more, the less a step led downhill. Where F is zero the answer is exact, whatever
the way there.

Source: Todorov, Erez, Tassa 2012, section II.C; the damping and the search along a step are ours.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.constraint.laws.hard import Friction
from jaxsim.layout import queued
from jaxsim.solvers.impacts import (
    Errors,
    Form,
    Impact,
    bounds,
    compliance,
    condensed,
    impact_problem,
    impulses,
    inertia_of,
    normal_give,
    speeds_of,
)
from jaxsim.solvers.interior_point.predictor_corrector import Outcome, Settings
from jaxsim.solvers.interior_point.problem import Point
from jaxsim.solvers.linear.inverse import inverse
from jaxsim.solvers.linear.triangles import solved
from jaxsim.solvers.objective import mul_jt

Array = jax.Array

PARTS = (1, 0.5, 0.2, 0.05, 0.01)  # of a step, that are tried
LEAST, BEGIN, MOST = 70, 1, 1e4  # damping mu; the least as a multiple of the square root of rounding
EASIER, HARDER = 0.1, 10  # what a good and what a poor step make of it
FIRST = 0.1  # m/s, rad/s: where every row starts


class Hybrid(NamedTuple):
    """rho x, or a step of it; or any numbers of the same rows."""

    number: Array  # [orthant] m/s, rad/s
    plane: list[Array]  # [n, dim - 1] of each group of cones
    equality: Array  # [equalities] impulses


class _State(NamedTuple):
    x: Hybrid
    w: Point
    residual: Array  # [] the largest of the problem's errors
    damping: Array  # [] mu
    iteration: Array  # [] int


def exact(
    form: Form, t: Impact, start: Point, settings: Settings, needed: Array | bool = True, *, near: bool = False
) -> tuple[Point, Outcome]:
    """Velocities, impulses and slips of a step, with b o c = 0; not differentiated. Of the settings, kappa is unused.

    The search begins at `start` where that is `near`, a point of the path at a small kappa, and else where every row
    presses a little. Where `needed` [] is False, `start` is returned as not converged, and nothing is computed for it.
    """
    problem, eps = impact_problem(form), jnp.finfo(t.qvel.dtype).eps
    least = jnp.asarray(LEAST * eps**0.5, t.qvel.dtype)

    def unfinished(s: _State) -> Array:
        return needed & (s.iteration < settings.iterations) & (s.residual > settings.tolerance)

    def improved(s: _State) -> _State:
        # what does not change is computed again here, since most steps of most worlds need none of it
        rho, spread = _own(form, t), inverse(inertia_of(t))

        def at(x: Hybrid) -> tuple[Point, Errors, Array]:
            w = _point(form, t, rho, spread, x)
            errors = problem.residual(t, w)
            return w, errors, _all(t, errors)

        _, errors, F = at(s.x)
        dx = _step(form, t, rho, s, errors)
        tried = jax.vmap(lambda part: jax.tree.map(lambda x, d: x + part * d, s.x, dx))(jnp.asarray(PARTS, F.dtype))
        sizes = jax.vmap(lambda x: jnp.sum(at(x)[2] ** 2))(tried)
        best = jnp.argmin(jnp.where(jnp.isfinite(sizes), sizes, jnp.inf))
        better = sizes[best] < jnp.sum(F * F)
        x = jax.tree.map(lambda new, old: jnp.where(better, new[best], old), tried, s.x)
        w, errors, _ = at(x)
        damping = jnp.clip(s.damping * jnp.where(better & (best == 0), EASIER, HARDER), least, MOST)
        return _State(x, w, _largest(errors), damping, s.iteration + 1)

    begin = _of(form, t, start) if near else jax.tree.map(lambda r: jnp.full_like(r, FIRST), _shape(form, t))
    infinite = jnp.full((), jnp.inf, least.dtype)
    first = _State(begin, start, infinite, jnp.asarray(BEGIN, least.dtype), jnp.zeros((), jnp.int32))
    end = lax.while_loop(unfinished, queued(improved), first)
    return end.w, Outcome(end.iteration, end.residual <= settings.tolerance, end.residual, jnp.zeros_like(infinite))


def _shape(form: Form, t: Impact) -> Hybrid:
    number = jnp.zeros(form.cones.orthant, t.qvel.dtype)
    plane = [jnp.zeros((count, dim - 1), t.qvel.dtype) for count, dim in form.cones.second]
    return Hybrid(number, plane, jnp.zeros(len(form.equality), t.qvel.dtype))


def _of(form: Form, t: Impact, w: Point) -> Hybrid:
    """rho x of a point: impulses less gaps and slips."""
    (b, xi), (c, eta), rho = form.cones.split(w.b), form.cones.split(w.c), _own(form, t)
    planes = [r * x[:, 1:] - y[:, 1:] for r, x, y in zip(rho.plane, xi, eta)]
    return Hybrid(rho.number * b - c / t.timestep, planes, w.a[1])


def _own(form: Form, t: Impact) -> Hybrid:
    """rho: about what velocity an impulse of each row gives to the row itself, 1 where it gives none."""
    weight = 1 / jnp.diagonal(inertia_of(t))
    each = jax.vmap(lambda e: speeds_of(form, t, e))(jnp.eye(weight.shape[0], dtype=weight.dtype))

    def share(x: Array) -> Array:
        return jnp.tensordot(weight, x * x, 1, precision=lax.Precision.HIGHEST)

    means = [jnp.broadcast_to(jnp.mean(y, axis=1, keepdims=True), y.shape) for y in map(share, each.slip)]
    rho = Hybrid(share(each.closing), means, jnp.ones_like(weight[: len(form.equality)]))
    return jax.tree.map(lambda r: jnp.where(r > 0, r, 1), rho)


def _point(form: Form, t: Impact, rho: Hybrid, spread: Array, x: Hybrid) -> Point:
    """All variables that rho x stands for, with the velocities that its impulses lead to."""
    x = jax.tree.map(lambda y, r: y / r, x, rho)
    number = jnp.maximum(x.number, 0)
    near = [_nearest(v, bound) for v, bound in zip(x.plane, bounds(form, number))]
    slips = [r * (y - v) for r, y, v in zip(rho.plane, near, x.plane)]
    b = form.cones.join(number, [_joined(bound, y) for bound, y in zip(bounds(form, number), near)])
    c = form.cones.join(t.timestep * rho.number * (number - x.number), [_joined(_length(u), u) for u in slips])
    w = Point((t.qvel, x.equality), b, c)
    push = t.timestep * t.p.qfrc_smooth + mul_jt(form.s, t.p, impulses(form, t, w))
    return w._replace(a=(t.qvel + _times(spread, push), x.equality))


def _step(form: Form, t: Impact, rho: Hybrid, s: _State, errors: Errors) -> Hybrid:
    """Newton's step of rho x, damped."""
    x, mu = jax.tree.map(lambda y, r: y / r, s.x, rho), s.damping
    pressed = (x.number > 0).astype(mu.dtype)
    soft = 1 - pressed + mu + pressed * normal_give(form, t) / rho.number
    stiffness = pressed / (soft * rho.number)
    limits = bounds(form, jnp.maximum(x.number, 0))
    planes = [_plane(v, most, mu) for v, most in zip(x.plane, limits)]
    reduced = [Friction(p.along * 0, p.along, -p.slope / r[:, :, None]) for r, p in zip(rho.plane, planes)]
    factors = condensed(form, t, stiffness, reduced)
    on, R = compliance(form, t)

    def follow(dv: Array) -> tuple[Hybrid, Point]:
        """The step of rho x and the impulses that go with one of the velocities."""
        speeds = speeds_of(form, t, dv)
        missing = errors.gap / t.timestep - speeds.closing
        number = stiffness * missing
        moved = bounds(form, number)
        if len(form.loss):
            moved[-1] = jnp.zeros_like(moved[-1])
        plane, push = [], []
        for p, r, error, speed, more in zip(planes, rho.plane, errors.slip, speeds.slip, moved):
            rest, ahead = error - speed, p.along * more[:, None]
            plane.append(_apply(p.inverse, rest + r * ahead))
            push.append(_joined(more, _apply(p.slope, rest) / r + ahead))
        equality = -(errors.equality + on * speeds.equality) / R
        b = form.cones.join(number, push)
        return Hybrid(missing / soft, plane, equality), Point((dv, equality), b, b)

    force = mul_jt(form.s, t.p, impulses(form, t, follow(jnp.zeros_like(t.qvel))[1]))
    return follow(solved(factors, force))[0]


class _Plane(NamedTuple):
    """How a friction impulse follows x and its bound: dbeta = B dx + along dbound, damped."""

    along: Array  # [n, k]
    inverse: Array  # [n, k, k] of (1 + mu) I - B
    slope: Array  # [n, k, k] B times that


def _plane(x: Array, bound: Array, mu: Array) -> _Plane:
    square = jnp.sum(x * x, axis=1)
    outside = square > bound * bound
    length = jnp.sqrt(jnp.where(outside, square, 1))
    e = jnp.where(outside[:, None], x / length[:, None], 0)
    share = jnp.where(outside, bound / length, 1)
    radial = e[:, :, None] * e[:, None]
    across = jnp.eye(x.shape[1], dtype=x.dtype)[None] - radial
    give = (1 + mu - share)[:, None, None]
    return _Plane(e, across / give + radial / (1 + mu), across * share[:, None, None] / give)


def _nearest(x: Array, bound: Array) -> Array:
    """The point nearest to x [n, k] of the ball of radius bound [n]."""
    square = jnp.sum(x * x, axis=1)
    outside = square > bound * bound
    length = jnp.sqrt(jnp.where(outside, square, 1))
    return jnp.where(outside[:, None], x * (bound / length)[:, None], x)


def _length(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(x * x, axis=1))


def _all(t: Impact, errors: Errors) -> Array:
    """F, in m/s and rad/s."""
    return jnp.concatenate([errors.gap / t.timestep, errors.equality, *(x.reshape(-1) for x in errors.slip)])


def _largest(errors: Errors) -> Array:
    """What the interior-point solver calls the residual: gaps are in m and rad."""
    return jnp.max(jnp.abs(jnp.concatenate([x.reshape(-1) for x in jax.tree.leaves(errors)])), initial=0)


def _joined(first: Array, rest: Array) -> Array:
    return jnp.concatenate([first[:, None], rest], axis=1)


def _apply(A: Array, x: Array) -> Array:
    """A [n, k, k] times x [n, k]."""
    return jnp.sum(A * x[:, None], axis=2)


def _times(A: Array, x: Array) -> Array:
    return lax.dot(A, x, precision=lax.Precision.HIGHEST)
