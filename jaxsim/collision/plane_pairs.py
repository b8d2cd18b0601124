"""Planes with meshes of many vertices: only with those that come near their plane, in whatever world.

To find the lowest vertex of a mesh takes all of its vertices. Most links of a robot are never near the floor, which the
box around their mesh tells at once.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.collision.bounds import centres, extent
from jaxsim.collision.colliders.plane_mesh import plane_mesh
from jaxsim.collision.convex.polygons import polygons_of
from jaxsim.collision.hulls import HULLED, sizes, vertices
from jaxsim.collision.shape import NO_CONTACT, Candidates, Hull, Shape
from jaxsim.collision.shapes import of_mesh, one_of_each, place_among, placed
from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.layout import where_asked

Array = jax.Array

MANY = 512  # vertices of the meshes of all pairs, from which it is worth while to choose
SLACK = 1e-5  # of the box's height and extent, for rounding


def has_many_vertices(m: Model, geom: np.ndarray) -> bool:
    """Whether geoms [n] of one type have so many vertices, or are fields whose meshes have."""
    meshes = len(geom) > 0 and m.geom_type[geom[0]] in HULLED
    return bool(meshes) and len(geom) * max(sizes(m.topology, geom)) >= MANY


def on_planes(m: Model, d: Data, planes: np.ndarray, meshes: np.ndarray, reach: Array) -> Candidates:
    """Candidates [n, 4] of planes with meshes.

    Args:
        m: the model.
        d: with geom_xpos [ngeom, 3] (m) and geom_xmat [ngeom, 9].
        planes, meshes: [n] geoms of each pair.
        reach: [n] distance (m) up to which contacts are detected.
    """
    some = one_of_each(m, meshes)
    numbers, vertex = vertices(m.topology, some)
    polygons = polygons_of(m.topology)

    def met(_: None, a: Shape, b: Shape, row: Array, reach: Array) -> Candidates:
        tables = jnp.asarray(vertex, reach.dtype), jnp.asarray(numbers)
        own = [of_mesh(x, row) for x in tables]
        return plane_mesh(a, b._replace(data=Hull(own[0], own[1], polygons)), reach)

    near = _height(m, d, planes, meshes) <= lax.stop_gradient(reach)
    a, b = placed(m, d, planes), placed(m, d, meshes)
    found = where_asked(met)(near, None, a, b, place_among(m, meshes, some), reach)
    return found._replace(dist=jnp.where(near[:, None], found.dist, NO_CONTACT))


def _height(m: Model, d: Data, planes: np.ndarray, meshes: np.ndarray) -> Array:
    """How high above their planes [n] the boxes around meshes are at least (m)."""
    d = d.replace(geom_xpos=lax.stop_gradient(d.geom_xpos), geom_xmat=lax.stop_gradient(d.geom_xmat))
    normal = take(d.geom_xmat, planes).reshape(-1, 3, 3)[:, :, 2]
    local = vector.matvec_t(take(d.geom_xmat, meshes).reshape(-1, 3, 3), normal)
    offset = vector.dot(normal, centres(m, d, meshes) - take(d.geom_xpos, planes))
    beyond = extent(m, meshes, local[:, None])[:, 0]
    return offset - beyond - SLACK * (jnp.abs(offset) + beyond)
