"""Worlds of many kinematic trees: which dofs belong together, and matrices that couple dofs of one tree only.

The mass matrix couples no two trees. Where they are many, it is kept as a block for each of them (`algebra.blocks`),
and what goes with its square or cube goes with those of the trees. Whether a model is treated so is decided at load.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import spatial
from jaxsim.algebra.blocks import Blocks, Groups, Matrix, pairs_within, with_diagonal
from jaxsim.algebra.select import Index, product, take
from jaxsim.algebra.tree import subtree
from jaxsim.core.data import Data
from jaxsim.core.enums import Integrator, Solver
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology
from jaxsim.dynamics.armature import armature_of_tendons, joint_armature
from jaxsim.dynamics.com import crb
from jaxsim.dynamics.tendon import tendon_armature

Array = jax.Array

MANY = 128  # dofs up to which one dense matrix costs less than many small ones
SHARE = 0.5  # of all dofs that the largest tree may have


def trees_of(m: Model) -> Groups | None:
    """The dofs of each tree where the matrices of a model are kept tree by tree; None where they are dense.

    What asks for the Jacobian of every contact written out stays dense: solvers for forces and the hard law; and so
    does the integrator discrete, whose matrix has more in it.
    """
    if m.opt.contact.rigid or m.opt.solver not in (Solver.NEWTON, Solver.CG) or m.opt.noslip_iterations > 0:
        return None
    if m.opt.integrator == Integrator.DISCRETE:
        return None
    t = m.topology
    many = t.nv > MANY and np.bincount(t.dof_treeid).max() <= SHARE * t.nv
    return _groups(t) if many else None


@per_topology
def _groups(t: Topology) -> Groups:
    """The dofs of all trees, those with as many dofs together."""
    order = np.argsort(t.dof_treeid, kind="stable")
    trees = np.split(order, np.flatnonzero(np.diff(t.dof_treeid[order])) + 1)
    widths = sorted({len(tree) for tree in trees})
    return Groups(tuple(Index(np.stack([x for x in trees if len(x) == w])) for w in widths), int(t.nv))


@per_topology
def _chains(t: Topology) -> list[np.ndarray]:
    """[k, w, w] 0/1 of each group: whether dof j of a tree is dof i or one that moves its joint."""
    found = []
    for dofs in _groups(t).dofs:
        parent = np.asarray(t.dof_parentid)[dofs]
        place = parent - dofs[:, :1]  # dofs of a tree are numbered in a row
        chain = np.broadcast_to(np.eye(dofs.shape[1]), (*dofs.shape, dofs.shape[1])).copy()
        for i in range(dofs.shape[1]):
            above = chain[np.arange(len(dofs)), np.maximum(place[:, i], 0)]
            chain[:, i] = np.maximum(chain[:, i], np.where(parent[:, i, None] >= 0, above, 0))
        found.append(chain)
    return found


def mass_matrix(m: Model, d: Data, ten_J: Array) -> tuple[Data, Matrix]:
    """Data with qM, and the same matrix as the solvers take it, from cinert, cdof and ten_J [ntendon, nv].

    Where trees are many qM has their blocks only, until an evaluation is done: most of [nv, nv] would be zeros.
    """
    groups = trees_of(m)
    if groups is None:
        d = tendon_armature(m, crb(m, d), ten_J)
        return d, d.qM
    composite = take(product(subtree(m.topology), d.cinert), m.dof_bodyid)
    blocks = on_chains_of_trees(m.topology, spatial.inertia_mul(composite, d.cdof), d.cdof)
    blocks = with_diagonal(blocks, joint_armature(m))
    if m.ntendon:
        blocks = blocks + _masked(m.topology, gram_within(groups, ten_J, armature_of_tendons(m)))
    return d.replace(qM=blocks), blocks


def on_chains_of_trees(t: Topology, force: Array, cdof: Array) -> Blocks:
    """The symmetric blocks with force_i . cdof_j where dof j is i or above it, for force and cdof [nv, 6]."""
    groups, parts = _groups(t), []
    for half, chain in zip(pairs_within(groups, force, cdof), _chains(t)):
        half = half * jnp.asarray(chain - 0.5 * np.eye(chain.shape[-1]), half.dtype)
        parts.append(half + half.swapaxes(1, 2))
    return Blocks(groups, tuple(parts))


def gram_within(groups: Groups, J: Array, weight: Array) -> Blocks:
    """The blocks of J^T diag(weight) J, for rows J [n, nv] and weights [n]."""
    weighted, dims = weight[:, None] * J, (((2,), (2,)), ((0,), (0,)))
    pairs = zip(groups.split(weighted.T), groups.split(J.T))
    return Blocks(groups, tuple(lax.dot_general(a, b, dims, precision=lax.Precision.HIGHEST) for a, b in pairs))


def _masked(t: Topology, blocks: Blocks) -> Blocks:
    """The blocks where MuJoCo's M has entries."""
    parts = []
    for part, chain, dofs in zip(blocks.parts, _chains(t), blocks.groups.dofs):
        simple = np.asarray(t.dof_simplenum)[dofs] > 0
        alone = simple[:, :, None] | simple[:, None]
        mask = np.where(alone, np.eye(dofs.shape[1]), np.maximum(chain, chain.swapaxes(1, 2)))
        parts.append(part * jnp.asarray(mask, part.dtype))
    return Blocks(blocks.groups, tuple(parts))
