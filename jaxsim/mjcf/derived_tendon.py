"""Tendon lengths and Jacobians at one configuration (MuJoCo: mj_tendon)."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from jaxsim.mjcf.derived_kinematics import State, Tree, wrench_rows
from jaxsim.mjcf.derived_wrap import wrap
from jaxsim.types import MINVAL, WrapType

Array = np.ndarray


class Segment(NamedTuple):
    """A straight piece of a tendon between points fixed to two bodies."""

    tendon: int
    weight: float  # what the length counts: one over the divisor of the pulley branch
    body0: int
    body1: int
    point0: Array
    point1: Array


def tendon(m: Any, t: Tree, s: State) -> tuple[Array, Array]:
    """ten_length [ntendon] in metre (or joint units), and its Jacobian [ntendon, nv]."""
    length, jacobian = np.zeros(m.ntendon), np.zeros((m.ntendon, m.nv))
    owner = np.repeat(np.arange(m.ntendon), m.tendon_num)
    fixed = np.flatnonzero(m.wrap_type == WrapType.JOINT)
    joint = m.wrap_objid[fixed]
    np.add.at(length, owner[fixed], m.wrap_prm[fixed] * s.qpos[m.jnt_qposadr[joint]])
    np.add.at(jacobian, (owner[fixed], m.jnt_dofadr[joint]), m.wrap_prm[fixed])

    segments: list[Segment] = []
    for i in np.flatnonzero(m.wrap_type[m.tendon_adr] != WrapType.JOINT) if m.ntendon else ():
        for piece in _path(m, s, int(i)):
            if isinstance(piece, Segment):
                segments.append(piece)
            else:
                length[i] += piece
    if segments:
        _add_segments(m, t, s, segments, length, jacobian)
    return length, jacobian


def _add_segments(m: Any, t: Tree, s: State, segments: list[Segment], length: Array, jacobian: Array) -> None:
    owner, weight, body0, body1, point0, point1 = (np.array(column) for column in zip(*segments))
    step = point1 - point0
    distance = np.linalg.norm(step, axis=1)
    np.add.at(length, owner, weight * distance)
    degenerate = distance < MINVAL
    direction = step / np.where(degenerate, 1.0, distance)[:, None]
    direction[degenerate] = [1.0, 0, 0]  # as mju_normalize3
    free, force = np.zeros_like(direction), direction * weight[:, None]
    rows = wrench_rows(m, t, s, body1, point1, force, free) - wrench_rows(m, t, s, body0, point0, force, free)
    np.add.at(jacobian, owner, np.where((body0 != body1)[:, None], rows, 0.0))


def _path(m: Any, s: State, i: int) -> Iterator[Segment | float]:
    """Straight segments of a spatial tendon, and lengths of the arcs between them."""
    weight = 1.0
    k, last = int(m.tendon_adr[i]), int(m.tendon_adr[i] + m.tendon_num[i]) - 1
    while k < last:
        if m.wrap_type[k] == WrapType.PULLEY:
            weight = 1.0 / m.wrap_prm[k]
            k += 1
        elif m.wrap_type[k + 1] == WrapType.PULLEY:
            k += 1
        elif m.wrap_type[k + 1] == WrapType.SITE:
            yield _between_sites(m, s, i, weight, m.wrap_objid[k], m.wrap_objid[k + 1])
            k += 1
        else:
            yield from _around_geom(m, s, i, weight, k)
            k += 2


def _between_sites(m: Any, s: State, i: int, weight: float, site0: int, site1: int) -> Segment:
    body = m.site_bodyid
    return Segment(i, weight, body[site0], body[site1], s.site_xpos[site0], s.site_xpos[site1])


def _around_geom(m: Any, s: State, i: int, weight: float, k: int) -> Iterator[Segment | float]:
    """The path from the site at wrap k around the geom at k+1 to the site at k+2."""
    site0, geom, site1 = m.wrap_objid[k : k + 3]
    side = round(m.wrap_prm[k + 1])
    way = wrap(
        s.site_xpos[site0],
        s.site_xpos[site1],
        s.geom_xpos[geom],
        s.geom_xmat[geom],
        float(m.geom_size[geom, 0]),
        m.wrap_type[k + 1] == WrapType.SPHERE,
        s.site_xpos[side] if side >= 0 else None,
    )
    if way is None:
        yield _between_sites(m, s, i, weight, site0, site1)
        return
    arc, point0, point1 = way
    yield Segment(i, weight, m.site_bodyid[site0], m.geom_bodyid[geom], s.site_xpos[site0], point0)
    yield arc * weight
    yield Segment(i, weight, m.geom_bodyid[geom], m.site_bodyid[site1], point1, s.site_xpos[site1])
