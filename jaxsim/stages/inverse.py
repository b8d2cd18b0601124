"""Inverse dynamics: from accelerations to the forces that cause them (mj_inverse)."""

from jaxsim.algebra.blocks import times
from jaxsim.constraint.rows import adhesion_of
from jaxsim.core.data import Data
from jaxsim.core.enums import EnableBit
from jaxsim.core.model import Model
from jaxsim.dynamics.actuation import actuation
from jaxsim.dynamics.com import rne
from jaxsim.dynamics.energy import energy
from jaxsim.dynamics.history import late_readings
from jaxsim.dynamics.passive import passive
from jaxsim.dynamics.tendon_bias import with_tendon_bias
from jaxsim.sensors.table import sensors
from jaxsim.stages.constrained import constraint_forces
from jaxsim.stages.effective import continuous_acceleration
from jaxsim.stages.forward import position_velocity
from jaxsim.stages.hard import is_hard
from jaxsim.stages.metric import inertial_force, is_discrete, with_metric


def inverse(m: Model, d: Data) -> Data:
    """qfrc_inverse [nv] = M qacc + qfrc_bias - qfrc_passive - qfrc_constraint (N, N m).

    The constraint forces follow from qacc directly: the penalties' gradient at J qacc - aref. Under the flag
    invdiscrete qacc is the change of velocity over a step, from which that of forward dynamics follows first.
    """
    if is_hard(m):
        raise ValueError(
            'inverse dynamics needs forces that follow from accelerations, which those of opt.contact = "hard" do not; '
            'use opt.replace(contact="soft")'
        )
    d, mid = position_velocity(m, d)
    given = d.qacc
    if m.opt.enables(EnableBit.INVDISCRETE) and not is_discrete(m):
        d = d.replace(qacc=continuous_acceleration(m, d, mid))
    d, gravcomp = passive(m, d, mid.ten_J, adhesion_of(m.topology, mid.rows))
    if is_discrete(m):  # the metric minds which actuators are at their limits
        mid = with_metric(m, actuation(m, d, mid.moment, gravcomp), mid)
    d = with_tendon_bias(m, d.replace(qfrc_bias=rne(m, d, mid.cdof_dot)), mid.ten_J, mid.cdof_dot)
    d, solution = constraint_forces(m, d, mid)
    d = late_readings(m, energy(m, sensors(m, d, solution, mid.cdof_dot)))
    if is_discrete(m):
        inertial = inertial_force(m, d, mid)
    else:
        inertial = times(d.qM, d.qacc)
    return d.replace(qacc=given, qfrc_inverse=inertial + d.qfrc_bias - d.qfrc_passive - d.qfrc_constraint)
