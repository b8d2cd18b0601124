"""Fixed tendons: length, Jacobian and armature (mj_tendon, mj_tendonArmature)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.select import take
from jaxsim.algebra.tree import coupled
from jaxsim.core.data import Data
from jaxsim.core.enums import WrapType
from jaxsim.core.model import Model
from jaxsim.dynamics.armature import armature_of_tendons

Array = jax.Array


def tendon(m: Model, d: Data) -> tuple[Data, Array]:
    """ten_length [ntendon] (m), and the tendon Jacobian ten_J [ntendon, nv], constant for fixed tendons."""
    dtype = d.qpos.dtype
    if not m.ntendon:
        return d, jnp.zeros((0, m.nv), dtype)
    joint = m.wrap_objid[m.wrap_type == WrapType.JOINT]
    owner = np.repeat(np.arange(m.ntendon), m.tendon_num)
    belongs = jnp.asarray(np.arange(m.ntendon)[:, None] == owner[None], dtype)
    at_dof = jnp.asarray(m.jnt_dofadr[joint][:, None] == np.arange(m.nv)[None], dtype)
    weights = belongs * m.wrap_prm[None]
    jacobian = lax.dot(weights, at_dof, precision=lax.Precision.HIGHEST)
    length = lax.dot(weights, take(d.qpos, m.jnt_qposadr[joint]), precision=lax.Precision.HIGHEST)
    return d.replace(ten_length=length), jacobian


def tendon_armature(m: Model, d: Data, ten_J: Array) -> Data:
    """Add the inertia of tendons to qM [nv, nv]: J^T diag(armature) J, where MuJoCo's M has entries."""
    if not m.ntendon:
        return d
    added = lax.dot((ten_J * armature_of_tendons(m)[:, None]).T, ten_J, precision=lax.Precision.HIGHEST)
    return d.replace(qM=d.qM + added * jnp.asarray(coupled(m.topology), added.dtype))
