"""What of a mechanism is known at load: links, what carries them, where their coordinates are, levels of the tree.

A link is a body that moves on its own, with all that is welded to it: the weld groups of MuJoCo other than the
world's. A joint is all of a body's MJCF joints together, between its link and the one that carries it, so that a
mechanism has as many joints as links. Of its three translations and three rotations a joint leaves as many free as
it has coordinates: a hinge is a revolute joint, two slides and a hinge a planar one, three slides and a ball leave
everything free. Dojo's sixteen prototypes are the pairs of 0 to 3 free translations and 0 to 3 free rotations.
"""

from typing import NamedTuple

import numpy as np

from jaxsim.core.enums import JointType
from jaxsim.core.topology import Topology, per_topology


class Structure(NamedTuple):
    """Static facts of a mechanism of n links; `width` is the most coordinates that one of its joints has."""

    body: np.ndarray  # [n] the body on top of each link
    link: np.ndarray  # [nbody] the link of each body, n for the world's
    parent: np.ndarray  # [n] the link that carries each link, n for the world
    mount: np.ndarray  # [n] the body that carries each link
    floating: np.ndarray  # [n] whether a free joint moves it, so that nothing holds it
    joint: np.ndarray  # [slots, n] its joints in order, -1 where it has fewer
    dof: np.ndarray  # [n, width] its coordinates in qvel, nv where it has fewer
    width: int
    levels: tuple[np.ndarray, ...]  # links by how many carry them, those carried by the world first

    @property
    def n(self) -> int:
        """Number of links."""
        return len(self.body)


@per_topology
def structure_of(t: Topology) -> Structure:
    """The links and joints of a model's topology."""
    body = np.flatnonzero((t.body_weldid == np.arange(t.nbody)) & (np.arange(t.nbody) > 0))
    n = len(body)
    number = np.full(t.nbody, n)
    number[body] = np.arange(n)
    link = number[t.body_weldid]
    mount = t.body_parentid[body]
    floating = np.array([t.jnt_type[t.body_jntadr[b]] == JointType.FREE for b in body], bool)
    own = np.where(floating, 0, t.body_jntnum[body])
    slot = np.arange(own.max(initial=0))[:, None]
    joint = np.where(slot < own[None], t.body_jntadr[body][None] + slot, -1)
    dofs = np.where(floating, 0, t.body_dofnum[body])
    width = int(dofs.max(initial=0))
    column = np.arange(width)[None]
    dof = np.where(column < dofs[:, None], t.body_dofadr[body][:, None] + column, t.nv)
    return Structure(body, link, link[mount], mount, floating, joint, dof, width, _levels(link[mount]))


def _levels(parent: np.ndarray) -> tuple[np.ndarray, ...]:
    n = len(parent)
    depth = np.zeros(n + 1, int)
    depth[n] = -1
    for i in range(n):  # bodies come after what carries them
        depth[i] = depth[parent[i]] + 1
    return tuple(np.flatnonzero(depth[:n] == k) for k in range(depth[:n].max(initial=-1) + 1))


class Columns(NamedTuple):
    """Where the coordinates of one slot's joints are, by what they do; axes of all turns are in link's frames."""

    qpos: np.ndarray  # [n] first of its coordinates in qpos, 0 where there is none
    straight: np.ndarray  # [n, width] 1 for the coordinate of a slide
    hinge: np.ndarray  # [n, width] 1 for the coordinate of a hinge
    ball: np.ndarray  # [n, width, 3] 1 for the coordinates of a ball, by axis


@per_topology
def columns_of(t: Topology) -> tuple[Columns, ...]:
    """One for each slot of `Structure.joint`."""
    s = structure_of(t)
    return tuple(_columns(t, s, joint) for joint in s.joint)


def _columns(t: Topology, s: Structure, joint: np.ndarray) -> Columns:
    there = joint >= 0
    kind = np.where(there, t.jnt_type[joint], -1)
    first = np.where(there, t.jnt_dofadr[joint] - t.body_dofadr[s.body], -1)
    column = np.arange(s.width)[None] - first[:, None]
    once = (column == 0) & there[:, None]
    ball = (column[..., None] == np.arange(3)) & (kind == JointType.BALL)[:, None, None]
    return Columns(
        qpos=np.where(there, t.jnt_qposadr[joint], 0),
        straight=np.where(once & (kind == JointType.SLIDE)[:, None], 1.0, 0.0),
        hinge=np.where(once & (kind == JointType.HINGE)[:, None], 1.0, 0.0),
        ball=np.where(ball, 1.0, 0.0),
    )


def prototype(t: Topology, link: int) -> tuple[int, int]:
    """Free translations and free rotations of a link's joint, 0 to 3 each: (0, 1) is Dojo's revolute joint."""
    s = structure_of(t)
    if s.floating[link]:
        return 3, 3
    kinds = [t.jnt_type[j] for j in s.joint[:, link] if j >= 0]
    turns = sum({JointType.HINGE: 1, JointType.BALL: 3}.get(JointType(k), 0) for k in kinds)
    return kinds.count(JointType.SLIDE), turns
