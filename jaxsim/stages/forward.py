"""Forward dynamics: from state and inputs to accelerations (mj_forward)."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.collision.driver import collide
from jaxsim.collision.slots import ContactSlots, contact_buffer
from jaxsim.constraint.adhesion import with_adhesion
from jaxsim.constraint.row_table import row_table
from jaxsim.constraint.rows import Rows, adhesion_of, count_rows, make_constraint
from jaxsim.constraint.solution import Solution
from jaxsim.core.data import Data
from jaxsim.core.enums import DisableBit
from jaxsim.core.model import Model
from jaxsim.dynamics.actuation import actuation
from jaxsim.dynamics.com import Inertia, com_pos, com_vel, crb, inertia_of, inertia_product, project_wrenches, rne
from jaxsim.dynamics.energy import energy
from jaxsim.dynamics.history import late_readings
from jaxsim.dynamics.kinematics import Poses, kinematics, poses_of
from jaxsim.dynamics.passive import passive
from jaxsim.dynamics.tendon import tendon, tendon_armature, tendon_inertia
from jaxsim.dynamics.tendon_bias import with_tendon_bias
from jaxsim.dynamics.transmission import transmission
from jaxsim.sensors.table import sensors
from jaxsim.solvers.implicit import implicit_minimum
from jaxsim.solvers.linear.solve import Known, solve
from jaxsim.solvers.newton import Outcome, Settings, Start, newton
from jaxsim.solvers.objective import forces, mul_jt, problem_of, residual, structure_of

Array = jax.Array


class Intermediate(NamedTuple):
    """What later stages need of position and velocity and Data does not keep."""

    ten_J: Array  # [ntendon, nv]
    inertia: Inertia  # what qM is made of
    moment: Array  # [nout, nv]
    cdof_dot: Array  # [nv, 6]
    slots: ContactSlots | None  # None without candidate pairs
    rows: Rows
    sensed: Array | None = None  # [nsensordata] readings at this time, also of sensors that give them late


class Found(NamedTuple):
    """What one evaluation found; given to a later one at the same state, it is not sought again."""

    poses: Poses
    smooth: Array  # qacc_smooth [nv]
    constrained: Array  # qacc [nv]


def found_in(d: Data) -> Found:
    """What the evaluation found that left this Data."""
    return Found(poses_of(d), d.qacc_smooth, d.qacc)


def forward(m: Model, d: Data, sense: bool = True, known: Found | None = None) -> tuple[Data, Intermediate]:
    """Positions, velocities, actuation, accelerations, constraints and (if `sense`) sensors and energy.

    Reads qpos [nq], qvel [nv], act [na] and the inputs; `known` is what an earlier evaluation found.
    """
    d, mid = position_velocity(m, d, known and known.poses)
    d = smooth_acceleration(m, d, mid, known and known.smooth)
    d, solution = constrained_acceleration(m, d, mid, known and known.constrained)
    if sense:
        d = energy(m, sensors(m, d, solution, mid.cdof_dot))
        d, mid = late_readings(m, d), mid._replace(sensed=d.sensordata if m.nhistory else None)
    return d, mid


def position_velocity(m: Model, d: Data, known: Poses | None = None) -> tuple[Data, Intermediate]:
    """All that depends on position [nq] and velocity [nv] alone, up to the constraint rows."""
    d = com_pos(m, kinematics(m, d, known))
    d, ten_J = tendon(m, d)
    d = tendon_armature(m, crb(m, d), ten_J)
    d, moment = transmission(m, d, ten_J)
    d, cdof_dot = com_vel(m, d)
    d = d.replace(ten_velocity=lax.dot(ten_J, d.qvel, precision=lax.Precision.HIGHEST))
    if m.opt.disables(DisableBit.ACTUATION):
        d = d.replace(actuator_velocity=jnp.zeros_like(d.actuator_velocity))
    else:
        d = d.replace(actuator_velocity=lax.dot(moment, d.qvel, precision=lax.Precision.HIGHEST))
    slots = collide(m, d)
    d = contact_buffer(m, d, slots)
    rows = make_constraint(m, d, ten_J, slots)
    d, moment = with_adhesion(m, d, moment, slots, rows.contact)
    inertia = inertia_of(m, d, tendon_inertia(m, ten_J))
    return d, Intermediate(ten_J, inertia, moment, cdof_dot, slots, rows)


def smooth_acceleration(m: Model, d: Data, mid: Intermediate, known: Array | None = None) -> Data:
    """qfrc_bias, qfrc_passive, qfrc_actuator, their sum qfrc_smooth (all [nv]), and qacc_smooth = M^-1 qfrc_smooth."""
    d, gravcomp = passive(m, d, mid.ten_J, adhesion_of(mid.rows))
    d = with_tendon_bias(m, d.replace(qfrc_bias=rne(m, d, mid.cdof_dot)), mid.ten_J, mid.cdof_dot)
    d = actuation(m, d, mid.moment, gravcomp)
    applied = project_wrenches(m, d, d.xfrc_applied[:, :3], d.xfrc_applied[:, 3:], d.xipos)
    smooth = d.qfrc_passive - d.qfrc_bias + d.qfrc_applied + d.qfrc_actuator + applied
    qacc = solve(d.qM, smooth, known=known_of(m, mid.inertia, known)) if m.nv else smooth
    return d.replace(qfrc_smooth=smooth, qacc_smooth=qacc)


def known_of(m: Model, inertia: Inertia, x: Array | None) -> Known | None:
    """A solution [nv] of a system with the matrix qM, as `solve` takes it; None if it is not known."""
    return None if x is None else Known(x, functools.partial(inertia_product, m.topology), inertia)


def constrained_acceleration(m: Model, d: Data, mid: Intermediate, known: Array | None = None) -> tuple[Data, Solution]:
    """qacc [nv], qfrc_constraint [nv] and the constraint forces: the objective's minimum, and how it was found."""
    if not row_table(m).blocks and mid.slots is None:
        return constraint_forces(m, _ended(d.replace(qacc=d.qacc_smooth), _unsearched(d)), mid)
    structure = structure_of(m)
    problem = problem_of(d.qM, mid.inertia, d.qfrc_smooth, mid.rows)
    iterations = (m.opt.iterations, m.opt.ls_iterations)
    warm = None if m.opt.disables(DisableBit.WARMSTART) else d.qacc_warmstart
    qacc, outcome = implicit_minimum(
        structure,
        lambda p, start, tolerances: newton(structure, p, start, Settings(*iterations, *tolerances)),
        problem,
        lax.stop_gradient(Start(d.qacc_smooth, warm)),
        (m.opt.tolerance, m.opt.ls_tolerance),
        None if known is None else (known, _unsearched(d)),
    )
    return constraint_forces(m, _ended(d.replace(qacc=qacc), outcome), mid)


def _unsearched(d: Data) -> Outcome:
    """In place of how a solution was found that was known before; its numbers are those of the first search."""
    return Outcome(jnp.zeros((), jnp.int32), jnp.ones((), bool), jnp.zeros((), d.qacc.dtype))


def _ended(d: Data, outcome: Outcome) -> Data:
    return d.replace(
        solver_niter=outcome.iterations, solver_converged=outcome.converged, solver_residual=outcome.residual
    )


def constraint_forces(m: Model, d: Data, mid: Intermediate) -> tuple[Data, Solution]:
    """qfrc_constraint [nv], nefc [] and the constraint forces at qacc: minus the gradient of the rows' penalties."""
    structure, problem = structure_of(m), problem_of(d.qM, mid.inertia, d.qfrc_smooth, mid.rows)
    force = forces(structure, problem, residual(structure, problem, d.qacc))
    pull = mul_jt(structure, problem, force)
    return d.replace(qfrc_constraint=pull, nefc=count_rows(m, mid.rows)), Solution(mid.slots, mid.rows, force)
