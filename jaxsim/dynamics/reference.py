"""What follows from the rest of a model, at its reference configuration qpos0 (mj_setConst).

`m` has the model's arrays and `d` the stages up to the centres of mass at qpos0, of the host when a model is compiled
and of JAX in `set_const`. How M^-1 is applied is for the caller to say, in `Block`s; what is done with it is here.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxsim.algebra import quaternion, spatial, vector
from jaxsim.algebra.arrays import Array, namespace
from jaxsim.algebra.select import put, scatter_add, take
from jaxsim.algebra.tree import ancestor
from jaxsim.core.data import Data
from jaxsim.core.enums import MINVAL, EqType, GeomType, JointType, ObjType
from jaxsim.core.model import Model

SMALLEST = 1e-5  # least length scale of a body, metre
MARKED = 11  # column of eq_data that is set for welds whose relative pose is that at qpos0


class Block(NamedTuple):
    """Dofs [k], in order, that M does not couple to others, and how M^-1 is applied to rows [n, k] of them."""

    dofs: np.ndarray
    solve: Callable[[Array], Array]  # M^-1 rows, [n, k]
    weigh: Callable[[Array], Array]  # rows . M^-1 rows, [n]


def weights(rows: Array, blocks: list[Block]) -> Array:
    """Diagonal [n] of J M^-1 J^T for rows J [n, nv]."""
    total = namespace(rows).zeros(rows.shape[0], rows.dtype)
    for block in blocks:
        total = total + block.weigh(take(rows, block.dofs, 1))
    return total


def solved(rows: Array, blocks: list[Block]) -> Array:
    """M^-1 applied to rows [n, nv]."""
    if len(blocks) == 1:
        return blocks[0].solve(rows)
    out = np.zeros_like(rows)  # only the host has several
    for block in blocks:
        out[:, block.dofs] = block.solve(rows[:, block.dofs])
    return out


def dof_invweight(m: Model, diagonal: Array) -> Array:
    """Diagonal [nv] of M^-1, averaged over the translations and over the rotations of a joint."""
    kind, first = m.jnt_type[m.dof_jntid], m.jnt_dofadr[m.dof_jntid]
    dof = np.arange(m.nv)
    three = np.isin(kind, (JointType.FREE, JointType.BALL))
    group = np.where(three, first + (dof - first) // 3 * 3, dof)
    xp, body = namespace(diagonal), m.dof_bodyid
    count = xp.asarray(np.maximum(np.bincount(group, minlength=m.nv), 1), diagonal.dtype)
    mean = take(scatter_add(group, diagonal, m.nv) / count, group)
    return xp.where(m.body_simple[body] == 2, 1 / take(_mass(m), body), mean)


def _mass(m: Model) -> Array:
    return namespace(m.body_mass).maximum(m.body_mass, MINVAL)


def body_invweight(m: Model, d: Data, blocks: list[Block]) -> Array:
    """[nbody, 2] mean of the diagonal of J M^-1 J^T for the com of each body: translation, rotation."""
    xp, total = namespace(d.cdof), namespace(d.cdof).zeros((m.nbody, 2), d.cdof.dtype)
    for block in blocks:
        bodies = np.flatnonzero(ancestor(m.topology)[:, block.dofs].any(axis=1) & (m.body_simple != 2))
        if len(bodies):
            means = [block.weigh(j.reshape(-1, len(block.dofs))) for j in _com_jacobians(m, d, bodies, block.dofs)]
            total = total + scatter_add(bodies, xp.stack([x.reshape(-1, 3).mean(1) for x in means], 1), m.nbody)
    sliding = xp.stack([1 / _mass(m), xp.zeros_like(m.body_mass)], axis=1)
    return xp.where((m.body_simple == 2)[:, None], sliding, total)


def _com_jacobians(m: Model, d: Data, bodies: np.ndarray, dofs: np.ndarray) -> tuple[Array, Array]:
    """Jacobians [n, 3, k] of the translation and rotation of the coms of bodies [n], with respect to dofs [k]."""
    xp = namespace(d.cdof)
    turn, slide = spatial.halves(take(d.cdof, dofs))
    arm = take(d.xipos, bodies) - take(d.subtree_com, m.body_rootid[bodies])
    axes, arms = (xp.broadcast_to(x, (len(bodies), len(dofs), 3)) for x in (turn[None], arm[:, None]))
    moves = xp.asarray(ancestor(m.topology)[bodies[:, None], dofs], turn.dtype)[:, :, None]
    linear = (slide[None] + vector.cross(axes, arms)) * moves
    return xp.swapaxes(linear, 1, 2), xp.swapaxes(turn[None] * moves, 1, 2)


BOUND = {  # radius of the sphere about a geom [n], from its sizes [n, 3]
    GeomType.SPHERE: lambda size: size[:, 0],
    GeomType.CAPSULE: lambda size: size[:, 0] + size[:, 1],
    GeomType.ELLIPSOID: lambda size: size.max(axis=1),
    GeomType.CYLINDER: lambda size: vector.norm(size[:, :2]),
    GeomType.BOX: vector.norm,
}


def hfield_bound(size: Array) -> Array:
    """Radii [n] of the spheres about height fields, from their sizes [n, 4]: half extents, top and depth."""
    x, y, top, bottom = (size[:, k] for k in range(4))
    return namespace(size).sqrt(x * x + y * y + namespace(size).maximum(top * top, bottom * bottom))


def dof_length(m: Model, size: Array) -> Array:
    """Length scale [nv] of each dof, from those of bodies [nbody]: 1 for translations, that of the body else."""
    kind = m.jnt_type[m.dof_jntid]
    within = np.arange(m.nv) - m.jnt_dofadr[m.dof_jntid]
    turning = np.isin(kind, (JointType.BALL, JointType.HINGE)) | ((kind == JointType.FREE) & (within >= 3))
    return namespace(size).where(turning, take(size, m.dof_bodyid), 1)


def body_size(m: Model, d: Data) -> Array:
    """Length scale [nbody] of each body: the distance from its com to its joints, those of its children, or to the
    far side of its geoms, whichever is largest."""
    xp = namespace(d.xipos)
    size = xp.full(m.nbody, SMALLEST, d.xipos.dtype)
    for body in (m.jnt_bodyid, m.body_parentid[m.jnt_bodyid]):
        size = xp.maximum(size, largest(_owned(m, body), vector.norm(take(d.xipos, body) - d.xanchor)))
    body = m.geom_bodyid
    reach = m.geom_rbound + vector.norm(take(d.xipos, body) - d.geom_xpos)
    return xp.maximum(size, largest(_owned(m, body), xp.where(m.geom_rbound > 0, reach, 0)))


def _owned(m: Model, body: np.ndarray) -> np.ndarray:
    """[nbody, n] which of n things belong to each body; the world counts none."""
    index = np.arange(m.nbody)[:, None]
    return (body[None] == index) & (index > 0)


def largest(member: np.ndarray, values: Array) -> Array:
    """Largest of the values [n] that each row of member [k, n] marks; 0 if there is none above."""
    xp = namespace(values)
    return xp.max(xp.where(member, values[None], 0), axis=1, initial=0)


def relative_poses(m: Model, d: Data) -> Array:
    """eq_data [neq, 12] with what connects and welds between bodies have from the poses of the bodies."""
    xp, data = namespace(m.eq_data), m.eq_data
    of_sites = m.eq_objtype == ObjType.SITE
    of_two_sites = np.flatnonzero((m.eq_type == EqType.CONNECT) & of_sites)
    data = put(data, of_two_sites, xp.zeros((len(of_two_sites), data.shape[1]), data.dtype))
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
        data = put(data, welds, xp.where(rows[:, MARKED:] != 0, measured, kept))
    return data


def _point(d: Data, body: np.ndarray, local: Array) -> Array:
    """World position of points given in body frames."""
    return take(d.xpos, body) + quaternion.rotate(take(d.xquat, body), local)


def _seen_from(d: Data, body: np.ndarray, point: Array) -> Array:
    """World points in body frames."""
    return quaternion.rotate(quaternion.conj(take(d.xquat, body)), point - take(d.xpos, body))


def viewers(m: Model, d: Data) -> dict[str, Array]:
    """Offsets [n, 3] of cameras and lights from their body and from the com that they track, and orientations."""
    found = {}
    for kind, size in (("cam", m.ncam), ("light", m.nlight)):
        if not size:
            continue
        body, target = getattr(m, f"{kind}_bodyid"), getattr(m, f"{kind}_targetbodyid")
        quat = take(d.xquat, body)
        offset = quaternion.rotate(quat, getattr(m, f"{kind}_pos"))
        found[f"{kind}_pos0"] = offset
        center = take(d.subtree_com, np.where(target >= 0, target, body))
        found[f"{kind}_poscom0"] = take(d.xpos, body) + offset - center
        if kind == "cam":
            found["cam_mat0"] = quaternion.to_mat(quaternion.mul(quat, m.cam_quat))
        else:
            found["light_dir0"] = vector.normalize(quaternion.rotate(quat, m.light_dir))
    return found
