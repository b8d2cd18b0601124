"""World frames of cameras (mj_camlight)."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.select import gather_groups, take
from jaxsim.core.data import Data
from jaxsim.core.enums import CamLight
from jaxsim.core.model import Model

Array = jax.Array

ORTHOGRAPHIC = 1  # of cam_projection (mjtProjection)


def camera_frames(m: Model, d: Data, cameras: np.ndarray) -> tuple[Array, Array]:
    """Positions [n, 3] and orientations [n, 9] of the given cameras.

    Fixed cameras move with their body; tracking ones keep their orientation and follow the body or its
    subtree's com; targeting ones look at a body or its subtree's com, upright.
    """
    untargeted = (m.cam_mode[cameras] > CamLight.TRACKCOM) & (m.cam_targetbodyid[cameras] < 0)
    mode = np.where(untargeted, CamLight.FIXED, m.cam_mode[cameras])
    groups = []
    for kind in np.unique(mode):
        here = np.flatnonzero(mode == kind)
        groups.append((here, *_frames(m, d, cameras[here], int(kind))))
    pos = gather_groups([(i, p) for i, p, _ in groups], len(cameras))
    return pos, gather_groups([(i, r) for i, _, r in groups], len(cameras))


def _frames(m: Model, d: Data, cameras: np.ndarray, mode: int) -> tuple[Array, Array]:
    body = m.cam_bodyid[cameras]
    if mode == CamLight.TRACK:
        return take(d.xpos, body) + take(m.cam_pos0, cameras), take(m.cam_mat0, cameras)
    if mode == CamLight.TRACKCOM:
        return take(d.subtree_com, body) + take(m.cam_poscom0, cameras), take(m.cam_mat0, cameras)
    quat = take(d.xquat, body)
    pos = take(d.xpos, body) + quaternion.rotate(quat, take(m.cam_pos, cameras))
    if mode == CamLight.FIXED:
        return pos, quaternion.to_mat(quaternion.mul(quat, take(m.cam_quat, cameras)))
    target = take(d.xpos if mode == CamLight.TARGETBODY else d.subtree_com, m.cam_targetbodyid[cameras])
    return pos, _looking_at(pos - target)


def _looking_at(backward: Array) -> Array:
    """Orientation [n, 9] whose z axis points backward and whose x axis is horizontal."""
    z = vector.normalize(backward)
    up = jnp.broadcast_to(jnp.asarray([[0.0, 0.0, 1.0]], z.dtype), z.shape)
    x = vector.normalize(vector.cross(up, z))
    y = vector.normalize(vector.cross(z, x))
    return jnp.stack([x, y, z], axis=2).reshape(-1, 9)


def focal_lengths(m: Model, camera: int) -> np.ndarray:
    """[2] focal lengths of a camera in pixels, from its chip or else from its field of view."""
    height = m.cam_resolution[camera, 1]
    fovy = np.deg2rad(m.cam_fovy[camera])
    return _of_chip(m, camera, m.cam_intrinsic[camera, :2], np.full(2, 0.5 / np.tan(fovy / 2) * height))


def principal_point(m: Model, camera: int) -> np.ndarray:
    """[2] where the axis of a camera meets its image, in pixels from the upper left corner."""
    return _of_chip(m, camera, m.cam_intrinsic[camera, 2:], m.cam_resolution[camera] / 2)


def _of_chip(m: Model, camera: int, lengths: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Lengths [2] (m) on the chip of a camera in pixels, in the single precision of MuJoCo; without a chip, others."""
    size, pixels = m.cam_sensorsize[camera].astype(np.float32), m.cam_resolution[camera].astype(np.float32)
    return (lengths.astype(np.float32) / size * pixels).astype(float) if size.all() else otherwise
