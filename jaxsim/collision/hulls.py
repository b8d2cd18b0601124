"""Vertices of meshes' convex hulls, from MuJoCo's hull graphs, as arrays of one size for all geoms of a group."""

import jax.numpy as jnp
import numpy as np

from jaxsim.collision.convex.polygons import polygons_of
from jaxsim.collision.convex.rods import spanned
from jaxsim.collision.shape import Hull
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology

HULLED = (GeomType.MESH, GeomType.SDF)  # types of geoms that have a mesh
LEAN = 3e-6  # rad between two triangles of one face: more than comes from vertices in single precision
OVERLAP = 1e-5  # of a mesh's extent: by how much those reach across the side between them, so that no gap is left


def hulls(m: Model, geom: np.ndarray) -> Hull:
    """The hulls of mesh geoms [n], filled up to the size of the largest."""
    number, vertex = vertices(m.topology, geom)
    return Hull(jnp.asarray(vertex, m.geom_size.dtype), jnp.asarray(number, jnp.int32), polygons_of(m.topology))


def vertices(t: Topology, geom: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the hulls of mesh geoms [n], filled up, the numbers of the vertices [n, k] and these themselves [n, k, 3]."""
    each = [hull_numbers(t, int(mesh)) for mesh in t.geom_dataid[geom]]
    most = max(len(x) for x in each)
    number = np.stack([filled_up(x, most) for x in each]).astype(np.int32)
    return number, t.mesh_vert[number]


def solids(t: Topology, geom: np.ndarray) -> tuple[np.ndarray, ...]:
    """Tables of the fields of `Solid`, filled up, of the hulls of mesh geoms [n]."""
    return _stacked([_solid(t, int(mesh)) for mesh in t.geom_dataid[geom]])


def _stacked(tables: list[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """Tables of several things, each filled up to the most rows that any has."""
    return tuple(np.stack([filled_up(x, max(map(len, each))) for x in each]) for each in zip(*tables))


@per_topology
def _solid(t: Topology, mesh: int) -> tuple[np.ndarray, ...]:
    """Of the hull of one mesh the fields of `Solid`."""
    graph = t.mesh_graph[t.mesh_graphadr[mesh] :]
    nvert, nface = graph[:2]
    begin = 2 + 3 * nvert + 3 * nface  # after the addresses and numbers of vertices, and the edges
    corner = t.mesh_vertadr[mesh] + graph[begin : begin + 3 * nface].reshape(-1, 3)
    vert = t.mesh_vert.astype(np.float64)
    face = vert[corner]
    across = np.cross(face[:, 1] - face[:, 0], face[:, 2] - face[:, 0])
    middle = vert[hull_numbers(t, mesh)].mean(axis=0)
    inward = np.sum(across * (face[:, 0] - middle), axis=1) < 0
    face[inward] = face[inward][:, ::-1]
    across[inward] *= -1
    area = np.linalg.norm(across, axis=1)
    some = area > 1e-9 * area.max()
    face, normal = face[some], across[some] / area[some, None]
    side = np.cross(normal[:, None], np.roll(face, -1, axis=1) - face)
    side /= np.linalg.norm(side, axis=2, keepdims=True)
    sides = np.sort(corner[:, [[0, 1], [1, 2], [2, 0]]], axis=2)
    sides[inward] = sides[inward][:, [1, 0, 2]]  # of corners the other way round
    ends, which = np.unique(sides.reshape(-1, 2), axis=0, return_inverse=True)
    flat = _within_faces(normal, which.reshape(-1, 3)[some], len(ends))
    beside = np.sum(side * face, axis=2)
    beside[flat[which.reshape(-1, 3)[some]]] -= OVERLAP * np.ptp(vert[hull_numbers(t, mesh)], axis=0).max()
    start, along = vert[ends[~flat, 0]], vert[ends[~flat, 1]] - vert[ends[~flat, 0]]
    length = np.linalg.norm(along, axis=1)
    return normal, np.sum(normal * face[:, 0], axis=1), side, beside, start, along / length[:, None], length


def _within_faces(normal: np.ndarray, side: np.ndarray, count: int) -> np.ndarray:
    """Which sides [count] are between two triangles with the same normals [n, 3]: numbers [n, 3] say whose they are."""
    total, squares = np.zeros((count, 3)), np.bincount(side.ravel(), minlength=count)
    np.add.at(total, side.ravel(), np.repeat(normal, 3, axis=0))
    return (squares == 2) & (np.linalg.norm(total, axis=1) > 2 - LEAN * LEAN / 4)


def facets(t: Topology, row: np.ndarray) -> tuple[np.ndarray, ...]:
    """Tables of the fields of `Facets`, filled up, of a library's meshes [n], whose rows are its last ones.

    From the rows of all geoms [ngeom].
    """
    meshes = {int(row[g]): int(t.geom_dataid[g]) for g in np.flatnonzero((row >= 0) & (t.geom_type == GeomType.MESH))}
    return _stacked([_facets(t, meshes[i]) for i in sorted(meshes)])


@per_topology
def is_whole(t: Topology, mesh: int) -> bool:
    """Whether a mesh has a hull on each edge of which two of its polygons meet."""
    return t.mesh_graphadr[mesh] >= 0 and all(len(x) == 2 for x in _edges(t, mesh).values())


def _polygons(t: Topology, mesh: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The corners [n] of each of a mesh's polygons, counted over all meshes and clockwise seen from outside, and its
    outward normal [3]."""
    table, first = polygons_of(t), int(t.mesh_polyadr[mesh])
    found = []
    for i in range(first, first + int(t.mesh_polynum[mesh])):
        begin = table.corner_adr[i]
        found.append((table.corner[begin : begin + table.corner_num[i]], table.normal[i]))
    return found


def _edges(t: Topology, mesh: int) -> dict[tuple[int, int], list[np.ndarray]]:
    """The normals [3] of a mesh's polygons at each of their edges."""
    found: dict[tuple[int, int], list[np.ndarray]] = {}
    for corner, normal in _polygons(t, mesh):
        for i, j in zip(corner, np.roll(corner, -1)):
            found.setdefault((int(min(i, j)), int(max(i, j))), []).append(normal)
    return found


@per_topology
def _facets(t: Topology, mesh: int) -> tuple[np.ndarray, ...]:
    """Of one mesh the fields of `Facets`."""
    vert, place = polygons_of(t).vert, {int(n): i for i, n in enumerate(hull_numbers(t, mesh))}
    fans = [[(c[0], c[i + 1], c[i]) for i in range(1, len(c) - 1)] for c, _ in _polygons(t, mesh)]
    corner = np.array([x for fan in fans for x in fan])
    face = vert[corner]
    area = np.linalg.norm(np.cross(face[:, 1] - face[:, 0], face[:, 2] - face[:, 0]), axis=1)
    some = area > 1e-9 * area.max()
    corner, face = corner[some], face[some]
    edges = _edges(t, mesh)
    end = np.array(list(edges))
    corners, ends = (np.vectorize(place.__getitem__)(x).astype(np.int32) for x in (corner, end))
    normal, across = (np.asarray(x) for x in spanned(face))
    return face, corners, normal, across, vert[end], ends, np.array(list(edges.values()))


def sizes(t: Topology, geom: np.ndarray) -> list[int]:
    """How many vertices the hulls of mesh geoms [n] have."""
    return [len(hull_numbers(t, int(mesh))) for mesh in t.geom_dataid[geom]]


def filled_up(table: np.ndarray, most: int) -> np.ndarray:
    """A table of `most` rows, the first of the given ones repeated after them."""
    return np.concatenate([table, np.repeat(table[:1], most - len(table), axis=0)])


@per_topology
def hull_numbers(t: Topology, mesh: int) -> np.ndarray:
    """Numbers [n], among the vertices of all meshes, of those of a mesh's hull; of all where it has none."""
    first = t.mesh_vertadr[mesh]
    if t.mesh_graphadr[mesh] < 0:
        return first + np.arange(t.mesh_vertnum[mesh])
    graph = t.mesh_graph[t.mesh_graphadr[mesh] :]
    return first + graph[2 + graph[0] : 2 + 2 * graph[0]]
