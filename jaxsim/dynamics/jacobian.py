"""Queries of a state: Jacobians, velocities and accelerations of points and objects, products with M.

All read what `forward` leaves in Data. Elements are given by name or by index; indices are static. A point
is in world coordinates, metre. Jacobians are (jacp, jacr), each [3, nv]: the velocity of the point, and the
angular velocity of its body, per unit of qvel, in world axes.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim import math, spatial
from jaxsim.data import Data
from jaxsim.dynamics.camera import camera_frames
from jaxsim.dynamics.com import com_vel, gravity_acceleration
from jaxsim.dynamics.tree import ancestor, subtree
from jaxsim.model import Model
from jaxsim.rows import product
from jaxsim.solvers.linear import solve
from jaxsim.types import MINVAL, JointType

Array = jax.Array
Element = str | int | np.integer


def element_id(model: Model, kind: str, which: Element) -> int:
    """Index of an element given by name or index; KeyError if there is none."""
    if isinstance(which, str):
        return model.topology.id_of(kind, which)
    index, size = int(which), len(getattr(model, f"{kind}_bodyid")) if kind != "body" else model.nbody
    if not 0 <= index < size:
        raise KeyError(f"no {kind} {index}: the model has {size}")
    return index


def jac(model: Model, data: Data, point: Array, body: Element) -> tuple[Array, Array]:
    """Jacobians of a world point [3] that moves with a body (mj_jac)."""
    b = element_id(model, "body", body)
    turn, slide = spatial.halves(data.cdof)
    arm = jnp.broadcast_to((point - _center(model, data, b))[None], turn.shape)
    moves = jnp.asarray(ancestor(model.topology)[b], turn.dtype)[None]
    return (slide + math.cross(turn, arm)).T * moves, turn.T * moves


def jac_body(model: Model, data: Data, body: Element) -> tuple[Array, Array]:
    """Jacobians of the origin of a body's frame (mj_jacBody)."""
    b = element_id(model, "body", body)
    return jac(model, data, data.xpos[b], b)


def jac_body_com(model: Model, data: Data, body: Element) -> tuple[Array, Array]:
    """Jacobians of the centre of mass of a body (mj_jacBodyCom)."""
    b = element_id(model, "body", body)
    return jac(model, data, data.xipos[b], b)


def jac_geom(model: Model, data: Data, geom: Element) -> tuple[Array, Array]:
    """Jacobians of the centre of a geom (mj_jacGeom)."""
    g = element_id(model, "geom", geom)
    return jac(model, data, data.geom_xpos[g], model.geom_bodyid[g])


def jac_site(model: Model, data: Data, site: Element) -> tuple[Array, Array]:
    """Jacobians of a site (mj_jacSite)."""
    s = element_id(model, "site", site)
    return jac(model, data, data.site_xpos[s], model.site_bodyid[s])


def jac_subtree_com(model: Model, data: Data, body: Element) -> Array:
    """Jacobian [3, nv] of the centre of mass of a body and its descendants (mj_jacSubtreeCom).

    The mean of the bodies' com Jacobians, weighted by mass. With r the offset of a body's com from the
    centre of its tree, dof j adds (sum m) slide_j + turn_j x (sum m r) over the bodies that it moves.
    """
    b = element_id(model, "body", body)
    t = model.topology
    moved = (ancestor(t) * subtree(t)[b][:, None]).T
    mass = product(moved, model.body_mass)[:, None]
    moment = product(moved, model.body_mass[:, None] * (data.xipos - data.subtree_com[model.body_rootid]))
    turn, slide = spatial.halves(data.cdof)
    total = mass * slide + math.cross(turn, moment)
    return total.T / jnp.maximum(model.body_subtreemass[b], MINVAL)


def jac_dot(model: Model, data: Data, point: Array, body: Element) -> tuple[Array, Array]:
    """Rate of change [3, nv] of the Jacobians of `jac`, for a point fixed to the body (mj_jacDot)."""
    b = element_id(model, "body", body)
    _, cdof_dot = com_vel(model, data)
    spinning = _rotates_as_quaternion(model)[:, None]
    cdof_dot = jnp.where(spinning, spatial.cross_motion(data.cvel[model.dof_bodyid], data.cdof), cdof_dot)
    arm = point - _center(model, data, b)
    velocity = spatial.shift_motion(data.cvel[b], arm)[3:]
    turn_dot, slide_dot = spatial.halves(cdof_dot)
    turn = spatial.halves(data.cdof)[0]
    jacp = slide_dot + math.cross(turn_dot, jnp.broadcast_to(arm[None], turn.shape))
    jacp = jacp + math.cross(turn, jnp.broadcast_to(velocity[None], turn.shape))
    moves = jnp.asarray(ancestor(model.topology)[b], turn.dtype)[None]
    return jacp.T * moves, turn_dot.T * moves


def _rotates_as_quaternion(model: Model) -> np.ndarray:
    """Which dofs [nv] turn a ball or free joint."""
    kind = model.jnt_type[model.dof_jntid]
    within = np.arange(model.nv) - model.jnt_dofadr[model.dof_jntid]
    return (kind == JointType.BALL) | ((kind == JointType.FREE) & (within >= 3))


def _center(model: Model, data: Data, body: int) -> Array:
    """The point [3] about which cdof and cvel of a body are expressed: the com of its tree."""
    return data.subtree_com[model.body_rootid[body]]


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
    b, pos, mat = _object(model, data, kind, which)
    velocity = spatial.shift_motion(data.cvel[b], pos - _center(model, data, b))
    return _turned(mat, velocity) if local else velocity


def object_acceleration(model: Model, data: Data, kind: str, which: Element, local: bool = False) -> Array:
    """Acceleration [6] of an object's frame: angular (rad/s^2), then linear (m/s^2) (mj_objectAcceleration).

    As an accelerometer feels it: gravity counts as an upward acceleration of everything. The arguments are
    those of `object_velocity`.
    """
    b, pos, mat = _object(model, data, kind, which)
    arm = pos - _center(model, data, b)
    _, cdof_dot = com_vel(model, data)
    moves = ancestor(model.topology)[b : b + 1]
    rate = cdof_dot * data.qvel[:, None] + data.cdof * data.qacc[:, None]
    acceleration = spatial.shift_motion((product(moves, rate) + gravity_acceleration(model))[0], arm)
    omega, linear = spatial.halves(spatial.shift_motion(data.cvel[b], arm))
    acceleration = acceleration + math.join(jnp.zeros_like(omega), math.cross(omega, linear))
    return _turned(mat, acceleration) if local else acceleration


def _turned(mat: Array, motion: Array) -> Array:
    """Both halves of a motion vector [6] in the axes of mat [3, 3]."""
    return math.join(*(math.matvec_t(mat, x) for x in spatial.halves(motion)))


def full_m(model: Model, data: Data) -> Array:
    """Joint-space inertia matrix [nv, nv] (mj_fullM)."""
    return data.qM


def mul_m(model: Model, data: Data, x: Array) -> Array:
    """M x, for x [nv] or [..., nv] (mj_mulM)."""
    return lax.dot_general(x, data.qM, (((x.ndim - 1,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)


def solve_m(model: Model, data: Data, x: Array) -> Array:
    """M^-1 x, for x [nv] or [..., nv] (mj_solveM)."""
    if not model.nv:
        return x
    rows = x.reshape(-1, model.nv)
    return jax.vmap(solve, (None, 0))(data.qM, rows).reshape(x.shape)


def apply_ft(model: Model, data: Data, force: Array, torque: Array, point: Array, body: Element) -> Array:
    """Generalised force [nv] of a world force (N) and torque (N m) at a point of a body (mj_applyFT)."""
    jacp, jacr = jac(model, data, point, body)
    return math.matvec_t(jacp, force) + math.matvec_t(jacr, torque)
