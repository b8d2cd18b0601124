"""Velocities and accelerations of objects (mj_objectVelocity, mj_objectAcceleration)."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import spatial, vector
from jaxsim.algebra.select import product
from jaxsim.algebra.tree import ancestor
from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.core.shapes import check_one_world
from jaxsim.dynamics.camera import camera_frames
from jaxsim.dynamics.com import com_vel, gravity_acceleration
from jaxsim.queries.elements import Element, element_id, tree_center

Array = jax.Array


def _object(model: Model, data: Data, kind: str, which: Element) -> tuple[int, Array, Array]:
    """Body, position [3] and orientation [3, 3] of an object."""
    if kind in ("body", "xbody"):
        b = element_id(model, "body", which)
        pos, mat = (data.xipos, data.ximat) if kind == "body" else (data.xpos, data.xmat)
        return b, pos[b], mat[b].reshape(3, 3)
    if kind in ("geom", "site"):
        i = element_id(model, kind, which)
        body = int(getattr(model, f"{kind}_bodyid")[i])
        return body, getattr(data, f"{kind}_xpos")[i], getattr(data, f"{kind}_xmat")[i].reshape(3, 3)
    if kind == "camera":
        i = model.topology.id_of(kind, which) if isinstance(which, str) else int(which)
        pos, mat = camera_frames(model, data, np.array([i]))
        return int(model.cam_bodyid[i]), pos[0], mat[0].reshape(3, 3)
    raise ValueError(f"kind {kind!r}; expected 'body' (inertial frame), 'xbody', 'geom', 'site' or 'camera'")


def object_velocity(model: Model, data: Data, kind: str, which: Element, local: bool = False) -> Array:
    """Velocity [6] of an object's frame: angular (rad/s), then linear (m/s) (mj_objectVelocity).

    Args:
        model: the model.
        data: after `forward`.
        kind: 'body' (the inertial frame), 'xbody' (the body frame), 'geom', 'site' or 'camera'.
        which: name or index.
        local: in the axes of the object instead of the world's.
    """
    check_one_world("object_velocity", data)
    b, pos, mat = _object(model, data, kind, which)
    velocity = spatial.shift_motion(data.cvel[b], pos - tree_center(model, data, b))
    return _turned(mat, velocity) if local else velocity


def object_acceleration(model: Model, data: Data, kind: str, which: Element, local: bool = False) -> Array:
    """Acceleration [6] of an object's frame: angular (rad/s^2), then linear (m/s^2) (mj_objectAcceleration).

    As an accelerometer feels it: gravity counts as an upward acceleration of everything. The arguments are
    those of `object_velocity`.
    """
    check_one_world("object_acceleration", data)
    b, pos, mat = _object(model, data, kind, which)
    arm = pos - tree_center(model, data, b)
    _, cdof_dot = com_vel(model, data)
    moves = ancestor(model.topology)[b : b + 1]
    rate = cdof_dot * data.qvel[:, None] + data.cdof * data.qacc[:, None]
    acceleration = spatial.shift_motion((product(moves, rate) + gravity_acceleration(model))[0], arm)
    omega, linear = spatial.halves(spatial.shift_motion(data.cvel[b], arm))
    acceleration = acceleration + vector.join(jnp.zeros_like(omega), vector.cross(omega, linear))
    return _turned(mat, acceleration) if local else acceleration


def _turned(mat: Array, motion: Array) -> Array:
    """Both halves of a motion vector [6] in the axes of mat [3, 3]."""
    return vector.join(*(vector.matvec_t(mat, x) for x in spatial.halves(motion)))
