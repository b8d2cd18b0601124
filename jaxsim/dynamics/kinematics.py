"""Forward kinematics: poses of bodies, joints, inertias, geoms and sites (mj_kinematics)."""

from typing import NamedTuple

import numpy as np

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.arrays import Array, namespace, on_host
from jaxsim.algebra.select import gather_groups, put, take
from jaxsim.algebra.tree import pose_jumps
from jaxsim.core.data import Data
from jaxsim.core.enums import JointType
from jaxsim.core.model import Model
from jaxsim.dynamics.coordinates import positions_of, quats_of, read
from jaxsim.dynamics.pose_rates import with_rates


class Poses(NamedTuple):
    """Poses in the world from which all frames follow."""

    xpos: Array  # [nbody, 3] m
    xquat: Array  # [nbody, 4]
    xanchor: Array  # [njnt, 3] m
    xaxis: Array  # [njnt, 3]


def poses_of(d: Data) -> Poses:
    """The poses that `kinematics` has computed."""
    return Poses(d.xpos, d.xquat, d.xanchor, d.xaxis)


def kinematics(m: Model, d: Data, known: Poses | None = None) -> Data:
    """Compute xpos, xipos [nbody, 3] (m), xquat [nbody, 4], xmat, ximat [nbody, 9], xanchor and xaxis [njnt, 3].

    Each body's pose relative to its parent follows from its own joints alone; the poses are then composed
    along the tree by pointer jumping, in log2(depth) rounds. The frames of geoms and sites follow. Poses that are
    `known`, computed before at the same qpos [nq], are not composed again.
    """
    if on_host(d.qpos):
        return d.replace(**_frames(m, d))
    return d.replace(**with_rates(m, d, _frames, known))


def _frames(m: Model, d: Data, known: Poses | None = None) -> dict[str, Array]:
    """All that `kinematics` computes."""
    if known is not None:
        none = known.xanchor[:0]
        return _attached(m, known.xpos, known.xquat, none, none) | known._asdict()
    pos, quat, anchor, axis = _local_poses(m, d)
    # a chain 0 - 1 - 2 - 3 takes two rounds: with [0 0 1 2] above them, 2 is placed in the world and 3 in body 1;
    # with [0 0 0 1], 3 is placed in the world as well. What is placed already has the world above it, the identity
    for parent in pose_jumps(m.topology):
        above = take(quat, parent)
        pos = take(pos, parent) + quaternion.rotate(above, pos)
        quat = quaternion.mul(above, quat)
    quat = vector.normalize(quat)
    return {"xpos": pos, "xquat": quat} | _attached(m, pos, quat, anchor, axis)


def _attached(m: Model, pos: Array, quat: Array, anchor: Array, axis: Array) -> dict[str, Array]:
    """World frames of everything that is fixed to a body, and of joint anchors and axes, from poses of bodies.

    Fewer, larger operations: whatever is rotated by a body's quaternion is rotated in one go.
    """
    xp, parent = namespace(pos), m.body_parentid[m.jnt_bodyid][: len(anchor)]  # in whose frames anchors and axes are
    body = np.concatenate([np.arange(m.nbody), m.geom_bodyid, m.site_bodyid])
    carrier = np.concatenate([body, parent, parent])
    points, frames = local_frames(m)
    points = xp.concatenate([points, anchor, axis])
    turned = quaternion.rotate(take(quat, carrier), points)
    n = len(body) + len(parent)  # inertias, geoms, sites and anchors are points; the axes after them have no place
    world = take(pos, carrier[:n]) + turned[:n]
    mat = quaternion.to_mat(xp.concatenate([quat, quaternion.mul(take(quat, body), frames)]))
    inertial, geom, site = m.nbody, m.nbody + m.ngeom, len(body)
    return {
        "xmat": mat[: m.nbody],
        "xipos": world[:inertial],
        "ximat": mat[m.nbody :][:inertial],
        "geom_xpos": world[inertial:geom],
        "geom_xmat": mat[m.nbody :][inertial:geom],
        "site_xpos": world[geom:site],
        "site_xmat": mat[m.nbody :][geom:site],
        "xanchor": world[site:],
        "xaxis": turned[n:],
    }


def local_frames(m: Model) -> tuple[Array, Array]:
    """Positions [nframe, 3] and orientations [nframe, 4] of inertias, geoms and sites in their bodies' frames."""
    xp = namespace(m.geom_pos)
    points = xp.concatenate([m.body_ipos, m.geom_pos, m.site_pos])
    frames = xp.concatenate([m.body_iquat, m.geom_quat, m.site_quat])
    if not m.topology.frame_snap.any():
        return points, frames
    snap = m.topology.frame_snap.astype(points.dtype).reshape(-1, *[1] * (points.ndim - 2), 7)
    return points + snap[..., :3], frames + snap[..., 3:]


def _local_poses(m: Model, d: Data) -> tuple[Array, Array, Array, Array]:
    """Body poses, joint anchors and joint axes in the parent body's frame."""
    pos, quat = _rest_poses(m, d)
    anchors, axes = [], []
    for k in range(int(m.body_jntnum.max(initial=0))):  # the k-th joint of every body that has one
        bodies = np.flatnonzero(m.body_jntnum > k)
        joints = m.body_jntadr[bodies] + k
        # with joints (free), (slide, hinge) and (hinge) of bodies 1, 2, 3, round 0 moves all three, round 1 body 2
        is_free = m.jnt_type[joints] == JointType.FREE
        free, bodies_free = joints[is_free], bodies[is_free]
        joints, bodies = joints[~is_free], bodies[~is_free]
        if len(free):  # the coordinates are the pose itself, and the model's own counts in qpos0 only
            root, turn = read(d.qpos, positions_of(m, free)), read(d.qpos, quats_of(m, free))
            pos = put(pos, bodies_free, root)
            quat = put(quat, bodies_free, vector.normalize(turn))
            anchors.append((free, root))
            axes.append((free, take(m.jnt_axis, free)))
        if len(joints):
            p, q, anchor, axis = _apply_joints(m, d, joints, take(pos, bodies), take(quat, bodies))
            pos, quat = put(pos, bodies, p), put(quat, bodies, q)
            anchors.append((joints, anchor))
            axes.append((joints, axis))
    if not anchors:
        return pos, quat, pos[:0], pos[:0]
    return pos, quat, gather_groups(anchors, m.njnt), gather_groups(axes, m.njnt)


def _rest_poses(m: Model, d: Data) -> tuple[Array, Array]:
    """Poses before joints: from the model, or for mocap bodies from the data."""
    mocap = np.flatnonzero(m.body_mocapid >= 0)
    order = m.body_mocapid[mocap]
    pos = put(m.body_pos, mocap, take(d.mocap_pos, order))
    return pos, put(m.body_quat, mocap, vector.normalize(take(d.mocap_quat, order)))


def _apply_joints(m: Model, d: Data, joints: np.ndarray, pos: Array, quat: Array):
    """Move bodies by one joint each (slide, hinge or ball); anchors and axes, all in the parent frame."""
    # axes and anchors turn with the joints before, so `pos` and `quat` are those after them
    xp, n, offset = namespace(pos), len(joints), take(m.jnt_pos, joints)
    turned = quaternion.rotate(xp.concatenate([quat, quat]), xp.concatenate([take(m.jnt_axis, joints), offset]))
    axis, anchor = turned[:n], pos + turned[n:]
    kind = m.jnt_type[joints]
    adr = m.jnt_qposadr[joints]
    slide, hinge, ball = (np.flatnonzero(kind == t) for t in (JointType.SLIDE, JointType.HINGE, JointType.BALL))

    moved = []
    if len(slide):
        travel = (take(d.qpos, adr[slide]) - take(m.qpos0, adr[slide]))[..., None]
        moved.append((slide, take(pos, slide) + travel * take(axis, slide), take(quat, slide)))
    turns = []
    if len(hinge):
        angle = take(d.qpos, adr[hinge]) - take(m.qpos0, adr[hinge])
        turns.append((hinge, quaternion.from_axis_angle(take(m.jnt_axis, joints[hinge]), angle)))
    if len(ball):
        turns.append((ball, vector.normalize(read(d.qpos, quats_of(m, joints[ball])))))
    if turns:
        rotating = np.concatenate([i for i, _ in turns])
        turn = xp.concatenate([t for _, t in turns]) if len(turns) > 1 else turns[0][1]
        turned = quaternion.mul(take(quat, rotating), turn)
        # the anchor stays where it is: the body's origin goes round it
        moved.append((rotating, take(anchor, rotating) - quaternion.rotate(turned, take(offset, rotating)), turned))
    new_pos = gather_groups([(i, p) for i, p, _ in moved], len(joints))
    new_quat = gather_groups([(i, q) for i, _, q in moved], len(joints))
    return new_pos, new_quat, anchor, axis
