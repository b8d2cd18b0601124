"""Friction loss rows of dofs and tendons (mj_instantiateFriction): pos and margin are zero."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra.select import take
from jaxsim.constraint.scalar import ScalarRows
from jaxsim.core.data import Data
from jaxsim.core.model import Model

Array = jax.Array


def dof_friction(m: Model, d: Data, ten_J: Array, dofs: np.ndarray) -> ScalarRows:
    """One row for each of the dofs [n]."""
    loss = take(m.dof_frictionloss, dofs)
    return ScalarRows(
        pos=jnp.zeros_like(loss),
        margin=None,
        active=loss > 0,
        solref=take(m.dof_solref, dofs),
        solimp=take(m.dof_solimp, dofs),
        diag=take(m.dof_invweight0, dofs),
        frictionloss=loss,
    )


def tendon_friction(m: Model, d: Data, ten_J: Array, tendons: np.ndarray) -> ScalarRows:
    """One row for each of the tendons [n], with Jacobians `ten_J` [ntendon, nv]."""
    loss, J = take(m.tendon_frictionloss, tendons), take(ten_J, tendons)
    return ScalarRows(
        J=J,
        pos=jnp.zeros_like(loss),
        margin=None,
        active=(loss > 0) & jnp.any(J != 0, axis=1),  # a path that bends round a geom no longer may be without
        solref=take(m.tendon_solref_fri, tendons),
        solimp=take(m.tendon_solimp_fri, tendons),
        diag=take(m.tendon_invweight0, tendons),
        frictionloss=loss,
    )
