"""How far geoms are apart (mj_geomDistance)."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.collision.distance import distances, measurable
from jaxsim.core.data import Data
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model
from jaxsim.core.shapes import check_one_world
from jaxsim.queries.elements import Element, element_id

Array = jax.Array


def geom_distance(
    model: Model, data: Data, geom1: Element, geom2: Element, distmax: Array | float = 1.0
) -> tuple[Array, Array]:
    """The signed distance of two geoms, and the points where they are nearest (mj_geomDistance).

    Signed distance fields have a distance, as in MuJoCo, from what they overlap with, the least of their contacts',
    which is about half of how deep they are in each other; from what they do not touch it is `distmax`.
    Differentiable in both modes and under `jax.vmap`; geoms need not be allowed to collide.

    Args:
        model: the model.
        data: after `forward`.
        geom1, geom2: names or indices.
        distmax: [] largest distance (m) that is looked for.

    Returns:
        dist [] (m), negative where the geoms overlap, `distmax` where they are no nearer than that; and fromto [6]
        (m), a point of geom1 and one of geom2 in world coordinates, zero where dist is `distmax`.

    Raises:
        KeyError: there is no such geom.
        ValueError: no distance is known of geoms of these types, as of two planes, and of height fields.
    """
    check_one_world("geom_distance", data)
    first, second = (element_id(model, "geom", g) for g in (geom1, geom2))
    kinds = [GeomType(int(model.geom_type[g])) for g in (first, second)]
    if not measurable(*kinds):
        names = " and a ".join(kind.name.lower() for kind in kinds)
        raise ValueError(f"geom_distance: geoms {first} and {second} are a {names}, whose distance is not known")
    reach = jnp.asarray(distmax, data.geom_xpos.dtype).reshape(1)
    dist, fromto = distances(model, data, np.array([first]), np.array([second]), reach)
    return dist[0], fromto[0]
