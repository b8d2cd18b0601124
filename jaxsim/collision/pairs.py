"""The static table of geom pairs that may collide, grouped by collider (filters of mj_collision)."""

from typing import NamedTuple

import numpy as np

from jaxsim.collision.table import COLLIDERS
from jaxsim.core.enums import DisableBit, GeomType
from jaxsim.core.topology import Topology, per_topology


class Pairs(NamedTuple):
    """Candidate pairs: geom1 has the lower type; pair is the explicit <pair> or -1; condim is static."""

    geom1: np.ndarray
    geom2: np.ndarray
    pair: np.ndarray
    condim: np.ndarray

    def __len__(self) -> int:
        return len(self.geom1)

    def rows(self, index: np.ndarray) -> "Pairs":
        """The chosen pairs; `index` [k] counts rows of the table."""
        return Pairs(*(np.asarray(a)[index] for a in self))


@per_topology
def candidate_pairs(t: Topology, disableflags: int) -> Pairs:
    """Every pair that the filters admit, explicit pairs in place of automatic ones, sorted by type.

    Args:
        t: the topology.
        disableflags: `opt.disableflags`, of which contacts and the parent filter count.

    Returns:
        Pairs of integers [n] each.
    """
    if disableflags & (DisableBit.CONSTRAINT | DisableBit.CONTACT) or t.ngeom < 2:
        empty = np.zeros(0, int)
        return Pairs(empty, empty, empty, empty)
    explicit = {_sorted(t.pair_geom1[k], t.pair_geom2[k]): k for k in range(t.npair)}
    automatic = _automatic(t, disableflags)
    listed = [g1 * t.ngeom + g2 for g1, g2 in explicit]
    automatic = automatic[~np.isin(automatic[:, 0] * t.ngeom + automatic[:, 1], listed)]
    geoms = np.concatenate([np.array(list(explicit), int).reshape(-1, 2), automatic])
    return _ordered(t, geoms, np.array([*explicit.values(), *[-1] * len(automatic)], int))


def _sorted(g1: int, g2: int) -> tuple[int, int]:
    return (int(g1), int(g2)) if g1 < g2 else (int(g2), int(g1))


def _ordered(t: Topology, geoms: np.ndarray, pair: np.ndarray) -> Pairs:
    """The pairs of geoms [n, 2], the lower type first in each, sorted by their two types."""
    kind = t.geom_type[geoms]
    geoms = np.where(kind[:, :1] > kind[:, 1:], geoms[:, ::-1], geoms)
    kind = t.geom_type[geoms]
    order = np.lexsort((kind[:, 1], kind[:, 0]))  # stable
    (g1, g2), pair = geoms[order].T, pair[order]
    condim, priority = np.asarray(t.geom_condim, int), t.geom_priority
    condim = np.select(
        [priority[g1] > priority[g2], priority[g2] > priority[g1]],
        [condim[g1], condim[g2]],
        np.maximum(condim[g1], condim[g2]),
    )
    if t.npair:
        condim = np.where(pair >= 0, t.pair_dim[pair], condim)
    return Pairs(g1, g2, pair, condim)


def _automatic(t: Topology, disableflags: int) -> np.ndarray:
    """[n, 2] geom pairs that pass the bitmask, weld, parent and exclude filters."""
    g1, g2 = np.triu_indices(t.ngeom, 1)
    con, aff = np.asarray(t.geom_contype), np.asarray(t.geom_conaffinity)
    keep = ((con[g1] & aff[g2]) | (con[g2] & aff[g1])) != 0
    keep &= ~(_is_flat(t, g1) & _is_flat(t, g2))
    g1, g2 = g1[keep], g2[keep]
    b1, b2 = np.asarray(t.geom_bodyid)[g1], np.asarray(t.geom_bodyid)[g2]
    weld = np.asarray(t.body_weldid)
    w1, w2 = weld[b1], weld[b2]
    dofs = np.asarray(t.body_dofnum)
    keep = (w1 != w2) & ((dofs[w1] > 0) | (dofs[w2] > 0))
    if not disableflags & DisableBit.FILTERPARENT:
        parent = weld[np.asarray(t.body_parentid)]
        related = (w1 == parent[w2]) | (w2 == parent[w1])
        keep &= ~((w1 != 0) & (w2 != 0) & related)
    low, high = np.minimum(b1, b2), np.maximum(b1, b2)
    keep &= ~np.isin((low << 16) + high, np.asarray(t.exclude_signature))
    return np.stack([g1[keep], g2[keep]], axis=1)


def _is_flat(t: Topology, geom: np.ndarray) -> np.ndarray:
    return np.isin(np.asarray(t.geom_type)[geom], (GeomType.PLANE, GeomType.HFIELD))


def groups(pairs: Pairs, t: Topology) -> list[tuple[tuple[int, int], np.ndarray]]:
    """For each combination of geom types, in table order, the indices [k] of its pairs."""
    kinds = np.stack([np.asarray(t.geom_type)[pairs.geom1], np.asarray(t.geom_type)[pairs.geom2]], axis=1)
    found: dict[tuple[int, int], list[int]] = {}
    for i, (a, b) in enumerate(kinds):
        found.setdefault((int(a), int(b)), []).append(i)
    return [(kind, np.array(index)) for kind, index in found.items()]


# most contacts that a geom of each type is usually part of, for sizing the contact buffer
_TYPICAL = {
    GeomType.SPHERE: 1,
    GeomType.CAPSULE: 1,
    GeomType.ELLIPSOID: 1,
    GeomType.CYLINDER: 4,
    GeomType.BOX: 8,
}


def default_nconmax(t: Topology, disableflags: int) -> int:
    """Slots of the contact buffer: every possible contact if they are few, else what the geoms typically have."""
    pairs = candidate_pairs(t, disableflags)
    if not len(pairs):
        return 0
    kinds = zip(t.geom_type[pairs.geom1], t.geom_type[pairs.geom2])
    every = sum(COLLIDERS.get((int(a), int(b)), (None, 8))[1] for a, b in kinds)
    involved = np.unique(np.concatenate([pairs.geom1, pairs.geom2]))
    moving = involved[t.body_weldid[t.geom_bodyid[involved]] != 0]
    # of the geoms of a linkage about half touch something at the same time, even in a heap on the floor
    bodies_in_tree = np.bincount(t.body_rootid, minlength=t.nbody)[t.body_rootid]
    share = np.where(bodies_in_tree[t.geom_bodyid[moving]] > 1, 0.5, 1.0)
    typical = 6 + sum(s * _TYPICAL.get(GeomType(int(k)), 8) for s, k in zip(share, t.geom_type[moving]))
    return int(min(every, max(16, np.ceil(typical))))
