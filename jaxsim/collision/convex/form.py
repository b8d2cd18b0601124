"""What the convex routine reads of a geom: the points of a core, and an ellipsoid that is added to each of them.

One form for all types, so that one program serves all pairs of them:

    type       core                   ellipsoid's semi-axes   radius beyond
    sphere     the centre             0 0 0                   r
    capsule    the ends of its axis   0 0 0                   r
    ellipsoid  the centre             a b c                   0
    cylinder   the ends of its axis   r r 0                   0
    box        its corners            0 0 0                   0
    mesh, sdf  its hull's vertices    0 0 0                   0

The radius is added at the end, as MuJoCo does where cores are apart; where they overlap it is the same.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.collision.compact import gather
from jaxsim.collision.convex.cells import Cells
from jaxsim.collision.convex.polygons import BITS, Polygons, at_index, polygons_of
from jaxsim.collision.hulls import HULLED, filled_up, hull_numbers
from jaxsim.core.enums import GeomType as G
from jaxsim.core.topology import Topology, per_topology

Array = jax.Array

MANY = 32  # points from which a core is a large one: those of others are then not filled up to its number


class Form(NamedTuple):
    """One geom, in its own frame; all but `kind` and `row` follow from its sizes."""

    point: Any  # [n, 3] m, of the core, the first one fills up, or Cells; None where only the search needs them
    round: Array  # [3] m, semi-axes of the ellipsoid
    scale: Array  # [3] m, of a box's and a cylinder's polygons and core; 1 for meshes
    radius: Array  # [] m, by which the geom is larger still
    kind: Array  # [] int32, the geom's type
    row: Array  # [] int32, of the library


class Library(NamedTuple):
    """Cores of the geoms that a program serves, in host arrays.

    kinds: the types among them; of each geom [ngeom] its type, and its row, -1 for those not served; of each row the
    points [n, 3] before scaling and, for meshes, their numbers [n] among all vertices; and the polygons of all.
    """

    kinds: tuple[int, ...]
    kind: np.ndarray
    row: np.ndarray
    unit: np.ndarray
    number: np.ndarray
    polygons: Polygons


@per_topology
def is_large(t: Topology, geom: int) -> bool:
    """Whether a geom is a mesh with so many vertices that it gets a program of its own."""
    return t.geom_type[geom] == G.MESH and len(hull_numbers(t, int(t.geom_dataid[geom]))) > MANY


@per_topology
def library(t: Topology, geoms: tuple[int, ...], least: int = 1) -> Library:
    """The cores of some geoms, all with as many points as the largest has, and at least so many."""
    key = [int(t.geom_dataid[g]) if t.geom_type[g] in HULLED else -1 - int(t.geom_type[g]) for g in geoms]
    return _library(t, t.geom_type, geoms, key, least)


@per_topology
def cells(t: Topology, geoms: tuple[int, ...]) -> Cells | None:
    """What to search the cores of their library by; None where all are small."""
    unit = library(t, geoms).unit
    return Cells(unit, MANY) if unit.shape[1] > MANY else None


@per_topology
def library_of_sites(t: Topology, sites: tuple[int, ...]) -> Library:
    """The cores of some sites, whose `forms` follow from the sizes of all sites."""
    return _library(t, t.site_type, sites, [-1 - int(t.site_type[i]) for i in sites], 1)


def _library(t: Topology, kind: np.ndarray, chosen: tuple[int, ...], key: list[int], least: int) -> Library:
    """The cores with given keys of chosen objects, from the types of all."""
    cores = sorted(set(key))
    row = np.full(len(kind), -1, np.int32)
    row[list(chosen)] = [cores.index(k) for k in key]
    tables = [_core(t, k) for k in cores]
    most = max(least, *(len(x) for x in tables))
    table = np.stack([filled_up(x, most) for x in tables])
    kinds = tuple(sorted({int(kind[i]) for i in chosen}))
    return Library(
        kinds, np.asarray(kind, np.int32), row, table[..., :3], table[..., 3].astype(np.int32), polygons_of(t)
    )


def _core(t: Topology, key: int) -> np.ndarray:
    """[n, 4] points before scaling, and their numbers: of mesh `key`, or of geom type -1 - key."""
    if key >= 0:
        number = hull_numbers(t, key)
        return np.column_stack([t.mesh_vert[number], number])
    ends = {G.BOX: 2.0 * BITS - 1, G.CAPSULE: _AXIS, G.CYLINDER: _AXIS}.get(G(-1 - key), np.zeros((1, 3)))
    return np.column_stack([ends, np.arange(len(ends))])


_AXIS = np.array([[0, 0, 1.0], [0, 0, -1.0]])


def forms(served: Library, size: Array, geom: np.ndarray | Array, points: bool = True) -> Form:
    """The forms of geoms [k] at static or traced indices, from the sizes [ngeom, 3] (m) of all geoms.

    Without `points` they have none: large ones are not copied for each of the geoms then.
    """
    dtype, kind = size.dtype, served.kind
    radius = np.isin(kind, (G.SPHERE, G.CAPSULE))
    solid, drum = (kind == G.ELLIPSOID)[:, None], (kind == G.CYLINDER)[:, None]
    lying = jnp.concatenate([size[:, :1], size[:, :2]], axis=1)  # radius, radius, half length
    scale = jnp.where(np.isin(kind, HULLED)[:, None], 1, jnp.where((kind == G.BOX)[:, None], size, lying))
    disc = jnp.where(np.array([[True, True, False]]), lying, 0)
    rounds = jnp.where(solid, size, jnp.where(drum, disc, 0))
    reals = jnp.concatenate([rounds, scale, jnp.where(radius, size[:, 0], 0)[:, None]], axis=1)
    table = np.stack([kind, np.maximum(served.row, 0)], axis=1)
    if isinstance(geom, np.ndarray):
        reals, whole = reals[geom], jnp.asarray(table[geom])
    else:
        reals, whole = gather(reals, geom), gather(jnp.asarray(table), geom)
    scale = reals[:, 3:6]
    form = Form(None, reals[:, :3], scale, reals[:, 6], whole[:, 0], whole[:, 1])
    if not points:
        return form
    if isinstance(geom, np.ndarray):
        unit = jnp.asarray(served.unit[table[geom, 1]], dtype)
    else:
        unit = gather(jnp.asarray(served.unit, dtype), whole[:, 1])
    return form._replace(point=unit * scale[:, None])


def corners(served: Library, form: Form, number: Array) -> Array:
    """Points [k, 3] (m) of the core of one form, by their numbers [k]."""
    n = served.unit.shape[1]
    unit = at_index(jnp.asarray(served.unit.reshape(-1, 3), form.scale.dtype), form.row * n + number)
    return unit * form.scale[None]
