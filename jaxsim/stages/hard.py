"""Velocities after a step under the hard contact law: what `opt.contact = "hard"` puts in place of mj_fwdConstraint.

Everything that pushes is found at once for the whole step: qacc = (v+ - v) / h, and the forces are impulses / h. So
what integrates implicitly is part of it: damping under Euler, the whole of M - h dF/dv under implicit and implicitfast
(but for the gyroscopic blocks that the latter gives lone free bodies).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.collision.slots import ContactSlots, slot_params
from jaxsim.constraint.approach import Approach, approach_of, linearised
from jaxsim.constraint.laws.soft import frictionless_masked
from jaxsim.constraint.restitution import Bounce, bounce_of
from jaxsim.constraint.row_table import RowTable
from jaxsim.constraint.rows import RowValues, count_rows, mul_scalar
from jaxsim.constraint.solution import Solution
from jaxsim.constraint.surface import surface_velocity
from jaxsim.core.data import Data
from jaxsim.core.enums import ContactLaw, EqType, EqualityLaw, Integrator, ObjType
from jaxsim.core.model import Model
from jaxsim.solvers.impact_search import LIFT, search, search_exact
from jaxsim.solvers.impacts import (
    Form,
    Impact,
    bounds,
    form_of,
    impact_problem,
    impulses,
    inertia_of,
    start_of,
    within_cones,
)
from jaxsim.solvers.interior_point.implicit import central_point
from jaxsim.solvers.interior_point.predictor_corrector import Outcome, Settings, lifted
from jaxsim.solvers.interior_point.problem import Point
from jaxsim.solvers.linear.inverse import inverse
from jaxsim.solvers.objective import mul_jt, problem_of, structure_of
from jaxsim.stages.effective import euler_diagonal, implicit_matrix, implicitfast_matrix, standalone_free_bodies
from jaxsim.stages.intermediate import Intermediate

Array = jax.Array

RECOVERY = 1.0  # m/s, rad/s: at most so fast what starts beyond a limit or inside a surface comes back
RIGID = {"float64": 1e-6, "float32": 1e-4}  # compliance of equalities, relative to the soft law's R
# m/s that 1 N s makes 1 kg slip or sink, which has no effect that is seen. Without it a foot that sticks is as heavy as
# 1e7 kg to the matrix of a float32 step, in whose last digits arms are lost: of 6,400 steps of a humanoid at random
# 139 did not converge without, and 15 with it, as in float64
YIELDING = {"float64": 0.0, "float32": 1e-5}
# at least, whatever opt.iterations says: models made for fast steps of MuJoCo's solvers ask for one, or for four
ITERATIONS = 100
# of what 1 N s adds to the speeds of a contact's two bodies: by so much what begins well inside something yields. Where
# it is inside two things that push it against each other there is no step without it, nor for ever after
SINKING = 0.1
CORRECTIONS = 1  # of gaps, linear at first, then about where the step ends
MORE = 2  # where that leaves something deep inside something else
OPENED = 0.1  # of what an impulse adds to its own gap as the step begins, which it has to add to it at the end
# m/s, m: a world whose equations are wrong by more than this is held. At 20 m/s float32 may stop at 0.01, which harms
# less than a stop does
HOLD = 0.02
# m, and share of the normal impulse: so far inside each other, and outside of its friction cone, things may be at most.
# What hardly presses has no cone that is worth a stop: impulses count as half of the largest at least, or of that of
# 1 m/s^2
DEEP, BEYOND, LEAST = 5e-4, 1e-3, 0.5


class _Solved(NamedTuple):
    """A solution of the step, and how it was found."""

    w: Point
    start: Point  # of the search for the next one
    outcome: Outcome  # with the iterations of all searches
    usable: Array  # [] bool; otherwise the world is held


def is_hard(m: Model) -> bool:
    """Whether the contact law is Dojo's."""
    return m.opt.contact.rigid


def hard_acceleration(m: Model, d: Data, mid: Intermediate, known: Point | None = None) -> tuple[Data, Solution]:
    """qacc [nv], qfrc_constraint [nv] and the constraint forces, as means over the step that follows.

    `known` is the `found` of the Solution of an earlier evaluation at the same state.
    """
    _refuse_rk4(m)
    form, t = impact_of(m, d, mid)
    near = None if mid.slots is None else approach_of(m, d, mid.slots)
    free = _free_velocity(m, d, t)
    bounce = _bounce(m, t, near, free) if m.opt.bounces and mid.slots is not None else None
    settings = settings_of(m, lax.stop_gradient(free))
    problem, find = impact_problem(form), search_exact if m.opt.contact == ContactLaw.EXACT else search

    def corrected(here: Impact, last: _Solved, fresh: Array, needed: Array, known: Point | None) -> _Solved:
        """The solution of the step with these gaps, from the last one."""
        if known is None:
            afar = start_of(form, here, free)
            ended = find(form, *lax.stop_gradient((here, last.start, afar)), settings, fresh, ~needed)
        else:
            ended = known, unsearched(d)
        w, outcome = central_point(problem, here, last.start, settings, m.opt.kappa_gradient, ended)
        usable = _usable(form, *lax.stop_gradient((here, w)), outcome)
        start = lifted(problem, *lax.stop_gradient((here, w)), m.opt.kappa, LIFT * m.opt.kappa)
        so_far = last.outcome.iterations + outcome.iterations
        return _Solved(w, start, outcome._replace(iterations=so_far), usable)

    def once(last: _Solved, given: tuple) -> tuple[_Solved, Point]:
        """With gaps that are linear about where the step with the last velocity ends, if those were not good enough."""
        number, known = given
        if near is None:
            last = corrected(t, last, number == 0, number == 0, known)
            return last, last.w
        here, v = _about(t, near, last.w.a[0]), lax.stop_gradient(last.w.a[0])
        # a solution that is known was needed where it changed something
        more = _deep(lax.stop_gradient(here), v, bounce) if known is None else jnp.any(known.a[0] != v)
        needed = (number <= CORRECTIONS) | more
        here = here if bounce is None else _parting(t, here, bounce)
        better = lambda *x: corrected(here, last, *x)  # noqa: E731
        last = _kept(number, last, lax.cond(needed, better, lambda *_: last, number == 0, needed, known))
        return last, last.w

    afar = lax.stop_gradient(start_of(form, t, free))
    begin = _Solved(afar._replace(a=(jnp.zeros_like(d.qvel), *afar.a[1:])), afar, unsearched(d), jnp.zeros((), bool))
    # one loop, so that it is compiled once
    passes = jnp.arange(1 if near is None else 1 + CORRECTIONS + MORE)
    (w, _, outcome, usable), found = lax.scan(once, begin, (passes, known))
    h = m.opt.timestep
    qacc = jnp.where(usable, w.a[0] - d.qvel, -d.qvel) / h
    force, missing = _forces(form, t, w, outcome.converged, usable)
    d = d.replace(
        qacc=qacc,
        qfrc_constraint=mul_jt(form.s, t.p, force),
        nefc=count_rows(m, mid.rows),
        solver_niter=outcome.iterations,
        solver_converged=outcome.converged,
        solver_residual=jnp.maximum(outcome.residual, missing),
    )
    mean = None if bounce is None else _mean_velocity(form, t, bounce, d.qvel + h * qacc, force)
    return d, Solution(mid.slots, mid.rows, force, found, mean=mean)


def _forces(form: Form, t: Impact, w: Point, converged: Array, usable: Array) -> tuple[RowValues, Array]:
    """The constraint forces, none in a world that is held and else within their cones, and by how much [] (m/s) the
    equations of motion miss what was cut off where the search had not converged [] bool."""
    inside = jax.tree.map(lambda x, within: jnp.where(converged, x, within), w, within_cones(form, w))
    cut = jax.tree.map(jnp.subtract, *lax.stop_gradient((impulses(form, t, w), impulses(form, t, inside))))
    missing = jnp.max(jnp.abs(mul_jt(form.s, t.p, cut)), initial=0) / t.inertia
    return jax.tree.map(lambda x: jnp.where(usable, x, 0) / t.timestep, impulses(form, t, inside)), missing


def _kept(number: Array, last: _Solved, new: _Solved) -> _Solved:
    """The new solution, but for one more than always that leads nowhere where the last one had led somewhere."""
    kept = (number > CORRECTIONS) & last.usable & ~new.usable
    best = jax.tree.map(lambda old, x: jnp.where(kept, old, x), last, new)
    return best._replace(outcome=best.outcome._replace(iterations=new.outcome.iterations))


def _refuse_rk4(m: Model) -> None:
    if m.opt.integrator == Integrator.RK4:
        raise ValueError(
            'opt.contact = "hard" finds velocities at the end of a step, which RK4 has no place for; '
            'use opt.replace(integrator="euler"), "implicit" or "implicitfast"'
        )


def _usable(form: Form, t: Impact, w: Point, outcome: Outcome) -> Array:
    """[] bool: converged, or near enough: nothing is seen inside something else, no friction outside of its cone."""
    errors = impact_problem(form).residual(t, w)
    (numbers, _), (gaps, _) = form.cones.split(w.b), form.cones.split(w.c)
    deep = jnp.any(gaps - errors.gap < -DEEP)
    most = bounds(form, numbers)
    if len(most) > (len(form.loss) > 0):  # the first are contacts
        most[0] = jnp.maximum(most[0], LEAST * jnp.max(most[0], initial=t.timestep * t.inertia))
    beyond = [jnp.any(error > BEYOND * bound) for error, bound in zip(errors.head, most)]
    wrong = jnp.any(jnp.stack([deep, *beyond]))
    return outcome.converged | (jnp.isfinite(outcome.residual) & (outcome.residual <= HOLD) & ~wrong)


def _bounce(m: Model, t: Impact, near: Approach | None, free: Array) -> Bounce:
    """How contacts bounce, by where they would be at the end of the step with the velocity free [nv]."""
    end = t if near is None else _about(t, near, free)
    before, after = (lax.dot(t.closing, v, precision=lax.Precision.HIGHEST) for v in (t.qvel, free))
    ahead = end.gap + t.timestep * lax.dot(end.closing, free, precision=lax.Precision.HIGHEST)
    return bounce_of(m.opt.restitution, t.gap, jnp.where(t.live > 0, ahead, 1), before, after)


def _parting(t: Impact, here: Impact, bounce: Bounce) -> Impact:
    """The step in which contacts that bounce part with their speed, in place of gaps at the end that are positive."""
    gap = jnp.where(bounce.hit, -t.timestep * bounce.speed, here.gap + bounce.room)
    return here._replace(gap=gap, closing=jnp.where(bounce.hit[:, None], t.closing, here.closing))


def _mean_velocity(form: Form, t: Impact, bounce: Bounce, v: Array, force: RowValues) -> Array:
    """[nv] over the step that ends with v: what an impulse adds, positions get from the time of its impact on."""
    missed = RowValues(jnp.zeros_like(force.scalar), bounce.late[:, None] * force.contact)
    push = t.timestep * mul_jt(form.s, t.p, missed)
    return v - lax.dot(inverse(inertia_of(t)), push, precision=lax.Precision.HIGHEST)


def _about(t: Impact, near: Approach, v: Array) -> Impact:
    """The step with gaps that are linear about its end with the velocity v [nv]."""
    rise, closing = linearised(near, v, t.closing)
    if near.cores is not None or near.flat is not None or any(near.rolling):
        # an impulse at one end of a capsule, or where a wheel was, may close a gap at the other; the first place counts
        spread = lax.dot(t.closing, inverse(inertia_of(t)), precision=lax.Precision.HIGHEST)
        opened, before = (jnp.sum(x * spread, axis=1) for x in (closing, t.closing))
        closing = jnp.where((opened > OPENED * before)[:, None], closing, t.closing)
        straight = t.timestep * lax.dot(t.closing, v, precision=lax.Precision.HIGHEST)
        rise = jnp.where(opened > OPENED * before, rise, straight)
    linear = t.timestep * lax.dot(closing, v, precision=lax.Precision.HIGHEST)
    return t._replace(gap=t.gap + t.live * (rise - linear), closing=closing)


def _deep(end: Impact, v: Array, bounce: Bounce | None) -> Array:
    """[] bool: gaps that are linear about the step's end with v [nv] say that something is deep inside something."""
    gap = end.gap + end.timestep * lax.dot(end.closing, v, precision=lax.Precision.HIGHEST)
    gap = gap if bounce is None else jnp.where(bounce.hit, 0, gap)
    return jnp.any((gap < -DEEP) & (end.live > 0) & (end.sink == 0))


def _free_velocity(m: Model, d: Data, t: Impact) -> Array:
    """[nv] where nothing pushes; with the integrator's damping, without which gaps might be those of a turn or two."""
    if t.more is None:
        return d.qvel + m.opt.timestep * d.qacc_smooth
    A = d.qM + (t.more if t.more.ndim == 2 else jnp.diag(t.more))
    return d.qvel + m.opt.timestep * lax.dot(inverse(A), d.qfrc_smooth, precision=lax.Precision.HIGHEST)


def unsearched(d: Data) -> Outcome:
    """In place of how a solution was found that was known before."""
    zero = jnp.zeros((), d.qvel.dtype)
    return Outcome(jnp.zeros((), jnp.int32), jnp.ones((), bool), zero, zero)


def settings_of(m: Model, v: Array) -> Settings:
    """The solver's options, and what floats can tell apart at velocities v [nv]."""
    dtype = m.opt.timestep.dtype
    eps = float(jnp.finfo(dtype).eps)
    digits = eps * jnp.maximum(100, 20 * jnp.max(jnp.abs(v), initial=0))
    accuracy = jnp.asarray(max(1e-6, 1e4 * eps), dtype)
    return Settings(m.opt.kappa, jnp.maximum(m.opt.tolerance, digits), accuracy, max(m.opt.iterations, ITERATIONS))


def impact_of(m: Model, d: Data, mid: Intermediate) -> tuple[Form, Impact]:
    """The numbers of the step from a state whose rows are `mid`'s."""
    s, rows, h = structure_of(m), mid.rows, m.opt.timestep
    form = form_of(s, 0 if mid.slots is None else mid.slots.dist.shape[0])
    pos = jnp.maximum(rows.pos, -h * RECOVERY)
    pos = jnp.where(s.table.equality, jnp.minimum(pos, h * RECOVERY), pos)
    on = s.table.equality & (rows.D > 0)
    share: Array | float = RIGID[str(rows.D.dtype)]
    soft = _compliant(m, s.table)
    if soft.any():  # J v+ = J v + h aref - R impulse
        share = jnp.where(soft, 1, share).astype(h.dtype)
        pos = jnp.where(soft, -h * (mul_scalar(s.table, rows.J, d.qvel) + h * rows.aref), pos)
    rigid = share / jnp.where(on, rows.D, 1)
    step = Impact(
        p=problem_of(d.qM, mid.inertia, d.qfrc_smooth, rows),
        more=_implicit_part(m, d, mid),
        qvel=d.qvel,
        timestep=h,
        pos=pos,
        loss=h * rows.frictionloss,
        compliance=jnp.where(on, rigid, jnp.inf),
        gap=None,
        live=None,
        friction=None,
        slide=None,
        closing=None,
        sink=None,
        inertia=m.stat.meaninertia,
        give=YIELDING[str(rows.D.dtype)] / m.stat.meaninertia,
    )
    if mid.slots is None:
        return form, step
    contact = frictionless_masked(rows.contact)
    live = contact.condim > 0  # not so between things that cannot move
    return form, step._replace(
        gap=jnp.where(live, jnp.maximum(contact.pos, -h * RECOVERY), 1),
        live=live.astype(h.dtype),
        friction=contact.friction,
        closing=contact.J[:, 0],
        sink=_sinking(m, mid.slots, contact.pos),
        slide=surface_velocity(m, d, mid.slots, s.table.contact_dim)[:, 1:] if m.hassurfacevel else None,
    )


def _sinking(m: Model, slots: ContactSlots, pos: Array) -> Array:
    """[k] m/s by N s: how fast contacts yield that begin inside, in full those that are twice as deep as steps end."""
    inside = jnp.clip((-pos - DEEP) / DEEP, 0, 1)
    return SINKING * inside * jnp.broadcast_to(slot_params(m, slots).invweight, pos.shape)


def _compliant(m: Model, table: RowTable) -> np.ndarray:
    """[n] bool: rows of equalities that give way as under the soft law. Those with mocap bodies always do: what is
    dragged there is far behind when they jump, and often cannot follow."""
    if m.opt.equality == EqualityLaw.COMPLIANT:
        return table.equality
    tied = np.isin(m.eq_type, (EqType.CONNECT, EqType.WELD))
    drags = np.zeros(m.neq, bool)
    for obj in (m.eq_obj1id, m.eq_obj2id):
        body = np.where(tied, obj, 0)
        if m.nsite:
            body = np.where(m.eq_objtype == ObjType.SITE, m.site_bodyid[np.clip(obj, 0, m.nsite - 1)], body)
        root = m.body_rootid[body]
        drags |= tied & (m.body_mocapid[root] >= 0) & (m.body_weldid[body] == root)
    return table.equality & np.isin(table.id, np.flatnonzero(drags))


def _implicit_part(m: Model, d: Data, mid: Intermediate) -> Array | None:
    """What the integrator adds to M: a diagonal [nv], a matrix [nv, nv], or nothing."""
    if m.opt.integrator == Integrator.IMPLICIT:
        return implicit_matrix(m, d, mid) - d.qM
    if m.opt.integrator == Integrator.IMPLICITFAST:
        return implicitfast_matrix(m, d, mid, standalone_free_bodies(m))[0]
    return euler_diagonal(m, d)
