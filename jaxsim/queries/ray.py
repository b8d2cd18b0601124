"""Rays against geoms: distance along a ray to the nearest surface (mj_ray).

A ray is point + x direction for x >= 0, both in world coordinates; x is in units of the direction's length.
Which surface is hit is a decision; the distance to it is what is differentiated.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.collision.ray_shape import distance
from jaxsim.collision.ray_triangles import field_walls, nearest_triangle, triangles_of
from jaxsim.collision.sdf.ray import field_distances
from jaxsim.core.data import Data
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model

Array = jax.Array

FACETED = (GeomType.MESH, GeomType.HFIELD)  # made of triangles


def ray(
    model: Model,
    data: Data,
    point: Array,
    direction: Array,
    *,
    geomgroup: tuple[bool, ...] | None = None,
    static: bool = True,
    bodyexclude: str | int = -1,
) -> tuple[Array, Array]:
    """The nearest geom that a ray meets (mj_ray).

    Invisible geoms (of zero alpha) are passed through, and planes from behind. A ray that starts inside a
    geom meets it from within.

    Args:
        model: the model.
        data: after `forward`.
        point: [3] start, m.
        direction: [3], of any length.
        geomgroup: which of the six geom groups count; by default all.
        static: whether geoms count that cannot move.
        bodyexclude: name or index of a body whose geoms do not count.

    Returns:
        The distance in units of the direction's length, -1 if nothing is met; and the index of the geom, or -1.
    """
    geoms = _that_count(model, geomgroup, static, bodyexclude)
    distances: list[Array] = [jnp.full(1, jnp.inf, data.geom_xpos.dtype)]
    ids: list = [np.array([-1])]
    faceted = np.isin(model.geom_type[geoms], FACETED)
    for kind in np.unique(model.geom_type[geoms[~faceted]]):
        chosen = geoms[model.geom_type[geoms] == kind]
        start, along = _in_frames(data, chosen, point, direction)
        if kind == GeomType.SDF:
            distances.append(field_distances(model, chosen, start, along))
        else:
            distances.append(distance(GeomType(int(kind)), start, along, take(model.geom_size, chosen)))
        ids.append(chosen)
    if faceted.any():
        chosen = geoms[faceted]
        start, along = _in_frames(data, chosen, point, direction)
        x, place = nearest_triangle(triangles_of(model, chosen), start, along)
        fields = np.flatnonzero(model.geom_type[chosen] == GeomType.HFIELD)
        distances += [x[None], *(field_walls(model, chosen[i], start[i], along[i])[None] for i in fields)]
        ids += [jnp.asarray(chosen, jnp.int32)[place][None], chosen[fields]]
    every = jnp.concatenate(distances)
    nearest = jnp.argmin(every)
    found = every[nearest]
    index = jnp.concatenate([jnp.asarray(i, jnp.int32) for i in ids])
    return jnp.where(jnp.isfinite(found), found, -1), index[nearest]


def _in_frames(d: Data, geoms: np.ndarray, point: Array, direction: Array) -> tuple[Array, Array]:
    """Start and direction of a ray in the frames of geoms, [n, 3] each."""
    mat = take(d.geom_xmat, geoms).reshape(-1, 3, 3)
    start = vector.matvec_t(mat, point[None] - take(d.geom_xpos, geoms))
    return start, vector.matvec_t(mat, jnp.broadcast_to(direction[None], start.shape))


def _that_count(m: Model, geomgroup: tuple[bool, ...] | None, static: bool, bodyexclude: str | int) -> np.ndarray:
    """Geoms that a ray can meet."""
    body = m.topology.id_of("body", bodyexclude) if isinstance(bodyexclude, str) else int(bodyexclude)
    material = np.asarray(m.geom_matid)
    alpha = np.asarray(m.geom_rgba).reshape(-1, 4)[:, 3]
    if m.nmat:
        painted = np.asarray(m.mat_rgba).reshape(-1, 4)[np.maximum(material, 0), 3]
        alpha = np.where(material >= 0, painted, alpha)
    counts = (np.asarray(m.geom_bodyid) != body) & (alpha != 0)
    if not static:
        counts &= m.body_weldid[m.geom_bodyid] != 0
    if geomgroup is not None:
        counts &= np.asarray(geomgroup, bool)[np.clip(m.geom_group, 0, len(geomgroup) - 1)]
    return np.flatnonzero(counts)
