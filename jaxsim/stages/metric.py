"""The integrator discrete: constraints and implicit integration are one solve (MuJoCo 4.0, mjINT_DISCRETE).

    M^ a = f(q, v) - h K v + J^T f_c,    M^ = M + h D + h^2 K,    v' = v + h a,  q' = q + h v'

K and D are the stiffness and damping of joints, tendons, actuators and fluid, each term counted where it is not
negative. Constraint rows are softened likewise (`impedance.end_of_step`), and their regularisation is scaled by the
ratio of J^T J's inverse inertias on the diagonals of M^ and M. qacc is the change of velocity over the step.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.select import put, take
from jaxsim.constraint.contact import rescaled
from jaxsim.constraint.row_table import row_table
from jaxsim.constraint.rows import Rows
from jaxsim.core.data import Data
from jaxsim.core.enums import Cone, DisableBit, Integrator, Solver
from jaxsim.core.model import Model
from jaxsim.dynamics.actuation import actuator_length_gain, actuator_velocity_gain
from jaxsim.dynamics.com import Inertia, inertia_product
from jaxsim.dynamics.fluid import fluid_slope, has_fluid
from jaxsim.dynamics.passive import damping, poly_force_slope, spring_slopes, tendon_slopes
from jaxsim.dynamics.spatial_tendon import reaches
from jaxsim.solvers.linear.small import solve_small
from jaxsim.stages.effective import free_blocks, standalone_free_bodies
from jaxsim.stages.intermediate import Intermediate

Array = jax.Array


class Metric(NamedTuple):
    """What takes the place of M, and what is added to the smooth forces."""

    M: Array  # [nv, nv] kg, kg m^2
    inertia: Inertia  # what M is made of
    shift: Array  # [nv] -h K v (N, N m)


def is_discrete(m: Model) -> bool:
    """Whether forward dynamics gives the change of velocity over a step; raises where nothing can."""
    if m.opt.integrator != Integrator.DISCRETE:
        return False
    if m.opt.solver not in (Solver.NEWTON, Solver.CG) or m.opt.noslip_iterations or m.opt.contact.rigid:
        raise ValueError(
            "the integrator discrete is simulated with the solvers Newton and CG, without noslip and with soft "
            f"contacts only; found solver {m.opt.solver.name}, noslip_iterations {m.opt.noslip_iterations}, "
            f"contact {m.opt.contact.name}; use implicitfast"
        )
    return True


def with_metric(m: Model, d: Data, mid: Intermediate) -> Intermediate:
    """`mid` with the metric, and with rows that are regularised in it; after actuation."""
    if not is_discrete(m):
        return mid
    metric = _metric(m, d, mid)
    bare, soft = 1 / jnp.diagonal(d.qM), 1 / jnp.diagonal(metric.M)
    return mid._replace(metric=metric, rows=_regularised(m, mid.rows, bare, soft))


def _metric(m: Model, d: Data, mid: Intermediate) -> Metric:
    h = m.opt.timestep
    stiffness, rate = jnp.zeros((2, m.nv), d.qpos.dtype)
    if not m.opt.disables(DisableBit.SPRING):
        stiffness = jnp.maximum(spring_slopes(m, d), 0)
    if not m.opt.disables(DisableBit.DAMPER):
        rate = jnp.maximum(poly_force_slope(*damping(m), d.qvel, odd=True), 0)
    more = jnp.eye(m.nv, dtype=rate.dtype) * (h * rate + h * h * stiffness)[:, None]
    shift = -h * stiffness * d.qvel
    for J, k, b in _lengths(m, d, mid):
        k, b = jnp.maximum(k, 0), jnp.maximum(b, 0)
        more = more + _product(J, (h * b + h * h * k)[:, None] * J)
        shift = shift - h * _product(J, (k * _times(J, d.qvel))[:, None])[:, 0]
    if has_fluid(m):
        more = more - h * _drag_slope(m, d)
    inertia = mid.inertia._replace(tendons=more if mid.inertia.tendons is None else mid.inertia.tendons + more)
    return Metric(d.qM + more, inertia, shift)


def _drag_slope(m: Model, d: Data) -> Array:
    """d drag / d velocity [nv, nv], symmetric, and diagonal for the dofs of which M is."""
    simple = np.asarray(m.dof_simplenum) > 0
    kept = ~(simple[:, None] | simple[None]) | np.eye(m.nv, dtype=bool)
    slope = fluid_slope(m, d, np.zeros(m.nbody, bool), drag=True)
    return slope * jnp.asarray(kept, slope.dtype)


def _lengths(m: Model, d: Data, mid: Intermediate):
    """Jacobians [n, nv], stiffness and damping [n] of what acts along lengths: tendons and actuators."""
    if m.ntendon:
        yield mid.ten_J, *tendon_slopes(m, d)
    if m.nactuator and not m.opt.disables(DisableBit.ACTUATION):
        yield mid.moment, -actuator_length_gain(m, d), -actuator_velocity_gain(m, d)


def _product(a: Array, b: Array) -> Array:
    """a^T b."""
    return lax.dot_general(a, b, (((0,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)


def _times(matrix: Array, x: Array) -> Array:
    return lax.dot(matrix, x, precision=lax.Precision.HIGHEST)


def _regularised(m: Model, rows: Rows, bare: Array, soft: Array) -> Rows:
    """Rows with R scaled by how much the metric, of inverse diagonal `soft` [nv], yields less than M, `bare` [nv]."""
    ratio = bare / soft
    table = row_table(m)
    general = _ratio(rows.J, bare, soft)
    D = rows.D * jnp.concatenate([take(ratio, table.dof), general]) if len(rows.D) else rows.D
    contact = rows.contact
    if contact is not None:
        first = contact.J[:, 0]
        if m.opt.cone == Cone.PYRAMIDAL and contact.J.shape[1] > 1:  # whose first edge decides for all
            slips = jnp.where(contact.condim > 1, contact.friction[:, 0], 0)
            first = first + slips[:, None] * contact.J[:, 1]
        contact = rescaled(m, contact, _ratio(first, bare, soft))
    return rows._replace(D=D, contact=contact)


def _ratio(J: Array, bare: Array, soft: Array) -> Array:
    """sum J^2 / M over sum J^2 / M^, of diagonals, for rows J [n, nv]; 1 where J is zero."""
    square = J * J
    before, now = jnp.sum(square * bare[None], axis=-1), jnp.sum(square * soft[None], axis=-1)
    return jnp.where(now > 0, before / jnp.where(now > 0, now, 1), 1)


def turned(m: Model, d: Data, mid: Intermediate) -> Data:
    """qacc [nv] with the gyroscopic forces at the end of the step of lone free bodies that nothing holds."""
    bodies = standalone_free_bodies(m)
    if not len(bodies):
        return d
    dofs, block, touched = _free(m, d, mid, bodies)
    force = d.qfrc_smooth + mid.metric.shift + d.qfrc_constraint
    alone = solve_small(block, jnp.stack([take(force, r) for r in dofs]))
    own = jnp.stack([take(d.qacc, r) for r in dofs])
    return d.replace(qacc=put(d.qacc, dofs.ravel(), jnp.where(touched[:, None], own, alone).reshape(-1)))


def _free(m: Model, d: Data, mid: Intermediate, bodies: np.ndarray) -> tuple[np.ndarray, Array, Array]:
    """Dofs [k, 6] of lone free bodies [k], their blocks [k, 6, 6], and whether anything holds them [k].

    Constraint rows do, and whatever is stiff or damped along a length.
    """
    dofs, block = free_blocks(m, d, mid.metric.M, bodies)
    rows, table = mid.rows, row_table(m)
    held = jnp.zeros(m.nv, bool)
    for J, k, b in _lengths(m, d, mid):
        reach = J != 0
        if J is mid.ten_J:  # a geom that a path does not touch at present counts as well
            reach = reach | reaches(m.topology)
        held = held | jnp.any(reach & ((k > 0) | (b > 0))[:, None], axis=0)
    for J, active in ((rows.J, rows.D[len(table.dof) :] > 0), *_contacts(rows)):
        held = held | jnp.any((J != 0) & active[:, None], axis=0)
    held = held | put(jnp.zeros(m.nv, bool), table.dof, rows.D[: len(table.dof)] > 0) if len(table.dof) else held
    return dofs, block, jnp.stack([jnp.any(take(held, r)) for r in dofs])


def _contacts(rows: Rows) -> tuple[tuple[Array, Array], ...]:
    return () if rows.contact is None else ((rows.contact.J[:, 0], rows.contact.condim > 0),)


def inertial_force(m: Model, d: Data, mid: Intermediate) -> Array:
    """M^ qacc + h K v [nv]: what forces other than those of the constraints are to sum up to."""
    force = inertia_product(m.topology, mid.metric.inertia, d.qacc)
    bodies = standalone_free_bodies(m)
    if len(bodies):
        dofs, block, touched = _free(m, d, mid, bodies)
        own = jnp.sum(block * jnp.stack([take(d.qacc, r) for r in dofs])[:, None], axis=-1)
        same = jnp.stack([take(force, r) for r in dofs])
        force = put(force, dofs.ravel(), jnp.where(touched[:, None], same, own).reshape(-1))
    return force - mid.metric.shift
