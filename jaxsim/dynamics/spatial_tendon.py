"""Spatial tendons: paths through sites, over pulleys, and around or through spheres and cylinders (mj_tendon)."""

from typing import NamedTuple

import numpy as np

from jaxsim.algebra.arrays import Array, namespace, rows_of
from jaxsim.algebra.select import put, scatter_add, take
from jaxsim.algebra.tree import ancestor
from jaxsim.algebra.vector import normalize_with_norm
from jaxsim.core.data import Data
from jaxsim.core.enums import WrapType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology
from jaxsim.dynamics.com import wrench_rows
from jaxsim.dynamics.wrap import Wrap, wrap


class Piece(NamedTuple):
    """A piece of a tendon's path from one site to another, straight or around a geom; -1 for what it has not.

    It counts with a weight of one over the divisor of the pulley before it, whose place is that in wrap_prm.
    """

    tendon: int
    pulley: int
    site0: int
    site1: int
    geom: int
    side: int


class Pieces(NamedTuple):
    """The pieces of one kind of all tendons: for each field of Piece an index array [n]."""

    kind: WrapType  # of the geom, NONE for straight pieces
    tendon: np.ndarray
    pulley: np.ndarray
    site0: np.ndarray
    site1: np.ndarray
    geom: np.ndarray
    side: np.ndarray


class Segments(NamedTuple):
    """Straight segments of tendons [n], with weights [n], between points [n, 3] fixed to bodies [n]."""

    tendon: np.ndarray
    weight: Array
    body0: np.ndarray
    body1: np.ndarray
    point0: Array
    point1: Array


class Ends(NamedTuple):
    """Ends of segments [n], and the force [n, 3] with which a tendon pushes there for each newton that lengthens it."""

    tendon: np.ndarray
    body: np.ndarray
    point: Array
    force: Array


@per_topology
def paths(t: Topology) -> tuple[Pieces, ...]:
    """All pieces of spatial tendons, by kind of geom and by whether there is a side site."""
    found: dict[tuple[WrapType, bool], list[Piece]] = {}
    for i in range(t.ntendon):
        pulley, k = -1, int(t.tendon_adr[i])
        last = k + int(t.tendon_num[i]) - 1
        while k < last and t.wrap_type[k] != WrapType.JOINT:
            here, after = WrapType(t.wrap_type[k]), WrapType(t.wrap_type[k + 1])
            site, beyond = int(t.wrap_objid[k]), int(t.wrap_objid[k + 1])
            if here == WrapType.PULLEY:
                pulley = k
            elif after == WrapType.SITE:
                found.setdefault((WrapType.NONE, False), []).append(Piece(i, pulley, site, beyond, -1, -1))
            elif after != WrapType.PULLEY:
                side = int(t.wrap_sideid[k + 1])
                piece = Piece(i, pulley, site, int(t.wrap_objid[k + 2]), beyond, side)
                found.setdefault((after, side >= 0), []).append(piece)
                k += 1
            k += 1
    return tuple(Pieces(kind, *map(np.array, zip(*pieces))) for (kind, _), pieces in found.items())


@per_topology
def immobile(t: Topology) -> np.ndarray:
    """[ntendon] bool: spatial tendons between points that never move relative to each other."""
    return np.array([len(w) == 1 for w in _welds(t)], bool)


@per_topology
def reaches(t: Topology) -> np.ndarray:
    """[ntendon, nv] bool: dofs that move a point or geom of a spatial tendon's path."""
    moves = ancestor(t)
    return np.array([moves[sorted(w)].any(axis=0) for w in _welds(t)], bool).reshape(t.ntendon, t.nv)


def _welds(t: Topology) -> list[set[int]]:
    """The bodies that move, or 0, of the points and geoms of each tendon."""
    welds: list[set[int]] = [set() for _ in range(t.ntendon)]
    for p in paths(t):
        geoms = t.geom_bodyid[p.geom] if p.kind != WrapType.NONE else t.site_bodyid[p.site0]
        for bodies in (t.site_bodyid[p.site0], t.site_bodyid[p.site1], geoms):
            for tendon, body in zip(p.tendon, bodies):
                welds[tendon].add(int(t.body_weldid[body]))
    return welds


def spatial_tendons(m: Model, d: Data) -> tuple[Array, Array]:
    """Lengths [ntendon] (m) and Jacobian [ntendon, nv] of the spatial tendons; zero for the fixed ones."""
    segments, bent = _segments(m, d)
    ends, distance = _ends(segments)
    rows = wrench_rows(m, d, ends.body, ends.force, namespace(distance).zeros_like(ends.force), ends.point)
    straight = scatter_add(segments.tendon, segments.weight * distance, m.ntendon)
    return bent + straight, scatter_add(ends.tendon, rows, m.ntendon, rows.ndim - 2)


def tendon_ends(m: Model, d: Data) -> Ends:
    """Where spatial tendons push and pull, and in which directions [n, 3]."""
    return _ends(_segments(m, d)[0])[0]


def _segments(m: Model, d: Data) -> tuple[Segments, Array]:
    """All straight segments, and what the tendons' lengths [ntendon] have along geoms (m)."""
    xp, segments, length = namespace(d.qpos), [], 0
    for pieces in paths(m.topology):
        body0, body1 = m.site_bodyid[pieces.site0], m.site_bodyid[pieces.site1]
        x0, x1 = take(d.site_xpos, pieces.site0), take(d.site_xpos, pieces.site1)
        weight = weight_of(m, pieces, x0)
        if pieces.kind == WrapType.NONE:
            segments.append(Segments(pieces.tendon, weight, body0, body1, x0, x1))
            continue
        way = _around(m, d, pieces, x0, x1)
        geom_body, bent = m.geom_bodyid[pieces.geom], xp.where(way.touches, weight, 0)
        segments.append(Segments(pieces.tendon, weight - bent, body0, body1, x0, x1))
        segments.append(Segments(pieces.tendon, bent, body0, geom_body, x0, way.first))
        segments.append(Segments(pieces.tendon, bent, geom_body, body1, way.last, x1))
        length = length + scatter_add(pieces.tendon, bent * way.length, m.ntendon)
    tendon, body0, body1 = (np.concatenate([s[k] for s in segments]) for k in (0, 2, 3))
    weight, point0, point1 = (xp.concatenate([s[k] for s in segments]) for k in (1, 4, 5))
    return Segments(tendon, weight, body0, body1, point0, point1), length


def weight_of(m: Model, pieces: Pieces, points: Array) -> Array:
    """Weight [n] of each piece, in the shape of points [n, 3] but for the last axis."""
    xp, behind = namespace(points), np.flatnonzero(pieces.pulley >= 0)
    weight = put(xp.ones(len(pieces.pulley), points.dtype), behind, 1 / take(m.wrap_prm, pieces.pulley[behind]))
    return xp.broadcast_to(weight.reshape(-1, *(1,) * (points.ndim - 2)), points.shape[:-1])


def _around(m: Model, d: Data, pieces: Pieces, x0: Array, x1: Array) -> Wrap:
    radius = take(m.geom_size, pieces.geom)[..., 0].reshape(-1, *(1,) * (x0.ndim - 2))
    radius = namespace(radius).broadcast_to(radius, x0.shape[:-1])
    side = take(d.site_xpos, pieces.side) if pieces.side[0] >= 0 else None
    pos, mat = take(d.geom_xpos, pieces.geom), take(d.geom_xmat, pieces.geom)
    mat = mat.reshape(*mat.shape[:-1], 3, 3)
    return wrap(x0, x1, pos, mat, radius, pieces.kind == WrapType.SPHERE, side)


def _ends(s: Segments) -> tuple[Ends, Array]:
    """Both ends of all segments, the far ones first, and the segments' lengths [n] (m)."""
    xp = namespace(s.point0)
    direction, distance = normalize_with_norm(s.point1 - s.point0)
    force = xp.where(rows_of(s.body0 == s.body1, direction), 0, direction * s.weight[..., None])
    body, point = np.concatenate([s.body1, s.body0]), xp.concatenate([s.point1, s.point0])
    return Ends(np.tile(s.tendon, 2), body, point, xp.concatenate([force, -force])), distance
