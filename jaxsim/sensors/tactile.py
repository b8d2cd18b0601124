"""Tactile sensors: how deep the points of a pad are inside the geoms that touch it, and how these slide over it.

The points, or taxels, are the vertices of a mesh that lies on a geom. What counts as touching is a decision; depths
and speeds are what is differentiated.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.collision.depth import FIELDS, depth
from jaxsim.collision.sdf.field import served, solids
from jaxsim.collision.slots import ContactSlots, detected, of_geoms, pairs_of
from jaxsim.constraint.solution import Solution
from jaxsim.core.data import Data
from jaxsim.core.enums import GeomType, SensorType
from jaxsim.core.model import Model

Array = jax.Array


def pads(m: Model, d: Data, s: np.ndarray, solution: Solution) -> Array:
    """TACTILE [sum of sensor_dim]: depths (m) of all taxels, then speeds along two tangents (m/s), sensor by sensor."""
    if solution.slots is None:
        return jnp.zeros(int(m.sensor_dim[s].sum()), d.qpos.dtype)
    return jnp.concatenate([_pad(m, d, int(i), solution.slots) for i in s])


def _pad(m: Model, d: Data, sensor: int, slots: ContactSlots) -> Array:
    """One sensor's depths, the largest, and speeds, the sum over the geoms that are touched: [3 taxels]."""
    mesh, geom = int(m.sensor_objid[sensor]), int(m.sensor_refid[sensor])
    places = m.mesh_vertadr[mesh] + np.arange(m.mesh_vertnum[mesh])
    taxels = jnp.asarray(m.mesh_vert[places], d.qpos.dtype)
    points = vector.matvec(d.geom_xmat[geom].reshape(1, 3, 3), taxels) + d.geom_xpos[geom][None]
    others = _others(m, geom)
    others = others[np.isin(m.geom_type[others], [*FIELDS]) | _signed(m, others)]  # other meshes are not felt
    if not len(others):
        return jnp.zeros(3 * len(places), d.qpos.dtype)
    touched = _touched(m, slots, geom, others)
    deep = jnp.where(touched[:, None], _depths(m, d, others, points), 0)
    slip = jnp.abs(_slips(m, d, sensor, others, points))
    speeds = jnp.sum(jnp.where((deep > 0)[:, :, None], slip, 0), axis=0)
    return jnp.concatenate([jnp.max(deep, axis=0), speeds.T.reshape(-1)])


def _welded(m: Model, geom: int) -> np.ndarray:
    """[ngeom] which geoms move with a geom."""
    weld = m.body_weldid[m.geom_bodyid]
    return weld == weld[geom]


def _others(m: Model, geom: int) -> np.ndarray:
    """Geoms that may touch the ones that move with a geom, ascending."""
    pairs, own = pairs_of(m), _welded(m, geom)
    return np.unique(np.concatenate([pairs.geom2[own[pairs.geom1]], pairs.geom1[own[pairs.geom2]]]))


def _touched(m: Model, slots: ContactSlots, geom: int, others: np.ndarray) -> Array:
    """[k] which of the other geoms are in contact with one that moves with the geom."""
    is_other = np.arange(m.ngeom)[:, None] == others[None]
    table = jnp.asarray(np.concatenate([_welded(m, geom)[:, None], is_other], axis=1))
    first, second = (of_geoms(m, slots, side, table) for side in (0, 1))
    pressed = (first[:, :1] & second[:, 1:]) | (second[:, :1] & first[:, 1:])
    return jnp.any(pressed & detected(m, slots)[:, None], axis=0)


def _depths(m: Model, d: Data, geoms: np.ndarray, points: Array) -> Array:
    """[k, taxels] how deep points [taxels, 3] are in geoms [k]."""
    signed = _signed(m, geoms)
    if signed.any():
        deep = [_signed_depths(m, d, geoms[signed], points)]
        if not signed.all():
            deep.append(_depths(m, d, geoms[~signed], points))
        return take(jnp.concatenate(deep), np.argsort(np.argsort(~signed, kind="stable")))
    mat = take(d.geom_xmat, geoms).reshape(-1, 1, 3, 3)
    local = vector.matvec_t(mat, points[None] - take(d.geom_xpos, geoms)[:, None])
    size = jnp.broadcast_to(take(m.geom_size, geoms)[:, None], local.shape)
    parts, order = [], []
    for kind in np.unique(m.geom_type[geoms]):
        here = np.flatnonzero(m.geom_type[geoms] == kind)
        parts.append(depth(GeomType(int(kind)), take(local, here), take(size, here)))
        order.append(here)
    return take(jnp.concatenate(parts), np.argsort(np.concatenate(order)))


def _signed(m: Model, geoms: np.ndarray) -> np.ndarray:
    """[k] which geoms [k] have a signed distance: those of type sdf, and meshes with an octree."""
    kind, mesh = m.geom_type[geoms], m.geom_dataid[geoms]
    with_octree = np.append(m.mesh_octadr, -1)[mesh] >= 0
    return (kind == GeomType.SDF) | (kind == GeomType.MESH) & with_octree


def _signed_depths(m: Model, d: Data, geoms: np.ndarray, points: Array) -> Array:
    """[k, taxels] how deep points are in geoms that have signed distances."""
    kinds = served(m.topology, tuple(geoms.tolist()))
    mat = take(d.geom_xmat, geoms).reshape(-1, 1, 3, 3)
    local = vector.matvec_t(mat, points[None] - take(d.geom_xpos, geoms)[:, None])
    return jnp.maximum(-jax.vmap(kinds.value)(local, solids(m, kinds, geoms)), 0)


def _slips(m: Model, d: Data, sensor: int, geoms: np.ndarray, points: Array) -> Array:
    """[k, taxels, 2] velocities of taxels against geoms [k] along the taxels' tangents (m/s).

    A mesh that has normals without tangents has no slip.
    """
    mesh, pad = int(m.sensor_objid[sensor]), int(m.sensor_refid[sensor])
    count = int(m.mesh_vertnum[mesh])
    if m.mesh_normalnum[mesh] != 3 * count:
        return jnp.zeros((len(geoms), count, 2), points.dtype)
    rows = m.mesh_normaladr[mesh] + 3 * np.arange(count)[:, None] + [1, 2]
    tangents = vector.matvec(d.geom_xmat[pad].reshape(1, 1, 3, 3), jnp.asarray(m.mesh_normal[rows], points.dtype))
    bodies = m.geom_bodyid[np.append(geoms, pad)]
    velocity, center = take(d.cvel, bodies), take(d.subtree_com, m.body_rootid[bodies])
    moving = vector.cross(velocity[:, None, :3], points[None] - center[:, None]) + velocity[:, None, 3:]
    return jnp.sum((moving[-1:] - moving[:-1])[:, :, None] * tangents[None], axis=-1)


def unfelt(m: Model) -> list[tuple[int, GeomType]]:
    """Tactile sensors, each with a type of geom that may touch it and whose field is not known."""
    found = []
    for i in map(int, np.flatnonzero(m.sensor_type == SensorType.TACTILE)):
        others = _others(m, int(m.sensor_refid[i]))
        if (m.geom_type[others] == GeomType.HFIELD).any():
            found.append((i, GeomType.HFIELD))
    return found
