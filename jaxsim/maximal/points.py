"""Which points of which links may touch which planes: spheres, the ends of capsules, and the corners of boxes."""

from typing import NamedTuple

import numpy as np

from jaxsim.collision.pairs import candidate_pairs
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology

# points of a shape, in units of its half sizes
POINTS = {
    GeomType.SPHERE: np.zeros((1, 3)),
    GeomType.CAPSULE: np.array([[0.0, 0, 1], [0, 0, -1]]),
    GeomType.BOX: np.array(np.meshgrid([-1.0, 1], [-1.0, 1], [-1.0, 1])).reshape(3, -1).T,
}
DIMS = (1, 3)  # condim that are simulated


class Points(NamedTuple):
    """k points of geoms, and the planes under them; static."""

    pair: np.ndarray  # [k] row of the table of candidate pairs
    plane: np.ndarray  # [k] geoms
    geom: np.ndarray  # [k] geoms
    place: np.ndarray  # [k, 3] in units of half sizes
    round: np.ndarray  # [k] whether the first size is a radius


@per_topology
def points_of(t: Topology, disableflags: int) -> Points:
    """All points that may touch a plane that does not move."""
    pairs = candidate_pairs(t, disableflags)
    found = [
        (row, plane, geom, point, t.geom_type[geom] != GeomType.BOX)
        for row, (plane, geom) in enumerate(zip(pairs.geom1, pairs.geom2))
        if _simulated(t, plane, geom)
        for point in POINTS[GeomType(t.geom_type[geom])]
    ]
    row, plane, geom, place, rounded = zip(*found) if found else ((),) * 5
    index = [np.asarray(part, int) for part in (row, plane, geom)]
    return Points(index[0], index[1], index[2], np.asarray(place, float).reshape(-1, 3), np.asarray(rounded, bool))


def _simulated(t: Topology, plane: int, geom: int) -> bool:
    still = t.body_weldid[t.geom_bodyid[plane]] == 0
    return t.geom_type[plane] == GeomType.PLANE and still and t.geom_type[geom] in POINTS


def untouched(m: Model) -> list[str]:
    """The kinds of pairs whose contacts are not simulated, once each."""
    t = m.topology
    pairs = candidate_pairs(t, int(m.opt.disableflags))
    kinds = {
        f"{GeomType(t.geom_type[a]).name.lower()} and {GeomType(t.geom_type[b]).name.lower()}"
        for a, b in zip(pairs.geom1, pairs.geom2)
        if not _simulated(t, a, b)
    }
    dims = {f"condim {dim}" for dim in np.unique(pairs.condim) if dim not in DIMS}
    return sorted(kinds) + sorted(dims)
