"""Convex hulls of meshes: MuJoCo's hull graph, and the polygons that the hull's triangles make up."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull, QhullError

from jaxsim.core.enums import MINVAL
from jaxsim.mjcf.assets.polygon_order import hash_order
from jaxsim.mjcf.language.errors import Fault

Array = np.ndarray
ANGLE = 0.01  # triangles whose normals round to the same multiple of this, in radian, may form a polygon
DIRECTIONS = np.array([(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)], float)


@dataclass
class Hull:
    """Triangles of a convex hull, seen from outside counter-clockwise.

    vert [n] are ids of mesh vertices, face [m, 3] too.
    """

    vert: Array
    face: Array


def convex_hull(points: Array, maxhullvert: int = -1) -> Hull:
    """Convex hull of points [n, 3], with at most maxhullvert vertices unless that is -1.

    Raises:
        Fault: the points have no volume.
    """
    _check_volume(points)
    options = "Qt" if maxhullvert < 0 else f"Qt Q9 TA{maxhullvert - 4}"
    try:
        hull = ConvexHull(points, qhull_options=options)
    except QhullError as error:
        raise Fault(f"the convex hull could not be computed: {str(error).splitlines()[0]}") from None
    face = hull.simplices.copy()
    corner = points[face]
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    inward = np.sum(normal * hull.equations[:, :3], axis=1) < 0
    face[inward] = face[inward][:, [1, 0, 2]]
    return Hull(np.unique(face), face)


def _check_volume(points: Array) -> None:
    offset = points - points[0]
    distance = np.linalg.norm(offset, axis=1)
    apart = np.flatnonzero(distance > MINVAL)
    if not len(apart):
        raise Fault("all vertices coincide: there is no convex hull; consider a small sphere instead")
    edge, length = offset[apart[0]], distance[apart[0]]
    normal = np.cross(edge, offset)
    norm = np.linalg.norm(normal, axis=1)
    off_line = np.flatnonzero(norm > MINVAL * length * distance)
    if not len(off_line):
        raise Fault("all vertices are on a line: there is no convex hull; consider a thin capsule instead")
    first = off_line[0]
    if np.all(np.abs(offset @ (normal[first] / norm[first])) <= MINVAL * length):
        raise Fault("all vertices are in a plane: there is no convex hull; consider a thin box instead")


def hull_graph(hull: Hull) -> Array:
    """mesh_graph: numvert, numface, vert_edgeadr, vert_globalid, edge_localid, face_globalid."""
    nvert, nface = len(hull.vert), len(hull.face)
    local = np.searchsorted(hull.vert, hull.face)
    # every triangle has each of its edges once in each direction, so that one direction is enough
    start, end = local.ravel(), local[:, [1, 2, 0]].ravel()
    order = np.argsort(start, kind="stable")
    degree = np.bincount(start, minlength=nvert)
    address = np.cumsum(degree + 1) - (degree + 1)
    edges = np.full(nvert + 3 * nface, -1)
    edges[np.arange(3 * nface) + start[order]] = end[order]  # one separator for each vertex before
    return np.concatenate([[nvert, nface], address, hull.vert, edges, hull.face.ravel()]).astype(np.int32)


def hull_extrema(points: Array, hull: Hull) -> Array:
    """mesh_extrema [27]: hull vertex farthest in each direction of the grid (-1, 0, 1)^3; 0 for none."""
    extrema = np.argmax(points[hull.vert] @ DIRECTIONS.T, axis=0)
    extrema[13] = 0
    return extrema.astype(np.int32)


def polygons(points: Array, hull: Hull) -> list[Array]:
    """Faces of the hull: outlines, as vertex ids, of connected triangles with nearly the same normal.

    In MuJoCo's order: by normal as its table holds them, then by their first triangle.
    """
    corner = points[hull.face]
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    norm = np.linalg.norm(normal, axis=1)
    usable = norm >= MINVAL
    face = hull.face[usable]
    keys = _normal_keys(normal[usable] / norm[usable, None])
    _, first, label = np.unique(keys[:, 0] * 1024 + keys[:, 1], return_index=True, return_inverse=True)

    # edges of all triangles; those without their reverse in the same set are the outline
    start, end = face.ravel().astype(np.int64), face[:, [1, 2, 0]].ravel().astype(np.int64)
    owner = np.repeat(np.arange(len(face)), 3)
    n = len(points)
    edge, reverse = (label[owner] * n + start) * n + end, (label[owner] * n + end) * n + start
    order = np.argsort(edge)
    place = np.minimum(np.searchsorted(edge, reverse, sorter=order), len(edge) - 1)
    inner = edge[order[place]] == reverse
    partner = owner[order[place]]
    links = coo_array((np.ones(inner.sum()), (owner[inner], partner[inner])), shape=(len(face),) * 2)
    island = connected_components(links, directed=False)[1]
    outlines = _outlines(face, island, start[~inner], end[~inner], island[owner[~inner]])

    met = np.argsort(first)
    place = np.empty_like(met)
    place[met[hash_order(keys[first[met]])]] = np.arange(len(met))
    rank = place[label]
    _, triangle = np.unique(island, return_index=True)
    return [outlines[i] for i in np.lexsort((triangle, rank[triangle])) if i in outlines]


def _normal_keys(normal: Array) -> Array:
    """Rounded azimuth and inclination [n, 2] of unit normals."""
    normal = normal + 0.0
    z = normal[:, 2]
    azimuth = np.round(np.arctan2(normal[:, 1], normal[:, 0]) / ANGLE)
    inclination = np.round(np.arccos(np.clip(z, -1, 1)) / ANGLE)
    vertical = np.abs(z) > 1 - 1e-7
    azimuth = np.where(vertical, 0.0, azimuth)
    return np.stack([azimuth, np.where(vertical, np.where(z < 0, np.round(np.pi / ANGLE), 0.0), inclination)], 1)


def _outlines(face: Array, island: Array, start: Array, end: Array, of: Array) -> dict[int, Array]:
    """Outlines by number of islands of triangles [n, 3], from their boundary edges: start, end, island [m]."""
    count = np.bincount(island)
    alone = np.flatnonzero(count[island] == 1)
    outlines = {int(island[i]): face[i] for i in alone}
    order = np.argsort(of, kind="stable")
    first, last = (np.searchsorted(of[order], np.flatnonzero(count > 1), side) for side in ("left", "right"))
    for which, begin, stop in zip(np.flatnonzero(count > 1), first, last):
        edges = order[begin:stop]
        path = _walk(start[edges].tolist(), end[edges].tolist())
        if len(path) >= 3:
            outlines[int(which)] = np.array(path)
    return outlines


def _walk(start: list[int], end: list[int]) -> list[int]:
    """The closed path along edges that begins with the first of them."""
    following = dict(zip(reversed(start), reversed(end)))
    path = start[:1]
    while (after := following.get(path[-1])) not in (None, start[0]) and len(path) <= len(start):
        path.append(after)
    return path


def newell_normals(points: Array, outlines: list[Array]) -> Array:
    """Unit normals [n, 3] of polygons, from the area that their outline projects on each coordinate plane."""
    if not outlines:
        return np.zeros((0, 3))
    length = np.array([len(o) for o in outlines])
    owner, end = np.repeat(np.arange(len(outlines)), length), np.cumsum(length)
    ids = np.concatenate(outlines)
    following = np.arange(1, len(ids) + 1)
    following[end - 1] = end - length  # the last corner of each is followed by its first
    here, after = points[ids], points[ids[following]]
    origin = here[end - length][owner]
    normal = np.zeros((len(outlines), 3))
    np.add.at(normal, owner, np.cross(here - origin, after - origin))
    return normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), MINVAL)
