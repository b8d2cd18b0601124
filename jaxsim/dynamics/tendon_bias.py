"""What the inertia of tendons costs while their Jacobians change (mj_tendonBias, mj_tendonDot).

A tendon with armature a has kinetic energy a (J v)^2 / 2, so that besides a J^T J in M there is the force
a J^T (dJ/dt v). Along a straight piece between points x0 and x1, with n its direction and l its length,

    dJ/dt v = n . (a1 - a0) + |w - n (n . w)|^2 / l,   w = v1 - v0,

where v are the velocities of the points and a their accelerations at qacc = 0. Joints' sums have constant J.
"""

import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import spatial, vector
from jaxsim.algebra.arrays import Array
from jaxsim.algebra.select import matmul, product, scatter_add, take
from jaxsim.algebra.tree import ancestor
from jaxsim.core.data import Data
from jaxsim.core.enums import MINVAL, WrapType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology
from jaxsim.dynamics.armature import armature_of_tendons
from jaxsim.dynamics.spatial_tendon import Pieces, paths, weight_of


def wrapping(t: Topology) -> np.ndarray:
    """Which tendons [ntendon] touch geoms: MuJoCo gives them no armature, and neither do actuators here."""
    found = np.zeros(t.ntendon, bool)
    for pieces in paths(t):
        if pieces.kind != WrapType.NONE:
            found[pieces.tendon] = True
    return found


@per_topology
def _straight(t: Topology) -> Pieces | None:
    """The pieces between different bodies of tendons that touch no geom."""
    for pieces in paths(t):
        if pieces.kind == WrapType.NONE:
            moves = t.site_bodyid[pieces.site0] != t.site_bodyid[pieces.site1]
            chosen = np.flatnonzero(moves & ~wrapping(t)[pieces.tendon])
            if len(chosen):
                return Pieces(pieces.kind, *(index[chosen] for index in pieces[1:]))
    return None


def with_tendon_bias(m: Model, d: Data, ten_J: Array, cdof_dot: Array) -> Data:
    """qfrc_bias [nv] (N, N m) with what tendons add, for ten_J [ntendon, nv] and the rate of cdof [nv, 6]."""
    pieces = _straight(m.topology)
    if pieces is None:
        return d
    cacc = product(ancestor(m.topology), cdof_dot * d.qvel[:, None])
    rate = scatter_add(pieces.tendon, _rates(m, d, pieces, cacc), m.ntendon)
    return d.replace(qfrc_bias=d.qfrc_bias + matmul(armature_of_tendons(m) * rate, ten_J))


def tendon_inertial_force(m: Model, d: Data, cacc: Array) -> Array:
    """Minus armature times acceleration [ntendon] (N) of spatial tendons, for the accelerations cacc [nbody, 6]."""
    pieces = _straight(m.topology)
    if pieces is None:
        return jnp.zeros(m.ntendon, cacc.dtype)
    return -armature_of_tendons(m) * scatter_add(pieces.tendon, _rates(m, d, pieces, cacc), m.ntendon)


def _rates(m: Model, d: Data, pieces: Pieces, cacc: Array) -> Array:
    """Second derivative of the length of each piece [n] (m/s^2), with its weight; dJ/dt v for the cacc at qacc = 0."""
    (x0, v0, a0), (x1, v1, a1) = (_point(m, d, site, cacc) for site in (pieces.site0, pieces.site1))
    direction, length = vector.normalize_with_norm(x1 - x0)
    velocity = v1 - v0
    across = velocity - direction * vector.dot(direction, velocity)[:, None]
    usable = length > MINVAL
    turning = jnp.where(usable, vector.dot(across, across) / jnp.where(usable, length, 1), 0)
    return weight_of(m, pieces, x0) * (vector.dot(direction, a1 - a0) + turning)


def _point(m: Model, d: Data, site: np.ndarray, cacc: Array) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration [n, 3] of sites, for the bodies' accelerations cacc [nbody, 6]."""
    body, point = m.site_bodyid[site], take(d.site_xpos, site)
    arm = point - take(d.subtree_com, m.body_rootid[body])
    omega, velocity = spatial.halves(spatial.shift_motion(take(d.cvel, body), arm))
    _, acceleration = spatial.halves(spatial.shift_motion(take(cacc, body), arm))
    return point, velocity, acceleration + vector.cross(omega, velocity)
