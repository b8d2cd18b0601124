"""Joints as constraints: the pose of a link is that of its carrier, moved by the joint's coordinates.

With F the motion of all MJCF joints of a body in turn, a function of its coordinates q,

    gap(z_parent, z_child, q) = z_parent F(q) (-) z_child = 0        6 rows

so that any sequence of joints is a constraint, at any anchors. The coordinates q of a joint are unknowns beside the
six impulses that hold it: forces along q, armature and couplings act on them as in joint coordinates, and where nothing
acts, the balance of impulses along q says that the constraint does no work.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.core.model import Model
from jaxsim.dynamics.coordinates import read
from jaxsim.maximal.bodies import CROSS, exponential, exponential_rate, identities, product, rotation, skew, transposed
from jaxsim.maximal.mechanism import Mechanism
from jaxsim.maximal.structure import columns_of, structure_of

Array = jax.Array


class Slot(NamedTuple):
    """The motion of one joint of each of n links, from where its coordinates are: exp of turns @ u, and slides @ u."""

    anchor: Array  # [n, 3] m, in the link's body
    turned: Array  # [n, 3, 3] by the coordinates
    moved: Array  # [n, 3] m, by the coordinates, along the axes before the turn
    turns: Array  # [n, 3, width]
    slides: Array  # [n, 3, width]


def slots_of(m: Model, qpos: Array) -> list[Slot]:
    """The joints of links at coordinates qpos [nq], in the order in which they act."""
    s = structure_of(m.topology)
    return [_slot(m, qpos, joint, c) for joint, c in zip(s.joint, columns_of(m.topology))]


def _slot(m: Model, qpos: Array, joint: np.ndarray, c) -> Slot:
    there, joint = jnp.asarray(joint >= 0)[:, None], np.maximum(joint, 0)
    axis = take(m.jnt_axis, joint)
    x = (take(qpos, c.qpos) - take(m.qpos0, c.qpos))[:, None] * axis
    hinge, straight, ball = (jnp.asarray(part, qpos.dtype) for part in (c.hinge, c.straight, c.ball))
    turned = exponential(x * hinge.sum(1, keepdims=True))
    if c.ball.any():
        is_ball = c.ball.any((1, 2))
        quat = read(qpos, np.where(is_ball[:, None], c.qpos[:, None] + np.arange(4), 0))
        turned = jnp.where(is_ball[:, None, None], rotation(vector.normalize(quat)), turned)
    return Slot(
        anchor=jnp.where(there, take(m.jnt_pos, joint), 0),
        turned=turned,
        moved=x * straight.sum(1, keepdims=True),
        turns=axis[:, :, None] * hinge[:, None, :] + jnp.swapaxes(ball, 1, 2),
        slides=axis[:, :, None] * straight[:, None, :],
    )


class Motion(NamedTuple):
    """Poses of links in their carriers' frames, and how they change with the coordinates."""

    pos: Array  # [n, 3] m
    mat: Array  # [n, 3, 3]
    linear: Array  # [n, 3, width] of pos
    angular: Array  # [n, 3, width] of mat, in the link's frame


def motion(mechanism: Mechanism, slots: list[Slot], u: Array | None = None) -> Motion:
    """Relative poses of links with coordinates moved by u [n, width] (m, rad), if given, and their derivatives with
    the coordinates."""
    pos, mat = mechanism.base_pos, rotation(mechanism.base_quat)
    slides, turns = [], []  # what coordinates do, in the carrier's axes; turns with the points they are about
    for slot, column in zip(slots, columns_of(mechanism.model.topology)):
        slides.append(product(mat, slot.slides))
        point = pos + vector.matvec(mat, slot.anchor + slot.moved)
        mat, axes = product(mat, slot.turned), slot.turns
        if u is not None:
            twist = vector.matvec(slot.turns, u)
            point = point + vector.matvec(slides[-1], u)
            mat = product(mat, exponential(twist))
            axes = product(exponential_rate(twist), axes) if column.ball.any() else axes
        turns.append((point, product(mat, axes)))
        pos = point - vector.matvec(mat, slot.anchor)
    pos = pos + vector.matvec(mat, mechanism.com)
    none = jnp.zeros((*mechanism.base_pos.shape, mechanism.structure.width), pos.dtype)
    angular = sum((axes for _, axes in turns), start=none)
    linear = sum(slides, start=none)
    for point, axes in turns:
        linear = linear - product(skew(pos - point), axes)
    return Motion(pos, mat, linear, product(transposed(mat), angular))


class Frames(NamedTuple):
    """Poses of links and, last, of the world."""

    pos: Array  # [n + 1, 3] m
    quat: Array  # [n + 1, 4]
    mat: Array  # [n + 1, 3, 3]


def frames(pos: Array, quat: Array) -> Frames:
    """Poses [n, 3], [n, 4] of links with that of the world behind them."""
    pos = jnp.concatenate([pos, jnp.zeros((1, 3), pos.dtype)])
    quat = jnp.concatenate([quat, jnp.asarray(np.eye(1, 4), quat.dtype)])
    return Frames(pos, quat, rotation(quat))


def gaps(mechanism: Mechanism, at: Frames, relative: Motion) -> Array:
    """[n, 6]: how far links are from relative poses: in the world's axes (m), and turned in the link's own (rad, for
    small ones)."""
    s = mechanism.structure
    carrier = take(at.mat, s.parent)
    apart = at.pos[: s.n] - take(at.pos, s.parent) - vector.matvec(carrier, relative.pos)
    error = product(transposed(product(carrier, relative.mat)), at.mat[: s.n])
    twist = 0.5 * jnp.einsum("nij,kij->nk", error, jnp.asarray(CROSS, error.dtype), precision="highest")
    return vector.join(apart, twist)


def across(mechanism: Mechanism, at: Frames) -> Array:
    """[n, 6, 6] from motions of carriers to those of links that moved with them, displacements in the world's axes and
    rotations in their own; the transpose takes impulses on links to those on their carriers."""
    s = mechanism.structure
    carrier, own = take(at.mat, s.parent), at.mat[: s.n]
    lever = at.pos[: s.n] - take(at.pos, s.parent)
    moves = jnp.concatenate([identities(s.n, 3, lever.dtype), -product(skew(lever), carrier)], axis=2)
    turns = jnp.concatenate([jnp.zeros((s.n, 3, 3), lever.dtype), product(transposed(own), carrier)], axis=2)
    return jnp.concatenate([moves, turns], axis=1)


def along(mechanism: Mechanism, at: Frames, relative: Motion) -> Array:
    """[n, 6, width]: how coordinates move links, displacements in the world's axes and rotations in their own."""
    carrier = take(at.mat, mechanism.structure.parent)
    return jnp.concatenate([product(carrier, relative.linear), relative.angular], axis=1)
