"""Convex hulls of meshes as arrays of one size for all geoms of a group, from MuJoCo's hull graphs and polygons."""

import jax.numpy as jnp
import numpy as np

from jaxsim.collision.shape import Hull
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology


def hulls(m: Model, geom: np.ndarray) -> Hull:
    """The hulls of mesh geoms [n], filled up to the size of the largest."""
    dtype = m.geom_size.dtype
    each = [hull_of_mesh(m.topology, int(mesh)) for mesh in m.geom_dataid[geom]]
    vertex, around, normal, corner = (_stacked(x) for x in zip(*each))
    ints = jnp.asarray(around, jnp.int32), jnp.asarray(corner, jnp.int32)
    return Hull(jnp.asarray(vertex, dtype), ints[0], jnp.asarray(normal, dtype), ints[1])


def _stacked(tables: tuple[np.ndarray, ...]) -> np.ndarray:
    """Tables [n_i, k_i] as one [tables, n, k]: their first rows fill up the rows, -1 the columns."""
    rows, width = (max(t.shape[i] for t in tables) for i in (0, 1))
    wide = [np.pad(t, ((0, 0), (0, width - t.shape[1])), constant_values=-1) for t in tables]
    return np.stack([np.concatenate([t, np.repeat(t[:1], rows - len(t), axis=0)]) for t in wide])


@per_topology
def hull_of_mesh(t: Topology, mesh: int) -> tuple[np.ndarray, ...]:
    """What a Hull has, of one mesh."""
    vert = t.mesh_vert[t.mesh_vertadr[mesh] :][: t.mesh_vertnum[mesh]]
    number = np.arange(len(vert))
    if t.mesh_graphadr[mesh] >= 0:
        graph = t.mesh_graph[t.mesh_graphadr[mesh] :]
        number = graph[2 + graph[0] : 2 + 2 * graph[0]]
    row = np.full(len(vert), -1)
    row[number] = np.arange(len(number))
    faces = t.mesh_polyadr[mesh] + np.arange(t.mesh_polynum[mesh])
    corners = [row[t.mesh_polyvert[t.mesh_polyvertadr[f] :][: t.mesh_polyvertnum[f]]] for f in faces]
    around = _faces_around(corners, len(number))
    normal = t.mesh_polynormal[faces] if len(faces) else np.zeros((1, 3))
    return np.column_stack([vert[number], number]), _table(around), normal, _table(corners)


def _faces_around(corners: list[np.ndarray], count: int) -> list[np.ndarray]:
    """The faces around each of the hull's vertices, in ascending order, from the corners of each face."""
    vertex = np.concatenate([np.zeros(0, int), *corners])
    face = np.repeat(np.arange(len(corners)), [len(c) for c in corners])
    order = np.argsort(vertex, kind="stable")
    return np.split(face[order], np.searchsorted(vertex[order], np.arange(1, count)))


def _table(lists: list) -> np.ndarray:
    """Lists of several lengths as rows, filled up with -1; one empty row at least."""
    table = np.full((max(len(lists), 1), max([len(x) for x in lists], default=0) or 1), -1)
    for row, values in zip(table, lists):
        row[: len(values)] = values
    return table
