"""Box with box: separating axes, then a clipped face or the nearest points of two edges (mjc_BoxBox).

Stage 1 finds, of 15 directions (3 face normals of each box, 9 products of edge directions), the one along
which the boxes are furthest apart. Faces win near-ties: they give several contacts, edges one.

Stage 2, face: the other box's most opposed face is clipped against the winning one. Seen along the normal
these are a parallelogram and a rectangle. Their intersection has at most eight corners, and each is where
one of the eight edges enters the other shape, so every edge has its own slot and nothing is ever sorted
or compacted. Stage 2, edge: the nearest points of the two edges that face each other.

Choices are made on constants for differentiation; the contacts that follow from them are differentiated.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.shape import NO_CONTACT, Candidates, Shape, first_true, safe_norm
from jaxsim.core.enums import MINVAL

Array = jax.Array

# an edge direction must beat the best face by this fraction, and by five percent where it nearly
# coincides with that face's normal
EDGE_BIAS = 1e-6
ALIAS_COS, ALIAS_BIAS = 0.99, 0.05

# corners of the unit square, counterclockwise, and the edges that start there
SQUARE = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
EDGES = np.roll(SQUARE, -1, axis=0) - SQUARE


class Rounding(NamedTuple):
    """What counts as rounding error, by dtype (mjBOXBOX_*EPS)."""

    separation: float  # of a separation, relative to the sum of all sizes
    parallel: float  # squared sine of the angle between edges
    alias: float  # of a separation along an edge axis close to a face normal, relative to the sizes
    duplicate: float  # squared distance of equal vertices, relative to the face
    clip: float  # of clipped coordinates, relative to the face


DOUBLE = Rounding(1e-13, 1e-16, 1e-9, 1e-14, 1e-13)
SINGLE = Rounding(1e-6, 1e-7, 1e-5, 1e-10, 1e-6)


class Relative(NamedTuple):
    """Box b seen from box a: axes rot [3, 3] (columns) and centre pos [3]; and the reverse centre."""

    rot: Array
    pos: Array
    reverse: Array
    size1: Array
    size2: Array


def box_box(a: Shape, b: Shape, margin: Array) -> Candidates:
    """Candidates [8]: of two faces up to eight, or one of two edges (mjc_BoxBox)."""
    eps = DOUBLE if a.pos.dtype == jnp.float64 else SINGLE
    offset = b.pos - a.pos
    rot = jnp.sum(a.mat[:, :, None] * b.mat[:, None, :], axis=0)
    rel = Relative(rot, vector.matvec_t(a.mat, offset), -vector.matvec_t(b.mat, offset), a.size, b.size)
    slack = eps.separation * jnp.sum(a.size + b.size)
    face, edge, use_edge, overlap = _separating_axis(lax.stop_gradient(rel), margin + slack, eps)

    dist, pos, normal = _face_contacts(a, b, offset, rel, face, margin, eps)
    edge_dist, edge_pos, edge_normal = _edge_contact(rel, edge)
    first = np.arange(8) == 0
    edge_dist = jnp.where(first & (edge_dist <= margin + slack), edge_dist, NO_CONTACT)
    dist = jnp.where(overlap, jnp.where(use_edge, edge_dist, dist), NO_CONTACT)
    pos = a.pos[None] + jnp.where(use_edge, vector.matvec(a.mat, edge_pos)[None], pos)
    normal = jnp.where(use_edge, vector.matvec(a.mat, edge_normal), normal)
    normal = jnp.broadcast_to(normal[None], (8, 3))
    return Candidates(dist, pos, normal, jnp.zeros_like(normal))


# stage 1


def _separating_axis(rel: Relative, limit: Array, eps: Rounding):
    """The winning face [6] and edge pair [9] as one-hot masks, which of them wins, and whether any may touch.

    Edge direction (i, j) is e_i x r_j with r_j the columns of rot. Its components along the next and
    the one after next axes of a are -rot[i2, j] and rot[i1, j], along those of b rot[i, j2] and -rot[i, j1].
    """
    rot, size1, size2 = rel.rot, rel.size1, rel.size2
    span = jnp.abs(rot)
    face1 = jnp.abs(rel.pos) - size1 - jnp.sum(span * size2[None], axis=1)
    face2 = jnp.abs(rel.reverse) - size2 - jnp.sum(span * size1[:, None], axis=0)
    faces = jnp.concatenate([face1, face2])

    rot1, rot2 = _roll(rot, 1), _roll(rot, 2)
    length2 = rot1 * rot1 + rot2 * rot2
    parallel = length2 < eps.parallel
    away = jnp.abs(rot1 * _roll(rel.pos, 2)[:, None] - rot2 * _roll(rel.pos, 1)[:, None])
    radius1 = _roll(size1, 1)[:, None] * jnp.abs(rot2) + _roll(size1, 2)[:, None] * jnp.abs(rot1)
    column1, column2 = _roll(span.T, 1).T, _roll(span.T, 2).T
    radius2 = _roll(size2, 1)[None] * column2 + _roll(size2, 2)[None] * column1
    edges = (away - radius1 - radius2) / jnp.sqrt(jnp.where(parallel, 1, length2))
    edges = jnp.where(parallel, -NO_CONTACT, edges).reshape(9)

    nearest, face = vector.least(-faces)
    deepest, best = vector.least(-edges)
    best_face, best_edge = -nearest[0], -deepest[0]
    edge = first_true(best | (edges >= best_edge - EDGE_BIAS * jnp.abs(best_edge)))
    axis, _, other = _edge_axis(rel, edge)
    along = jnp.abs(jnp.sum(jnp.where(face, jnp.concatenate([axis, other]), 0)))
    scale = jnp.sum(size1 + size2)
    bias = jnp.where(
        along > ALIAS_COS,
        ALIAS_BIAS * jnp.abs(best_face) + eps.alias * scale,
        EDGE_BIAS * jnp.abs(best_edge) + eps.separation * scale,
    )
    use_edge = best_edge > best_face + bias
    return face, edge, use_edge, jnp.maximum(best_face, best_edge) <= limit


def _roll(x: Array, shift: int) -> Array:
    """Rows in cyclic order, beginning with row `shift`."""
    return jnp.concatenate([x[shift:], x[:shift]])


def _edge_axis(rel: Relative, edge: Array) -> tuple[Array, Array, Array]:
    """Unit direction of an edge pair seen from a, the edge of b there, and the direction seen from b."""
    pair = edge.reshape(3, 3)
    mine, yours = jnp.any(pair, axis=1), jnp.any(pair, axis=0)
    along = jnp.sum(jnp.where(yours[None], rel.rot, 0), axis=1)
    axis = vector.cross(mine.astype(along.dtype), along)
    axis = axis / safe_norm(axis)
    return axis, along, vector.matvec_t(rel.rot, axis)


# stage 2: two edges


def _edge_contact(rel: Relative, edge: Array) -> tuple[Array, Array, Array]:
    """Distance, position and normal of two edges, in the frame of a.

    The edges run through the corners furthest along the axis. That is ambiguous only where the axis is
    a face's normal too, and then the face has won.
    """
    pair = edge.reshape(3, 3)
    mine, yours = jnp.any(pair, axis=1), jnp.any(pair, axis=0)
    axis, along, other = _edge_axis(rel, edge)
    flip = jnp.where(jnp.sum(axis * rel.pos) < 0, -1, 1).astype(axis.dtype)
    axis, other = flip * axis, flip * other

    corner1 = jnp.where(mine, 0, jnp.where(axis >= 0, rel.size1, -rel.size1))
    corner2 = jnp.where(yours, 0, jnp.where(other >= 0, -rel.size2, rel.size2))
    gap = rel.pos + vector.matvec(rel.rot, corner2) - corner1
    half1 = jnp.sum(jnp.where(mine, rel.size1, 0))
    half2 = jnp.sum(jnp.where(yours, rel.size2, 0))
    cos, e1 = jnp.sum(jnp.where(mine, along, 0)), jnp.sum(jnp.where(mine, gap, 0))
    sin2 = jnp.maximum(jnp.sum(jnp.where(mine, 0, along * along)), MINVAL)
    e2 = jnp.sum(gap * along)
    s = jnp.clip((e1 - cos * e2) / sin2, -half1, half1)
    t = jnp.clip(cos * s - e2, -half2, half2)
    s = jnp.where(mine, jnp.clip(e1 + cos * t, -half1, half1), 0)
    gap = gap + t * along - s
    return jnp.sum(gap * axis), corner1 + s + 0.5 * gap, axis


# stage 2: two faces


def _face_contacts(a, b, offset, rel, face, margin, eps) -> tuple[Array, Array, Array]:
    """Distances [8], positions relative to a's centre [8, 3] and the normal [3]."""
    mine = jnp.any(face[:3])
    q, centre, limit, axes = _reference_frame(a, b, rel, face)
    # facing the incident box, heights count from the reference face
    sign = jnp.where(centre[2] < 0, -1, 1).astype(q.dtype)
    q, size = _incident_frame(q, jnp.where(mine, rel.size2, rel.size1))
    up = jnp.where(np.arange(3) == 2, sign, 1)
    tilt = -jnp.where(sign * q[2, 2] > 0, 1, -1).astype(q.dtype)
    middle = up * (centre + tilt * size[2] * q[:, 2])
    sides = up[:, None] * (q[:, :2] * size[None, :2])

    uv, inside = _clip(middle[:2] / limit[:2], sides[:2] / limit[:2, None], eps)
    point = middle[None] + jnp.sum(uv[:, None, :] * sides[None], axis=-1)
    dist = point[:, 2] - limit[2]
    wanted = inside & (dist <= margin)
    dist = jnp.where(wanted & ~_repeated(point[:, :2], wanted, limit, eps), dist, NO_CONTACT)

    flat = np.arange(3)[None] == 2
    half = (jnp.where(flat, 0.5 * (point + limit[None]), point) * up[None])[:, :, None]
    pos = jnp.where(mine, 0, offset)[None] + jnp.sum(half * axes[None], axis=1)
    return dist, pos, jnp.where(mine, sign, -sign) * axes[2]


def _reference_frame(a: Shape, b: Shape, rel: Relative, face: Array) -> tuple[Array, Array, Array, Array]:
    """The box whose face won, its axes in cyclic order with the face's normal last.

    Returns the other box's axes [3, 3] (columns) and centre [3], this box's size [3], and its axes in
    the world [3, 3] (rows).
    """
    one = jnp.concatenate([rel.rot, rel.pos[:, None], rel.size1[:, None], a.mat.T], axis=1)
    two = jnp.concatenate([rel.rot.T, rel.reverse[:, None], rel.size2[:, None], b.mat.T], axis=1)
    mine = jnp.any(face[:3])
    chosen = _put_last(face[:3] | face[3:], jnp.where(mine, one, two))
    return chosen[:, :3], chosen[:, 3], chosen[:, 4], chosen[:, 5:]


def _put_last(chosen: Array, rows: Array) -> Array:
    """Three rows in cyclic order such that the chosen one is last."""
    return jnp.where(chosen[0], _roll(rows, 1), jnp.where(chosen[1], _roll(rows, 2), rows))


def _incident_frame(q: Array, size: Array) -> tuple[Array, Array]:
    """The other box's axes in cyclic order with the one most along the reference normal last."""
    _, normal = vector.least(-jnp.abs(lax.stop_gradient(q[2])))
    chosen = _put_last(normal, jnp.concatenate([q.T, size[:, None]], axis=1))
    return chosen[:, :3].T, chosen[:, 3]


def _clip(middle: Array, sides: Array, eps: Rounding) -> tuple[Array, Array]:
    """Corners of the intersection of the parallelogram middle + sides (u, v) with the square, |u|, |v| <= 1.

    Returns (u, v) [8, 2] where each edge of the parallelogram and of the square, walked
    counterclockwise, enters the other shape, and whether it does.
    """
    m00, m01, m10, m11 = (sides[i : i + 1, j : j + 1] for i in (0, 1) for j in (0, 1))
    det = m00 * m11 - m01 * m10
    inverse = jnp.concatenate([m11, -m01, -m10, m00], axis=1).reshape(2, 2) / det
    map_ = jnp.concatenate([sides[None], inverse[None]])
    start = jnp.concatenate([middle[None], -vector.matvec(inverse, middle)[None]])
    square, edges = jnp.asarray(SQUARE, det.dtype), jnp.asarray(EDGES, det.dtype)
    p = start[:, None] + _apply(map_, square)
    d = _apply(map_, edges)

    # the square is a little larger for edges of the parallelogram, so that of two coinciding edges
    # at least one survives
    limit = jnp.array([[[1 + eps.clip]], [[1]]], det.dtype)
    flat = jnp.abs(d) < eps.clip
    d = jnp.where(flat, eps.clip**2, d)
    t1, t2 = (-limit - p) / d, (limit - p) / d
    enter = jnp.maximum(-vector.least(-jnp.minimum(t1, t2))[0][..., 0], 0)
    leave = jnp.minimum(vector.least(jnp.maximum(t1, t2))[0][..., 0], 1)
    # a parallelogram seen clockwise is entered where it is left
    t = jnp.where((det < 0) & np.array([[True], [False]]), leave, enter)
    uv = jnp.concatenate([square[None], p[1:]])
    step = jnp.concatenate([edges[None], _apply(map_[1:], edges)])
    return (uv + t[:, :, None] * step).reshape(8, 2), (enter <= leave).reshape(8)


def _apply(map_: Array, points: Array) -> Array:
    """Each of the maps [n, 2, 2] applied to constant points [4, 2]: [n, 4, 2]."""
    return jnp.sum(map_[:, None] * points[None, :, None, :], axis=-1)


def _repeated(point: Array, wanted: Array, limit: Array, eps: Rounding) -> Array:
    """Whether a wanted point [8, 2] stands at the same place before this one."""
    apart = lax.stop_gradient(point[:, None] - point[None])
    near = jnp.sum(apart * apart, axis=-1) < eps.duplicate * jnp.sum(limit[:2] * limit[:2])
    return jnp.any(near & wanted[None] & np.tri(8, k=-1, dtype=bool), axis=1)
