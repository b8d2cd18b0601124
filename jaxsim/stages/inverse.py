"""Inverse dynamics: from accelerations to the forces that cause them (mj_inverse)."""

import jax.numpy as jnp
from jax import lax

from jaxsim.constraint.laws.soft import law_of
from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.dynamics.com import rne
from jaxsim.dynamics.energy import energy
from jaxsim.dynamics.passive import passive
from jaxsim.sensors.table import sensors
from jaxsim.solvers.objective import Structure, forces, mul_jt, problem_of, residual
from jaxsim.stages.forward import count_rows, position_velocity


def inverse(m: Model, d: Data) -> Data:
    """qfrc_inverse = M qacc + qfrc_bias - qfrc_passive - qfrc_constraint.

    The constraint forces follow from qacc directly: the penalties' gradient at J qacc - aref.
    """
    d, mid = position_velocity(m, d)
    d, _ = passive(m, d, mid.ten_J)
    d = d.replace(qfrc_bias=rne(m, d, mid.cdof_dot), qfrc_constraint=jnp.zeros_like(d.qacc))
    rows = mid.rows
    if rows.D.shape[0] or rows.contact is not None:
        structure = Structure(rows.kind, law_of(m.opt.cone))
        problem = problem_of(d.qM, d.qfrc_smooth, rows)
        force = forces(structure, problem, residual(structure, problem, d.qacc))
        d = d.replace(qfrc_constraint=mul_jt(structure, problem, force), nefc=count_rows(m, rows))
        mid = mid._replace(force=force)
    d = energy(m, sensors(m, d, mid))
    inertial = lax.dot(d.qM, d.qacc, precision=lax.Precision.HIGHEST)
    return d.replace(qfrc_inverse=inertial + d.qfrc_bias - d.qfrc_passive - d.qfrc_constraint)
