"""Equality rows: connect, weld, joint and tendon couplings (mj_instantiateEquality, mj_Jdotv)."""

from collections.abc import Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import quaternion, spatial, vector
from jaxsim.algebra.select import product, take
from jaxsim.algebra.tree import ancestor
from jaxsim.core.data import Data
from jaxsim.core.enums import EqType, ObjType
from jaxsim.core.model import Model
from jaxsim.dynamics.com import com_vel

Array = jax.Array


class EqualityRows(NamedTuple):
    """One family of equality rows; `bias` is Jdot v."""

    J: Array
    pos: Array
    active: Array
    solref: Array
    solimp: Array
    diag: Array
    pos_norm: Array
    bias: Array


def equality_rows(m: Model, d: Data, ten_J: Array) -> Iterator[EqualityRows]:
    """The rows of every equality type that the model has."""
    for eq_type, build in ((EqType.CONNECT, _connect), (EqType.WELD, _weld)):
        chosen = np.flatnonzero(m.eq_type == eq_type)
        if len(chosen):
            yield build(m, d, chosen)
    for eq_type in (EqType.JOINT, EqType.TENDON):
        chosen = np.flatnonzero(m.eq_type == eq_type)
        if len(chosen):
            yield _coupling(m, d, ten_J, chosen, eq_type)


def _solver_params(m: Model, d: Data, chosen: np.ndarray, rows: int) -> tuple[Array, Array, Array]:
    """Activity, solref and solimp of the chosen equalities, repeated for their rows."""
    index = np.repeat(chosen, rows)
    return take(d.eq_active, index), take(m.eq_solref, index), take(m.eq_solimp, index)


class _Anchors(NamedTuple):
    """The two sides of connects or welds: bodies, world points, and Jacobians of both points [n, 3, nv]."""

    body1: np.ndarray
    body2: np.ndarray
    point1: Array
    point2: Array
    linear: Array
    angular: Array
    linear_dot: Array
    angular_dot: Array


def anchor_points(
    m: Model, d: Data, chosen: np.ndarray, first: int, second: int
) -> tuple[list[np.ndarray], list[Array]]:
    """Bodies and world anchors [n, 3] of both sides; eq_data holds those of body 1 at column `first` and of
    body 2 at column `second`."""
    by_site = m.eq_objtype[chosen] == ObjType.SITE
    data = take(m.eq_data, chosen)
    bodies, points = [], []
    for obj, column in ((m.eq_obj1id[chosen], first), (m.eq_obj2id[chosen], second)):
        body = np.where(by_site, m.site_bodyid[np.where(by_site, obj, 0)] if m.nsite else 0, obj)
        mat = take(d.xmat, body).reshape(-1, 3, 3)
        point = take(d.xpos, body) + vector.matvec(mat, data[:, column : column + 3])
        if by_site.any():
            site = take(d.site_xpos, np.where(by_site, obj, 0))
            point = jnp.where(by_site[:, None], site, point)
        bodies.append(body)
        points.append(point)
    return bodies, points


def _anchors(m: Model, d: Data, chosen: np.ndarray, first: int, second: int) -> _Anchors:
    """World anchors and the difference of their Jacobians."""
    bodies, points = anchor_points(m, d, chosen, first, second)
    jacobians = [_point_jacobian(m, d, b, p) for b, p in zip(bodies, points)]
    difference = (x - y for x, y in zip(*jacobians))
    return _Anchors(bodies[0], bodies[1], points[0], points[1], *difference)


def _point_jacobian(m: Model, d: Data, body: np.ndarray, point: Array) -> tuple[Array, Array, Array, Array]:
    """Linear and angular Jacobian [n, 3, nv] of points on bodies, and their rates times qvel [n, 3]."""
    moves = jnp.asarray(ancestor(m.topology)[body], point.dtype)[:, None]
    arm = point - take(d.subtree_com, m.body_rootid[body])
    turn, slide = spatial.halves(d.cdof)
    linear = slide[None] + vector.cross(
        jnp.broadcast_to(turn[None], (len(body), *turn.shape)),
        jnp.broadcast_to(arm[:, None], (len(body), *turn.shape)),
    )
    # the acceleration of the point at zero qacc: spatial part, plus omega x v from the moving point
    rate = _acceleration_bias(m, d, body)
    omega, velocity = spatial.halves(spatial.shift_motion(take(d.cvel, body), arm))
    angular_dot, linear_dot = spatial.halves(spatial.shift_motion(rate, arm))
    linear_dot = linear_dot + vector.cross(omega, velocity)
    angular = jnp.broadcast_to(turn[None], (len(body), *turn.shape))
    return jnp.swapaxes(linear, 1, 2) * moves, jnp.swapaxes(angular, 1, 2) * moves, linear_dot, angular_dot


def _acceleration_bias(m: Model, d: Data, body: np.ndarray) -> Array:
    """Spatial acceleration of bodies [n, 6] at zero qacc and without gravity."""
    _, cdof_dot = com_vel(m, d)
    return take(product(ancestor(m.topology), cdof_dot * d.qvel[:, None]), body)


def _connect(m: Model, d: Data, chosen: np.ndarray) -> EqualityRows:
    """Two points coincide: pos = p1 - p2."""
    a = _anchors(m, d, chosen, 0, 3)
    n, nv = len(chosen), m.nv
    pos = a.point1 - a.point2
    weight = take(m.body_invweight0, a.body1)[:, 0] + take(m.body_invweight0, a.body2)[:, 0]
    return EqualityRows(
        a.linear.reshape(3 * n, nv), pos.reshape(-1), *_solver_params(m, d, chosen, 3),
        jnp.repeat(weight, 3), jnp.repeat(vector.norm(pos), 3), a.linear_dot.reshape(-1),
    )  # fmt: skip


def weld_sides(
    m: Model, d: Data, chosen: np.ndarray, body1: np.ndarray, body2: np.ndarray
) -> tuple[Array, Array, Array]:
    """Quaternions whose product is the rotation that a weld holds at identity, and its torquescale [n, 1]."""
    data = take(m.eq_data, chosen)
    q1, q2 = take(d.xquat, body1), take(d.xquat, body2)
    by_site = (m.eq_objtype[chosen] == ObjType.SITE)[:, None]
    relative, offset = data[:, 6:10], jnp.asarray(np.eye(1, 4).repeat(len(chosen), 0), q1.dtype)
    if by_site.any():
        site1 = take(m.site_quat, np.where(by_site[:, 0], m.eq_obj1id[chosen], 0))
        site2 = take(m.site_quat, np.where(by_site[:, 0], m.eq_obj2id[chosen], 0))
        relative, offset = jnp.where(by_site, site1, relative), jnp.where(by_site, site2, offset)
    left = quaternion.conj(quaternion.mul(q2, offset))
    return left, quaternion.mul(q1, relative), data[:, 10:11]


def _weld(m: Model, d: Data, chosen: np.ndarray) -> EqualityRows:
    """Two frames coincide: positions, and half the axis-angle of the relative rotation."""
    a = _anchors(m, d, chosen, 3, 0)
    n, nv = len(chosen), m.nv
    left, right, scale = weld_sides(m, d, chosen, a.body1, a.body2)
    twist = quaternion.mul(left, right)[:, 1:] * scale
    pos = jnp.concatenate([a.point1 - a.point2, twist], axis=1)

    # d/dt (left (0, w) right) / 2 with left and right turning with their own bodies
    axis = jnp.swapaxes(a.angular, 1, 2)
    spread = (n, nv, 4)
    turned = quaternion.mul(
        quaternion.mul(jnp.broadcast_to(left[:, None], spread), _pure(axis)),
        jnp.broadcast_to(right[:, None], spread),
    )
    rotation = 0.5 * jnp.swapaxes(turned[..., 1:], 1, 2) * scale[:, None]
    w1, w2 = take(d.cvel, a.body1)[:, :3], take(d.cvel, a.body2)[:, :3]
    left_dot = -0.5 * quaternion.mul(left, _pure(w2))
    right_dot = 0.5 * quaternion.mul(_pure(w1), right)
    relative_w = _pure(w1 - w2)
    bias = (
        quaternion.mul(quaternion.mul(left_dot, relative_w), right)
        + quaternion.mul(quaternion.mul(left, _pure(a.angular_dot)), right)
        + quaternion.mul(quaternion.mul(left, relative_w), right_dot)
    )
    bias = jnp.concatenate([a.linear_dot, 0.5 * bias[:, 1:] * scale], axis=1)
    weight = take(m.body_invweight0, a.body1) + take(m.body_invweight0, a.body2)
    return EqualityRows(
        jnp.concatenate([a.linear, rotation], axis=1).reshape(6 * n, nv), pos.reshape(-1),
        *_solver_params(m, d, chosen, 6), jnp.repeat(weight, 3, axis=1).reshape(-1),
        jnp.repeat(vector.norm(pos), 6), bias.reshape(-1),
    )  # fmt: skip


def _pure(v: Array) -> Array:
    """Quaternion with zero scalar part."""
    return vector.join(jnp.zeros_like(v[..., :1]), v)


def _coupling(m: Model, d: Data, ten_J: Array, chosen: np.ndarray, eq_type: EqType) -> EqualityRows:
    """q1 - q1_0 = polynomial of (q2 - q2_0), for scalar joints or tendons; without q2, a constant."""
    obj1, obj2 = m.eq_obj1id[chosen], m.eq_obj2id[chosen]
    coupled = obj2 >= 0
    partner = np.where(coupled, obj2, obj1)
    if eq_type == EqType.JOINT:
        adr1, adr2 = m.jnt_qposadr[obj1], m.jnt_qposadr[partner]
        x1, x2 = (take(d.qpos, a) - take(m.qpos0, a) for a in (adr1, adr2))
        dof1, dof2 = m.jnt_dofadr[obj1], m.jnt_dofadr[partner]
        j1, j2 = (jnp.asarray(dof[:, None] == np.arange(m.nv), x1.dtype) for dof in (dof1, dof2))
        w1, w2 = take(m.dof_invweight0, dof1), take(m.dof_invweight0, dof2)
    else:
        x1, x2 = (take(d.ten_length, t) - take(m.tendon_length0, t) for t in (obj1, partner))
        j1, j2 = take(ten_J, obj1), take(ten_J, partner)
        w1, w2 = take(m.tendon_invweight0, obj1), take(m.tendon_invweight0, partner)
    c = take(m.eq_data, chosen)
    value = c[:, 0] + jnp.where(coupled, x2 * (c[:, 1] + x2 * (c[:, 2] + x2 * (c[:, 3] + x2 * c[:, 4]))), 0)
    slope = jnp.where(coupled, c[:, 1] + x2 * (2 * c[:, 2] + x2 * (3 * c[:, 3] + x2 * 4 * c[:, 4])), 0)
    pos = x1 - value
    return EqualityRows(
        j1 - slope[:, None] * j2, pos, *_solver_params(m, d, chosen, 1),
        w1 + jnp.where(coupled, w2, 0), pos, jnp.zeros_like(pos),
    )  # fmt: skip
