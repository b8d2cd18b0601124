"""Sensors of whether an object is in the zone of a site (mj_sensorPos): a decision, whose derivative is zero."""

import jax
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import gather_groups, take
from jaxsim.collision.inside import VOLUMES, inside
from jaxsim.core.data import Data
from jaxsim.core.enums import GeomType, ObjType, SensorType
from jaxsim.core.model import Model
from jaxsim.sensors.enclosure import enclosures
from jaxsim.sensors.frame import object_frames

Array = jax.Array


def inside_sites(m: Model, d: Data, s: np.ndarray) -> Array:
    """INSIDESITE [n]: 1 where the centre of the object is in the zone, else 0; or how far the whole is enclosed (m)."""
    whole = m.sensor_intprm[s, 0] != 0
    groups = [(np.flatnonzero(whole), enclosures(m, d, s[whole]))] if whole.any() else []
    if not whole.all():
        groups.append((np.flatnonzero(~whole), _centres_inside(m, d, s[~whole])))
    return gather_groups(groups, len(s))


def _centres_inside(m: Model, d: Data, s: np.ndarray) -> Array:
    pos = object_frames(m, d, m.sensor_objtype[s], m.sensor_objid[s]).pos
    zone = in_sites(m, d, m.sensor_refid[s], pos[:, None])
    return zone[:, 0].astype(d.qpos.dtype)


def boundless(m: Model) -> list[tuple[int, GeomType]]:
    """Sensors in the zone of a site whose inside is not known, each with the type of that site."""
    of_object = np.isin(m.sensor_type, (SensorType.TOUCH, SensorType.CONTACT)) & (m.sensor_objtype == ObjType.SITE)
    of_reference = m.sensor_type == SensorType.INSIDESITE
    zones = [(int(i), int(m.sensor_objid[i])) for i in np.flatnonzero(of_object)]
    zones += [(int(i), int(m.sensor_refid[i])) for i in np.flatnonzero(of_reference)]
    return [(i, GeomType(int(m.site_type[site]))) for i, site in zones if m.site_type[site] not in VOLUMES]


def in_sites(m: Model, d: Data, sites: np.ndarray, points: Array) -> Array:
    """[n, k] whether points [n, k, 3], or [1, k, 3] the same for all, are in the zones of sites [n]."""
    groups = []
    for kind in np.unique(m.site_type[sites]):
        here = np.flatnonzero(m.site_type[sites] == kind)
        chosen = sites[here]
        mat = take(d.site_xmat, chosen).reshape(-1, 1, 3, 3)
        own = points if points.shape[0] == 1 else take(points, here)
        local = vector.matvec_t(mat, own - take(d.site_xpos, chosen)[:, None])
        groups.append((here, inside(GeomType(int(kind)), local, take(m.site_size, chosen)[:, None])))
    return gather_groups(groups, len(sites))
