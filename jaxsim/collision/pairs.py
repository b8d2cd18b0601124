"""The static table of geom pairs that may collide, grouped by collider (filters of mj_collision)."""

from typing import NamedTuple

import numpy as np

from jaxsim.collision.user import Kinds, collider_of, collides, numbered
from jaxsim.core.enums import DisableBit, GeomType, JointType
from jaxsim.core.topology import Topology, per_topology

MOST_ON_FIELD = 50  # contacts of a geom with a height field (mjMAXCONPAIR)
FLAT = (GeomType.PLANE, GeomType.HFIELD)  # types without a centre; they do not meet each other


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

    Explicit pairs of planes and height fields are not among them: as in MuJoCo, nothing tells where they touch,
    unless a collider of the user's does.

    Args:
        t: the topology.
        disableflags: `opt.disableflags`, of which contacts and the parent filter count.

    Returns:
        Pairs of integers [n] each.
    """
    if disableflags & (DisableBit.CONSTRAINT | DisableBit.CONTACT) or t.ngeom < 2:
        empty = np.zeros(0, int)
        return Pairs(empty, empty, empty, empty)
    explicit = np.sort(np.stack([t.pair_geom1, t.pair_geom2], axis=1).astype(int), axis=1)  # each counts, even twice
    listed = explicit[:, 0] * t.ngeom + explicit[:, 1]
    automatic = _expanded(t, disableflags)
    automatic = automatic[~np.isin(automatic[:, 0] * t.ngeom + automatic[:, 1], listed)]
    number = np.concatenate([np.arange(t.npair), np.full(len(automatic), -1)])
    pairs = _ordered(t, np.concatenate([explicit, automatic]), number)
    served = [index for kinds, index in groups(pairs, t) if collides(t, kinds)]
    return pairs.rows(np.concatenate([np.zeros(0, int), *served]))


def without_use(t: Topology, disableflags: int) -> np.ndarray:
    """[n, 2] the pairs of geoms that have a collider by their names and that the filters do not admit."""
    named = np.sort(numbered(t)[:, :2], axis=1)
    pairs = candidate_pairs(t, disableflags)
    admitted = np.sort(np.stack([pairs.geom1, pairs.geom2], axis=1), axis=1)
    return named[~np.isin(named[:, 0] * t.ngeom + named[:, 1], admitted[:, 0] * t.ngeom + admitted[:, 1])]


def _ordered(t: Topology, geoms: np.ndarray, pair: np.ndarray) -> Pairs:
    """The pairs of geoms [n, 2], the lower type first in each, sorted by their two types."""
    kind = t.geom_type[geoms]
    geoms = np.where(kind[:, :1] > kind[:, 1:], geoms[:, ::-1], geoms)
    kind = t.geom_type[geoms]
    order = np.lexsort((_own(t, geoms), kind[:, 1], kind[:, 0]))  # stable
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


def _own(t: Topology, geoms: np.ndarray) -> np.ndarray:
    """The number of the collider that each pair of geoms [n, 2] has by its names, 0 for none."""
    own = numbered(t)
    code = geoms[:, 0] * t.ngeom + geoms[:, 1]
    out = np.zeros(len(geoms), int)
    for a, b, number in own:
        out[(code == a * t.ngeom + b) | (code == b * t.ngeom + a)] = number
    return out


class Classes(NamedTuple):
    """Geoms that the filters treat alike: c classes, and which pairs of them may collide."""

    members: list[np.ndarray]  # of each class its geoms, ascending
    admitted: np.ndarray  # [k, 2] classes that collide, the lower one first; no class collides with itself


@per_topology
def collision_classes(t: Topology, disableflags: int) -> Classes:
    """Classes of geoms by body, bitmasks and flatness, after the bitmask, weld, parent and exclude filters.

    No array has a row for each two geoms: what may meet is decided for bitmasks first, then for bodies that have
    any, and both are few where geoms are many, or else the admitted pairs are.
    """
    con, aff = np.asarray(t.geom_contype), np.asarray(t.geom_conaffinity)
    flat = np.isin(t.geom_type, FLAT)
    masks, mask = np.unique(np.stack([con, aff, flat], axis=1), axis=0, return_inverse=True)
    c, a, f = masks.T
    meets = (((c[:, None] & a[None]) | (a[:, None] & c[None])) != 0) & ~((f[:, None] & f[None]) != 0)
    live = np.flatnonzero(meets.any(1)[mask.reshape(-1)])
    keys = np.stack([np.asarray(t.geom_bodyid)[live], mask.reshape(-1)[live]], axis=1)
    kinds, of_geom = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(of_geom.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(of_geom.reshape(-1), minlength=len(kinds)))
    members = np.split(live[order], ends[:-1]) if len(kinds) else []
    return Classes(members, _admitted(t, disableflags, kinds, meets))


def _admitted(t: Topology, disableflags: int, kinds: np.ndarray, meets: np.ndarray) -> np.ndarray:
    """The pairs of classes [k, 2], given as (body, bitmask) [c, 2], that pass all filters; `meets` is of bitmasks."""
    body, mask = kinds.T
    weld = np.asarray(t.body_weldid)
    moves = np.asarray(t.body_dofnum)[weld[body]] > 0
    parent = weld[np.asarray(t.body_parentid)]
    moving, found = np.flatnonzero(moves), [np.zeros((0, 2), int)]
    for i in moving:  # with those that come later, and with those that do not move
        j = np.flatnonzero(~moves | (np.arange(len(kinds)) > i))
        w1, w2 = weld[body[i]], weld[body[j]]
        keep = meets[mask[i], mask[j]] & (w1 != w2)
        if not disableflags & DisableBit.FILTERPARENT:
            related = (w1 == parent[w2]) | (w2 == parent[w1])
            keep &= ~((w1 != 0) & (w2 != 0) & related)
        low, high = np.minimum(body[i], body[j]), np.maximum(body[i], body[j])
        keep &= ~np.isin((low << 16) + high, np.asarray(t.exclude_signature))
        j = j[keep]
        found.append(np.stack([np.minimum(i, j), np.maximum(i, j)], axis=1))
    return np.concatenate(found)


def _expanded(t: Topology, disableflags: int) -> np.ndarray:
    """[n, 2] geom pairs that pass the filters, the lower id first in each, in ascending order."""
    classes = collision_classes(t, disableflags)
    sizes = np.array([len(x) for x in classes.members], int)
    start = np.cumsum(sizes) - sizes
    geom = np.concatenate([np.zeros(0, int), *classes.members])
    first, second = classes.admitted.T
    count = sizes[first] * sizes[second]
    pair = np.repeat(np.arange(len(count)), count)
    place = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
    g1 = geom[start[first][pair] + place // sizes[second][pair]]
    g2 = geom[start[second][pair] + place % sizes[second][pair]]
    low, high = np.minimum(g1, g2), np.maximum(g1, g2)
    return np.stack([low, high], axis=1)[np.argsort(low * t.ngeom + high, kind="stable")]


def groups(pairs: Pairs, t: Topology) -> list[tuple[Kinds, np.ndarray]]:
    """For each combination of geom types, in table order, the indices [k] of its pairs.

    Pairs that have a collider by their names are apart from the others; its number follows their types.
    """
    geoms = np.stack([pairs.geom1, pairs.geom2], axis=1)
    kinds = np.concatenate([np.asarray(t.geom_type)[geoms], _own(t, geoms)[:, None]], axis=1)
    change = np.flatnonzero(np.any(kinds[1:] != kinds[:-1], axis=1)) + 1  # the table is sorted by types
    parts = np.split(np.arange(len(kinds)), change) if len(kinds) else []
    keys = [kinds[part[0]].tolist() for part in parts]
    return [(tuple(key if key[2] else key[:2]), part) for key, part in zip(keys, parts)]


LEAST = 16  # contacts that have room in any case
# most contacts that a geom of each type is usually part of, for sizing the contact buffer
_TYPICAL = {
    GeomType.SPHERE: 1,
    GeomType.CAPSULE: 1,
    GeomType.ELLIPSOID: 1,
    GeomType.CYLINDER: 4,
    GeomType.BOX: 8,
}
# of bodies that lie loose in a heap, each contact counted with one of its two
_HEAPED = {GeomType.SPHERE: 3.3, GeomType.CAPSULE: 4, GeomType.ELLIPSOID: 4}


def _most(t: Topology, kinds: Kinds, sdf_initpoints: int) -> int:
    """The most contacts of two geoms."""
    if kinds[0] == GeomType.HFIELD:
        return MOST_ON_FIELD
    return collider_of(t, kinds, sdf_initpoints)[1]


def _crossed(pairs: Pairs, t: Topology) -> tuple[int, np.ndarray]:
    """The most pairs of capsules that two moving bodies have, and these bodies [2].

    Where soles are made of capsules side by side, each capsule of a foot across the other touches all of the other's.
    """
    geoms = np.stack([pairs.geom1, pairs.geom2], axis=1)
    bodies = t.geom_bodyid[geoms[np.all(t.geom_type[geoms] == GeomType.CAPSULE, axis=1)]]
    bodies = np.sort(bodies[np.all(t.body_weldid[bodies] != 0, axis=1)], axis=1)
    if not len(bodies):
        return 0, np.zeros(0, int)
    found, count = np.unique(bodies, axis=0, return_counts=True)
    return int(count.max()), found[count.argmax()]


def heaped_linkages(t: Topology, disableflags: int) -> np.ndarray:
    """The roots [k] of linkages that float and may meet others that do, so that they lie on each other."""
    pairs = candidate_pairs(t, disableflags)
    root = t.body_rootid[t.geom_bodyid[np.stack([pairs.geom1, pairs.geom2], axis=1)]]
    several = np.bincount(t.body_rootid, minlength=t.nbody) > 1
    floats = several & np.isin(np.arange(t.nbody), t.jnt_bodyid[t.jnt_type == JointType.FREE])
    return np.unique(root[(root[:, 0] != root[:, 1]) & np.all(floats[root], axis=1)])


def default_nconmax(
    t: Topology, disableflags: int, sdf_initpoints: int, under: np.ndarray, least: int = 0, scale: float = 1
) -> int:
    """Slots of the contact buffer: every possible contact if they are few, else what the geoms typically have.

    `under` [ngeom] are the cells of height fields that may be under a geom. `least` are wanted in any case, but never
    more than are possible; `scale` times of what is typical.
    """
    pairs = candidate_pairs(t, disableflags)
    if not len(pairs):
        return 0
    every = sum(len(index) * _most(t, kinds, sdf_initpoints) for kinds, index in groups(pairs, t))
    involved = np.unique(np.concatenate([pairs.geom1, pairs.geom2]))
    moving = involved[t.body_weldid[t.geom_bodyid[involved]] != 0]
    # of the geoms of a linkage about half touch something at the same time, even in a heap on the floor
    root = t.body_rootid[t.geom_bodyid[moving]]
    share = np.where(np.bincount(t.body_rootid, minlength=t.nbody)[root] > 1, 0.5, 1.0)
    loose = (share == 1.0) & (np.bincount(root, minlength=t.nbody)[root] == 1)
    each = _TYPICAL | {GeomType.SDF: sdf_initpoints}
    heaped = each | _HEAPED
    over_field = pairs.geom2[t.geom_type[pairs.geom1] == GeomType.HFIELD]
    # a face lies on several prisms
    share = np.where((share == 1.0) & np.isin(moving, over_field), 2.0, share)
    kinds = [GeomType(int(k)) for k in t.geom_type[moving]]
    typical = np.array([s * (heaped if free else each).get(k, 8) for s, free, k in zip(share, loose, kinds)])
    # what is dropped on fine ground sinks into many prisms at once; of a linkage few geoms do at the same time
    typical = np.where(loose, np.maximum(typical, np.minimum(under[moving], MOST_ON_FIELD)), typical)
    crossed, bodies = _crossed(pairs, t)
    usual = 6 + typical.sum()
    if crossed > LEAST:
        usual = max(usual, 6 + crossed + typical[~np.isin(t.geom_bodyid[moving], bodies)].sum())
    # three quarters of the geoms of two linkages touch something where one lies on the other
    usual += 0.5 * sum(sorted(typical[root == x].sum() for x in heaped_linkages(t, disableflags))[-2:])
    return int(min(every, max(LEAST, least, np.ceil(scale * usual))))
