"""Forward dynamics: from state and inputs to accelerations (mj_forward)."""

import functools

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.collision.driver import collide
from jaxsim.collision.slots import contact_buffer
from jaxsim.constraint.adhesion import with_adhesion
from jaxsim.constraint.rows import adhesion_of, make_constraint
from jaxsim.core.data import Data
from jaxsim.core.enums import DisableBit, EnableBit
from jaxsim.core.model import Model
from jaxsim.dynamics.actuation import actuation
from jaxsim.dynamics.com import Inertia, com_pos, com_vel, inertia_of, inertia_product, project_wrenches, rne
from jaxsim.dynamics.energy import energy
from jaxsim.dynamics.extension import extension_of
from jaxsim.dynamics.history import late_readings
from jaxsim.dynamics.kinematics import Poses, kinematics
from jaxsim.dynamics.passive import passive
from jaxsim.dynamics.tendon import tendon, tendon_inertia
from jaxsim.dynamics.tendon_bias import with_tendon_bias
from jaxsim.dynamics.transmission import transmission
from jaxsim.dynamics.trees import mass_matrix
from jaxsim.sensors.table import sensors
from jaxsim.solvers.linear.solve import Known, solve, weights
from jaxsim.stages.constrained import constrained_acceleration
from jaxsim.stages.intermediate import Found, Intermediate
from jaxsim.stages.metric import is_discrete, turned, with_metric
from jaxsim.stages.sleep import disturbed, kept_readings, of_awake, still, woken_by_equalities, woken_by_tendons

Array = jax.Array


def forward(m: Model, d: Data, sense: bool = True, known: Found | None = None) -> tuple[Data, Intermediate]:
    """Positions, velocities, actuation, accelerations, constraints and (if `sense`) sensors and energy.

    Reads qpos [nq], qvel [nv], act [na] and the inputs; `known` is what an earlier evaluation found.
    """
    read = d.sensordata
    d, mid = position_velocity(m, d, known and known.poses)
    d, mid = smooth_acceleration(m, d, mid, known and known.smooth)
    d, solution = constrained_acceleration(m, d, mid, known and known.constrained)
    if is_discrete(m):
        d = turned(m, d, mid)
    mid = mid._replace(found=solution.found, mean=solution.mean)
    if sense:
        d = energy(m, kept_readings(m, read, sensors(m, d, solution, mid.cdof_dot)))
        d, mid = late_readings(m, d), mid._replace(sensed=d.sensordata if m.nhistory else None)
    return d, mid


def position_velocity(m: Model, d: Data, known: Poses | None = None) -> tuple[Data, Intermediate]:
    """All that depends on position [nq] and velocity [nv] alone, up to the constraint rows."""
    d = com_pos(m, kinematics(m, disturbed(m, d), known))
    d, ten_J = tendon(m, d)
    d = woken_by_tendons(m, d)
    d, mass = mass_matrix(m, d, ten_J)
    d, moment = transmission(m, d, ten_J)
    d, cdof_dot = com_vel(m, d)
    d = d.replace(ten_velocity=lax.dot(ten_J, d.qvel, precision=lax.Precision.HIGHEST))
    if m.opt.disables(DisableBit.ACTUATION):
        d = d.replace(actuator_velocity=jnp.zeros_like(d.actuator_velocity))
    else:
        d = d.replace(actuator_velocity=lax.dot(moment, d.qvel, precision=lax.Precision.HIGHEST))
    slots = collide(m, d)
    d = woken_by_equalities(m, contact_buffer(m, d, slots))
    weigh = functools.partial(weights, mass) if m.opt.enables(EnableBit.DIAGEXACT) else None
    rows = of_awake(m, d, make_constraint(m, d, ten_J, slots, weigh))
    d, moment = with_adhesion(m, d, moment, slots, rows.contact)
    inertia = inertia_of(m, d, tendon_inertia(m, ten_J))
    return d, Intermediate(ten_J, mass, inertia, moment, cdof_dot, slots, rows)


def smooth_acceleration(m: Model, d: Data, mid: Intermediate, known: Array | None = None) -> tuple[Data, Intermediate]:
    """qfrc_bias, qfrc_passive, qfrc_actuator, their sum qfrc_smooth (all [nv]), and qacc_smooth = M^-1 qfrc_smooth."""
    d, gravcomp = passive(m, d, mid.ten_J, adhesion_of(m.topology, mid.rows))
    d = with_tendon_bias(m, d.replace(qfrc_bias=rne(m, d, mid.cdof_dot)), mid.ten_J, mid.cdof_dot)
    control = extension_of(m).control
    if control is not None and not m.opt.disables(DisableBit.ACTUATION):
        d = d.replace(ctrl=control(m, d))
    d = actuation(m, d, mid.moment, gravcomp)
    applied = project_wrenches(m, d, d.xfrc_applied[:, :3], d.xfrc_applied[:, 3:], d.xipos)
    smooth = still(m, d, d.qfrc_passive - d.qfrc_bias + d.qfrc_applied + d.qfrc_actuator + applied)
    mid = with_metric(m, d, mid)
    M, inertia, force = mid.mass, mid.inertia, smooth
    if mid.metric is not None:
        M, inertia, force = mid.metric.M, mid.metric.inertia, smooth + still(m, d, mid.metric.shift)
    qacc = solve(M, force, known=known_of(m, inertia, known)) if m.nv else smooth
    return d.replace(qfrc_smooth=smooth, qacc_smooth=qacc), mid


def known_of(m: Model, inertia: Inertia, x: Array | None) -> Known | None:
    """A solution [nv] of a system with the matrix qM, as `solve` takes it; None if it is not known."""
    return None if x is None else Known(x, functools.partial(inertia_product, m.topology), inertia)
