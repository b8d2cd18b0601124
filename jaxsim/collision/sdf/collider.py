"""Pairs of geoms of a model of which the second is a signed distance field, all in one program."""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.collision.sdf.field import served, solids
from jaxsim.collision.shape import Candidates, Shape
from jaxsim.collision.shapes import Index, corners, placed
from jaxsim.core.data import Data
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model


def fields_met(
    m: Model,
    d: Data,
    collider: Callable[..., Candidates],
    pairs: Sequence[tuple[Index | Shape, Index]],
    among: np.ndarray,
) -> Candidates:
    """Candidates [n, k] of pairs, given in one or more parts as geoms [n_i] each, or shapes and geoms.

    Args:
        m: the model.
        d: with geom_xpos and geom_xmat.
        collider: of all of them: `sdf_contacts`, or `mesh_contacts` where the first ones are meshes, or
            `triangle_contact` where they are shapes.
        pairs: the parts.
        among: the geoms that may be among them.
    """
    meshes = among[m.geom_type[among] == GeomType.MESH]
    kinds = served(m.topology, tuple(np.setdiff1d(among, meshes).tolist()))
    shapes = []
    for first, second in pairs:
        a, b = first, placed(m, d, second)
        if not isinstance(a, Shape):
            a = placed(m, d, first)._replace(data=corners(m, first, meshes) if len(meshes) else solids(m, kinds, first))
        shapes.append((a, b._replace(data=solids(m, kinds, second))))
    a, b = (jax.tree.map(lambda *x: jnp.concatenate(x), *side) for side in zip(*shapes))
    points, iterations = int(m.opt.sdf_initpoints), int(m.opt.sdf_iterations)
    return jax.vmap(lambda a, b: collider(kinds, a, b, points, iterations))(a, b)
