"""Where the axes of capsules and polyhedra of few faces are nearest, or overlap least, by trying all features.

Along a normal the two are apart by what the corresponding planes are. The normals that may be best, of shapes that
overlap, are those of the faces, and those across an edge and the axis that lie between the normals of the edge's two
faces. If none of them shows the two apart, the one along which they overlap least is right. If one does, the nearest
points are on an edge and the axis, or within a face and at one end.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.arrays import namespace
from jaxsim.algebra.select import take
from jaxsim.collision.shape import safe_norm
from jaxsim.core.enums import MINVAL

Array = jax.Array

PARALLEL = 1e-4  # sine of the angle of an edge and an axis that have no direction across them

# a prism whose corners of the base come before those of the top: faces, edges, and the two faces beside each edge
PRISM_FACES = np.array([[3, 4, 5], [0, 2, 1], [0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4], [2, 0, 3], [2, 3, 5]])
PRISM_EDGES = np.array([[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [0, 3], [1, 4], [2, 5]])
PRISM_SIDES = np.array([[1, 2], [1, 4], [1, 6], [0, 2], [0, 4], [0, 6], [2, 6], [2, 4], [4, 6]])
TURNED = np.array([0, 2, 1, 3, 5, 4])  # the same corners, if they were clockwise


class Facets(NamedTuple):
    """Of a polyhedron the corners of triangles [f, 3, 3] (m), counterclockwise seen from outside, with numbers [f, 3].

    And what `spanned` gives of them, and the ends of edges [e, 2, 3] (m), with numbers [e, 2] and the outward unit
    normals on both sides [e, 2, 3].
    """

    face: Array
    corner: Array
    normal: Array
    dual: Array
    edge: Array
    end: Array
    beside: Array


class Met(NamedTuple):
    """Where an axis and a polyhedron meet: normal [3] out of the polyhedron, and distance [] (m) along it.

    Three points of each make the nearest ones, with weights [3]: places [3] from -1 to 1 along the axis, and corners of
    the polyhedron [3, 3] (m), with numbers [3].
    """

    normal: Array
    dist: Array
    place: Array
    point: Array
    corner: Array
    weight: Array


def facets_of_prism(corner: Array) -> Facets:
    """The facets of a prism of a height field with corners [6, 3] (m), those of the base before those of the top."""
    one, other = corner[1, :2] - corner[0, :2], corner[2, :2] - corner[0, :2]
    right = one[0] * other[1] - one[1] * other[0] > 0
    point = jnp.where(right, corner, take(corner, TURNED))
    number = jnp.where(right, np.arange(6, dtype=np.int32), TURNED.astype(np.int32))
    face = jnp.stack([take(point, PRISM_FACES[:, i]) for i in range(3)], axis=1)
    edge = jnp.stack([take(point, PRISM_EDGES[:, i]) for i in range(2)], axis=1)
    normal, dual = spanned(face)
    beside = jnp.stack([take(normal, PRISM_SIDES[:, i]) for i in range(2)], axis=1)
    corners, ends = (
        jnp.stack([take(number, x[:, i]) for i in range(x.shape[1])], axis=1) for x in (PRISM_FACES, PRISM_EDGES)
    )
    return Facets(face, corners, normal, dual, edge, ends, beside)


def spanned(face: Array) -> tuple[Array, Array]:
    """Outward unit normals [f, 3] of triangles [f, 3, 3] (m), of numpy or of JAX, and vectors [f, 2, 3] (1/m).

    The products of the latter with the way from a triangle's first corner to a point are the weights of its other two
    corners at the point's foot.
    """
    xp, one, other = namespace(face), face[:, 1] - face[:, 0], face[:, 2] - face[:, 0]
    across = vector.cross(one, other)
    length = xp.maximum(vector.norm(across), MINVAL)[:, None]
    normal = across / length
    return normal, xp.stack([vector.cross(other, normal), vector.cross(normal, one)], axis=1) / length[..., None]


def rod_meets(facets: Facets, centre: Array, half: Array) -> Met:
    """Where the axis from centre - half to centre + half, [3] (m) in the frame of a polyhedron, meets this."""
    dtype, dual = centre.dtype, facets.dual
    from_first = centre[None] - facets.face[:, 0]
    over, first, second = (
        jnp.stack([middle - more, middle + more])  # [2, f], of both ends
        for middle, more in (
            (vector.dot(x, from_first), vector.dot(x, half[None])) for x in (facets.normal, dual[:, 0], dual[:, 1])
        )
    )
    p = facets.edge[:, 0]
    edge = facets.edge[:, 1] - p
    one, other = facets.beside[:, 0], facets.beside[:, 1]

    # planes that are between them, or by which they overlap least
    on_face = jnp.min(over, axis=0)
    lower = over[1] < over[0]
    way = vector.cross(edge, jnp.broadcast_to(half[None], edge.shape))
    length = safe_norm(way)
    slant = length[:, 0] > PARALLEL * jnp.sqrt(vector.dot(edge, edge) * jnp.sum(half * half))
    way = way / length
    way = jnp.where(vector.dot(way, one + other)[:, None] < 0, -way, way)
    between = slant & (vector.dot(one, half[None]) * vector.dot(other, half[None]) < 0)
    low = jnp.asarray(-jnp.finfo(dtype).max, dtype)
    by_edge = jnp.where(between, vector.dot(way, centre[None] - p), low)
    face, face_hot = _most(on_face)
    crossing, edge_hot = _most(by_edge)
    # nearer than rounding the way between two points is no direction, but what is between the planes is
    size = jnp.sum(jnp.abs(centre)) + jnp.sum(jnp.abs(half)) + jnp.max(jnp.abs(facets.face))
    apart = jnp.maximum(face, crossing) > 16 * jnp.finfo(dtype).eps * size

    # nearest points of axis and edges, and of ends and faces
    s, t = _nearest(p, edge, centre, half)
    gap = centre[None] + s[:, None] * half[None] - p - t[:, None] * edge
    beside = vector.dot(gap, gap)
    inside = (first >= 0) & (second >= 0) & (first + second <= 1) & (over > 0)
    big = jnp.asarray(jnp.finfo(dtype).max, dtype)
    above = jnp.where(inside, over * over, big)  # [2, f]
    nearest_edge, near_edge_hot = _most(-beside)
    end_low, hot_low = _most(-above[0])
    end_high, hot_high = _most(-above[1])
    face_is_nearer = jnp.maximum(end_low, end_high) >= nearest_edge

    high = end_high > end_low
    face_hot = jnp.where(apart, jnp.where(high, hot_high, hot_low), face_hot)
    edge_hot = jnp.where(apart, near_edge_hot, edge_hot)
    upper = jnp.where(apart, high, jnp.any(face_hot & lower))
    by_face = jnp.where(apart, face_is_nearer, face >= crossing)
    at_end = [jnp.where(upper, x[1], x[0]) for x in (over, first, second)]
    at_face = _at_face(facets, face_hot, upper, _of(face_hot, jnp.stack(at_end, axis=1)))
    way = jnp.where(apart, gap, way)
    at_edge = _at_edge(
        facets, edge_hot, _of(edge_hot, way), _of(edge_hot, gap), _of(edge_hot, jnp.stack([s, t], axis=1))
    )
    return jax.tree.map(lambda x, y: jnp.where(by_face, x, y), at_face, at_edge)


def _at_face(facets: Facets, hot: Array, upper: Array, at: Array) -> Met:
    """Where an end of the axis, the upper one or not [], meets the face of a mask [f].

    `at` [3] are its height (m) over the face, and the weights of the face's last two corners at its foot.
    """
    normal, corner = _of(hot, facets.normal), _of(hot, facets.face.reshape(-1, 9)).reshape(3, 3)
    number = jnp.sum(jnp.where(hot[:, None], facets.corner, 0), axis=0, dtype=jnp.int32)
    place = jnp.broadcast_to(jnp.where(upper, 1, -1).astype(at.dtype)[None], (3,))
    weight = jnp.stack([1 - at[1] - at[2], at[1], at[2]])
    return Met(normal, at[0], place, corner, number, weight)


def _at_edge(facets: Facets, hot: Array, way: Array, gap: Array, where: Array) -> Met:
    """Where the axis meets the edge of a mask [e], along a way [3], from the edge, and a gap [3] (m) away.

    `where` [2] are the places on the axis, from -1 to 1, and on the edge, from 0 to 1.
    """
    normal, place, along = way / safe_norm(way), where[0], where[1]
    end = _of(hot, facets.edge.reshape(-1, 6)).reshape(2, 3)
    number = jnp.sum(jnp.where(hot[:, None], facets.end, 0), axis=0, dtype=jnp.int32)
    far = along > 0.5
    end, number = (jnp.where(far, take(x, [1, 0]), x) for x in (end, number))
    opposite, beyond = 0.5 - 0.5 * jnp.abs(place), jnp.minimum(along, 1 - along)
    side = jnp.where(place < 0, -1, 1).astype(way.dtype) * jnp.asarray([1, -1, 1], way.dtype)
    weight = jnp.stack([1 - opposite - beyond, opposite, beyond])
    return Met(normal, jnp.sum(normal * gap), side, take(end, [0, 0, 1]), take(number, [0, 0, 1]), weight)


def _most(value: Array) -> tuple[Array, Array]:
    """The greatest [] of some values [n], and which it is [n]."""
    least, hot = vector.least(-value)
    return -least[0], hot


def _of(hot: Array, rows: Array) -> Array:
    """The row of rows [n, k] that a mask [n] has."""
    return jnp.sum(jnp.where(hot[:, None], rows, 0), axis=0)


def _nearest(p: Array, edge: Array, centre: Array, half: Array) -> tuple[Array, Array]:
    """Places s [e] in [-1, 1] along an axis and t [e] in [0, 1] along edges from p [e, 3], where these are nearest."""
    a, b = jnp.sum(half * half), vector.dot(edge, edge)
    c, gap = vector.dot(edge, half[None]), centre[None] - p
    on_axis, on_edge = vector.dot(gap, half[None]), vector.dot(gap, edge)
    det = a * b - c * c
    slant = det > PARALLEL * PARALLEL * a * b
    s = jnp.where(slant, (c * on_edge - b * on_axis) / jnp.where(slant, det, 1), 0)
    t = jnp.clip((on_edge + jnp.clip(s, -1, 1) * c) / b, 0, 1)
    s = jnp.clip((t * c - on_axis) / a, -1, 1)
    return s, jnp.clip((on_edge + s * c) / b, 0, 1)
