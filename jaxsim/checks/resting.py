"""How many contacts a model has where it is known to stand: on the ground, in the pose of qpos0 and in its keyframes.

A robot's feet may be of a dozen capsules that lie flat on the floor, which the number and types of its geoms do not
tell. So the buffer of contacts is given room for the poses that the model itself comes with. A height field counts as
the plane at its foot, with two contacts for each that the plane would have.
"""

from typing import Any

import jax
import numpy as np

from jaxsim.collision.pairs import candidate_pairs
from jaxsim.core.enums import GeomType
from jaxsim.core.fields import MODEL_REAL
from jaxsim.core.model import Model
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.mjcf.derived.host import Host, HostModel, host_data

Array = np.ndarray
MOST_POSES = 50  # keyframes that are looked at
GROUND = (GeomType.PLANE, GeomType.HFIELD)
NEAR = 0.01  # m; a robot sinks in a little before it stands
CORNERS = np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1]), axis=-1).reshape(8, 3)


def resting_contacts(m: Model) -> int:
    """The most contacts with the ground in any pose that comes with the model; nothing is compiled."""
    pairs = candidate_pairs(m.topology, int(m.opt.disableflags))
    pairs = pairs.rows(np.flatnonzero(np.isin(m.geom_type[pairs.geom1], GROUND)))
    if not len(pairs):
        return 0
    host = _host(m)
    poses = [host.qpos0, *host.key_qpos[:MOST_POSES]]
    return max(int(_touching(host, qpos, pairs.geom1, pairs.geom2).sum()) for qpos in poses)


def _host(m: Model) -> HostModel:
    """The model with arrays of the host."""
    reals = jax.device_get({name: getattr(m, name) for name in MODEL_REAL})
    return Host(**m.topology._values | reals, topology=m.topology)


def _touching(m: HostModel, qpos: Array, plane: Array, geom: Array) -> Array:
    """How many contacts each pair of ground and a geom has [n]."""
    d: Any = kinematics(m, host_data(m, qpos))
    normal = d.geom_xmat.reshape(-1, 3, 3)[plane, :, 2]
    local = np.einsum("nij,ni->nj", d.geom_xmat.reshape(-1, 3, 3)[geom], normal)  # the normal in the geom's frame
    height = np.sum(normal * (d.geom_xpos[geom] - d.geom_xpos[plane]), axis=1)
    kind, size, box = m.geom_type[geom], m.geom_size[geom], m.geom_aabb[geom]
    near = NEAR + m.geom_margin[geom] + m.geom_margin[plane]
    round_ = np.isin(kind, (GeomType.SPHERE, GeomType.CAPSULE))
    ends = np.where(kind == GeomType.CAPSULE, size[:, 1] * local[:, 2], 0)  # of a capsule's axis, up and down
    by_ends = sum((height + side * ends - size[:, 0] < near).astype(int) for side in (-1, 1))
    by_ends = np.where(kind == GeomType.SPHERE, np.minimum(by_ends, 1), by_ends)
    corners = np.einsum("nki,ni->nk", box[:, None, :3] + CORNERS * box[:, None, 3:], local)
    most = np.where(kind == GeomType.CYLINDER, 3, 4)
    by_corners = np.minimum(np.sum(height[:, None] + corners < near[:, None], axis=1), most)
    return np.where(round_, by_ends, by_corners) * np.where(m.geom_type[plane] == GeomType.HFIELD, 2, 1)
