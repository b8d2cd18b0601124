"""All inertias that a body can have, as ten numbers without limits (log-Cholesky).

The pseudo-inertia [[S, m c], [m c', m]], with S the second moments of the mass m about the frame's origin and c its
centre, is positive definite exactly when some distribution of mass has it. With U0 the factor of the model's own,
theta gives U0 U U' U0', U upper triangular with exp(theta) on its diagonal.
Source: Rucker, Wensing, "Smooth parameterization of rigid-body inertia", IEEE RA-L 2022.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js
from jaxsim.optimize.eigen import eigh3

Array = jax.Array

NUMBERS = 10
UPPER = np.triu_indices(4, 1)
APART = 1e-3  # by which equal principal moments are told apart at first, since their axes have no derivative


def changed_inertia(model: js.Model, bodies: np.ndarray, theta: Array) -> js.Model:
    """The model with body_mass, body_ipos, body_iquat and body_inertia of some bodies by theta [n, 10].

    At zero they are the model's own, but for a part in a thousand that makes principal moments differ.
    """
    mass, centre, iquat, moments = jax.vmap(_moved)(
        model.body_mass[bodies], model.body_ipos[bodies], model.body_iquat[bodies], model.body_inertia[bodies], theta
    )
    return model.replace(
        body_mass=model.body_mass.at[bodies].set(mass),
        body_ipos=model.body_ipos.at[bodies].set(centre),
        body_iquat=model.body_iquat.at[bodies].set(iquat),
        body_inertia=model.body_inertia.at[bodies].set(moments),
    )


def numbers_of(model: js.Model, body: int) -> Array:
    """[10] mass (kg), centre (m) and inertia about it (xx, yy, zz, xy, xz, yz, kg m^2) in the body's frame."""
    turn = _matrix(model.body_iquat[body])
    full = (turn * model.body_inertia[body][None]) @ turn.T
    rows, columns = np.array([0, 1, 2, 0, 0, 1]), np.array([0, 1, 2, 1, 2, 2])
    return jnp.concatenate([model.body_mass[body][None], model.body_ipos[body], full[rows, columns]])


def _moved(mass: Array, centre: Array, quat: Array, moments: Array, theta: Array) -> tuple[Array, ...]:
    """Mass, centre, orientation and principal moments of one body, in its principal frame changed by theta [10]."""
    half = 0.5 * jnp.sum(moments) - moments  # second moments along the principal axes
    half = half * (1 + APART * jnp.arange(3).astype(half.dtype))
    factor = jnp.diag(jnp.sqrt(jnp.append(half, mass)))
    U = factor @ (jnp.diag(jnp.exp(theta[:4])).at[UPPER].set(theta[4:]))
    J = U @ U.T
    mass, offset = J[3, 3], J[:3, 3] / J[3, 3]
    about = J[:3, :3] - mass * jnp.outer(offset, offset)
    second, axes = eigh3(about)
    axes = axes * jnp.where(jnp.linalg.det(axes) < 0, -1, 1).astype(axes.dtype)
    turn = _matrix(quat)
    return mass, centre + turn @ offset, _quaternion(turn @ axes), jnp.sum(second) - second


def _matrix(q: Array) -> Array:
    """Rotation matrix [3, 3] of a unit quaternion [4]."""
    w, x, y, z = q
    return jnp.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _quaternion(R: Array) -> Array:
    """Unit quaternion [4] of a rotation matrix [3, 3]: the longest row of the outer product 4 q q'."""
    xx, yy, zz = R[0, 0], R[1, 1], R[2, 2]
    wx, wy, wz = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    xy, xz, yz = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    outer = jnp.array(
        [
            [1 + xx + yy + zz, wx, wy, wz],
            [wx, 1 + xx - yy - zz, xy, xz],
            [wy, xy, 1 - xx + yy - zz, yz],
            [wz, xz, yz, 1 - xx - yy + zz],
        ]
    )
    row = outer[jnp.argmax(jnp.diagonal(outer))]
    return row / jnp.sqrt(jnp.vdot(row, row))
