"""Limit rows of joints and tendons (mj_instantiateLimit): pos is the distance to the limit, negative beyond it."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.select import take
from jaxsim.constraint.scalar import ScalarRows
from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.dynamics.coordinates import quats_of, read, spins_of

Array = jax.Array


def scalar_limits(m: Model, d: Data, ten_J: Array, joints: np.ndarray) -> ScalarRows:
    """The lower and then the upper limit of each slide or hinge joint [n]: 2 n rows."""
    both = np.repeat(joints, 2)
    pos, _ = _two_sided(take(d.qpos, m.jnt_qposadr[both]), m.jnt_range, joints)
    margin = take(m.jnt_margin, both)
    return ScalarRows(
        pos=pos,
        margin=margin,
        active=pos < margin,
        solref=take(m.jnt_solref, both),
        solimp=take(m.jnt_solimp, both),
        diag=take(m.dof_invweight0, m.jnt_dofadr[both]),
    )


def ball_limits(m: Model, d: Data, ten_J: Array, balls: np.ndarray) -> ScalarRows:
    """The largest angle of each ball joint [n], along the axis of its rotation: n rows."""
    quat = vector.normalize(read(d.qpos, quats_of(m, balls)))
    axis, angle = vector.normalize_with_norm(quaternion.log(quat))
    span, margin = take(m.jnt_range, balls), take(m.jnt_margin, balls)
    pos = jnp.maximum(span[:, 0], span[:, 1]) - angle
    columns = jnp.asarray(spins_of(m, balls)[:, :, None] == np.arange(m.nv), axis.dtype)
    return ScalarRows(
        J=-jnp.sum(axis[:, :, None] * columns, axis=1),
        pos=pos,
        margin=margin,
        active=pos < margin,
        solref=take(m.jnt_solref, balls),
        solimp=take(m.jnt_solimp, balls),
        diag=take(m.dof_invweight0, m.jnt_dofadr[balls]),
    )


def tendon_limits(m: Model, d: Data, ten_J: Array, tendons: np.ndarray) -> ScalarRows:
    """The lower and then the upper limit of each tendon [n], with Jacobians `ten_J` [ntendon, nv]: 2 n rows."""
    both = np.repeat(tendons, 2)
    pos, sign = _two_sided(take(d.ten_length, both), m.tendon_range, tendons)
    margin, J = take(m.tendon_margin, both), sign[:, None] * take(ten_J, both)
    return ScalarRows(
        J=J,
        pos=pos,
        margin=margin,
        active=(pos < margin) & jnp.any(J != 0, axis=1),  # MuJoCo has no rows without a Jacobian
        solref=take(m.tendon_solref_lim, both),
        solimp=take(m.tendon_solimp_lim, both),
        diag=take(m.tendon_invweight0, both),
    )


def _two_sided(x: Array, span: Array, elements: np.ndarray) -> tuple[Array, Array]:
    """Distances x - lower and upper - x, and their signs of x [2 n], for x [2 n] with each element twice."""
    sign = jnp.asarray(np.tile([1.0, -1.0], len(elements)), x.dtype)
    side = 2 * np.repeat(elements, 2) + np.tile([0, 1], len(elements))
    return sign * (x - take(span.reshape(-1), side)), sign
