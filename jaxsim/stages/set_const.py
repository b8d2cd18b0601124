"""Everything in Model that follows from its other fields (mj_setConst of MuJoCo 4.0), under jit and autodiff.

Change masses, poses, sizes, armature, gears ..., then call `set_const`. What the compiler resolves once is
left alone, as in MuJoCo 4.0: spring lengths of tendons that were automatic, dampings that came from damping
ratios, inertias that came from geoms, and the statistics in `model.stat`. Of the bounding volumes the radii
are recomputed; a mesh keeps its own.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import quaternion, spatial, vector
from jaxsim.algebra.select import product, put, take
from jaxsim.algebra.tree import ancestor, subtree
from jaxsim.core.data import Data, make_data
from jaxsim.core.enums import MINVAL, EqType, GeomType, JointType, ObjType
from jaxsim.core.model import Model
from jaxsim.core.shapes import check_model
from jaxsim.dynamics.com import com_pos, crb
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.dynamics.tendon import tendon, tendon_armature
from jaxsim.dynamics.transmission import transmission
from jaxsim.solvers.linear.solve import solve

Array = jax.Array

SMALLEST = 1e-5  # least length scale of a body, metre
MARKED = 11  # column of eq_data that is set for welds whose relative pose is that at qpos0


@jax.jit
def set_const(model: Model) -> Model:
    """Recompute every derived field of the model (mj_setConst).

    Args:
        model: with any real-valued fields changed, batched under `vmap`, or traced.

    Returns:
        The model with body_subtreemass, body_margin, geom_rbound, the sizes of height field geoms, dof_M0,
        dof_length, dof_invweight0, body_invweight0, tendon_length0, tendon_invweight0, actuator_length0,
        actuator_acc0, the eq_data of connects and welds, and the cam_ and light_ fields ending in 0.
    """
    check_model("set_const", model)
    m = model.replace(body_subtreemass=product(subtree(model.topology), model.body_mass))
    m = _geom_bounds(m)
    d = com_pos(m, kinematics(m, make_data(m)))
    d, ten_J = tendon(m, d)
    d = crb(m, d)
    m = m.replace(dof_M0=jnp.diagonal(d.qM), tendon_length0=d.ten_length)
    d, moment = transmission(m, tendon_armature(m, d, ten_J), ten_J)
    m = m.replace(actuator_length0=d.actuator_length, dof_length=_dof_length(m, d))
    m = _inverse_weights(m, d, ten_J, moment)
    return _viewers(_relative_poses(m, d), d)


def _inverse_weights(m: Model, d: Data, ten_J: Array, moment: Array) -> Model:
    """Diagonals of J M^-1 J^T of dofs, bodies and tendons, and accelerations |M^-1 moment| of actuators."""
    if not m.nv:
        names = ("body_invweight0", "tendon_invweight0", "actuator_acc0")
        return m.replace(**{k: jnp.zeros_like(getattr(m, k)) for k in names})
    eye = jnp.eye(m.nv, dtype=d.qM.dtype)
    inverse = jax.vmap(solve, (None, 0))(d.qM, eye)
    return m.replace(
        dof_invweight0=_dof_invweight(m, jnp.diagonal(inverse)),
        body_invweight0=_body_invweight(m, d, inverse),
        tendon_invweight0=vector.dot(product_of(ten_J, inverse), ten_J),
        actuator_acc0=vector.norm(product_of(moment, inverse)),
    )


def product_of(a: Array, b: Array) -> Array:
    """Matrix product [n, m] times [m, k] at full precision."""
    return jax.lax.dot(a, b, precision=jax.lax.Precision.HIGHEST)


def _dof_invweight(m: Model, diagonal: Array) -> Array:
    """Diagonal of M^-1, averaged over the translations and over the rotations of a joint."""
    group = np.arange(m.nv)
    kind, first = m.jnt_type[m.dof_jntid], m.jnt_dofadr[m.dof_jntid]
    three = np.isin(kind, (JointType.FREE, JointType.BALL))
    group = np.where(three, first + (group - first) // 3 * 3, group)
    same = group[:, None] == group[None]
    mean = product(same / same.sum(1, keepdims=True), diagonal)
    return jnp.where(m.body_simple[m.dof_bodyid] == 2, 1 / _mass(m)[m.dof_bodyid], mean)


def _mass(m: Model) -> Array:
    return jnp.maximum(m.body_mass, MINVAL)


def _body_invweight(m: Model, d: Data, inverse: Array) -> Array:
    """[nbody, 2] mean of the diagonal of J M^-1 J^T for the com of each body: translation, rotation."""
    turn, slide = spatial.halves(d.cdof)
    arm = d.xipos - take(d.subtree_com, m.body_rootid)
    axes, arms = (jnp.broadcast_to(x, (m.nbody, m.nv, 3)) for x in (turn[None], arm[:, None]))
    linear = slide[None] + vector.cross(axes, arms)
    moves = jnp.asarray(ancestor(m.topology), turn.dtype)[:, :, None]
    weights = []
    for jacobian in (linear * moves, turn[None] * moves):
        rows = jnp.swapaxes(jacobian, 1, 2).reshape(-1, m.nv)
        weights.append(vector.dot(product_of(rows, inverse), rows).reshape(-1, 3).mean(axis=1))
    weight = jnp.stack(weights, axis=1)
    sliding = jnp.stack([1 / _mass(m), jnp.zeros_like(m.body_mass)], axis=1)
    return jnp.where((m.body_simple == 2)[:, None], sliding, weight)


def _geom_bounds(m: Model) -> Model:
    """Bounding radii, the margins of bodies, and the size of height field geoms."""
    if not m.ngeom:
        return m
    field = np.flatnonzero(m.geom_type == GeomType.HFIELD)
    radius = m.geom_rbound
    if len(field):
        x, y, top, bottom = (take(c, m.geom_dataid[field]) for c in m.hfield_size.T)
        m = m.replace(geom_size=put(m.geom_size, field, jnp.stack([x, y, top / 4 + bottom / 2], axis=1)))
        radius = put(radius, field, jnp.sqrt(x * x + y * y + jnp.maximum(top * top, bottom * bottom)))
    for kind, bound in _RADIUS.items():
        chosen = np.flatnonzero(m.geom_type == kind)
        if len(chosen):
            radius = put(radius, chosen, bound(take(m.geom_size, chosen)))
    member = m.geom_bodyid[None] == np.arange(m.nbody)[:, None]
    margin = _largest(member, m.geom_margin + m.geom_gap)
    return m.replace(geom_rbound=radius, body_margin=margin)


_RADIUS = {
    GeomType.SPHERE: lambda size: size[:, 0],
    GeomType.CAPSULE: lambda size: size[:, 0] + size[:, 1],
    GeomType.ELLIPSOID: lambda size: jnp.max(size, axis=1),
    GeomType.CYLINDER: lambda size: vector.norm(size[:, :2]),
    GeomType.BOX: vector.norm,
}


def _largest(member: np.ndarray, values: Array) -> Array:
    """Largest of the values [n] that each row of member [k, n] marks; 0 if there is none above."""
    return jnp.max(jnp.where(member, values[None], 0), axis=1, initial=0)


def _dof_length(m: Model, d: Data) -> Array:
    """Length scale [nv] of each dof: 1 for translations, the size of the body for rotations.

    A body's size is the distance from its com to its joints, those of its children, or to the far side of
    its geoms, whichever is largest.
    """
    size = jnp.full(m.nbody, SMALLEST, d.xpos.dtype)
    for body in (m.jnt_bodyid, m.body_parentid[m.jnt_bodyid]):
        size = jnp.maximum(size, _largest(_owned(m, body), vector.norm(take(d.xipos, body) - d.xanchor)))
    body = m.geom_bodyid
    reach = m.geom_rbound + vector.norm(take(d.xipos, body) - d.geom_xpos)
    size = jnp.maximum(size, _largest(_owned(m, body), jnp.where(m.geom_rbound > 0, reach, 0)))
    kind = m.jnt_type[m.dof_jntid]
    within = np.arange(m.nv) - m.jnt_dofadr[m.dof_jntid]
    turning = np.isin(kind, (JointType.BALL, JointType.HINGE)) | ((kind == JointType.FREE) & (within >= 3))
    return jnp.where(turning, take(size, m.dof_bodyid), 1)


def _owned(m: Model, body: np.ndarray) -> np.ndarray:
    """[nbody, n] which of n things belong to each body; the world counts none."""
    index = np.arange(m.nbody)[:, None]
    return (body[None] == index) & (index > 0)


def _relative_poses(m: Model, d: Data) -> Model:
    """Complete the eq_data of connects and welds between bodies from their poses at qpos0."""
    data = m.eq_data
    of_sites = m.eq_objtype == ObjType.SITE
    data = put(data, *_cleared(data, np.flatnonzero((m.eq_type == EqType.CONNECT) & of_sites)))
    connects = np.flatnonzero((m.eq_type == EqType.CONNECT) & ~of_sites)
    if len(connects):
        body1, body2, rows = m.eq_obj1id[connects], m.eq_obj2id[connects], take(data, connects)
        seen = _seen_from(d, body2, _point(d, body1, rows[:, :3]))
        data = put(data, connects, vector.join(rows[:, :3], seen, rows[:, 6:]))
    welds = np.flatnonzero((m.eq_type == EqType.WELD) & ~of_sites)
    if len(welds):
        body1, body2, rows = m.eq_obj1id[welds], m.eq_obj2id[welds], take(data, welds)
        pos = _seen_from(d, body1, _point(d, body2, rows[:, :3]))
        quat = quaternion.mul(quaternion.conj(take(d.xquat, body1)), take(d.xquat, body2))
        measured = vector.join(rows[:, :3], pos, quat, rows[:, 10:])
        kept = vector.join(rows[:, :6], vector.normalize(rows[:, 6:10]), rows[:, 10:])
        data = put(data, welds, jnp.where(rows[:, MARKED:] != 0, measured, kept))
    return m.replace(eq_data=data)


def _cleared(data: Array, rows: np.ndarray) -> tuple[np.ndarray, Array]:
    return rows, jnp.zeros((len(rows), data.shape[1]), data.dtype)


def _point(d: Data, body: np.ndarray, local: Array) -> Array:
    """World position of points given in body frames."""
    return take(d.xpos, body) + quaternion.rotate(take(d.xquat, body), local)


def _seen_from(d: Data, body: np.ndarray, point: Array) -> Array:
    """World points in body frames."""
    return quaternion.rotate(quaternion.conj(take(d.xquat, body)), point - take(d.xpos, body))


def _viewers(m: Model, d: Data) -> Model:
    """Offsets of cameras and lights from their body and from the centre of mass that they track."""
    changes = {}
    for kind, size in (("cam", m.ncam), ("light", m.nlight)):
        if not size:
            continue
        body, target = getattr(m, f"{kind}_bodyid"), getattr(m, f"{kind}_targetbodyid")
        quat = take(d.xquat, body)
        offset = quaternion.rotate(quat, getattr(m, f"{kind}_pos"))
        changes[f"{kind}_pos0"] = offset
        center = take(d.subtree_com, np.where(target >= 0, target, body))
        changes[f"{kind}_poscom0"] = take(d.xpos, body) + offset - center
        if kind == "cam":
            changes["cam_mat0"] = quaternion.to_mat(quaternion.mul(quat, m.cam_quat))
        else:
            changes["light_dir0"] = vector.normalize(quaternion.rotate(quat, m.light_dir))
    return m.replace(**changes)
