"""What of a shape may touch, near the vertices that the search ended with: candidate faces and edges.

A face is a candidate if it holds all these vertices: one face for a triangle, two for the ends of an edge, all
around a single vertex. Edges are candidates where less than a triangle touches. All is relative to an origin
near the contact, and exact in poses, sizes and vertices.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.collision.convex.form import Form, Library
from jaxsim.collision.convex.polygons import BOX_NORMALS, CAP_NORMALS, SIDES, Polygons, at_index
from jaxsim.collision.shape import Shape, safe_norm, to_world
from jaxsim.core.enums import GeomType as G

Array = jax.Array

FACE_COS = 0.996  # normals as close as this to opposite ones face each other (mjFACE_TOL)
UPRIGHT = 1 - 1e-6  # cosine of a normal and a cylinder's axis, from which any line along the side is as near
EDGE_COS = 0.0888  # directions no further than this from perpendicular lie along a face (mjEDGE_TOL)


class Features(NamedTuple):
    """Candidates of one shape: faces [d] and edges [e], as many as a shape of any type has at most.

    normal [d, 3] outward unit normals, face [d] their numbers, possible [d] whether each is a candidate; start
    and end [e, 3] of edges (m), edge [e] whether each is one; size [], of how many different vertices; known [] whether
    it is known where the edges are.
    """

    normal: Array
    face: Array
    possible: Array
    start: Array
    end: Array
    edge: Array
    size: Array
    known: Array | bool = True


class _Placed(NamedTuple):
    """A shape relative to an origin near the contact, and where it touches."""

    pos: Array  # [3] m, of its centre
    mat: Array  # [3, 3]
    form: Form
    outward: Array  # [3] outward normal of the contact
    witness: Array  # [3] m
    corners: Array  # [3] int32, points of its core; those that differ come first
    size: Array  # [] int32, how many of them differ
    swell: Array  # [] m, by which a capsule is thicker


def features(served: Library, shape: Shape, points: Array, touch: tuple[Array, Array], swell: Array) -> Features:
    """Candidate faces and edges of a shape whose pos is relative to the origin.

    Args:
        served: the cores that shapes may have.
        shape: the geom, relative to the origin.
        points: [3] those of the core that the search ended with, -1 where there is none.
        touch: outward unit normal of the contact [3] and witness point [3], relative to the origin.
        swell: [] by how much (m) a capsule is thicker where its sides end.
    """
    filled = jnp.where(points < 0, jnp.max(points), points)
    # those that are different come first
    second = jnp.where(filled[1:2] == filled[:1], filled[2:], filled[1:2])
    corners = jnp.concatenate([filled[:1], second, filled[2:]])
    third = jnp.all(corners[2:] != corners[:2]).astype(jnp.int32)
    size = 1 + jnp.sum(corners[:2] != corners[:1], dtype=jnp.int32) + third
    p = _Placed(shape.pos, shape.mat, shape.data, *touch, corners, size, swell)
    found = [(kind, FEATURES[G(kind)](served, p)) for kind in served.kinds if kind in FEATURES]
    faces, edges = (max(getattr(x, name).shape[0] for _, x in found) for name in ("face", "edge"))
    chosen = Features._make(jnp.zeros_like(x) for x in _filled(found[0][1], faces, edges))
    for kind, its in found:
        here = p.form.kind == kind
        chosen = Features._make(jnp.where(here, x, y) for x, y in zip(_filled(its, faces, edges), chosen))
    return chosen


def _filled(x: Features, faces: int, edges: int) -> Features:
    """With so many candidates, of which those that are added do not count."""

    def more(a: Array, n: int) -> Array:
        return jnp.pad(a, [(0, n - a.shape[0])] + [(0, 0)] * (a.ndim - 1))

    return Features._make(
        [*(more(a, faces) for a in x[:3]), *(more(a, edges) for a in x[3:6]), x.size, jnp.asarray(x.known)]
    )


def corners_of(shape: Shape, face: Array, most: int, table: Polygons) -> tuple[Array, Array]:
    """Corners [most, 3] (m) of a face, clockwise seen from outside, repeating the last one; and their number."""
    count = at_index(table.corner_num, face)
    place = at_index(table.corner_adr, face) + jnp.minimum(np.arange(most, dtype=np.int32), count - 1)
    unit = at_index(table.vert, at_index(table.corner, place)).astype(shape.pos.dtype)
    return shape.pos[None] + to_world(shape.mat, unit * shape.data.scale[None]), count


def most_corners(served: Library) -> int:
    """The most corners of a face, or ends of an edge."""
    several = {G.CYLINDER: SIDES, G.BOX: 4, G.MESH: served.polygons.most_corners}
    return max(several.get(G(kind), 2) for kind in (*served.kinds, G.CAPSULE))


def _box(served: Library, p: _Placed) -> Features:
    """All six faces; those close to the contact's normal if the corners share none, as of two far ones."""
    bits = _bits(p.corners)
    on = bits[:, :, None] == np.array([1, 0], np.int32)[None, None]
    common = jnp.all(on.reshape(3, 6), axis=0)
    normal = to_world(p.mat, jnp.asarray(BOX_NORMALS, p.pos.dtype))
    near = vector.dot(normal, p.outward[None]) > FACE_COS
    face = jnp.asarray(served.polygons.box + np.arange(6), jnp.int32)
    possible = jnp.where(jnp.any(common), common, near)

    flips = np.array([1, 2, 4], np.int32)
    other = jnp.where(p.size == 1, p.corners[0] ^ flips, p.corners[1])
    ids = jnp.concatenate([p.corners[:1], other])
    sign = (_bits(ids) * 2 - 1).astype(p.pos.dtype)
    point = p.pos[None] + to_world(p.mat, sign * p.form.scale[None])
    edge = jnp.where(p.size == 1, True, np.arange(3) == 0) & (p.size < 3)
    return Features(normal, face, possible, jnp.broadcast_to(point[:1], (3, 3)), point[1:], edge, p.size)


def _bits(corner: Array) -> Array:
    """Whether corners [n] of a box have positive x, y, z: [n, 3] of 0 and 1."""
    return (corner[:, None] >> np.arange(3, dtype=np.int32)[None]) & 1


def _mesh(served: Library, p: _Placed) -> Features:
    """The polygons around the first vertex that the others are corners of too.

    An edge has two, the first of those listed: where polygons are nearly coplanar more may list it.
    """
    table, n = served.polygons, served.number.shape[1]
    most = max(table.most_around, 1)
    ids = at_index(served.number.reshape(-1), p.form.row * n + p.corners)
    adr = at_index(table.around_adr, ids)
    num = at_index(table.around_num, ids)
    order = np.arange(most, dtype=np.int32)[None]
    place = jnp.minimum(adr[:, None] + order, len(table.around) - 1)
    around = at_index(table.around, place)
    listed_here = order < num[:, None]
    same = (around[0][:, None, None] == around[None]) & listed_here[None]
    shared = jnp.any(same, axis=2) & listed_here[0][:, None]
    edge_of = jnp.all(shared[:, :2], axis=1)
    first = jnp.cumsum(edge_of.astype(jnp.int32)) <= jnp.where(p.size == 1, most, 2)
    possible = edge_of & first & shared[:, 2]
    normal = at_index(table.normal, around[0]).astype(p.pos.dtype)

    ends = at_index(table.ends, place[0])
    ends = jnp.concatenate([ids[:1], jnp.where(p.size == 1, ends, ids[1])])
    local = at_index(table.vert, ends).astype(p.pos.dtype)
    point = p.pos[None] + to_world(p.mat, local)
    edge = jnp.where(p.size == 1, listed_here[0], order[0] == 0) & (p.size < 3)
    start = jnp.broadcast_to(point[:1], (most, 3))
    return Features(to_world(p.mat, normal), around[0], possible, start, point[1:], edge, p.size)


def _cylinder(served: Library, p: _Placed) -> Features:
    """The cap on the side of the contact, if it is not seen edge-on, and the line along the side there."""
    axis = p.mat[:, 2]
    along = jnp.sum(axis * p.outward)
    normal = to_world(p.mat, jnp.asarray(CAP_NORMALS, axis.dtype))
    possible = vector.dot(normal, p.outward[None]) > EDGE_COS
    across = p.outward - along * axis
    rim = p.pos + p.form.scale[0] * (across / safe_norm(across))
    reach = jnp.where(along < 0, -1, 1).astype(axis.dtype) * p.form.scale[2] * axis
    size = 2 - jnp.any(possible).astype(jnp.int32)
    face = jnp.asarray(served.polygons.caps + np.arange(2), jnp.int32)
    known = jnp.abs(along) < UPRIGHT
    one = jnp.ones(1, bool)
    return Features(normal, face, possible, (rim + reach)[None], (rim - reach)[None], one, size, known)


def _capsule(served: Library, p: _Placed) -> Features:
    """No face, and the line along its side through the witness point.

    MuJoCo's ends are those of a capsule that is thicker by half of the margin, moved back along the normal.
    """
    axis = p.mat[:, 2]
    middle = p.witness - jnp.sum((p.witness - p.pos + p.swell * p.outward) * axis) * axis
    reach = p.form.scale[2] * axis
    none = jnp.zeros(1, jnp.int32)
    one = jnp.ones((), jnp.int32)
    return Features(
        axis[None], none, jnp.zeros(1, bool), (middle - reach)[None], (middle + reach)[None], jnp.ones(1, bool), one
    )


FEATURES: dict[G, Callable[[Library, _Placed], Features]] = {
    G.CAPSULE: _capsule,
    G.CYLINDER: _cylinder,
    G.BOX: _box,
    G.MESH: _mesh,
}
