"""Touch sensors: the normal forces of contacts in the zone of a site (mj_sensorAcc).

A contact of the sensor's body counts if the ray from the contact point along the outward normal meets the
site's volume. Whether it does is a decision; the force is what is differentiated.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import gather_groups, take
from jaxsim.collision.ray_shape import meets
from jaxsim.collision.slots import of_bodies
from jaxsim.constraint.solution import Solution
from jaxsim.core.data import Data
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model

Array = jax.Array


def touches(m: Model, d: Data, s: np.ndarray, solution: Solution) -> Array:
    """TOUCH [n], N."""
    slots = solution.slots
    if slots is None:
        return jnp.zeros(len(s), d.qpos.dtype)
    sites = m.sensor_objid[s]
    own = np.arange(m.nbody)[:, None] == m.site_bodyid[sites][None]
    # the normal points away from the first body
    first, second = (of_bodies(m, slots, side, jnp.asarray(own, d.qpos.dtype)) for side in (0, 1))
    outward = (first - second).T
    normal = solution.between_surfaces()[:, 0]
    groups = []
    for kind in np.unique(m.site_type[sites]):
        here = np.flatnonzero(m.site_type[sites] == kind)
        pos, mat = take(d.site_xpos, sites[here]), take(d.site_xmat, sites[here]).reshape(-1, 1, 3, 3)
        ray = take(outward, here)[:, :, None] * slots.frame[None, :, 0]
        point = vector.matvec_t(mat, slots.pos[None] - pos[:, None])
        size = take(m.site_size, sites[here])[:, None]
        groups.append((here, meets(GeomType(int(kind)), point, vector.matvec_t(mat, ray), size)))
    counts = gather_groups(groups, len(s)) & (outward != 0) & (normal > 0)[None]
    return jnp.sum(jnp.where(counts, normal[None], 0), axis=1)
