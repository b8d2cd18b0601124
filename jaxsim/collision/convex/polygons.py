"""Faces of shapes as polygons: MuJoCo's lists for meshes, and then those of a box and of the caps of a cylinder.

Lists of several lengths lie one after the other, each with an address and a length, and are read where they
are by traced indices: a batch holds one copy. Corners run clockwise seen from outside, as in MuJoCo's clipping.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.core.topology import Topology, per_topology

Array = jax.Array

SIDES = 16  # of the polygon that stands for a cylinder's cap

# corners of a box: bits 1, 2, 4 of the number say whether x, y, z are positive; its faces: +x -x +y -y +z -z
BITS = (np.arange(8)[:, None] >> np.arange(3)) & 1
BOX_NORMALS = np.repeat(np.eye(3), 2, axis=0) * np.tile([1, -1], 3)[:, None]
BOX_CORNERS = np.array([[7, 3, 1, 5], [2, 6, 4, 0], [2, 3, 7, 6], [4, 5, 1, 0], [6, 7, 5, 4], [3, 2, 0, 1]])

CAP_NORMALS = np.array([[0, 0, 1], [0, 0, -1]])
_ANGLES = np.arange(SIDES) * (2 * np.pi / SIDES)
CAP_CORNERS = np.array([[np.cos(_ANGLES), -z * np.sin(_ANGLES), np.full(SIDES, z)] for z in (1, -1)]).swapaxes(1, 2)


@jax.tree_util.register_static
@dataclasses.dataclass(frozen=True, eq=False)
class Polygons:
    """Hull polygons of all meshes, a box and a cylinder, in host arrays; one object of each topology.

    vert [nvert, 3] (m) in the mesh's frame; a box and a cylinder are as large as their sizes, by which they are to be
    scaled. Of a mesh's vertex: the polygons around it (around_adr, around_num [nvert] into around [k]) and the other
    ends of its edges (ends [k], one per polygon). Of a polygon: corners (corner_adr, corner_num [npoly] into corner
    [m]), normal [npoly, 3]. Vertices and polygons are counted over all meshes. most_around and most_corners are the
    longest lists of meshes; box and caps are the numbers of the first face of a box and a cylinder.
    """

    vert: np.ndarray
    around_adr: np.ndarray
    around_num: np.ndarray
    around: np.ndarray
    ends: np.ndarray
    corner_adr: np.ndarray
    corner_num: np.ndarray
    corner: np.ndarray
    normal: np.ndarray
    most_around: int
    most_corners: int
    box: int
    caps: int


@per_topology
def polygons_of(m: Topology) -> Polygons:
    """The hull polygons of a model's meshes."""
    mesh = np.repeat(np.arange(m.nmesh), m.mesh_polynum)  # of each polygon
    polygon = np.repeat(np.arange(m.nmeshpoly), m.mesh_polyvertnum)  # of each corner
    corner = m.mesh_polyvert + m.mesh_vertadr[mesh[polygon]]
    before = np.arange(len(corner)) - 1
    start = m.mesh_polyvertadr[polygon]
    before = np.where(before < start, start + m.mesh_polyvertnum[polygon] - 1, before)
    owner = np.repeat(np.arange(m.nmeshvert), m.mesh_polymapnum)  # vertex of each entry of polymap
    owner_mesh = np.repeat(np.arange(m.nmesh), m.mesh_vertnum)[owner]
    around = m.mesh_polymap + m.mesh_polyadr[owner_mesh]
    ends = _end_of_edge(owner, around, polygon, corner, corner[before])
    last = 2 * start + m.mesh_polyvertnum[polygon] - 1  # reverses each list
    caps = np.arange(2 * SIDES)
    more = np.concatenate([BOX_CORNERS.reshape(-1), len(BITS) + caps]) + m.nmeshvert
    number = np.repeat([4, SIDES], [len(BOX_CORNERS), len(CAP_CORNERS)])
    return Polygons(
        vert=np.concatenate([m.mesh_vert, 2.0 * BITS - 1, CAP_CORNERS.reshape(-1, 3)]),
        around_adr=_not_empty(m.mesh_polymapadr),
        around_num=_not_empty(m.mesh_polymapnum),
        around=_not_empty(around),
        ends=_not_empty(ends),
        corner_adr=np.concatenate([m.mesh_polyvertadr, len(corner) + np.cumsum(number) - number]),
        corner_num=np.concatenate([m.mesh_polyvertnum, number]),
        corner=np.concatenate([corner[last - np.arange(len(corner))], more]),
        normal=np.concatenate([m.mesh_polynormal, BOX_NORMALS, CAP_NORMALS]),
        most_around=m.nmeshdegmax,
        most_corners=m.npolygonmax,
        box=m.nmeshpoly,
        caps=m.nmeshpoly + len(BOX_NORMALS),
    )


def _not_empty(x: np.ndarray) -> np.ndarray:
    """A list that may be read; where it is empty, what is read is not used."""
    return x if len(x) else np.zeros(1, x.dtype)


def _end_of_edge(owner, around, polygon, corner, previous) -> np.ndarray:
    """For vertices and one polygon around each, the corner before the vertex there."""
    nvert = int(corner.max(initial=0)) + 1
    key = polygon.astype(np.int64) * nvert + corner
    order = np.argsort(key)
    place = np.searchsorted(key[order], around.astype(np.int64) * nvert + owner)
    return previous[order[place]] if len(order) else np.zeros(0, np.int64)


def at_index(x: Array | np.ndarray, index: Array) -> Array:
    """Rows x[index] for traced indices in bounds; of a host table as well."""
    if isinstance(x, np.ndarray):
        x = jnp.asarray(x, jnp.int32) if x.dtype.kind == "i" else jnp.asarray(x)
    return x.at[index].get(mode="promise_in_bounds", wrap_negative_indices=False)
