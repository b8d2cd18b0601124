"""Signed distances that users give as JAX functions."""

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp

from jaxsim.collision.sdf.field import USER
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology

Array = jax.Array
SignedDistance = Callable[[Array], Array]


def with_distances(m: Model, functions: Mapping[str, SignedDistance]) -> Model:
    """The model with functions in place of the signed distances of some geoms.

    Args:
        m: the model.
        functions: by the name of a geom of type sdf, its signed distance [] (m), negative inside, at a point [3] (m)
            in the geom's frame.

    Raises:
        KeyError: there is no geom of a name.
        ValueError: a geom is not of type sdf, or a function does not give a number for a point.
    """
    t, which = m.topology, m.topology.geom_sdf.copy()
    for i, (name, function) in enumerate(functions.items()):
        geom = t.id_of("geom", name)
        if t.geom_type[geom] != GeomType.SDF:
            kind = GeomType(int(t.geom_type[geom])).name.lower()
            raise ValueError(f"sdf: geom {name!r} is a {kind}; only geoms of type sdf take a function")
        point = jax.ShapeDtypeStruct((3,), m.geom_size.dtype)
        given = jax.eval_shape(function, point)
        if jnp.shape(given) != () or given.dtype != point.dtype:
            raise ValueError(
                f"sdf: the function of geom {name!r} gives {given.dtype}{list(given.shape)} for a point [3]; expected "
                f"one number, {point.dtype}[]"
            )
        which[geom] = USER - i
    changed = t._values | {"geom_sdf": which, "sdf_functions": tuple(functions.values())}
    return Model(m._values, Topology(changed, t.names))
