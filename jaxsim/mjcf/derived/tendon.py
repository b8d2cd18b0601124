"""Tendon lengths and Jacobians at one configuration, in one or several worlds (MuJoCo: mj_tendon)."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jaxsim.core.enums import MINVAL, WrapType
from jaxsim.mjcf.algebra.quaternion import norm
from jaxsim.mjcf.derived.kinematics import State, Tree, wrench_rows
from jaxsim.mjcf.derived.wrap import Wrap, wrap

Array = np.ndarray


@dataclass
class Pieces:
    """Pieces of tendon paths from one site to another, straight or around a geom of one kind.

    A piece belongs to a tendon and counts with a weight, one over the divisor of its pulley branch.
    """

    tendon: list[int] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    site0: list[int] = field(default_factory=list)
    site1: list[int] = field(default_factory=list)
    geom: list[int] = field(default_factory=list)
    side: list[int] = field(default_factory=list)

    def add(self, tendon: int, weight: float, sites: tuple[int, int], geom: int = -1, side: int = -1) -> None:
        self.tendon.append(tendon)
        self.weight.append(weight)
        self.site0.append(sites[0])
        self.site1.append(sites[1])
        self.geom.append(geom)
        self.side.append(side)


Paths = dict[tuple[WrapType, bool], Pieces]  # by kind of geom, NONE for straight pieces, and whether it has a side


def paths(m: Any) -> Paths:
    """All pieces of the spatial tendons of a model."""
    found: Paths = {}
    for i in np.flatnonzero(m.wrap_type[m.tendon_adr] != WrapType.JOINT) if m.ntendon else ():
        weight, last = 1.0, int(m.tendon_adr[i] + m.tendon_num[i]) - 1
        k = int(m.tendon_adr[i])
        while k < last:
            here, after = WrapType(m.wrap_type[k]), WrapType(m.wrap_type[k + 1])
            if here == WrapType.PULLEY:
                weight = 1.0 / float(m.wrap_prm[k])
            elif after == WrapType.SITE:
                sites = int(m.wrap_objid[k]), int(m.wrap_objid[k + 1])
                found.setdefault((WrapType.NONE, False), Pieces()).add(int(i), weight, sites)
            elif after != WrapType.PULLEY:
                sites, side = (
                    (int(m.wrap_objid[k]), int(m.wrap_objid[k + 2])),
                    round(float(m.wrap_prm[k + 1])),
                )
                pieces = found.setdefault((after, side >= 0), Pieces())
                pieces.add(int(i), weight, sites, int(m.wrap_objid[k + 1]), side)
                k += 1
            k += 1
    return found


def tendon(m: Any, t: Tree, s: State, along: Paths) -> tuple[Array, Array]:
    """ten_length [ntendon, ...] in metre (or joint units), and its Jacobian [ntendon, nv, ...]."""
    worlds = s.qpos.shape[1:]
    length, jacobian = np.zeros((m.ntendon, *worlds)), np.zeros((m.ntendon, m.nv, *worlds))
    owner = np.repeat(np.arange(m.ntendon), m.tendon_num)
    fixed = np.flatnonzero(m.wrap_type == WrapType.JOINT)
    joint, weight = m.wrap_objid[fixed], m.wrap_prm[fixed].reshape(-1, *[1] * len(worlds))
    np.add.at(length, owner[fixed], weight * s.qpos[m.jnt_qposadr[joint]])
    np.add.at(jacobian, (owner[fixed], m.jnt_dofadr[joint]), weight)

    segments: list[tuple[Array, ...]] = []  # tendon, weight, bodies and points
    for (kind, has_side), pieces in along.items():
        owner, weight = np.array(pieces.tendon), np.array(pieces.weight).reshape(-1, *[1] * len(worlds))
        body0, body1 = m.site_bodyid[pieces.site0], m.site_bodyid[pieces.site1]
        x0, x1 = s.site_xpos[pieces.site0], s.site_xpos[pieces.site1]
        if kind == WrapType.NONE:
            segments.append((owner, np.broadcast_to(weight, x0.shape[:-1]), body0, body1, x0, x1))
            continue
        way = _around(m, s, pieces, kind, has_side, x0, x1)
        geom_body, bent = m.geom_bodyid[pieces.geom], weight * way.touches
        segments.append((owner, weight * ~way.touches, body0, body1, x0, x1))
        segments.append((owner, bent, body0, geom_body, x0, way.first))
        segments.append((owner, bent, geom_body, body1, way.last, x1))
        np.add.at(length, owner, bent * way.length)
    if segments:
        _add(m, t, s, [np.concatenate(part) for part in zip(*segments)], length, jacobian)
    return length, jacobian


def _around(m: Any, s: State, pieces: Pieces, kind: WrapType, has_side: bool, x0: Array, x1: Array) -> Wrap:
    radius = m.geom_size[pieces.geom, 0].reshape(-1, *[1] * (x0.ndim - 2))
    side = s.site_xpos[pieces.side] if has_side else None
    pos, mat = s.geom_xpos[pieces.geom], s.geom_xmat[pieces.geom]
    return wrap(x0, x1, pos, mat, radius, kind == WrapType.SPHERE, side)


def _add(m: Any, t: Tree, s: State, segments: list[Array], length: Array, jacobian: Array) -> None:
    """Add straight segments, between points [n, ..., 3] fixed to bodies [n], to the tendons they are of."""
    owner, weight, body0, body1, point0, point1 = segments
    step = point1 - point0
    distance = norm(step)
    np.add.at(length, owner, weight * distance)
    degenerate = distance < MINVAL
    direction = step / np.where(degenerate, 1.0, distance)[..., None]
    direction[degenerate] = [1.0, 0, 0]  # as mju_normalize3
    force, none = direction * weight[..., None], np.zeros_like(direction)
    rows = wrench_rows(m, t, s, body1, point1, force, none)
    rows -= wrench_rows(m, t, s, body0, point0, force, none)
    rows[body0 == body1] = 0
    np.add.at(jacobian, owner, rows)
