"""With what force spatial tendons pull at bodies: a part of what acts on these from outside (mj_rnePostConstraint).

All that acts along a tendon's length is one number, whether actuators, springs, dampers, armature or constraints make
it. At the ends of its straight segments it becomes forces on bodies. A sum of joints acts inside of joints, as springs
and actuators of joints do, and is not part of this.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import spatial, vector
from jaxsim.algebra.select import product, scatter_add, take
from jaxsim.constraint.row_table import row_table
from jaxsim.constraint.solution import Solution
from jaxsim.core.data import Data
from jaxsim.core.enums import ConstraintType, EqType
from jaxsim.core.model import Model
from jaxsim.dynamics.armature import on_tendon
from jaxsim.dynamics.passive import tendon_forces
from jaxsim.dynamics.spatial_tendon import tendon_ends
from jaxsim.dynamics.tendon_bias import tendon_inertial_force

Array = jax.Array
ON_TENDONS = (ConstraintType.FRICTION_TENDON, ConstraintType.LIMIT_TENDON)


def tendon_wrench(m: Model, d: Data, solution: Solution, cacc: Array, inside: np.ndarray) -> Array:
    """Sum [n, 6] (N m, N) of what spatial tendons exert on the bodies that each row of `inside` [n, nbody] marks."""
    ends = tendon_ends(m, d)
    push = ends.force * take(_along(m, d, solution, cacc), ends.tendon)[:, None]
    arm = ends.point - take(d.subtree_com, m.body_rootid[ends.body])
    return product(inside[:, ends.body], spatial.shift_force(vector.join(jnp.zeros_like(push), push), arm))


def _along(m: Model, d: Data, solution: Solution, cacc: Array) -> Array:
    """All that acts along each tendon [ntendon] (N), positive where it lengthens it."""
    total = tendon_forces(m, d) + tendon_inertial_force(m, d, cacc)
    pulls = np.flatnonzero(on_tendon(m))
    if len(pulls):
        output = m.actuator_outadr[pulls]
        pull = take(m.actuator_gear[:, 0], output) * take(d.actuator_force, output)
        total = total + scatter_add(m.actuator_trnid[pulls, 0], pull, m.ntendon)
    # rows are linear in the tendons' Jacobians: those of the identity say how much of a row goes to which tendon
    each = jnp.eye(m.ntendon, dtype=d.qpos.dtype)
    for block in row_table(m).blocks:
        if block.family.type in ON_TENDONS or block.family.equality == EqType.TENDON:
            rows = block.family.build(m, d, each, block.elements)
            force = take(solution.force.scalar, np.arange(block.start, block.stop))
            total = total + lax.dot(force, rows.J, precision=lax.Precision.HIGHEST)
    return total
