"""Tendons: length, Jacobian and armature (mj_tendon, mj_tendonArmature)."""

import numpy as np

from jaxsim.algebra.arrays import Array, namespace
from jaxsim.algebra.select import matmul, take
from jaxsim.algebra.tree import coupled
from jaxsim.core.data import Data
from jaxsim.core.enums import WrapType
from jaxsim.core.model import Model
from jaxsim.dynamics.armature import armature_of_tendons
from jaxsim.dynamics.spatial_tendon import paths, spatial_tendons


def tendon(m: Model, d: Data) -> tuple[Data, Array]:
    """ten_length [ntendon] (m), and the tendon Jacobian ten_J [ntendon, nv], constant for fixed tendons."""
    xp, dtype = namespace(d.qpos), d.qpos.dtype
    if not m.ntendon:
        return d, xp.zeros((0, m.nv), dtype)
    length, jacobian = _fixed(m, d)
    if paths(m.topology):
        more, rows = spatial_tendons(m, d)
        length, jacobian = length + more, jacobian + rows
    return d.replace(ten_length=length), jacobian


def _fixed(m: Model, d: Data) -> tuple[Array, Array]:
    """Sums of joint coordinates: lengths [ntendon] and Jacobian [ntendon, nv]; zero for spatial tendons."""
    xp, dtype = namespace(d.qpos), d.qpos.dtype
    terms = np.flatnonzero(m.wrap_type == WrapType.JOINT)
    joint = m.wrap_objid[terms]
    owner = np.repeat(np.arange(m.ntendon), m.tendon_num)[terms]
    belongs = xp.asarray(np.arange(m.ntendon)[:, None] == owner[None], dtype)
    at_dof = xp.asarray(m.jnt_dofadr[joint][:, None] == np.arange(m.nv)[None], dtype)
    weights = belongs * take(m.wrap_prm, terms)[None]
    jacobian = matmul(weights, at_dof)
    return matmul(weights, take(d.qpos, m.jnt_qposadr[joint])), jacobian


def tendon_armature(m: Model, d: Data, ten_J: Array) -> Data:
    """Add the inertia of tendons to qM [nv, nv]."""
    added = tendon_inertia(m, ten_J)
    return d if added is None else d.replace(qM=d.qM + added)


def tendon_inertia(m: Model, ten_J: Array) -> Array | None:
    """J^T diag(armature) J [nv, nv], where MuJoCo's M has entries; None without tendons."""
    if not m.ntendon:
        return None
    xp = namespace(ten_J)
    added = matmul(xp.swapaxes(ten_J * armature_of_tendons(m)[:, None], -1, -2), ten_J)
    return added * xp.asarray(coupled(m.topology), added.dtype)
