"""Sensors of frames, of their velocities and of their accelerations.

Each function takes the indices of the sensors of its family and returns one row per sensor. A frame
belongs to a body (its inertial frame), an xbody (the body frame), a geom, a site or a camera.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import quaternion, spatial, vector
from jaxsim.algebra.select import gather_groups, take
from jaxsim.core.data import Data
from jaxsim.core.enums import ObjType, SensorType
from jaxsim.core.model import Model
from jaxsim.dynamics.camera import camera_frames

Array = jax.Array


class Frames(NamedTuple):
    """World frames [n] of objects, and the bodies that carry them."""

    pos: Array  # [n, 3] m
    mat: Array  # [n, 3, 3]
    body: np.ndarray  # [n]


def object_frames(m: Model, d: Data, objtype: np.ndarray, objid: np.ndarray) -> Frames:
    """Frames [n] of objects given by type [n] and index [n]."""
    read: dict[int, Callable] = {
        ObjType.BODY: lambda i: (take(d.xipos, i), take(d.ximat, i), i),
        ObjType.XBODY: lambda i: (take(d.xpos, i), take(d.xmat, i), i),
        ObjType.GEOM: lambda i: (take(d.geom_xpos, i), take(d.geom_xmat, i), m.geom_bodyid[i]),
        ObjType.SITE: lambda i: (take(d.site_xpos, i), take(d.site_xmat, i), m.site_bodyid[i]),
        ObjType.CAMERA: lambda i: (*camera_frames(m, d, i), m.cam_bodyid[i]),
    }
    groups, body = [], np.zeros(len(objid), int)
    for kind in np.unique(objtype):
        here = np.flatnonzero(objtype == kind)
        pos, mat, owner = read[int(kind)](objid[here])
        groups.append((here, vector.join(pos, mat)))
        body[here] = owner
    both = gather_groups(groups, len(objid))
    return Frames(both[:, :3], both[:, 3:].reshape(-1, 3, 3), body)


def object_quats(m: Model, d: Data, objtype: np.ndarray, objid: np.ndarray) -> Array:
    """Orientations [n, 4] of objects given by type and index."""
    owner = {ObjType.GEOM: "geom", ObjType.SITE: "site", ObjType.CAMERA: "cam"}
    groups = []
    for kind in np.unique(objtype):
        here = np.flatnonzero(objtype == kind)
        i = objid[here]
        if kind == ObjType.XBODY:
            quat = take(d.xquat, i)
        elif kind == ObjType.BODY:
            quat = quaternion.mul(take(d.xquat, i), take(m.body_iquat, i))
        else:
            name = owner[ObjType(int(kind))]
            body = getattr(m, f"{name}_bodyid")[i]
            quat = quaternion.mul(take(d.xquat, body), take(getattr(m, f"{name}_quat"), i))
        groups.append((here, quat))
    return gather_groups(groups, len(objid))


def velocities(m: Model, d: Data, frames: Frames) -> Array:
    """Velocities [n, 6] (angular, linear) of frames, in world axes (mj_objectVelocity)."""
    return spatial.shift_motion(take(d.cvel, frames.body), arm_of(m, d, frames))


def accelerations(m: Model, d: Data, cacc: Array, frames: Frames) -> Array:
    """Accelerations [n, 6] of frames in world axes, gravity included (mj_objectAcceleration)."""
    omega, velocity = spatial.halves(velocities(m, d, frames))
    angular, linear = spatial.halves(spatial.shift_motion(take(cacc, frames.body), arm_of(m, d, frames)))
    return vector.join(angular, linear + vector.cross(omega, velocity))


def arm_of(m: Model, d: Data, frames: Frames) -> Array:
    """From the com of each frame's tree to the frame [n, 3] (m)."""
    return frames.pos - take(d.subtree_com, m.body_rootid[frames.body])


def sites_of(m: Model, d: Data, s: np.ndarray) -> Frames:
    """Frames [n] of the sites of sensors `s` [n]."""
    return object_frames(m, d, np.full(len(s), int(ObjType.SITE)), m.sensor_objid[s])


def pick(m: Model, s: np.ndarray, motion: Array, *linear: SensorType) -> Array:
    """Linear half of [n, 6] for sensors of the given types, angular half for others."""
    half = np.isin(m.sensor_type[s], linear)
    return take(motion.reshape(-1, 3), 2 * np.arange(len(s)) + half)


def to_frame(mat: Array, motion: Array) -> Array:
    """World vectors [n, 6] in the axes of frames [n, 3, 3]."""
    angular, linear = spatial.halves(motion)
    return vector.join(vector.matvec_t(mat, angular), vector.matvec_t(mat, linear))


def _references(m: Model, s: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Type and index of the reference frames; the world body where a sensor has none, None if none has."""
    given = m.sensor_refid[s] >= 0
    if not given.any():
        return None
    return np.where(given, m.sensor_reftype[s], int(ObjType.XBODY)), np.where(given, m.sensor_refid[s], 0)


def poses(m: Model, d: Data, s: np.ndarray) -> Array:
    """FRAMEPOS, FRAMEXAXIS, FRAMEYAXIS and FRAMEZAXIS [n, 3]."""
    frames = object_frames(m, d, m.sensor_objtype[s], m.sensor_objid[s])
    axis = m.sensor_type[s] - SensorType.FRAMEXAXIS
    reference = _references(m, s)
    pos, mat = frames.pos, frames.mat
    if reference is not None:
        origin = object_frames(m, d, *reference)
        pos = vector.matvec_t(origin.mat, pos - origin.pos)
        mat = jnp.sum(origin.mat[:, :, :, None] * mat[:, :, None], axis=1)
    # rows per sensor: position, then the three axes
    rows = jnp.concatenate([pos[:, None], jnp.swapaxes(mat, 1, 2)], axis=1).reshape(-1, 3)
    return take(rows, 4 * np.arange(len(s)) + np.where(axis < 0, 0, axis + 1))


def quats(m: Model, d: Data, s: np.ndarray) -> Array:
    """FRAMEQUAT [n, 4]."""
    quat = object_quats(m, d, m.sensor_objtype[s], m.sensor_objid[s])
    reference = _references(m, s)
    if reference is None:
        return quat
    return quaternion.mul(quaternion.conj(object_quats(m, d, *reference)), quat)


def frame_velocities(m: Model, d: Data, s: np.ndarray) -> Array:
    """FRAMELINVEL and FRAMEANGVEL [n, 3], as seen from a moving reference frame where there is one."""
    frames = object_frames(m, d, m.sensor_objtype[s], m.sensor_objid[s])
    velocity = velocities(m, d, frames)
    reference = _references(m, s)
    if reference is not None:
        origin = object_frames(m, d, *reference)
        of_origin = velocities(m, d, origin)
        carried = spatial.shift_motion(of_origin, frames.pos - origin.pos)
        velocity = to_frame(origin.mat, velocity - carried)
    return pick(m, s, velocity, SensorType.FRAMELINVEL)


def frame_accelerations(m: Model, d: Data, s: np.ndarray, cacc: Array) -> Array:
    """FRAMELINACC (m/s^2) and FRAMEANGACC (rad/s^2) [n, 3]."""
    frames = object_frames(m, d, m.sensor_objtype[s], m.sensor_objid[s])
    return pick(m, s, accelerations(m, d, cacc, frames), SensorType.FRAMELINACC)
