"""Time integration: Euler with implicit damping, RK4, implicit, implicitfast (mj_Euler, mj_RungeKutta, mj_implicit)."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.algebra.select import put, take
from jaxsim.algebra.tree import dof_chain
from jaxsim.core.data import Data
from jaxsim.core.enums import DisableBit, Integrator, JointType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology
from jaxsim.dynamics.actuation import actuator_velocity_gain, next_activation
from jaxsim.dynamics.bias_slope import bias_slope
from jaxsim.dynamics.com import Inertia, com_vel, inertia_product, rne
from jaxsim.dynamics.coordinates import TURNING, joints_of, read, spins_of
from jaxsim.dynamics.fluid import fluid_slope, has_fluid
from jaxsim.dynamics.passive import damping, poly_force_slope, tendon_damping
from jaxsim.dynamics.plastic import flow
from jaxsim.dynamics.position import integrate_pos
from jaxsim.solvers.linear.general import solve_general
from jaxsim.solvers.linear.small import solve_small
from jaxsim.solvers.linear.solve import Known, solve
from jaxsim.stages.forward import Accelerations, Intermediate, forward, known_of

Array = jax.Array


def advance(m: Model, d: Data, qacc: Array, qvel: Array | None = None) -> Data:
    """act [na], qvel [nv], qpos [nq] and time, one time step on with qacc [nv] (mj_advance).

    Positions move with the new velocity, or with `qvel` [nv] if given, as the stages of RK4 do.
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
    if m.opt.integrator == Integrator.IMPLICITFAST:
        qacc, solved = _implicitfast_acceleration(m, d, mid, known)
    elif m.opt.integrator == Integrator.IMPLICIT:
        qacc = solved = _implicit_acceleration(m, d, mid, known)
    else:
        qacc = solved = _euler_acceleration(m, d, mid, known)
    moved = advance(m, d, qacc)
    return flow(m, d, mid.ten_J, moved.qvel, moved), solved


def _euler_acceleration(m: Model, d: Data, mid: Intermediate, known: Array | None) -> Array:
    """(M + h B)^-1 (qfrc_smooth + qfrc_constraint), with B the diagonal joint damping."""
    if not m.nv or m.opt.disables(DisableBit.EULERDAMP) or m.opt.disables(DisableBit.DAMPER):
        return d.qacc
    slope = poly_force_slope(*damping(m), d.qvel, odd=True)
    return solve(d.qM, d.qfrc_smooth + d.qfrc_constraint, m.opt.timestep * slope, known_of(m, mid.inertia, known))


def _add_diagonal(matrix: Array, diagonal: Array) -> Array:
    return matrix + diagonal[:, None] * jnp.eye(matrix.shape[0], dtype=matrix.dtype)


def _implicitfast_acceleration(m: Model, d: Data, mid: Intermediate, known: Array | None) -> tuple[Array, Array]:
    """(M - h dF/dv)^-1 (qfrc_smooth + qfrc_constraint), with F the passive and actuator forces; twice.

    Free bodies on their own also get the derivative of their gyroscopic force, which is not symmetric; the second
    result is without it.
    """
    if not m.nv:
        return d.qacc, d.qacc
    h, force, bodies = m.opt.timestep, d.qfrc_smooth + d.qfrc_constraint, standalone_free_bodies(m)
    more = _damping_matrix(m, d, mid)
    matrix = whole = d.qM + more
    if has_fluid(m):
        alone = np.isin(np.arange(m.nbody), bodies)
        drag = h * fluid_slope(m, d, alone)
        whole = matrix - drag
        # that of lone free bodies is not symmetric; they are solved for below
        more = more - drag * jnp.asarray(~alone[m.dof_bodyid], drag.dtype)[:, None]
        matrix = d.qM + more
    parts = functools.partial(_sum_product, m.topology), (mid.inertia, more)
    qacc = solve(matrix, force, known=None if known is None else Known(known, *parts))
    return _gyroscopic(m, d, whole, force, qacc, bodies) if len(bodies) else qacc, qacc


def _implicit_acceleration(m: Model, d: Data, mid: Intermediate, known: Array | None) -> Array:
    """(M - h dF/dv)^-1 (qfrc_smooth + qfrc_constraint), with F all smooth forces, those of the bias too."""
    if not m.nv:
        return d.qacc
    h = m.opt.timestep
    matrix = d.qM + _damping_matrix(m, d, mid) + h * bias_slope(m, d, mid.cdof_dot)
    if has_fluid(m):
        matrix = matrix - h * fluid_slope(m, d, np.ones(m.nbody, bool))
    return solve_general(matrix, d.qfrc_smooth + d.qfrc_constraint, known)


def _damping_matrix(m: Model, d: Data, mid: Intermediate) -> Array:
    """-h dF/dv [nv, nv] of the dampers of joints and tendons and of the actuators."""
    h, more = m.opt.timestep, jnp.zeros_like(d.qM)
    if not m.opt.disables(DisableBit.DAMPER):
        more = _add_diagonal(more, h * poly_force_slope(*damping(m), d.qvel, odd=True))
        if m.ntendon:
            more = more + h * _gram(m, mid.ten_J, poly_force_slope(*tendon_damping(m), d.ten_velocity, odd=True))
    if m.nactuator and not m.opt.disables(DisableBit.ACTUATION):
        more = more - h * _gram(m, mid.moment, actuator_velocity_gain(m, d))
    return more


def _sum_product(t: Topology, parts: tuple[Inertia, Array], x: Array) -> Array:
    """(M + more) x [nv], for the parts of M and a matrix more [nv, nv]."""
    inertia, more = parts
    return inertia_product(t, inertia, x) + lax.dot(more, x, precision=lax.Precision.HIGHEST)


def _gram(m: Model, J: Array, weight: Array) -> Array:
    """J^T diag(weight) J, within the sparsity of M: MuJoCo drops couplings of dofs on different branches."""
    weighted = weight[:, None] * J
    product = lax.dot_general(J, weighted, (((0,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)
    chain = dof_chain(m.topology)
    return product * jnp.asarray(np.maximum(chain, chain.T), product.dtype)


def standalone_free_bodies(m: Model) -> np.ndarray:
    """Ids [k] of bodies with one free joint and no children that move relative to them (mj_isFreeBody)."""
    free = m.jnt_bodyid[m.jnt_type == JointType.FREE]
    tree_dofs = np.bincount(m.dof_treeid, minlength=m.ntree)
    return np.array([b for b in free if tree_dofs[m.body_treeid[b]] == 6], int)


def _gyroscopic(m: Model, d: Data, matrix: Array, force: Array, qacc: Array, bodies: np.ndarray) -> Array:
    """Replace the accelerations of lone free bodies by a solve that includes d qfrc_bias / d omega."""

    def bias(omega):
        moved = d.replace(qvel=put(d.qvel, spin.ravel(), omega.reshape(-1)))
        moved, cdof_dot = com_vel(m, moved)
        return rne(m, moved, cdof_dot)

    first = m.jnt_dofadr[m.body_jntadr[bodies]]
    dofs = first[:, None] + np.arange(6)
    spin = dofs[:, 3:]
    omega = take(d.qvel, spin.ravel()).reshape(-1, 3)
    # bodies are independent, so one tangent per axis serves all of them
    directions = jnp.broadcast_to(jnp.eye(3, dtype=omega.dtype)[:, None], (3, *omega.shape))
    slopes = jax.vmap(lambda v: jax.jvp(bias, (omega,), (v,))[1])(directions)
    local = jnp.swapaxes(slopes, 0, 1)
    block = jnp.stack([matrix[r[:, None], r[None]] for r in dofs])
    extra = jnp.stack([take(local, r) for r in dofs])
    block = block + m.opt.timestep * jnp.concatenate([jnp.zeros_like(extra), extra], axis=2)
    rhs = jnp.stack([take(force, r) for r in dofs])
    solution = solve_small(block, rhs)
    return put(qacc, dofs.ravel(), solution.reshape(-1))


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
            qpos=integrate_pos(m, d.qpos, dx, h),
            qvel=d.qvel + h * weight * here.qacc,
            act=d.act + h * weight * here.act_dot,
            time=d.time + weight * h,
        )
        here, _ = forward(m, here, sense=False, known=found)
        velocity = _exponential_rate(m, h * dx, here.qvel)
        solved = Accelerations(here.qacc_smooth, here.qacc)
        return (here, velocity), (velocity, here.qacc, here.act_dot, solved)

    def combine(first, later):
        return (first + 2 * later[0] + 2 * later[1] + later[2]) / 6

    # a loop, so that the dynamics are compiled once for the three stages
    weights = jnp.array([0.5, 0.5, 1.0], d.qpos.dtype)
    (here, _), (velocities, accelerations, activation_rates, solved) = lax.scan(stage, (d, d.qvel), (weights, known))
    end = here.replace(
        qpos=d.qpos, qvel=d.qvel, act=d.act, time=d.time, act_dot=combine(d.act_dot, activation_rates), qacc=here.qacc
    )
    velocity = combine(d.qvel, velocities)
    moved = advance(m, end, combine(d.qacc, accelerations), velocity)
    return flow(m, d, mid.ten_J, velocity, moved), solved


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
