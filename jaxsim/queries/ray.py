"""Rays against geoms: distance along a ray to the nearest surface (mj_ray).

A ray is point + x direction for x >= 0, both in world coordinates; x is in units of the direction's length.
Which surface is hit is a decision; the distance to it is what is differentiated.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.collision.rays import meet, visible
from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.core.shapes import check_one_world

Array = jax.Array


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
    check_one_world("ray", data)
    counts = _that_count(model, geomgroup, static, bodyexclude)
    start, along = (jnp.asarray(x, data.geom_xpos.dtype)[None] for x in (point, direction))
    met = meet(model, data, start, along, counts[None])
    return jnp.where(jnp.isfinite(met.dist), met.dist, -1)[0], met.geom[0]


def _that_count(m: Model, geomgroup: tuple[bool, ...] | None, static: bool, bodyexclude: str | int) -> np.ndarray:
    """[ngeom] which geoms a ray can meet."""
    body = m.topology.id_of("body", bodyexclude) if isinstance(bodyexclude, str) else int(bodyexclude)
    counts = visible(m) & (np.asarray(m.geom_bodyid) != body)
    if not static:
        counts &= m.body_weldid[m.geom_bodyid] != 0
    if geomgroup is not None:
        counts &= np.asarray(geomgroup, bool)[np.clip(m.geom_group, 0, len(geomgroup) - 1)]
    return counts
