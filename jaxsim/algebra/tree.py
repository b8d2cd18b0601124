"""Constant matrices of the kinematic tree, from which recursions become products (DESIGN section 5)."""

import numpy as np

from jaxsim.core.enums import JointType
from jaxsim.core.topology import Topology, per_topology


@per_topology
def subtree(t: Topology) -> np.ndarray:
    """[nbody, nbody] 0/1: row b marks b and its descendants."""
    above = np.eye(t.nbody)
    for b in range(1, t.nbody):
        above[b] = np.maximum(above[b], above[t.body_parentid[b]])
    return np.ascontiguousarray(above.T)


@per_topology
def ancestor(t: Topology) -> np.ndarray:
    """[nbody, nv] 0/1: row b marks the dofs that move body b."""
    return np.ascontiguousarray(subtree(t).T[:, t.dof_bodyid]) if t.nv else np.zeros((t.nbody, 0))


@per_topology
def dof_chain(t: Topology) -> np.ndarray:
    """[nv, nv] 0/1: entry (i, j) is set if dof j is dof i or one that moves its joint."""
    chain = np.eye(t.nv)
    for i in range(t.nv):
        parent = t.dof_parentid[i]
        if parent >= 0:
            chain[i] = np.maximum(chain[i], chain[parent])
    return chain


@per_topology
def coupled(t: Topology) -> np.ndarray:
    """[nv, nv] 0/1: the entries of M that MuJoCo stores: dofs of one branch, and simple dofs on their own."""
    chain = np.maximum(dof_chain(t), dof_chain(t).T)
    simple = np.asarray(t.dof_simplenum) > 0
    return np.where(simple[:, None] | simple[None], np.eye(t.nv), chain)


@per_topology
def velocity_before(t: Topology) -> np.ndarray:
    """[nv, nv] 0/1: row i marks the dofs whose velocity carries the axis of dof i.

    A joint's axes move with the dofs before that joint; the rotations of a free joint also move with
    its translations, and the translation axes, being world axes, do not move at all (mj_comVel).
    """
    before = np.zeros((t.nv, t.nv))
    for i in range(t.nv):
        joint = t.dof_jntid[i]
        first = t.jnt_dofadr[joint]
        row = dof_chain(t)[i].copy()
        row[first:] = 0
        if t.jnt_type[joint] == JointType.FREE:
            row[first : first + 3] = 1
            if i < first + 3:
                row[:] = 0
        before[i] = row
    return before


@per_topology
def dof_local_com(t: Topology) -> np.ndarray:
    """[nv] root body of each dof's kinematic tree."""
    return t.body_rootid[t.dof_bodyid]


@per_topology
def pose_jumps(t: Topology) -> tuple[np.ndarray, ...]:
    """Pointer-jumping schedule: gathers [nbody] that compose parent-relative poses in log2(depth) rounds."""
    parent = np.where(np.arange(t.nbody) == 0, 0, t.body_parentid)
    jumps = []
    while parent.any():
        jumps.append(parent.copy())
        parent = parent[parent]
    return tuple(jumps)
