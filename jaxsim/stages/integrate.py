"""Time integration: Euler with implicit damping, RK4, implicit, implicitfast (mj_Euler, mj_RungeKutta, mj_implicit).

What the integrator discrete asks for is in `metric`: its forward dynamics give the velocity at the end of the step.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.algebra.select import put, take
from jaxsim.algebra.structured import product
from jaxsim.core.data import Data
from jaxsim.core.enums import DisableBit, DynType, Integrator
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology
from jaxsim.dynamics.actuation import next_activation
from jaxsim.dynamics.com import Inertia, inertia_product
from jaxsim.dynamics.coordinates import TURNING, joints_of, read, spins_of
from jaxsim.dynamics.energy import energy
from jaxsim.dynamics.plastic import flow
from jaxsim.dynamics.position import integrate_pos
from jaxsim.solvers.linear.general import solve_general
from jaxsim.solvers.linear.small import solve_small
from jaxsim.solvers.linear.solve import Known, damped, solve
from jaxsim.stages.constrained import is_constrained
from jaxsim.stages.effective import (
    euler_diagonal,
    free_blocks,
    implicit_matrix,
    implicitfast_matrix,
    standalone_free_bodies,
)
from jaxsim.stages.forward import forward, known_of
from jaxsim.stages.hard import is_hard
from jaxsim.stages.intermediate import Intermediate, found_in
from jaxsim.stages.metric import is_discrete
from jaxsim.stages.sleep import lying, rested

Array = jax.Array


def advance(m: Model, d: Data, qacc: Array, qvel: Array | None = None) -> Data:
    """act [na], qvel [nv], qpos [nq] and time, one time step on with qacc [nv] (mj_advance).

    Positions move with the new velocity, or with `qvel` [nv] if given, as the stages of RK4 and what bounces do.
    """
    dt = m.opt.timestep
    act = d.act if m.opt.disables(DisableBit.ACTUATION) else next_activation(m, d)
    velocity = d.qvel + dt * qacc
    return d.replace(
        act=act,
        qvel=velocity,
        qpos=integrate_pos(m, d.qpos, velocity if qvel is None else qvel, dt),
        time=d.time + dt,
        qacc_warmstart=d.qacc,
    )


def integrate(m: Model, d: Data, mid: Intermediate, known: Any = None) -> tuple[Data, Any]:
    """Advance by the model's integrator.

    Args:
        m: the model.
        d: the results of `forward`.
        mid: its intermediate results.
        known: what an earlier call for the same state solved for, which then is not solved for again.

    Returns:
        Data one step later, and what was solved for: the acceleration [nv] by which the velocity advances (before
        that of free bodies is corrected), or those of the later stages of RK4.
    """
    if m.opt.integrator == Integrator.RK4:
        return _runge_kutta(m, d, mid, known)
    if (is_hard(m) and is_constrained(m, mid)) or is_discrete(m):  # which found the velocity at the end of the step
        qacc = solved = d.qacc
    elif m.opt.integrator == Integrator.IMPLICITFAST:
        qacc, solved = _implicitfast_acceleration(m, d, mid, known)
    elif m.opt.integrator == Integrator.IMPLICIT:
        qacc = solved = _implicit_acceleration(m, d, mid, known)
    else:
        qacc = solved = _euler_acceleration(m, d, mid, known)
    moved = rested(m, d, mid, advance(m, d, qacc, mid.mean))
    return flow(m, d, mid.ten_J, moved.qvel, moved), solved


def _euler_acceleration(m: Model, d: Data, mid: Intermediate, known: Array | None) -> Array:
    """(M + h B)^-1 (qfrc_smooth + qfrc_constraint), with B the diagonal joint damping."""
    diagonal = euler_diagonal(m, d)
    if diagonal is None:
        return d.qacc
    found = known_of(m, mid.inertia, known)
    if found is not None and is_constrained(m, mid):  # the forces are M qacc, which saves their derivative
        return damped(mid.mass, d.qacc, diagonal, found)
    return solve(mid.mass, _force(m, d, mid), diagonal, found)


def _implicitfast_acceleration(m: Model, d: Data, mid: Intermediate, known: Array | None) -> tuple[Array, Array]:
    """(M - h dF/dv)^-1 (qfrc_smooth + qfrc_constraint), with F the passive and actuator forces; twice.

    Free bodies on their own also get the derivative of their gyroscopic force, which is not symmetric; the second
    result is without it.
    """
    if not m.nv:
        return d.qacc, d.qacc
    force, bodies = _force(m, d, mid), standalone_free_bodies(m)
    more, symmetric, whole = implicitfast_matrix(m, d, mid, bodies)
    parts = functools.partial(_sum_product, m.topology), (mid.inertia, more)
    qacc = solve(symmetric, force, known=None if known is None else Known(known, *parts))
    if not len(bodies):
        return qacc, qacc
    dofs, block = free_blocks(m, d, whole, bodies)
    solution = solve_small(block, take(force, dofs.ravel()).reshape(dofs.shape))
    return put(qacc, dofs.ravel(), solution.reshape(-1)), qacc


def _implicit_acceleration(m: Model, d: Data, mid: Intermediate, known: Array | None) -> Array:
    """(M - h dF/dv)^-1 (qfrc_smooth + qfrc_constraint), with F all smooth forces, those of the bias too."""
    if not m.nv:
        return d.qacc
    return solve_general(implicit_matrix(m, d, mid), _force(m, d, mid), known)


def _force(m: Model, d: Data, mid: Intermediate) -> Array:
    """qfrc_smooth + qfrc_constraint [nv].

    What presses on a pivot has so large a force (see contact_rows) that little but rounding is left of qfrc_constraint.
    M qacc is the same sum, as far as qacc was found.
    """
    force = d.qfrc_smooth + d.qfrc_constraint
    if not m.haspivots:
        return force
    inertial = product(functools.partial(inertia_product, m.topology), mid.mass, mid.inertia, d.qacc)
    return jnp.where(d.solver_converged, inertial, force)


def _sum_product(t: Topology, parts: tuple[Inertia, Array], x: Array) -> Array:
    """(M + more) x [nv], for the parts of M and a matrix more [nv, nv]."""
    inertia, more = parts
    return inertia_product(t, inertia, x) + lax.dot(more, x, precision=lax.Precision.HIGHEST)


def _runge_kutta(m: Model, d: Data, mid: Intermediate, known: Any) -> tuple[Data, Any]:
    """Fourth order Runge-Kutta, of order four for orientations too (mj_RungeKutta of MuJoCo 4.0).

    Rotations are integrated in the exponential coordinates of the step (Munthe-Kaas), so each stage's
    velocity is mapped by the inverse of the exponential's derivative.
    """
    h = m.opt.timestep

    def stage(carry, inputs):
        here, velocity = carry
        weight, found = inputs
        dx = weight * velocity
        here = here.replace(
            qpos=lying(m, here, integrate_pos(m, d.qpos, dx, h)),
            qvel=d.qvel + h * weight * here.qacc,
            act=d.act + h * weight * here.act_dot,
            time=d.time + weight * h,
        )
        stepped, later = forward(m, here, sense=False, known=found)
        here = _worse(here, stepped)
        velocity = _exponential_rate(m, h * dx, here.qvel)
        return (here, velocity), (velocity, here.qacc, here.act_dot, found_in(here, later))

    def combine(first, later):
        return (first + 2 * later[0] + 2 * later[1] + later[2]) / 6

    # a loop, so that the dynamics are compiled once for the three stages
    weights = jnp.array([0.5, 0.5, 1.0], d.qpos.dtype)
    (here, _), (velocities, accelerations, activation_rates, solved) = lax.scan(stage, (d, d.qvel), (weights, known))
    act_dot, qacc, velocity = (
        combine(*x) for x in ((d.act_dot, activation_rates), (d.qacc, accelerations), (d.qvel, velocities))
    )
    end = energy(m, here).replace(**_of_the_start(m, d))
    start = end.replace(qpos=d.qpos, qvel=d.qvel, act=d.act, time=d.time, act_dot=act_dot)
    moved = advance(m, start, qacc, velocity)
    # what is left is of the last stage, but for the acceleration, which is that of the step
    moved = rested(m, start, mid, moved.replace(act_dot=here.act_dot, qacc=qacc))
    return flow(m, d, mid.ten_J, velocity, moved), solved


def _of_the_start(m: Model, d: Data) -> dict[str, Array]:
    """What a step ends by as it was at its start: speeds for bristles of motors, lengths for springs that yield."""
    motors = np.any(m.actuator_dyntype == DynType.DCMOTOR)
    speeds = {"actuator_velocity": d.actuator_velocity} if motors else {}
    return speeds | ({"ten_length": d.ten_length} if m.nplastic else {})


def _worse(before: Data, now: Data) -> Data:
    """The later stage's Data, which says of the solver how the worse of both stages ended."""
    return now.replace(
        solver_converged=before.solver_converged & now.solver_converged,
        solver_residual=jnp.maximum(before.solver_residual, now.solver_residual),
    )


def _exponential_rate(m: Model, x: Array, velocity: Array) -> Array:
    """Rate of the exponential coordinates x of each rotation, given the body-frame velocity: dexp^-1."""
    joints = joints_of(m, *TURNING)
    if not len(joints):
        return velocity
    spin = spins_of(m, joints)
    u, w = read(x, spin), read(velocity, spin)
    uw = vector.cross(u, w)
    rate = w + 0.5 * uw + _dexp_inverse(vector.dot(u, u))[:, None] * vector.cross(u, uw)
    return put(velocity, spin.ravel(), rate.reshape(-1))


def _dexp_inverse(square: Array) -> Array:
    """(1 - a/2 cot(a/2)) / a^2 for a rotation angle a given by its square; 1/12 at zero."""
    small = square < 1e-4
    angle = jnp.sqrt(jnp.where(small, 1, square))
    closed = (1 - 0.5 * angle / jnp.tan(0.5 * angle)) / jnp.where(small, 1, square)
    return jnp.where(small, 1 / 12 + square / 720 + square * square / 30240, closed)
