"""Block elimination along the tree: a linear system of links and joints, solved in time linear in links.

The unknowns of a link are its six velocities first, then those of the joint that holds it. A joint couples its link
with its carrier only, so the matrix has a block D for each link and its joint, and two that are thin:

    D_i x_i + B_i v_parent(i) = r_i            B_i [b, 6] how the joint moves with its carrier
    (rows of v_parent)  += C_i x_i             C_i [6, b] what the joint does to its carrier

From the leaves up, x_i = D_i^-1 (r_i - B_i v_parent) is put into the carrier's equations, which changes D and r there
and fills nothing in; from the world down the velocities follow. Links with as many below the world are solved
side by side: the levels are padded to the widest and gone through by a scan, so that a program's size does not depend
on the depth. (Dojo section IV-C; Baraff 1996, "Linear-time dynamics using Lagrange multipliers".)
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.core.topology import Topology, per_topology
from jaxsim.maximal.bodies import product
from jaxsim.maximal.structure import structure_of
from jaxsim.solvers.linear.inverse import inverse as inverse_of

Array = jax.Array


class Blocks(NamedTuple):
    """The matrix of n links with b unknowns each."""

    own: Array  # [n, b, b]
    up: Array  # [n, b, 6] in the link's rows, of the carrier's velocities
    down: Array  # [n, 6, b] in the carrier's rows, of the link's unknowns


class _Levels(NamedTuple):
    link: np.ndarray  # [levels, wide] links, n where a level has fewer
    carrier: np.ndarray  # [levels, wide] where the carrier is in the level before, 0 where it is the world
    place: np.ndarray  # [n] of each link in the levels, flattened
    gather: np.ndarray  # [levels, wide, wide] 1 where a link, the last index, is carried by one of the level before


@per_topology
def _levels(t: Topology) -> _Levels:
    s = structure_of(t)
    wide = max(map(len, s.levels))
    link = np.full((len(s.levels), wide), s.n)
    slot = np.zeros(s.n + 1, int)
    for k, members in enumerate(s.levels):
        link[k, : len(members)] = members
        slot[members] = np.arange(len(members))
    parent = np.append(s.parent, s.n)[link]
    carrier = slot[parent]
    held = (parent < s.n)[:, None, :]
    gather = np.where(held & (carrier[:, None, :] == np.arange(wide)[None, :, None]), 1.0, 0.0)
    place = np.zeros(s.n + 1, int)
    place[link.ravel()] = np.arange(link.size)
    return _Levels(link, carrier, place[: s.n], gather)


class Factors(NamedTuple):
    """What a matrix becomes by elimination, by levels; from it follow solutions for any right-hand side."""

    inverse: Array  # [levels, wide, b, b] of the blocks D, with what the links above left there
    up: Array  # [levels, wide, b, 6] D^-1 B
    down: Array  # [levels, wide, 6, b] C


def factor_tree(t: Topology, blocks: Blocks) -> Factors:
    """Eliminate links from the leaves to the world: inverses [levels, wide, b, b] of their blocks."""
    levels = _levels(t)
    b, wide = blocks.own.shape[1], levels.link.shape[1]
    own, up, down = (_padded(x, levels.link) for x in blocks)
    own = own + jnp.asarray((levels.link == len(blocks.own))[..., None, None] * np.eye(b), own.dtype)

    def upwards(carried: Array, level):
        own, up, down, gather = level
        inverse = jax.vmap(inverse_of)(own.at[:, :6, :6].add(-carried))
        solved = product(inverse, up)
        return _gathered(gather, product(down, solved)), (inverse, solved)

    nothing = jnp.zeros((wide, 6, 6), own.dtype)
    gather = jnp.asarray(levels.gather, own.dtype)
    _, (inverse, solved) = lax.scan(upwards, nothing, (own, up, down, gather), reverse=True)
    return Factors(inverse, solved, down)


def solve_tree(t: Topology, factors: Factors, right: Array) -> Array:
    """Solutions [n, b, k] for right-hand sides [n, b, k]."""
    levels = _levels(t)
    _, b, k = right.shape
    gather = jnp.asarray(levels.gather, right.dtype)
    nothing = jnp.zeros((levels.link.shape[1], 6, k), right.dtype)

    def upwards(carried: Array, level):
        inverse, down, right, gather = level
        solved = product(inverse, right.at[:, :6].add(-carried))
        return _gathered(gather, product(down, solved)), solved

    def downwards(velocity: Array, level):
        up, solved, gather = level
        above = jnp.einsum("pw,pik->wik", gather, velocity, precision="highest")
        x = solved - product(up, above)
        return x[:, :6], x

    levelled = (factors.inverse, factors.down, _padded(right, levels.link), gather)
    _, solved = lax.scan(upwards, nothing, levelled, reverse=True)
    _, x = lax.scan(downwards, nothing, (factors.up, solved, gather))
    return x.reshape(-1, b, k)[levels.place]


def _gathered(gather: Array, effect: Array) -> Array:
    """What carriers [wide] get from the links [wide] that they carry."""
    return jnp.einsum("pw,wik->pik", gather, effect, precision="highest")


def _padded(x: Array, link: np.ndarray) -> Array:
    """[levels, wide, ...] from [n, ...], zero where a level has fewer."""
    return jnp.concatenate([x, jnp.zeros((1, *x.shape[1:]), x.dtype)])[link]


def dense(t: Topology, blocks: Blocks) -> Array:
    """The matrix [n b, n b] that `solve_tree` solves with."""
    s, b = structure_of(t), blocks.own.shape[1]
    whole = jnp.zeros((s.n + 1, b, s.n + 1, b), blocks.own.dtype)
    each = np.arange(s.n)
    whole = whole.at[each, :, each, :].set(blocks.own)
    whole = whole.at[each, :, s.parent, :6].add(blocks.up)
    whole = whole.at[s.parent, :6, each, :].add(blocks.down)
    return whole[: s.n, :, : s.n].reshape(s.n * b, s.n * b)
