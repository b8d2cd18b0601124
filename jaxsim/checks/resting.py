"""How many contacts and near pairs a model has where it is known to stand: at qpos0 and in its keyframes.

A robot's feet may be of a dozen capsules that lie flat on the floor, and a puzzle's pieces may all lie flat on each
other, which the number and types of the geoms do not tell. So the buffer of contacts is given room for the poses that
the model itself comes with. A height field counts as a plane as high as it is around the geom, with three contacts
for each that the plane would have: a robot that falls over lies on more prisms than it stood on.
"""

from typing import Any, NamedTuple

import jax
import numpy as np

from jaxsim.collision.budget import group_name
from jaxsim.collision.pairs import candidate_pairs, groups
from jaxsim.core.enums import GeomType
from jaxsim.core.fields import MODEL_REAL
from jaxsim.core.model import Model
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.mjcf.derived.host import Host, HostModel, host_data

Array = np.ndarray
MOST_POSES = 50  # keyframes that are looked at
GROUND = (GeomType.PLANE, GeomType.HFIELD)
NEAR = 0.01  # m; a robot sinks in a little before it stands
CLOSE = 0.05  # of the smaller one's size, for geoms that lie on each other
ON_EDGE, FLAT_ON = 2, 3  # corners that are near mean an edge or a face that is; of those an edge seldom touches
SOLID = (GeomType.BOX, GeomType.MESH)
ON_FIELD = 3  # contacts with a height field for each with a plane
SETTLED = 1.2  # contacts between boxes and meshes for each that they have before they have slid together
MOST_PAIRS = 1_000_000  # that are looked at
ROUND = np.stack(np.meshgrid([-1, 0, 1], [-1, 0, 1]), axis=-1).reshape(9, 2)
CORNERS = np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1]), axis=-1).reshape(8, 3)


def resting_contacts(m: Model) -> int:
    """The most contacts in any pose that comes with the model, of those that are foreseen; nothing is compiled.

    These are all with the ground, those of boxes and meshes that lie flat on each other, and those of spheres.
    """
    return resting(m).contacts


class Resting(NamedTuple):
    """The most contacts that are foreseen, and by budget the most pairs that are near, in any pose of the model's."""

    contacts: int
    near: dict[str, int]


def resting(m: Model) -> Resting:
    """What there is in the poses that come with the model; nothing is compiled."""
    pairs = candidate_pairs(m.topology, int(m.opt.disableflags))
    kinds = m.geom_type[np.stack([pairs.geom1, pairs.geom2])]
    ground = pairs.rows(np.flatnonzero(np.isin(kinds[0], GROUND)))
    solid = pairs.rows(np.flatnonzero(np.isin(kinds, SOLID).all(axis=0)))
    balls = pairs.rows(np.flatnonzero((kinds == GeomType.SPHERE).all(axis=0)))
    kept = groups(pairs, m.topology) if len(pairs) <= MOST_PAIRS else []
    parts = {group_name(k): pairs.rows(x) for k, x in kept if k[0] not in GROUND and len(k) == 2}
    if not parts and not 0 < len(ground) + len(solid) + len(balls) <= MOST_PAIRS:
        return Resting(0, {})
    host, contacts, near = _host(m), 0, dict.fromkeys(parts, 0)
    for qpos in [host.qpos0, *host.key_qpos[:MOST_POSES]]:
        d: Any = kinematics(host, host_data(host, qpos))
        below = _touching(host, d, ground.geom1, ground.geom2)
        flat = SETTLED * _flat_on(host, d, solid.geom1, solid.geom2).sum()
        contacts = max(contacts, int(below.sum() + flat + _packed(host, d, balls.geom1, balls.geom2).sum()))
        near = {name: max(near[name], _near(host, d, x.geom1, x.geom2)) for name, x in parts.items()}
    return Resting(contacts, near)


def _near(m: HostModel, d: Any, geom1: Array, geom2: Array) -> int:
    """How many pairs of geoms have boxes that are not apart along the line of their centres."""
    mat, box = d.geom_xmat.reshape(-1, 3, 3), m.geom_aabb
    centre = d.geom_xpos + np.einsum("nij,nj->ni", mat, box[:, :3])
    line = centre[geom2] - centre[geom1]
    apart = np.linalg.norm(line, axis=1)
    bound = (m.geom_margin[geom1] + m.geom_margin[geom2] + m.geom_gap[geom1] + m.geom_gap[geom2]) * apart
    for geom in (geom1, geom2):
        bound = bound + np.sum(np.abs(np.einsum("nij,ni->nj", mat[geom], line)) * box[geom, 3:], axis=1)
    return int(np.sum(apart * apart <= bound))


def _host(m: Model) -> HostModel:
    """The model with arrays of the host."""
    reals = jax.device_get({name: getattr(m, name) for name in MODEL_REAL})
    return Host(**m.topology._values | reals, topology=m.topology)


def _touching(m: HostModel, d: Any, plane: Array, geom: Array) -> Array:
    """How many contacts each pair of ground and a geom has [n]."""
    normal = d.geom_xmat.reshape(-1, 3, 3)[plane, :, 2]
    local = np.einsum("nij,ni->nj", d.geom_xmat.reshape(-1, 3, 3)[geom], normal)  # the normal in the geom's frame
    height = np.sum(normal * (d.geom_xpos[geom] - d.geom_xpos[plane]), axis=1) - _elevation(m, d, plane, geom)
    kind, size, box = m.geom_type[geom], m.geom_size[geom], m.geom_aabb[geom]
    near = NEAR + m.geom_margin[geom] + m.geom_margin[plane]
    round_ = np.isin(kind, (GeomType.SPHERE, GeomType.CAPSULE))
    ends = np.where(kind == GeomType.CAPSULE, size[:, 1] * local[:, 2], 0)  # of a capsule's axis, up and down
    by_ends = sum((height + side * ends - size[:, 0] < near).astype(int) for side in (-1, 1))
    by_ends = np.where(kind == GeomType.SPHERE, np.minimum(by_ends, 1), by_ends)
    corners = np.einsum("nki,ni->nk", box[:, None, :3] + CORNERS * box[:, None, 3:], local)
    most = np.where(kind == GeomType.CYLINDER, 3, 4)
    by_corners = np.minimum(np.sum(height[:, None] + corners < near[:, None], axis=1), most)
    return np.where(round_, by_ends, by_corners) * np.where(m.geom_type[plane] == GeomType.HFIELD, ON_FIELD, 1)


def _packed(m: HostModel, d: Any, geom1: Array, geom2: Array) -> Array:
    """Which pairs of spheres [n] lie side by side."""
    least = np.minimum(m.geom_size[geom1, 0], m.geom_size[geom2, 0])
    reach = m.geom_size[geom1, 0] + m.geom_size[geom2, 0] + m.geom_margin[geom1] + m.geom_margin[geom2]
    apart = np.linalg.norm(d.geom_xpos[geom2] - d.geom_xpos[geom1], axis=1)
    return apart < reach + CLOSE * least


def _elevation(m: HostModel, d: Any, plane: Array, geom: Array) -> Array:
    """How high the ground is above its origin around each geom [n] (m): 0 on planes, far below beside fields."""
    high = np.zeros(len(geom))
    on = np.flatnonzero(m.geom_type[plane] == GeomType.HFIELD)
    field, mat = m.geom_dataid[plane[on]], d.geom_xmat.reshape(-1, 3, 3)[plane[on]]
    place = np.einsum("nji,nj->ni", mat, d.geom_xpos[geom[on]] - d.geom_xpos[plane[on]])[:, :2]
    half, count = m.hfield_size[field, :2], np.stack([m.hfield_ncol[field], m.hfield_nrow[field]], axis=1)
    nearest = np.rint((place / half + 1) / 2 * (count - 1)).astype(int)
    column, row = (np.clip(nearest[:, [axis]] + ROUND[None, :, axis], 0, count[:, [axis]] - 1) for axis in (0, 1))
    data = m.hfield_data[m.hfield_adr[field][:, None] + row * count[:, [0]] + column]
    beside = np.any(np.abs(place) > half + m.geom_rbound[geom[on], None], axis=1)
    high[on] = np.where(beside, -np.inf, data.max(axis=1, initial=0) * m.hfield_size[field, 2])
    return high


def _flat_on(m: HostModel, d: Any, geom1: Array, geom2: Array) -> Array:
    """How many contacts each pair of boxes or meshes has [n] whose boxes lie flat on each other."""
    pos, mat, box = d.geom_xpos, d.geom_xmat.reshape(-1, 3, 3), m.geom_aabb
    touch = m.geom_rbound[geom1] + m.geom_rbound[geom2] + NEAR
    close = np.flatnonzero(np.sum((pos[geom1] - pos[geom2]) ** 2, axis=1) < touch**2)
    near, most = CLOSE * np.minimum(*(box[g[close], 3:].min(axis=1) for g in (geom1, geom2))), np.zeros(len(close), int)
    near = near + m.geom_margin[geom1[close]] + m.geom_margin[geom2[close]]
    for a, b in ((geom1[close], geom2[close]), (geom2[close], geom1[close])):
        corner = box[a, None, :3] + CORNERS * box[a, None, 3:]
        corner = np.einsum("nij,nkj->nki", mat[a], corner) + (pos[a] - pos[b])[:, None]
        corner = np.einsum("nji,nkj->nki", mat[b], corner) - box[b, None, :3]
        within = np.all(np.abs(corner) < (box[b, 3:] + near[:, None])[:, None], axis=2)
        most = np.maximum(most, within.sum(axis=1))
    return np.select([most >= FLAT_ON, most == ON_EDGE], [4, 1], 0)
