"""Where many rays first meet the geoms of a model, and the normals there: for `js.ray` and rangefinders.

A ray is start + x along for x >= 0, in world coordinates; x is in units of the length of `along`. Which geom a ray
meets is a decision; the distance to it and the normal are what is differentiated.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.collision.compact import gather
from jaxsim.collision.ray_field import field_facet, field_walls
from jaxsim.collision.ray_shape import NORMALS, distance
from jaxsim.collision.ray_triangles import Facet, nearest_triangle, triangles_of
from jaxsim.collision.sdf.ray import field_distances, field_normals
from jaxsim.core.data import Data
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model

Array = jax.Array

FACETED = (GeomType.MESH, GeomType.HFIELD)  # made of triangles
AT_ONCE = 64  # rays that are searched for triangles side by side


class Met(NamedTuple):
    """What rays [r] meet first, as one of c candidates: geoms, the nearest triangle, the walls of height fields."""

    dist: Array  # [r] in units of the length of the ray's direction, infinite if nothing is met
    geom: Array  # [r] index, -1 if nothing is met
    kind: Array  # [r] type of the geom, or of what its candidate is: HFIELD stands for any facet; -1
    facet: Array  # [r, 3] normal of the facet in the geom's frame, zero if none is met


def visible(m: Model) -> np.ndarray:
    """[ngeom] which geoms rays do not pass through, as they do where the alpha of a colour is zero."""
    material = np.asarray(m.geom_matid)
    alpha = np.asarray(m.geom_rgba).reshape(-1, 4)[:, 3]
    if m.nmat:
        painted = np.asarray(m.mat_rgba).reshape(-1, 4)[np.maximum(material, 0), 3]
        alpha = np.where(material >= 0, painted, alpha)
    return alpha != 0


def meet(m: Model, d: Data, start: Array, along: Array, counts: np.ndarray) -> Met:
    """What rays [r, 3] meet first of the geoms that count for each of them, a table [r, ngeom] of the host."""
    geoms = np.flatnonzero(counts.any(axis=0))
    begin, toward = _in_frames(d, geoms, start, along)
    if not counts[:, geoms].all():  # a ray of no direction meets nothing
        toward = jnp.where(counts[:, geoms, None], toward, 0)
    rays, dtype = start.shape[0], begin.dtype
    dist: list[Array] = [jnp.full((rays, 1), jnp.inf, dtype)]
    ids: list[Array | np.ndarray] = [np.full((rays, 1), -1)]
    kinds = [np.array([-1])]
    faceted = np.isin(m.geom_type[geoms], FACETED)
    for kind in np.unique(m.geom_type[geoms[~faceted]]):
        here = np.flatnonzero(m.geom_type[geoms] == kind)
        dist.append(_distances(m, GeomType(int(kind)), geoms[here], take(begin, here, 1), take(toward, here, 1)))
        ids.append(np.tile(geoms[here], (rays, 1)))
        kinds.append(np.full(len(here), kind))
    normals = jnp.zeros((rays, 0, 3), dtype)
    if faceted.any():
        here = np.flatnonzero(faceted)
        x, place, normals = _facets(m, geoms[here], take(begin, here, 1), take(toward, here, 1))
        dist.append(x)
        ids.append(gather(jnp.asarray(geoms[here], jnp.int32), place.reshape(-1)).reshape(place.shape))
        kinds.append(np.full(x.shape[1], int(GeomType.HFIELD)))
    every = jnp.concatenate(dist, axis=1)
    kind = jnp.asarray(np.concatenate(kinds)[None], jnp.int32)
    hot = jnp.argmin(every, axis=1).astype(jnp.int32)[:, None] == np.arange(every.shape[1], dtype=np.int32)[None]
    chosen = lambda x: jnp.sum(jnp.where(hot, x, 0), axis=1)  # noqa: E731
    facet = hot[:, every.shape[1] - normals.shape[1] :, None]
    index = jnp.concatenate([jnp.asarray(i, jnp.int32) for i in ids], axis=1)
    return Met(chosen(every), chosen(index), chosen(kind), jnp.sum(jnp.where(facet, normals, 0), axis=1))


def _distances(m: Model, kind: GeomType, geoms: np.ndarray, begin: Array, toward: Array) -> Array:
    """Where rays [r, n, 3] in the frames of geoms [n] of one type meet them: [r, n]."""
    if kind == GeomType.SDF:
        still = jnp.all(toward == 0, axis=-1)
        x = jax.vmap(lambda b, t: field_distances(m, geoms, b, t))(begin, jnp.where(still[..., None], 1, toward))
        return jnp.where(still, jnp.inf, x)
    return distance(kind, begin, toward, jnp.broadcast_to(take(m.geom_size, geoms)[None], begin.shape))


def normals_of(m: Model, d: Data, start: Array, along: Array, met: Met) -> Array:
    """Unit normals [r, 3] of the surfaces that rays [r, 3] meet, outward, in world axes; zero if they meet nothing."""
    if not m.ngeom:
        return jnp.zeros_like(start)
    geom = jnp.maximum(met.geom, 0)
    mat, size = gather(d.geom_xmat, geom).reshape(-1, 3, 3), gather(m.geom_size, geom)
    x = jnp.where(met.geom >= 0, met.dist, 0)
    spot = vector.matvec_t(mat, start + x[:, None] * along - gather(d.geom_xpos, geom))
    normal = met.facet
    for kind in np.unique(m.geom_type):
        if kind in NORMALS:
            here = (met.kind == int(kind))[:, None]
            normal = jnp.where(
                here, NORMALS[GeomType(int(kind))](jnp.where(here, spot, 1), jnp.where(here, size, 1)), normal
            )
    for field in np.flatnonzero(m.geom_type == GeomType.SDF):
        normal = jnp.where((met.geom == field)[:, None], field_normals(m, int(field), spot), normal)
    return vector.matvec(mat, jnp.where((met.geom >= 0)[:, None], vector.normalize(normal), 0))


def _in_frames(d: Data, geoms: np.ndarray, start: Array, along: Array) -> tuple[Array, Array]:
    """Start and direction of rays [r, 3] in the frames of geoms, [r, n, 3] each."""
    mat = take(d.geom_xmat, geoms).reshape(1, -1, 3, 3)
    begin = vector.matvec_t(mat, start[:, None] - take(d.geom_xpos, geoms)[None])
    return begin, vector.matvec_t(mat, jnp.broadcast_to(along[:, None], begin.shape))


def _facets(m: Model, geoms: np.ndarray, begin: Array, toward: Array) -> Facet:
    """Distances [r, c], places [r, c] in the list of geoms and normals [r, c, 3] of what rays meet of faceted geoms.

    One candidate is the nearest triangle of all meshes; there are two for each height field.
    """
    fields = np.flatnonzero(m.geom_type[geoms] == GeomType.HFIELD)
    meshes = np.flatnonzero(m.geom_type[geoms] == GeomType.MESH)
    triangles = triangles_of(m, geoms[meshes]) if len(meshes) else None

    def of_ray(ray: tuple[Array, Array]) -> Facet:
        (start, along), found = ray, []
        if triangles is not None:
            nearest = nearest_triangle(triangles, take(start, meshes), take(along, meshes))
            found.append(nearest._replace(geom=jnp.asarray(meshes, jnp.int32)[nearest.geom]))
        for i in fields:
            place = jnp.asarray(i, jnp.int32)
            found.append(field_facet(m, geoms[i], start[i], along[i])._replace(geom=place))
            x, normal = field_walls(m, geoms[i], start[i], along[i])
            found.append(Facet(x, place, normal))
        return jax.tree.map(lambda *x: jnp.stack(x), *found)

    if begin.shape[0] <= AT_ONCE:
        return jax.vmap(of_ray)((begin, toward))
    return jax.lax.map(of_ray, (begin, toward), batch_size=AT_ONCE)
