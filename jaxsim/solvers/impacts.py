"""A step of velocities and impulses under hard constraints, as a problem of complementarity.

    M (v+ - v) = h force + J^T impulses        momentum, with M + h B where damping is implicit
    s = phi + h J_n v+  (+ h give gamma)       gaps of contacts and limits at the end of the step
    gamma s = kappa,  xi o eta = kappa e       impact, limits and friction (constraint/laws/hard.py)
    J v+ + pos / h + R lambda = 0              equalities, R tiny

The unknowns are v+ and lambda (free), and the pairs (gamma, s) of contacts and limits, (xi, eta) of contacts and of
friction losses in cones. A Newton step condenses them to the velocities, to a matrix like the soft law's,

    A = M + J^T K J',    K of a contact:  [[h gamma / s, 0], [coupling, friction slope]]

with J' = J but for the normal rows, which may be those at the end of the step (constraint/approach.py), while impulses
act where contacts are at its beginning. This, and the coupling of friction to the normal force, make it unsymmetric.
Its factors serve both solves of an iteration and the derivatives.

Source: Dojo (Howell, Le Cleac'h et al. 2022), section IV, in joint coordinates.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.select import scatter_add, take
from jaxsim.algebra.structured import product
from jaxsim.constraint.contact import as_matrix
from jaxsim.constraint.laws.hard import Friction, bound_step, friction_step
from jaxsim.constraint.rows import RowValues
from jaxsim.solvers import objective
from jaxsim.solvers.interior_point.cones import Cones
from jaxsim.solvers.interior_point.problem import Point, Problem
from jaxsim.solvers.linear.triangles import Factors, factored, solved
from jaxsim.solvers.objective import Structure, gram, mul_j, mul_jt

Array = jax.Array

# where on the path the solver begins: speed of the least gap (m/s), and acceleration whose impulse is the normal one
# there (m/s^2); both well above what a step of a robot has
SPEED, PUSH = 10, 50
SLIPS = 0.1  # s, by the timestep: how many times farther xi o eta is on the way than gamma s


class Impact(NamedTuple):
    """Numbers of one step, everything that may be differentiated: n scalar rows, k contact slots."""

    p: objective.Problem  # of it M, its parts, qfrc_smooth and the Jacobians
    more: Array | None  # [nv] or [nv, nv] what an implicit step adds to M
    qvel: Array  # [nv] m/s, rad/s
    timestep: Array  # [] s
    pos: Array  # [n] m, rad: distances to limits, errors of equalities
    loss: Array  # [n] N s, N m s: bounds of the impulses of friction losses
    compliance: Array  # [n] 1/kg ...: R of equalities; infinite for those that are off
    gap: Array | None  # [k] m; a positive number for idle slots
    live: Array | None  # [k] 1 for contacts, 0 for idle slots
    friction: Array | None  # [k, dim - 1] zero along axes that a contact does not have
    slide: Array | None  # [k, dim - 1] m/s what moving surfaces add to the slip; None where none does
    closing: Array | None  # [k, nv] how gaps grow with velocities, by h
    inertia: Array  # [] kg m^2 by which the momentum equations are divided
    give: Array  # [] m/s by N s: how fast what is pressed on yields
    sink: Array | None  # [k] m/s by N s: how much faster contacts do that begin inside


class Form(NamedTuple):
    """What is static of a step: whose scalar rows are of friction losses, limits and equalities, and the cones.

    The positive numbers of the cones are the k contacts and then the limits; the second-order cones those of contacts,
    if any has friction, and then the friction losses, if there are any.
    """

    s: Structure
    slots: int
    loss: np.ndarray
    limit: np.ndarray
    equality: np.ndarray
    place: np.ndarray  # [n] where each row stands when the three are joined
    cones: Cones


class Errors(NamedTuple):
    """Residuals of the equations, or right-hand sides of a step."""

    momentum: Array  # [nv] m/s, rad/s
    gap: Array  # [orthant] m, rad
    head: list[Array]  # [n] for each group of cones: xi_0 less the impulse that bounds it
    slip: list[Array]  # [n, dim - 1] for each group: eta_1: less the scaled slip
    equality: Array  # m/s, rad/s


class Speeds(NamedTuple):
    """J v, by what it moves."""

    closing: Array  # [orthant]
    slip: list[Array]  # [n, dim - 1] for each group of cones, scaled as in eta
    equality: Array


def form_of(s: Structure, slots: int) -> Form:
    """The form of a model's steps with so many contact slots."""
    bound, equal = s.table.friction, s.table.equality
    loss, limit, equality = (np.flatnonzero(kind) for kind in (bound, ~bound & ~equal, equal))
    dim = s.table.contact_dim
    groups = [(slots, dim)] * (slots > 0 and dim > 1) + [(len(loss), 2)] * (len(loss) > 0)
    place = np.argsort(np.concatenate([loss, limit, equality]))
    return Form(s, slots, loss, limit, equality, place, Cones(slots + len(limit), tuple(groups)))


def start_of(form: Form, t: Impact, v: Array) -> Point:
    """Where the solver begins: velocities v [nv], and gaps, impulses and slips that are on the central path for them.

    Gaps are at least `least`, as those of a free motion into a surface are not, and impulses are kappa / gap. Both
    scales go with the timestep, as gaps that a step closes and impulses that it needs do.
    """
    speeds, h = speeds_of(form, t, v), t.timestep
    least = SPEED * h
    kappa = least * PUSH * h * t.inertia
    gap = jnp.maximum(_gaps(form, t) + h * speeds.closing, least)
    number = kappa / gap
    cones, duals = [], []
    for bound, slip in zip(bounds(form, number), _slips(t, speeds)):
        xi, eta = friction_on_path(bound, slip, kappa * SLIPS / h)
        cones.append(xi)
        duals.append(eta)
    return Point(
        (v, jnp.zeros(len(form.equality), v.dtype)), form.cones.join(number, cones), form.cones.join(gap, duals)
    )


def way_weight(cones: Cones, h: Array) -> Array:
    """[cones.size] of products on the way from afar, for timesteps h [].

    Gaps at the end of a step go with its length and slips do not. With one kappa for both a short step's friction would
    be rigid while its gaps are still soft, and such problems often have no way to the end: at 1e-4 s, impacts of a box
    on its corners converged in 22 of 50 scenes, and do in all with these weights.
    """
    numbers = jnp.ones(cones.orthant, h.dtype)
    return jnp.concatenate([numbers, jnp.broadcast_to(SLIPS / h, (cones.size - cones.orthant,))])


def friction_on_path(bound: Array, slip: Array, kappa: Array) -> tuple[Array, Array]:
    """xi and eta [n, 1 + k] with xi o eta = kappa e, for bounds [n] of impulses and scaled slips [n, k]."""
    eps = kappa / (2 * bound)
    most = (eps + jnp.sqrt(eps * eps + jnp.sum(slip * slip, axis=1)))[:, None]
    xi = jnp.concatenate([bound[:, None], -bound[:, None] * slip / most], axis=1)
    return xi, jnp.concatenate([most, slip], axis=1)


def impact_problem(form: Form) -> Problem:
    """The problem of one step; its theta is an Impact, and its a is (v+ [nv], lambda [equalities])."""
    return Problem(
        form.cones,
        functools.partial(_residual, form),
        functools.partial(_factor, form),
        functools.partial(_solve, form),
        weight=lambda t: way_weight(form.cones, t.timestep),
    )


def impulses(form: Form, t: Impact, w: Point) -> RowValues:
    """Impulses (N s, N m s) along the scalar rows [n] and the contacts' axes [k, dim], or steps of them."""
    numbers, vectors = form.cones.split(w.b)
    loss = take(t.loss, form.loss) * vectors[-1][:, 1] if len(form.loss) else numbers[:0]
    scalar = take(jnp.concatenate([loss, numbers[form.slots :], w.a[1]]), form.place)
    if not form.slots:
        return RowValues(scalar, None)
    contact = numbers[: form.slots, None]
    if t.friction.shape[1]:
        contact = jnp.concatenate([contact, t.friction * vectors[0][:, 1:]], axis=1)
    return RowValues(scalar, t.live[:, None] * contact)


def within_cones(form: Form, w: Point) -> Point:
    """The point with friction shortened to what bounds it, where a search ended before it was within that."""
    numbers, vectors = form.cones.split(w.b)

    def shorter(x: Array, bound: Array) -> Array:
        most = jnp.maximum(bound, 0)
        beyond = x[:, 0] > most  # at kappa = 0 both may be zero
        return x * jnp.where(beyond, most / jnp.where(beyond, x[:, 0], 1), 1)[:, None]

    inside = [shorter(x, bound) for x, bound in zip(vectors, bounds(form, numbers), strict=True)]
    return w._replace(b=form.cones.join(numbers, inside))


def speeds_of(form: Form, t: Impact, v: Array) -> Speeds:
    """Of the rows, where the velocities are v [nv]."""
    jv = mul_j(form.s, t.p, v)
    closing, slip = [take(jv.scalar, form.limit)], []
    if form.slots:
        closing.insert(0, t.live * _times(t.closing, v))
        if t.friction.shape[1]:
            slip.append(t.friction * jv.contact[:, 1:])
    if len(form.loss):
        slip.append(take(t.loss * jv.scalar, form.loss)[:, None])
    return Speeds(jnp.concatenate(closing), slip, take(jv.scalar, form.equality))


def _residual(form: Form, t: Impact, w: Point) -> Errors:
    (v, equality), h = w.a, t.timestep
    (b, cones), (c, duals) = form.cones.split(w.b), form.cones.split(w.c)
    speeds = speeds_of(form, t, v)
    inertial = _inertial(form.s, t, v - t.qvel)
    momentum = inertial - h * t.p.qfrc_smooth - mul_jt(form.s, t.p, impulses(form, t, w))
    on, R = compliance(form, t)
    return Errors(
        momentum / t.inertia,
        c - _gaps(form, t) - h * (speeds.closing + normal_give(form, t) * b),
        [x[:, 0] - bound for x, bound in zip(cones, bounds(form, b))],
        [y[:, 1:] - slip - e * x[:, 1:] for x, y, slip, e in zip(cones, duals, _slips(t, speeds), _gives(form, t))],
        on * (speeds.equality + take(t.pos, form.equality) / h) + R * equality,
    )


def _gaps(form: Form, t: Impact) -> Array:
    """[orthant] m, rad: gaps of contacts and limits without velocity."""
    limits = take(t.pos, form.limit)
    return jnp.concatenate([t.gap, limits]) if form.slots else limits


def _slips(t: Impact, speeds: Speeds) -> list[Array]:
    """[n, dim - 1] of each group of cones, with what moving surfaces add to the contacts'."""
    if t.slide is None or not t.friction.shape[1]:
        return speeds.slip
    return [speeds.slip[0] + t.friction * t.slide, *speeds.slip[1:]]


def normal_give(form: Form, t: Impact) -> Array:
    """[orthant] m/s by N s: how fast contacts and limits yield to their impulses."""
    give = jnp.broadcast_to(t.give, form.cones.orthant)
    return give.at[: form.slots].add(t.sink) if form.slots else give


def _gives(form: Form, t: Impact) -> list[Array]:
    """[n, dim - 1] of each group of cones: by how much friction yields, in units of xi and eta."""
    scales = [take(t.loss, form.loss)[:, None]] * (len(form.loss) > 0)
    if form.slots and t.friction.shape[1]:
        scales.insert(0, t.friction)
    return [t.give * x * x for x in scales]


def bounds(form: Form, numbers: Array) -> list[Array]:
    """[n] what xi_0 of each group of cones is: the normal impulses of contacts, and 1 of friction losses."""
    contact = [numbers[: form.slots]] * (len(form.cones.second) - (len(form.loss) > 0))
    return contact + [jnp.ones(len(form.loss), numbers.dtype)] * (len(form.loss) > 0)


def compliance(form: Form, t: Impact) -> tuple[Array, Array]:
    """[equalities] 1 for equalities that are on, 0 for others, and R, then 1: these have no impulse."""
    R = take(t.compliance, form.equality)
    on = jnp.isfinite(R)
    return on.astype(R.dtype), jnp.where(on, R, 1)


def _factor(form: Form, t: Impact, w: Point) -> Factors:
    (b, cones), (c, duals) = form.cones.split(w.b), form.cones.split(w.c)
    reduced = [friction_step(x, y, jnp.zeros_like(x), e) for x, y, e in zip(cones, duals, _gives(form, t))]
    return condensed(form, t, t.timestep * b / (c + t.timestep * normal_give(form, t) * b), reduced)


def condensed(form: Form, t: Impact, stiffness: Array, reduced: list[Friction]) -> Factors:
    """The matrix of velocities where impulses of contacts and limits fall by `stiffness` [orthant] times speed, and
    those of friction as `reduced` says of each group of cones."""
    on, R = compliance(form, t)
    loss = take(t.loss, form.loss)
    along = -loss * loss * reduced[-1].slip[:, 0, 0] if len(form.loss) else loss
    scalar, nd = take(jnp.concatenate([along, stiffness[form.slots :], on / R]), form.place), len(form.s.table.dof)
    A = inertia_of(t) + _diagonal(scatter_add(form.s.table.dof, scalar[:nd], t.qvel.shape[0]))
    if t.p.J.shape[0]:
        A = A + gram(t.p.J, scalar[nd:, None] * t.p.J)
    if form.slots:
        K, J = _contact_block(t, t.live * stiffness[: form.slots], reduced), t.p.contact.J
        right = jnp.concatenate([t.closing[:, None], J[:, 1:]], axis=1)
        A = A + gram(as_matrix(J), as_matrix(jnp.sum(K[:, :, :, None] * right[:, None], axis=2)))
    return factored(A)


def inertia_of(t: Impact) -> Array:
    """M [nv, nv] and what the integrator adds to it."""
    if t.more is None:
        return t.p.M
    return t.p.M + (t.more if t.more.ndim == 2 else _diagonal(t.more))


def _contact_block(t: Impact, stiffness: Array, reduced: list[Friction]) -> Array:
    """Minus the slopes of a contact's impulses along its axes [k, dim, dim]."""
    K = stiffness[:, None, None]
    if not t.friction.shape[1]:
        return K
    coupling = (t.friction * reduced[0].normal * stiffness[:, None])[:, :, None]
    slope = -t.friction[:, :, None] * reduced[0].slip * t.friction[:, None]
    top = jnp.concatenate([K, jnp.zeros_like(t.friction)[:, None]], axis=2)
    return jnp.concatenate([top, jnp.concatenate([coupling, slope * t.live[:, None, None]], axis=2)], axis=1)


def _solve(form: Form, t: Impact, w: Point, factors: Factors, r: Errors, s: Array) -> Point:
    """A step of all variables, from one of the velocities: what follows if they stay, then how they move."""
    still = _follow(form, t, w, r, s, None)
    force = r.momentum * t.inertia + mul_jt(form.s, t.p, impulses(form, t, still))
    return _follow(form, t, w, r, s, solved(factors, force))


def _follow(form: Form, t: Impact, w: Point, r: Errors, s: Array, dv: Array | None) -> Point:
    """The step of all other variables that goes with dv [nv], which is zero if not given."""
    (b, cones), (c, duals), (numbers, vectors) = (form.cones.split(x) for x in (w.b, w.c, s))
    gap, slips, equality = r.gap, r.slip, r.equality
    on, R = compliance(form, t)
    if dv is None:
        dv = jnp.zeros_like(t.qvel)
    else:
        speeds = speeds_of(form, t, dv)
        gap = gap + t.timestep * speeds.closing
        slips = [x + y for x, y in zip(slips, speeds.slip)]
        equality = equality - on * speeds.equality
    give = t.timestep * normal_give(form, t)
    normal = (numbers - b * gap) / (c + give * b)
    gap = gap + give * normal
    moved = bounds(form, normal)
    if len(form.loss):
        moved[-1] = jnp.zeros_like(moved[-1])
    db, dc = [], []
    for xi, eta, right, slip, head, bound, e in zip(cones, duals, vectors, slips, r.head, moved, _gives(form, t)):
        first, change = (head + bound)[:, None], friction_step(xi, eta, right, e)
        across = change.offset + change.normal * first + jnp.sum(change.slip * slip[:, None], axis=2)
        dxi, slip = jnp.concatenate([first, across], axis=1), slip + e * across
        db.append(dxi)
        dc.append(jnp.concatenate([bound_step(xi, eta, right, dxi, slip), slip], axis=1))
    return Point((dv, equality / R), form.cones.join(normal, db), form.cones.join(gap, dc))


def _inertial(s: Structure, t: Impact, x: Array) -> Array:
    """(M + more) x [nv]."""
    force = product(s.inertia_product, t.p.M, t.p.inertia, x)
    if t.more is None:
        return force
    return force + (t.more * x if t.more.ndim == 1 else _times(t.more, x))


def _diagonal(x: Array) -> Array:
    return x[:, None] * jnp.eye(x.shape[0], dtype=x.dtype)


def _times(A: Array, x: Array) -> Array:
    return lax.dot(A, x, precision=lax.Precision.HIGHEST)
