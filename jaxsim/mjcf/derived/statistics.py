"""Statistics of a model at qpos0 (MuJoCo: setStat), and the length scale of each dof."""

from typing import Any

import numpy as np

from jaxsim.core.enums import GeomType, JointType
from jaxsim.mjcf.derived.kinematics import State

Array = np.ndarray
SMALLEST = 1e-5  # least extent and body size, metre


def fill(m: Any, s: State, inertia: Array) -> None:
    """Set m.stat and dof_length; inertia [nv, nv] is the joint-space inertia.

    What the file itself says about statistics takes precedence and is for the caller to write afterwards.
    """
    stat = m.stat
    stat.extent, stat.meansize, stat.meanmass, stat.meaninertia = 2.0, 0.2, 1.0, 1.0
    points, radius = _points(m, s)
    low, high = (points - radius[:, None]).min(axis=0), (points + radius[:, None]).max(axis=0)
    stat.center[:] = 0.5 * (low + high)
    if high[0] > low[0]:
        stat.extent = max(SMALLEST, float((high - low).max()))
    size = np.maximum(_body_sizes(m, s), SMALLEST)
    if m.nbody > 1:
        stat.meansize = float(size[1:].mean())
        stat.meanmass = float(m.body_mass[1:].mean())
    stat.extent = max(stat.extent, 2 * stat.meansize)
    if m.nv:
        stat.meaninertia = float(np.trace(inertia)) / m.nv
    m.dof_length[:] = np.where(_turning(m), size[m.dof_bodyid], 1.0)


def _points(m: Any, s: State) -> tuple[Array, Array]:
    """Points [n, 3] and radii [n] of what counts for the extent: bodies, joints, sites and geoms."""
    points = np.concatenate([s.xpos[1:], s.xipos[1:], s.xanchor, s.site_xpos, s.geom_xpos])
    if not len(points):  # as MuJoCo's empty box
        return np.zeros((1, 3)), np.zeros(1)
    radius = np.zeros(len(points))
    radius[len(points) - m.ngeom :] = [_radius(m, i) for i in range(m.ngeom)]
    return points, radius


def _radius(m: Any, geom: int) -> float:
    """Bounding radius; a tenth of the size for what is not bounded or very large."""
    if m.geom_rbound[geom] > 0:
        return float(m.geom_rbound[geom])
    if m.geom_type[geom] == GeomType.PLANE:
        return float(m.geom_size[geom, :2].max()) * 0.1 or 0.01
    if m.geom_type[geom] == GeomType.HFIELD:
        return float(m.hfield_size[m.geom_dataid[geom]].max()) * 0.1
    return 0.0


def _body_sizes(m: Any, s: State) -> Array:
    """Length scale of each body: from its centre of mass to its joints and to the far side of its geoms."""
    size = np.zeros(m.nbody)
    for body in (m.jnt_bodyid, m.body_parentid[m.jnt_bodyid]):
        np.maximum.at(size, body, np.linalg.norm(s.xipos[body] - s.xanchor, axis=1))
    geom = np.flatnonzero(m.geom_rbound > 0)
    body = m.geom_bodyid[geom]
    reach = m.geom_rbound[geom] + np.linalg.norm(s.xipos[body] - s.geom_xpos[geom], axis=1)
    np.maximum.at(size, body, reach)
    size[0] = 0
    return size


def _turning(m: Any) -> Array:
    """Which dofs [nv] are rotations."""
    kind = m.jnt_type[m.dof_jntid]
    index = np.arange(m.nv) - m.jnt_dofadr[m.dof_jntid]
    return np.isin(kind, (JointType.BALL, JointType.HINGE)) | ((kind == JointType.FREE) & (index >= 3))
