"""INSIDESITE with `enclosed`: how far the whole of an object is inside the zone of a site.

That is the largest signed distance (m) of the object's points from the zone's surface, negative inside; or, which is
the same, the largest over all directions of the object's support less the zone's. Corners are looked at one by one.
Round objects are climbed from many directions, in turns from a direction to the object's point that is furthest along
it, and from that point to the direction in which it is furthest beyond the zone: there can be several tops, of which
MuJoCo does not always find the highest. Which point and direction it is has no part in the derivative.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.algebra.select import matmul, take
from jaxsim.collision.convex.form import forms, library, library_of_sites
from jaxsim.collision.convex.support import ellipsoid_point
from jaxsim.collision.shape import Shape
from jaxsim.collision.shapes import placed
from jaxsim.core.data import Data
from jaxsim.core.enums import GeomType, ObjType
from jaxsim.core.model import Model

Array = jax.Array


class Zone(NamedTuple):
    """A kind of zone, in its frame, by its sizes [1, 3] (m).

    outward: unit vectors [n, 3] along which points [n, 3] (m) are away from the nearest place of its surface, or would
    come out. reach: how far [n] (m) it goes along unit vectors [n, 3].
    """

    outward: Callable[[Array, Array], Array]
    reach: Callable[[Array, Array], Array]


ROUNDS = 64  # of climbing
NEWTON = 12  # rounds, for the point of an ellipsoid that is nearest to another
ROUND = (GeomType.ELLIPSOID, GeomType.CYLINDER)
_STARTS = np.array([x for x in np.ndindex(3, 3, 3) if x != (1, 1, 1)]) - 1.0
STARTS = _STARTS / np.linalg.norm(_STARTS, axis=1, keepdims=True)


def enclosures(m: Model, d: Data, s: np.ndarray) -> Array:
    """The signed distance [n] (m) from the zone's surface of the furthest point of each sensor's object."""
    return jnp.stack([_enclosure(m, d, int(i)) for i in s])


def _enclosure(m: Model, d: Data, sensor: int) -> Array:
    [(kind, zone)] = _solids(m, d, ObjType.SITE, int(m.sensor_refid[sensor]))
    solids = _solids(m, d, int(m.sensor_objtype[sensor]), int(m.sensor_objid[sensor]))
    return jnp.max(jnp.stack([_furthest(ZONES[kind], zone, what, solid) for what, solid in solids]))


def _solids(m: Model, d: Data, kind: int, index: int) -> list[tuple[GeomType, Shape]]:
    """What an object consists of: a site, a geom, or the geoms of a body; with their types."""
    if kind == ObjType.SITE:
        return _each(m.site_type[[index]], _sites(m, d, np.array([index])))
    whole = kind in (ObjType.BODY, ObjType.XBODY)
    geoms = m.body_geomadr[index] + np.arange(m.body_geomnum[index]) if whole else np.array([index])
    served = library(m.topology, tuple(geoms.tolist()))
    return _each(m.geom_type[geoms], placed(m, d, geoms)._replace(data=forms(served, m.geom_size, geoms)))


def _sites(m: Model, d: Data, sites: np.ndarray) -> Shape:
    pos, mat, size = (take(x, sites) for x in (d.site_xpos, d.site_xmat, m.site_size))
    served = library_of_sites(m.topology, tuple(sites.tolist()))
    return Shape(pos, mat.reshape(-1, 3, 3), size, forms(served, m.site_size, sites))


def _each(kinds: np.ndarray, shapes: Shape) -> list[tuple[GeomType, Shape]]:
    return [(GeomType(int(kind)), jax.tree.map(lambda x, i=i: x[i], shapes)) for i, kind in enumerate(kinds)]


def _furthest(kind: Zone, zone: Shape, what: GeomType, solid: Shape) -> Array:
    """The largest signed distance [] (m) of a solid's points from the surface of a zone."""
    form, size = solid.data, zone.size[None]
    turn = matmul(zone.mat.T, solid.mat)
    core = vector.matvec_t(zone.mat, solid.pos - zone.pos)[None] + vector.matvec(turn[None], form.point)

    def extreme(core: Array, direction: Array) -> Array:
        local = vector.matvec_t(turn[None], direction)
        return core + vector.matvec(turn[None], ellipsoid_point(form.round[None], local))

    if what in ROUND:
        start = jnp.asarray(np.tile(STARTS, (core.shape[0], 1)), core.dtype)
        core = jnp.repeat(core, len(STARTS), axis=0)
        direction = lax.fori_loop(0, ROUNDS, lambda _, n: kind.outward(extreme(core, n), size), start)
    else:
        direction = kind.outward(core, size)
    direction = lax.stop_gradient(direction)
    return jnp.max(vector.dot(direction, extreme(core, direction)) - kind.reach(direction, size)) + form.radius


def _from_axis(point: Array, size: Array) -> Array:
    along = point[:, 2:]
    return vector.normalize(vector.join(point[:, :2], along - jnp.clip(along, -size[:, 1:2], size[:, 1:2])))


def _from_faces(point: Array, size: Array) -> Array:
    """From the nearest face of a box, or from its nearest point: points [n, k], half sizes [1, k]."""
    beyond = jnp.abs(point) - size
    _, nearest = vector.least(-beyond)
    inside = jnp.max(beyond, axis=-1, keepdims=True) <= 0
    out = jnp.where(inside, nearest.astype(point.dtype), jnp.maximum(beyond, 0))
    return jnp.where(point < 0, -1.0, 1.0).astype(point.dtype) * vector.normalize(out)


def _from_cylinder(point: Array, size: Array) -> Array:
    radius = vector.norm(point[:, :2])[:, None]
    share = _from_faces(vector.join(radius, point[:, 2:]), size[:, :2])
    return vector.join(vector.normalize(point[:, :2]) * share[:, :1], share[:, 1:])


def _from_ellipsoid(point: Array, size: Array) -> Array:
    """The normal where an ellipsoid is nearest to points: along p / (a^2 + t), with sum (a p / (a^2 + t))^2 = 1.

    Of t counts by how much it is above the least that it can be. One over the root of the sum is almost linear in it.
    """
    least = jnp.finfo(point.dtype).eps * size
    point = jnp.where(jnp.abs(point) < least, jnp.where(point < 0, -least, least), point)
    base = size * size - jnp.min(size, axis=1, keepdims=True) ** 2
    scaled = size * point

    def newton(_, t: Array) -> Array:
        share = scaled / (base + t)
        norm = vector.norm(share)[:, None]
        slope = vector.dot(share * share, 1 / (base + t))[:, None]
        return t + norm * norm * (norm - 1) / slope

    t = lax.fori_loop(0, NEWTON, newton, jnp.max(jnp.abs(scaled) - base, axis=-1, keepdims=True))
    return vector.normalize(point / (base + t))


ZONES: dict[GeomType, Zone] = {
    GeomType.SPHERE: Zone(lambda p, _: vector.normalize(p), lambda n, size: size[:, 0] * vector.norm(n)),
    GeomType.CAPSULE: Zone(_from_axis, lambda n, size: size[:, 0] * vector.norm(n) + size[:, 1] * jnp.abs(n[:, 2])),
    GeomType.ELLIPSOID: Zone(_from_ellipsoid, lambda n, size: vector.norm(size * n)),
    GeomType.CYLINDER: Zone(
        _from_cylinder, lambda n, size: size[:, 0] * vector.norm(n[:, :2]) + size[:, 1] * jnp.abs(n[:, 2])
    ),
    GeomType.BOX: Zone(_from_faces, lambda n, size: jnp.sum(size * jnp.abs(n), axis=1)),
}
