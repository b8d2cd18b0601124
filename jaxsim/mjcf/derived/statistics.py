"""Statistics of a model at qpos0 (MuJoCo: setStat), and the length scale of each dof."""

import numpy as np

from jaxsim.core.enums import GeomType
from jaxsim.dynamics.reference import SMALLEST, body_size, dof_length
from jaxsim.mjcf.derived.host import HostData, HostModel

Array = np.ndarray


def fill(m: HostModel, d: HostData, inertia: Array) -> None:
    """Set m.stat and dof_length; inertia [nv, nv] is the joint-space inertia.

    What the file itself says about statistics takes precedence and is for the caller to write afterwards.
    """
    stat = m.stat
    stat.extent, stat.meansize, stat.meanmass, stat.meaninertia = 2.0, 0.2, 1.0, 1.0
    points, radius = _points(m, d)
    low, high = (points - radius[:, None]).min(axis=0), (points + radius[:, None]).max(axis=0)
    stat.center[:] = 0.5 * (low + high)
    if high[0] > low[0]:
        stat.extent = max(SMALLEST, float((high - low).max()))
    size = body_size(m, d)
    if m.nbody > 1:
        stat.meansize = float(size[1:].mean())
        stat.meanmass = float(m.body_mass[1:].mean())
    stat.extent = max(stat.extent, 2 * stat.meansize)
    if m.nv:
        stat.meaninertia = float(np.trace(inertia)) / m.nv
    m.dof_length[:] = dof_length(m, size)


def _points(m: HostModel, d: HostData) -> tuple[Array, Array]:
    """Points [n, 3] and radii [n] of what counts for the extent: bodies, joints, sites and geoms."""
    points = np.concatenate([d.xpos[1:], d.xipos[1:], d.xanchor, d.site_xpos, d.geom_xpos])
    if not len(points):  # as MuJoCo's empty box
        return np.zeros((1, 3)), np.zeros(1)
    radius = np.zeros(len(points))
    radius[len(points) - m.ngeom :] = [_radius(m, i) for i in range(m.ngeom)]
    return points, radius


def _radius(m: HostModel, geom: int) -> float:
    """Bounding radius; a tenth of the size for what is not bounded or very large."""
    if m.geom_rbound[geom] > 0:
        return float(m.geom_rbound[geom])
    if m.geom_type[geom] == GeomType.PLANE:
        return float(m.geom_size[geom, :2].max()) * 0.1 or 0.01
    if m.geom_type[geom] == GeomType.HFIELD:
        return float(m.hfield_size[m.geom_dataid[geom]].max()) * 0.1
    return 0.0
