"""Geoms of a model, where they are, as the shapes that colliders take."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra.select import take
from jaxsim.collision.compact import gather
from jaxsim.collision.convex.form import Library, forms
from jaxsim.collision.hulls import HULLED, hulls
from jaxsim.collision.shape import Hull, Shape
from jaxsim.core.data import Data
from jaxsim.core.model import Model

Array = jax.Array
Index = np.ndarray | Array


def shapes_of(m: Model, d: Data, geom: Index, among: np.ndarray) -> Shape:
    """Geoms [n] of one type at static or traced indices, for colliders of their own; meshes with their hulls.

    Signed distance fields have those of their meshes.

    Args:
        m: the model.
        d: with geom_xpos [ngeom, 3] (m) and geom_xmat [ngeom, 9].
        geom: indices, which may be traced.
        among: geoms that they may be, of any type.
    """
    shape = placed(m, d, geom)
    if isinstance(geom, np.ndarray) and len(geom) and m.geom_type[geom[0]] not in HULLED:
        return shape
    meshes = among[np.isin(m.geom_type[among], HULLED)]
    return shape._replace(data=_hulls(m, geom, meshes)) if len(meshes) else shape


def formed(m: Model, d: Data, geom: Index, served: Library, points: bool = True) -> Shape:
    """Geoms [n] of any types that a library serves, for the convex routine; with the points of their cores or not."""
    return placed(m, d, geom)._replace(data=forms(served, m.geom_size, geom, points))


def placed(m: Model, d: Data, geom: Index) -> Shape:
    """Geoms [n] without data."""
    pos, mat, size = (_rows(x, geom) for x in (d.geom_xpos, d.geom_xmat, m.geom_size))
    return Shape(pos, mat.reshape(-1, 3, 3), size)


def one_of_each(m: Model, geoms: np.ndarray) -> np.ndarray:
    """Of geoms [n] that have meshes one for each mesh: [k], in the order of the meshes."""
    _, first = np.unique(m.geom_dataid[geoms], return_index=True)
    return geoms[first]


def place_among(m: Model, geom: Index, meshes: np.ndarray) -> Array:
    """Where the meshes of geoms [n] are among those of some geoms, which `one_of_each` chose."""
    place = np.searchsorted(m.geom_dataid[meshes], m.geom_dataid).clip(max=len(meshes) - 1).astype(np.int32)
    return jnp.asarray(place[geom]) if isinstance(geom, np.ndarray) else gather(jnp.asarray(place), geom)


def of_mesh(table: Array, place: Array) -> Array:
    """Rows of a table of meshes [n, ...], at places of any shape; the only one where there is one."""
    return gather(table, place) if len(table) > 1 else jnp.broadcast_to(table[0], (*place.shape, *table.shape[1:]))


def _hulls(m: Model, geom: Index, meshes: np.ndarray) -> Hull:
    """The hulls of geoms, some of the given meshes."""
    some = one_of_each(m, meshes)
    index = place_among(m, geom, some)
    return jax.tree.map(lambda x: of_mesh(x, index), hulls(m, some))


def _rows(table: Array, index: Index) -> Array:
    return take(table, index) if isinstance(index, np.ndarray) else gather(table, index)
