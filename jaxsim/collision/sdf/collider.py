"""Pairs of geoms of a model of which the second is a signed distance field, all in one program.

Pairs are lanes: searches are long, and few of the pairs are near, so those of all worlds that are run side by side.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.collision.sdf.field import Kinds, served, solids
from jaxsim.collision.sdf.mesh import triangles
from jaxsim.collision.shape import NO_CONTACT, Candidates, Shape
from jaxsim.collision.shapes import Index, one_of_each, place_among, placed
from jaxsim.core.data import Data
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model

Array = jax.Array


class Part(NamedTuple):
    """Pairs [n]: a geom or shape and a geom each, which geoms may be among the first ones and among the second ones,
    and up to which distance [n] (m) contacts are detected, -NO_CONTACT where none is asked for."""

    first: Index | Shape
    second: Index
    firsts: np.ndarray
    seconds: np.ndarray
    reach: Array


def fields_met(m: Model, d: Data, collider: Callable[..., Candidates], parts: Sequence[Part]) -> Candidates:
    """Candidates [n, k] of pairs in one or more parts, n in all.

    Args:
        m: the model.
        d: with geom_xpos and geom_xmat.
        collider: of all of them: `sdf_contacts`, or `mesh_contacts` where the first ones are meshes, or
            `triangle_contact` where they are shapes.
        parts: the pairs.
    """
    first, second = (np.unique(np.concatenate(x)) for x in zip(*((p.firsts, p.seconds) for p in parts)))
    t, with_faces = m.topology, m.geom_type[first] == GeomType.MESH
    meshes = one_of_each(m, first[with_faces])
    faces = triangles(t, tuple(m.geom_dataid[meshes].tolist())) if len(meshes) else np.zeros((0, 0, 3, 3))
    kinds = Kinds(served(t, tuple(first[~with_faces].tolist())), served(t, tuple(second.tolist())), faces)
    shapes = []
    for part in parts:
        a, b = part.first, placed(m, d, part.second)
        if not isinstance(a, Shape):
            data = place_among(m, a, meshes) if len(meshes) else solids(m, kinds.first, a)
            a = placed(m, d, a)._replace(data=data)
        shapes.append((a, b._replace(data=solids(m, kinds.second, part.second))))
    a, b = (jax.tree.map(lambda *x: jnp.concatenate(x), *side) for side in zip(*shapes))
    asked = jnp.concatenate([part.reach for part in parts]) > -NO_CONTACT
    return collider(kinds, a, b, asked, int(m.opt.sdf_initpoints), int(m.opt.sdf_iterations))
