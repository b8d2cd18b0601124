"""Sensors of the distance between geoms, or between all geoms of bodies: its value, direction and segment."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.collision.distance import distances, measurable
from jaxsim.core.data import Data
from jaxsim.core.enums import GeomType, ObjType
from jaxsim.core.enums import SensorType as S
from jaxsim.core.model import Model

Array = jax.Array


def readings(m: Model, d: Data, s: np.ndarray) -> Array:
    """What each sensor reads, one after the other [n]: a distance (m), the unit vector [3] from the first geom to the
    second, or the nearest points [6] (m); the cutoff and zeros if nothing is nearer than that.
    """
    dist, fromto = _nearest(m, d, s)
    along = fromto[:, 3:] - fromto[:, :3]
    length = vector.norm(along)[:, None]
    normal = jnp.where(length > 0, along / jnp.where(length > 0, length, 1), 0)
    every = jnp.concatenate([dist[:, None], normal, fromto], axis=1)
    columns = {S.GEOMDIST: [0], S.GEOMNORMAL: [1, 2, 3], S.GEOMFROMTO: [4, 5, 6, 7, 8, 9]}
    place = [10 * i + c for i, kind in enumerate(m.sensor_type[s]) for c in columns[S(int(kind))]]
    return take(every.reshape(-1), np.array(place))


def _nearest(m: Model, d: Data, s: np.ndarray) -> tuple[Array, Array]:
    """Distances [n] and segments [n, 6] of the nearest pair of geoms of each sensor."""
    pairs = [_pairs(m, i) for i in s]
    width = max(len(p) for p in pairs)
    cutoff = take(m.sensor_cutoff, s)
    if not width:
        return cutoff, jnp.zeros((len(s), 6), cutoff.dtype)
    geoms = np.concatenate(pairs)
    owner = np.repeat(np.arange(len(s)), [len(p) for p in pairs])
    dist, fromto = distances(m, d, geoms[:, 0], geoms[:, 1], take(cutoff, owner))
    # one row for each sensor, filled up with a place where nothing is near
    place = np.full((len(s), width), len(geoms))
    for i in range(len(s)):
        place[i, : len(pairs[i])] = np.flatnonzero(owner == i)
    nothing = jnp.full((1, 1), jnp.inf, dist.dtype), jnp.zeros((1, 6), dist.dtype)
    rows = jnp.concatenate([jnp.concatenate([dist[:, None], fromto], axis=1), jnp.concatenate(nothing, axis=1)])
    rows = take(rows, place.ravel()).reshape(len(s), width, 7)
    _, hot = vector.least(rows[:, :, 0])
    chosen = jnp.sum(jnp.where(hot[:, :, None], rows, 0), axis=1)
    return jnp.minimum(chosen[:, 0], cutoff), chosen[:, 1:]


def _pairs(m: Model, sensor: int) -> np.ndarray:
    """The pairs of geoms [n, 2] that a sensor is about, without those that have no distance."""
    first, second = _both_geoms(m, sensor)
    pairs = [(a, b) for a in first for b in second if measurable(m.geom_type[a], m.geom_type[b])]
    return np.array(pairs, int).reshape(-1, 2)


def unmeasured(m: Model) -> list[tuple[int, GeomType]]:
    """Sensors of distances, each with a type of geom that it is about and that none is known of."""
    found = []
    for i in map(int, np.flatnonzero(np.isin(m.sensor_type, (S.GEOMDIST, S.GEOMNORMAL, S.GEOMFROMTO)))):
        kinds = {GeomType(int(m.geom_type[g])) for geoms in _both_geoms(m, i) for g in geoms}
        found += [(i, kind) for kind in sorted(kinds & {GeomType.HFIELD})]
    return found


def _both_geoms(m: Model, sensor: int) -> tuple[np.ndarray, np.ndarray]:
    """The geoms on either side of a sensor."""
    return (
        _geoms(m, m.sensor_objtype[sensor], m.sensor_objid[sensor]),
        _geoms(m, m.sensor_reftype[sensor], m.sensor_refid[sensor]),
    )


def _geoms(m: Model, kind: int, index: int) -> np.ndarray:
    if kind != ObjType.BODY:
        return np.array([index])
    return m.body_geomadr[index] + np.arange(m.body_geomnum[index])
