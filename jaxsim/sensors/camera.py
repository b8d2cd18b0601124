"""Sensors of cameras: where a site is in the image (mj_sensorPos)."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.core.data import Data
from jaxsim.core.enums import MINVAL
from jaxsim.core.model import Model
from jaxsim.dynamics.camera import camera_frames, focal_lengths

Array = jax.Array


def projections(m: Model, d: Data, s: np.ndarray) -> Array:
    """CAMPROJECTION [n, 2], pixels to the right of the image's left border and below its upper one.

    x = width / 2 - f_x X / Z and y = height / 2 + f_y Y / Z for a site at (X, Y, Z) in the camera's frame, which
    looks along -Z.
    """
    cameras = m.sensor_refid[s]
    pos, mat = camera_frames(m, d, cameras)
    local = vector.matvec_t(mat.reshape(-1, 3, 3), take(d.site_xpos, m.sensor_objid[s]) - pos)
    depth = local[:, 2:]
    near = jnp.abs(depth) < MINVAL
    depth = jnp.where(near, jnp.where(depth < 0, -MINVAL, MINVAL), depth)
    focal = np.array([focal_lengths(m, c) for c in cameras]) * [-1, 1]
    middle = jnp.asarray(m.cam_resolution[cameras] / 2, depth.dtype)
    return middle + jnp.asarray(focal, depth.dtype) * local[:, :2] / depth
