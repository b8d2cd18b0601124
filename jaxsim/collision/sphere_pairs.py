"""Spheres with meshes of few vertices: by the faces and edges of their hulls, where a pair is near."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.collision.colliders.polyhedron import Solid, sphere_mesh
from jaxsim.collision.convex.form import MANY
from jaxsim.collision.hulls import sizes, solids
from jaxsim.collision.shape import NO_CONTACT, Candidates, Shape
from jaxsim.collision.shapes import Index, of_mesh, one_of_each, place_among, placed
from jaxsim.core.data import Data
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology
from jaxsim.layout import where_asked

Array = jax.Array


def have_few_faces(t: Topology, among: np.ndarray) -> bool:
    """Whether it takes less to look at all faces and edges of the meshes among some geoms than to search."""
    meshes = among[t.geom_type[among] == GeomType.MESH]
    return bool(np.all(t.mesh_graphadr[t.geom_dataid[meshes]] >= 0)) and max(sizes(t, meshes)) <= MANY


def spheres_on_meshes(m: Model, d: Data, sphere: Index, mesh: Index, among: np.ndarray, reach: Array) -> Candidates:
    """Candidates [n, 1] of spheres with meshes; of those with a reach of -NO_CONTACT there are none.

    Args:
        m: the model.
        d: with geom_xpos [ngeom, 3] (m) and geom_xmat [ngeom, 9].
        sphere, mesh: geoms [n] of each pair.
        among: geoms that they may be.
        reach: [n] distance (m) up to which contacts are detected.
    """
    meshes = one_of_each(m, among[m.geom_type[among] == GeomType.MESH])
    tables = solids(m.topology, meshes)

    def met(_: None, a: Shape, b: Shape, row: Array, reach: Array) -> Candidates:
        host = [jnp.asarray(x, reach.dtype) for x in tables]
        solid = Solid(*(of_mesh(x, row) for x in host))
        return sphere_mesh(a, b._replace(data=solid), reach)

    near = lax.stop_gradient(reach) > -NO_CONTACT
    a, b = placed(m, d, sphere), placed(m, d, mesh)
    found = where_asked(met)(near, None, a, b, place_among(m, mesh, meshes), reach)
    return found._replace(dist=jnp.where(near[:, None], found.dist, NO_CONTACT))
