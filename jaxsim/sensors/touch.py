"""Touch sensors: the normal forces of contacts in the zone of a site (mj_sensorAcc).

A contact of the sensor's body counts if the ray from the contact point along the outward normal meets the
site's volume. Whether it does is a decision; the force is what is differentiated.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import gather_groups, take
from jaxsim.collision.driver import pairs_of
from jaxsim.constraint.contact import rows_of
from jaxsim.core.data import Data
from jaxsim.core.enums import MINVAL, GeomType
from jaxsim.core.model import Model

if TYPE_CHECKING:
    from jaxsim.stages.forward import Intermediate

Array = jax.Array


def touches(m: Model, d: Data, mid: "Intermediate", s: np.ndarray) -> Array:
    """TOUCH [n]."""
    if mid.force is None or mid.force.contact is None:
        return jnp.zeros(len(s), d.qpos.dtype)
    pairs, touching = pairs_of(m), mid.touching
    sites = m.sensor_objid[s]
    own = m.site_bodyid[sites][None]
    first, second = (m.geom_bodyid[g][:, None] == own for g in (pairs.geom1, pairs.geom2))
    # the normal points away from the first body
    outward = rows_of(jnp.asarray(np.where(second, -1, first), d.qpos.dtype), touching.pair).T
    normal = mid.force.contact[:, 0]
    groups = []
    for kind in np.unique(m.site_type[sites]):
        here = np.flatnonzero(m.site_type[sites] == kind)
        pos, mat = take(d.site_xpos, sites[here]), take(d.site_xmat, sites[here]).reshape(-1, 1, 3, 3)
        ray = take(outward, here)[:, :, None] * touching.frame[None, :, 0]
        point = vector.matvec_t(mat, touching.pos[None] - pos[:, None])
        size = take(m.site_size, sites[here])[:, None]
        groups.append((here, _MEETS[GeomType(int(kind))](point, vector.matvec_t(mat, ray), size)))
    meets = gather_groups(groups, len(s))
    counts = meets & (outward != 0) & (normal > 0)[None]
    return jnp.sum(jnp.where(counts, normal[None], 0), axis=1)


def _chord(a: Array, b: Array, c: Array, inside: Array) -> tuple[Array, Array]:
    """Where a t^2 + 2 b t + c <= 0: an interval of t, empty if start > end; without slope, all or nothing."""
    square = b * b - a * c
    curved = a >= MINVAL
    real = curved & (square >= 0)
    root = jnp.sqrt(jnp.where(real, square, 0))
    a = jnp.where(curved, a, 1)
    everywhere = ~curved & inside
    start = jnp.where(everywhere, -jnp.inf, jnp.where(real, (-b - root) / a, jnp.inf))
    return start, jnp.where(everywhere, jnp.inf, jnp.where(real, (-b + root) / a, -jnp.inf))


def _slab(p: Array, v: Array, size: Array) -> tuple[Array, Array]:
    """Where |p + v t| <= size."""
    moves = jnp.abs(v) > MINVAL
    slope = jnp.where(moves, v, 1)
    t1, t2 = (-size - p) / slope, (size - p) / slope
    within = jnp.abs(p) <= size
    start = jnp.where(moves, jnp.minimum(t1, t2), jnp.where(within, -jnp.inf, jnp.inf))
    return start, jnp.where(moves, jnp.maximum(t1, t2), jnp.where(within, jnp.inf, -jnp.inf))


def _ahead(start: Array, end: Array) -> Array:
    """The interval contains a t >= 0."""
    return (start <= end) & (end >= 0)


def _ball(p: Array, v: Array, radius_square: Array) -> tuple[Array, Array]:
    c = vector.dot(p, p) - radius_square
    return _chord(vector.dot(v, v), vector.dot(v, p), c, c <= 0)


def _sphere(p: Array, v: Array, size: Array) -> Array:
    return _ahead(*_ball(p, v, size[..., 0] * size[..., 0]))


def _ellipsoid(p: Array, v: Array, size: Array) -> Array:
    return _ahead(*_ball(p / size, v / size, jnp.ones((), p.dtype)))


def _box(p: Array, v: Array, size: Array) -> Array:
    start, end = _slab(p, v, size)
    return _ahead(jnp.max(start, axis=-1), jnp.min(end, axis=-1))


def _cylinder(p: Array, v: Array, size: Array) -> Array:
    start, end = _ball(p[..., :2], v[..., :2], size[..., 0] * size[..., 0])
    low, high = _slab(p[..., 2], v[..., 2], size[..., 1])
    return _ahead(jnp.maximum(start, low), jnp.minimum(end, high))


def _capsule(p: Array, v: Array, size: Array) -> Array:
    cap = size[..., :1] * jnp.zeros_like(p[..., :2]), size[..., 1:2]
    end = jnp.concatenate([cap[0], jnp.broadcast_to(cap[1], cap[0][..., :1].shape)], axis=-1)
    return _cylinder(p, v, size) | _sphere(p - end, v, size) | _sphere(p + end, v, size)


_MEETS: dict[GeomType, Callable[[Array, Array, Array], Array]] = {
    GeomType.SPHERE: _sphere,
    GeomType.CAPSULE: _capsule,
    GeomType.ELLIPSOID: _ellipsoid,
    GeomType.CYLINDER: _cylinder,
    GeomType.BOX: _box,
}
