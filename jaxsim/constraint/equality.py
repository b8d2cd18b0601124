"""Equality rows: connect, weld, joint and tendon couplings (mj_instantiateEquality, mj_Jdotv)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import quaternion, spatial, vector
from jaxsim.algebra.select import product, take
from jaxsim.algebra.tree import ancestor
from jaxsim.constraint.scalar import ScalarRows
from jaxsim.core.data import Data
from jaxsim.core.enums import EqType, JointType, ObjType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology
from jaxsim.dynamics.com import com_vel
from jaxsim.dynamics.spatial_tendon import immobile

Array = jax.Array


# where eq_data holds the anchors in the frames of body 1 and body 2
ANCHORS = {EqType.CONNECT: (0, 3), EqType.WELD: (3, 0)}


def moving(t: Topology) -> np.ndarray:
    """[neq] bool: which equalities anything can move; MuJoCo drops those without a Jacobian."""
    kind = np.asarray(t.eq_type)
    still = np.zeros(len(kind), bool)
    held, tied = (np.flatnonzero(np.isin(kind, kinds)) for kinds in (tuple(ANCHORS), (EqType.TENDON,)))
    if len(held):  # two points of one body that turns move apart, if it only slides they do not
        kinds = np.asarray(t.jnt_type[t.dof_jntid])
        turning = np.asarray(ancestor(t)[:, ~np.isin(kinds, JointType.SLIDE)].any(axis=1))
        one, other = (t.body_weldid[body] for body in _bodies(t, held))
        moves = np.asarray(ancestor(t).any(axis=1))
        still[held] = (one == other) & ~turning[one] | ~(moves[one] | moves[other])
    if len(tied):
        still[tied] = np.all([immobile(t)[tendon] for tendon in _partners(t, tied)], axis=0)
    return ~still


def _bodies(m: Model | Topology, chosen: np.ndarray) -> list[np.ndarray]:
    """The bodies [n] of both sides of connects or welds."""
    by_site = m.eq_objtype[chosen] == ObjType.SITE
    return [
        np.where(by_site, m.site_bodyid[np.where(by_site, obj, 0)] if m.nsite else 0, obj)
        for obj in (m.eq_obj1id[chosen], m.eq_obj2id[chosen])
    ]


def _solver_params(m: Model, d: Data, chosen: np.ndarray, rows: int) -> dict[str, Array | None]:
    """Activity, solref and solimp of the chosen equalities, repeated for their rows; equalities have no margin."""
    index = np.repeat(chosen, rows)
    return {
        "active": take(d.eq_active, index),
        "solref": take(m.eq_solref, index),
        "solimp": take(m.eq_solimp, index),
        "margin": None,
    }


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


def anchor_points(m: Model, d: Data, chosen: np.ndarray, kind: EqType) -> tuple[list[np.ndarray], list[Array]]:
    """Bodies [n] and world anchors [n, 3] (m) of both sides of connects or welds."""
    by_site = m.eq_objtype[chosen] == ObjType.SITE
    data = take(m.eq_data, chosen)
    bodies, points = _bodies(m, chosen), []
    for obj, body, column in zip((m.eq_obj1id[chosen], m.eq_obj2id[chosen]), bodies, ANCHORS[kind]):
        mat = take(d.xmat, body).reshape(-1, 3, 3)
        point = take(d.xpos, body) + vector.matvec(mat, data[:, column : column + 3])
        if by_site.any():
            site = take(d.site_xpos, np.where(by_site, obj, 0))
            point = jnp.where(by_site[:, None], site, point)
        points.append(point)
    return bodies, points


def _anchors(m: Model, d: Data, chosen: np.ndarray, kind: EqType) -> _Anchors:
    """World anchors and the difference of their Jacobians."""
    bodies, points = anchor_points(m, d, chosen, kind)
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


def connect(m: Model, d: Data, ten_J: Array, chosen: np.ndarray) -> ScalarRows:
    """Two points coincide: pos = p1 - p2 (m); rows [3 n] for connects [n]."""
    a = _anchors(m, d, chosen, EqType.CONNECT)
    pos = a.point1 - a.point2
    weight = take(m.body_invweight0, a.body1)[:, 0] + take(m.body_invweight0, a.body2)[:, 0]
    return ScalarRows(
        J=a.linear.reshape(-1, m.nv),
        pos=pos.reshape(-1),
        diag=jnp.repeat(weight, 3),
        pos_norm=jnp.repeat(vector.norm(pos), 3),
        bias=a.linear_dot.reshape(-1),
        **_solver_params(m, d, chosen, 3),
    )


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


def weld(m: Model, d: Data, ten_J: Array, chosen: np.ndarray) -> ScalarRows:
    """Two frames coincide: positions (m), half the relative rotation's axis-angle (rad); rows [6 n] for welds [n]."""
    a = _anchors(m, d, chosen, EqType.WELD)
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
    return ScalarRows(
        J=jnp.concatenate([a.linear, rotation], axis=1).reshape(6 * n, nv),
        pos=pos.reshape(-1),
        diag=jnp.repeat(weight, 3, axis=1).reshape(-1),
        pos_norm=jnp.repeat(vector.norm(pos), 6),
        bias=bias.reshape(-1),
        **_solver_params(m, d, chosen, 6),
    )


def _pure(v: Array) -> Array:
    """Quaternion with zero scalar part."""
    return vector.join(jnp.zeros_like(v[..., :1]), v)


def wrenches(
    m: Model, d: Data, chosen: np.ndarray, kind: EqType, force: Array
) -> tuple[list[np.ndarray], list[Array], Array]:
    """What connects or welds exert with the forces of their rows [n, 3 or 6]: the transpose of their Jacobians.

    Returns:
        The bodies [n] of both sides, the world points [n, 3] (m) where they are held, and the wrench [n, 6]
        (torque N m, force N) on side 1 about its point; side 2 gets the opposite about its own.
    """
    bodies, points = anchor_points(m, d, chosen, kind)
    push, turn = force[:, :3], jnp.zeros_like(force[:, :3])
    if kind == EqType.WELD:
        left, right, scale = weld_sides(m, d, chosen, *bodies)
        turn = 0.5 * scale * _untwist(left, right, force[:, 3:])
    return bodies, points, vector.join(turn, push)


def _untwist(left: Array, right: Array, force: Array) -> Array:
    """Transpose of w -> imaginary part of left (0, w) right, for unit quaternions."""
    return quaternion.mul(quaternion.mul(quaternion.conj(left), _pure(force)), quaternion.conj(right))[:, 1:]


def joint_coupling(m: Model, d: Data, ten_J: Array, chosen: np.ndarray) -> ScalarRows:
    """q1 - q1_0 is a polynomial of q2 - q2_0 (m, rad), for slide and hinge joints; rows [n]."""
    obj1, obj2 = _partners(m, chosen)
    adr1, adr2 = m.jnt_qposadr[obj1], m.jnt_qposadr[obj2]
    dof1, dof2 = m.jnt_dofadr[obj1], m.jnt_dofadr[obj2]
    x1, x2 = (take(d.qpos, a) - take(m.qpos0, a) for a in (adr1, adr2))
    j1, j2 = (jnp.asarray(dof[:, None] == np.arange(m.nv), x1.dtype) for dof in (dof1, dof2))
    return _coupling(m, d, chosen, (x1, x2), (j1, j2), [take(m.dof_invweight0, dof) for dof in (dof1, dof2)])


def tendon_coupling(m: Model, d: Data, ten_J: Array, chosen: np.ndarray) -> ScalarRows:
    """The same for the lengths of tendons, with Jacobians `ten_J` [ntendon, nv]; rows [n]."""
    both = _partners(m, chosen)
    x1, x2 = (take(d.ten_length, t) - take(m.tendon_length0, t) for t in both)
    j1, j2 = (take(ten_J, t) for t in both)
    return _coupling(m, d, chosen, (x1, x2), (j1, j2), [take(m.tendon_invweight0, t) for t in both])


def _partners(m: Model | Topology, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two joints or tendons of each coupling; the first twice where there is no second."""
    first, second = m.eq_obj1id[chosen], m.eq_obj2id[chosen]
    return first, np.where(second >= 0, second, first)


def _coupling(m: Model, d: Data, chosen: np.ndarray, x, j, weight) -> ScalarRows:
    """x1 = polynomial of x2, or without a second object a constant, for pairs of coordinates and Jacobians."""
    coupled = m.eq_obj2id[chosen] >= 0
    (x1, x2), (j1, j2), (w1, w2) = x, j, weight
    c = take(m.eq_data, chosen)
    value = c[:, 0] + jnp.where(coupled, x2 * (c[:, 1] + x2 * (c[:, 2] + x2 * (c[:, 3] + x2 * c[:, 4]))), 0)
    slope = jnp.where(coupled, c[:, 1] + x2 * (2 * c[:, 2] + x2 * (3 * c[:, 3] + x2 * 4 * c[:, 4])), 0)
    return ScalarRows(
        J=j1 - slope[:, None] * j2,
        pos=x1 - value,
        diag=w1 + jnp.where(coupled, w2, 0),
        **_solver_params(m, d, chosen, 1),
    )
