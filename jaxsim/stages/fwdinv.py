"""How far inverse dynamics is from undoing forward dynamics, where the flag fwdinv asks for it (mj_compareFwdInv)."""

import jax.numpy as jnp

from jaxsim.algebra.vector import norm
from jaxsim.core.data import Data
from jaxsim.core.enums import EnableBit
from jaxsim.core.model import Model
from jaxsim.dynamics.com import inertia_product, project_wrenches
from jaxsim.stages.constrained import constraint_forces
from jaxsim.stages.effective import continuous_acceleration
from jaxsim.stages.intermediate import Intermediate
from jaxsim.stages.metric import inertial_force, is_discrete


def compared(m: Model, d: Data, mid: Intermediate) -> Data:
    """solver_fwdinv [2] (N, N m) of a state after `forward`: norms of what inverse dynamics gets differently.

    The first is that of the constraint forces, which inverse dynamics has from qacc in closed form; the second that of
    the forces which were applied. Both are zero where no constraint is active, as MuJoCo has it.
    """
    discrete = is_discrete(m)
    undo = m.opt.enables(EnableBit.INVDISCRETE) and not discrete
    at = d.replace(qacc=continuous_acceleration(m, d, mid)) if undo else d
    again, _ = constraint_forces(m, at, mid)
    inertial = inertial_force(m, at, mid) if discrete else inertia_product(m.topology, mid.inertia, at.qacc)
    needed = inertial + d.qfrc_bias - d.qfrc_passive - again.qfrc_constraint
    pushed = project_wrenches(m, d, d.xfrc_applied[:, :3], d.xfrc_applied[:, 3:], d.xipos)
    given = d.qfrc_applied + d.qfrc_actuator + pushed
    differences = jnp.stack([norm(d.qfrc_constraint - again.qfrc_constraint), norm(given - needed)])
    return d.replace(solver_fwdinv=jnp.where(d.nefc > 0, differences, 0))
