"""Forward dynamics: from state and inputs to accelerations (mj_forward)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.collision.driver import Touching, collide, contact_buffer
from jaxsim.constraint.laws.soft import law_of
from jaxsim.constraint.rows import Rows, make_constraint
from jaxsim.core.data import Data
from jaxsim.core.enums import DisableBit
from jaxsim.core.model import Model
from jaxsim.dynamics.actuation import actuation
from jaxsim.dynamics.com import com_pos, com_vel, crb, project_wrenches, rne
from jaxsim.dynamics.energy import energy
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.dynamics.passive import passive
from jaxsim.dynamics.tendon import tendon, tendon_armature
from jaxsim.dynamics.transmission import transmission
from jaxsim.sensors.table import sensors
from jaxsim.solvers.implicit import implicit_minimum
from jaxsim.solvers.linear.solve import solve
from jaxsim.solvers.newton import Settings, Start, newton
from jaxsim.solvers.objective import Residual, Structure, forces, mul_jt, problem_of, residual

Array = jax.Array


class Intermediate(NamedTuple):
    """What the stages share within one evaluation and Data does not keep."""

    ten_J: Array  # [ntendon, nv]
    moment: Array  # [nout, nv]
    cdof_dot: Array  # [nv, 6]
    touching: Touching | None  # contact slots, in the order of the contact rows
    rows: Rows
    force: Residual | None  # constraint forces, once solved


class Accelerations(NamedTuple):
    """What one evaluation solves for; given to a later one at the same state, it is not solved for again."""

    smooth: Array  # qacc_smooth [nv]
    constrained: Array  # qacc [nv]


def forward(m: Model, d: Data, sense: bool = True, known: Accelerations | None = None) -> tuple[Data, Intermediate]:
    """Positions, velocities, actuation, accelerations, constraints and (if `sense`) sensors and energy."""
    d, mid = position_velocity(m, d)
    d = smooth_acceleration(m, d, mid, known and known.smooth)
    d, mid = constrained_acceleration(m, d, mid, known and known.constrained)
    if sense:
        d = energy(m, sensors(m, d, mid))
    return d, mid


def position_velocity(m: Model, d: Data) -> tuple[Data, Intermediate]:
    """All that depends on position and velocity alone, up to the constraint rows."""
    d = com_pos(m, kinematics(m, d))
    d, ten_J = tendon(m, d)
    d = tendon_armature(m, crb(m, d), ten_J)
    d, moment = transmission(m, d, ten_J)
    d, cdof_dot = com_vel(m, d)
    d = d.replace(ten_velocity=lax.dot(ten_J, d.qvel, precision=lax.Precision.HIGHEST))
    if m.opt.disables(DisableBit.ACTUATION):
        d = d.replace(actuator_velocity=jnp.zeros_like(d.actuator_velocity))
    else:
        d = d.replace(actuator_velocity=lax.dot(moment, d.qvel, precision=lax.Precision.HIGHEST))
    touching = collide(m, d)
    d = contact_buffer(m, d, touching)
    rows = make_constraint(m, d, ten_J, touching)
    return d, Intermediate(ten_J, moment, cdof_dot, touching, rows, None)


def smooth_acceleration(m: Model, d: Data, mid: Intermediate, known: Array | None = None) -> Data:
    """qfrc_bias, qfrc_passive, qfrc_actuator, their sum qfrc_smooth, and qacc_smooth = M^-1 qfrc_smooth."""
    d, gravcomp = passive(m, d, mid.ten_J)
    d = d.replace(qfrc_bias=rne(m, d, mid.cdof_dot))
    d = actuation(m, d, mid.moment, gravcomp)
    applied = project_wrenches(m, d, d.xfrc_applied[:, :3], d.xfrc_applied[:, 3:], d.xipos)
    smooth = d.qfrc_passive - d.qfrc_bias + d.qfrc_applied + d.qfrc_actuator + applied
    return d.replace(qfrc_smooth=smooth, qacc_smooth=solve(d.qM, smooth, known=known) if m.nv else smooth)


def constrained_acceleration(
    m: Model, d: Data, mid: Intermediate, known: Array | None = None
) -> tuple[Data, Intermediate]:
    """qacc, qfrc_constraint and the constraint forces: the minimum of the objective."""
    rows = mid.rows
    none = jnp.zeros((), jnp.int32)
    if rows.D.shape[0] == 0 and rows.contact is None:
        zero = jnp.zeros_like(d.qacc)
        d = d.replace(qacc=d.qacc_smooth, qfrc_constraint=zero, solver_niter=none, nefc=none)
        return d, mid
    structure = Structure(rows.kind, law_of(m.opt.cone))
    problem = problem_of(d.qM, d.qfrc_smooth, rows)
    iterations = (m.opt.iterations, m.opt.ls_iterations)
    warm = None if m.opt.disables(DisableBit.WARMSTART) else d.qacc_warmstart
    qacc, niter = implicit_minimum(
        structure,
        lambda p, start, tolerances: newton(structure, p, start, Settings(*iterations, *tolerances)),
        problem,
        lax.stop_gradient(Start(d.qacc_smooth, warm)),
        (m.opt.tolerance, m.opt.ls_tolerance),
        known,
    )
    force = forces(structure, problem, residual(structure, problem, qacc))
    d = d.replace(
        qacc=qacc,
        qfrc_constraint=mul_jt(structure, problem, force),
        solver_niter=niter,
        nefc=count_rows(m, rows),
    )
    return d, mid._replace(force=force)


def count_rows(m: Model, rows: Rows) -> Array:
    """Number of active rows, as MuJoCo counts them."""
    count = jnp.sum(rows.D > 0, dtype=jnp.int32)
    if rows.contact is None:
        return count
    condim = rows.contact.condim
    per_contact = condim if m.opt.cone else jnp.where(condim > 1, 2 * (condim - 1), condim)
    return count + jnp.sum(per_contact, dtype=jnp.int32)
