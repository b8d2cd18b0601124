"""The first pass over many candidate pairs: blocks of geoms before geoms.

Where pairs are thousands, geoms are put into blocks of up to WIDTH at load: those of one tree in the order of its
bodies, those that never move by where they lie. A tile is two blocks, or one with itself, with some pairs of the
candidate table among their geoms. At run time the boxes around blocks are compared tile by tile; what is left of
the tiles goes into a fixed number of slots, and there the boxes around single geoms are compared:

    blocks   A = 0 1 2 3    B = 4 5
    tile     A with B: rows of the table  0-4  0-5  1-4 ... 3-5,  -1 where a pair is filtered out

Boxes follow from the poses that the data have, so blocks are a matter of speed alone: a model whose geoms were moved
after load, or are elsewhere in each world, is treated right too.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import quaternion
from jaxsim.algebra.select import gather_groups, take
from jaxsim.collision.bounds import centres, extent
from jaxsim.collision.compact import chosen, gather
from jaxsim.collision.pairs import FLAT, candidate_pairs
from jaxsim.core.data import Data
from jaxsim.core.enums import EnableBit
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology

Array = jax.Array

MANY = 4096  # candidate pairs up to which all are looked at one by one, which costs less than blocks
WIDTH = 4  # geoms in a block at most
SLACK = 1e-5  # of the boxes' sizes and places, for rounding


class Tiles(NamedTuple):
    """n pairs of blocks [k, w] of geoms, and the rows of the candidate table that they stand for."""

    blocks: np.ndarray  # [k, w] geoms; the first one again where there are fewer
    block1: np.ndarray  # [n]
    block2: np.ndarray  # [n]
    rows: np.ndarray  # [n, w, w] int32: geom i of block 1 with geom j of block 2; -1 where they may not collide
    loose: np.ndarray  # rows of the table that no tile has: planes, height fields and explicit pairs


class Near(NamedTuple):
    """Candidate pairs whose boxes overlap, of all that the tiles stand for."""

    row: Array  # [m] of the candidate table
    near: Array  # [m] bool: whether it is one of them
    demand: Array  # [] number of tiles that overlap, also of those without a slot


@per_topology
def tiles(t: Topology, disableflags: int) -> Tiles | None:
    """The tiles of a model; None if its candidate pairs are few."""
    pairs = candidate_pairs(t, disableflags)
    block = np.asarray(t.geom_block)
    loose = (pairs.pair >= 0) | np.isin(t.geom_type[pairs.geom1], FLAT) | (block[pairs.geom1] < 0)
    loose |= block[pairs.geom2] < 0
    tiled = np.flatnonzero(~loose)
    if len(tiled) <= MANY:
        return None
    members = np.flatnonzero(block >= 0)
    members = members[np.argsort(block[members], kind="stable")]
    _, first, of_member, count = np.unique(block[members], return_index=True, return_inverse=True, return_counts=True)
    place, number = np.zeros(t.ngeom, int), np.zeros(t.ngeom, int)
    place[members], number[members] = np.arange(len(members)) - first[of_member], of_member
    width = int(count.max())
    column = np.arange(width)[None]
    blocks = members[first[:, None] + np.where(column < count[:, None], column, 0)]
    a, b = pairs.geom1[tiled], pairs.geom2[tiled]
    swap = number[a] > number[b]
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    keys, tile = np.unique(number[a] * len(blocks) + number[b], return_inverse=True)
    rows = np.full((len(keys), width, width), -1, np.int32)
    rows[tile, place[a], place[b]] = tiled
    return Tiles(blocks, keys // len(blocks), keys % len(blocks), rows, np.flatnonzero(loose))


def near_pairs(m: Model, d: Data, size: int) -> Near:
    """The pairs of overlapping boxes among `size` tiles of overlapping blocks."""
    plan = tiles(m.topology, int(m.opt.disableflags))
    assert plan is not None
    low, high = _boxes(m, d, plan.blocks)
    every = plan.blocks.reshape(-1)
    shape = (*plan.blocks.shape, 3)
    block_low, block_high = (
        jnp.min(take(low, every).reshape(shape), axis=1),
        jnp.max(take(high, every).reshape(shape), axis=1),
    )
    one, two = plan.block1, plan.block2
    meets = _overlap(*(take(x, i) for i in (one, two) for x in (block_low, block_high)))
    tile = chosen(meets, size)
    idle = tile >= len(one)
    sides = []
    for block in (one, two):
        geoms = gather(jnp.asarray(plan.blocks[block], jnp.int32), tile).reshape(-1)
        sides += [gather(x, geoms).reshape(size, -1, 3) for x in (low, high)]
    first_low, first_high, second_low, second_high = sides
    close = _overlap(first_low[:, :, None], first_high[:, :, None], second_low[:, None], second_high[:, None])
    row = gather(jnp.asarray(plan.rows), tile)
    near = close & (row >= 0) & ~idle[:, None, None]
    return Near(row.reshape(-1), near.reshape(-1), jnp.sum(meets, dtype=jnp.int32))


def _overlap(low1: Array, high1: Array, low2: Array, high2: Array) -> Array:
    """Whether boxes [..., 3] overlap."""
    return jnp.all((low1 <= high2) & (low2 <= high1), axis=-1)


def _boxes(m: Model, d: Data, blocks: np.ndarray) -> tuple[Array, Array]:
    """The lowest and highest corners [ngeom, 3] (m) of boxes around geoms, larger by what is detected around them.

    Those of geoms in no block are not meant to be read.
    """
    middles, halves, members = [], [], np.unique(blocks)
    for kind in np.unique(m.geom_type[members]):
        index = members[m.geom_type[members] == kind]
        axes = take(d.geom_xmat, index).reshape(-1, 3, 3)  # the world's axes in each geom's frame are its rows
        middles.append((index, centres(m, d, index)))
        halves.append((index, extent(m, index, axes)))
    reach = m.geom_margin + m.geom_gap
    if m.opt.enables(EnableBit.OVERRIDE):
        reach = m.geom_gap + m.opt.o_margin / 2
    middle, half = gather_groups(middles, m.ngeom), gather_groups(halves, m.ngeom) + reach[:, None]
    half = half + SLACK * (half + jnp.abs(middle))
    return middle - half, middle + half


def blocks_of(m: Model) -> np.ndarray:
    """[ngeom] the block of each geom, chosen from the model's poses; -1 for geoms in none (host only)."""
    t = m.topology
    block = np.full(t.ngeom, -1, np.int32)
    root = t.body_rootid[t.geom_bodyid]
    still = _still(t)[t.geom_bodyid]
    bounded = ~np.isin(t.geom_type, FLAT)
    bounded &= (np.asarray(t.geom_contype) | np.asarray(t.geom_conaffinity)) != 0
    moving, fixed = np.flatnonzero(bounded & ~still), np.flatnonzero(bounded & still)
    moving = moving[np.lexsort((moving, t.geom_bodyid[moving], root[moving]))]
    fixed = fixed[_nearby(_places(m)[fixed])]
    count = 0
    for index, tree in ((moving, root[moving]), (fixed, np.zeros(len(fixed), int))):
        _, start, of = np.unique(tree, return_index=True, return_inverse=True)
        place = np.arange(len(index)) - start[of]
        fresh = place % WIDTH == 0
        block[index] = count + np.cumsum(fresh) - 1
        count += int(fresh.sum())
    return block


def _still(t: Topology) -> np.ndarray:
    """[nbody] whether a body has neither joints nor a mocap pose, nor any body that it is attached to."""
    moved = (np.asarray(t.body_jntnum) > 0) | (np.asarray(t.body_mocapid) >= 0)
    for i in range(1, t.nbody):
        moved[i] |= moved[t.body_parentid[i]]
    return ~moved


def _places(m: Model) -> np.ndarray:
    """[ngeom, 3] where geoms of bodies that do not move are (m)."""
    body_pos, body_quat, geom_pos = (np.asarray(x, float) for x in (m.body_pos, m.body_quat, m.geom_pos))
    pos, quat = np.zeros((m.nbody, 3)), np.tile(np.array([1.0, 0, 0, 0]), (m.nbody, 1))
    for i in range(1, m.nbody):
        above = m.body_parentid[i]
        pos[i] = pos[above] + quaternion.rotate(quat[above][None], body_pos[i][None])[0]
        quat[i] = quaternion.mul(quat[above][None], body_quat[i][None])[0]
    return pos[m.geom_bodyid] + quaternion.rotate(quat[m.geom_bodyid], geom_pos)


def _nearby(pos: np.ndarray) -> np.ndarray:
    """An order of points [n, 3] in which neighbours lie together: along the Z-order curve."""
    if not len(pos):
        return np.zeros(0, int)
    span = np.maximum(np.ptp(pos, axis=0).max(), 1e-9)
    cell = ((pos - pos.min(axis=0)) / span * (2**20 - 1)).astype(np.int64)
    key = np.zeros(len(pos), np.int64)
    for bit in range(20):
        for axis in range(3):
            key |= ((cell[:, axis] >> bit) & 1) << (3 * bit + axis)
    return np.argsort(key, kind="stable")
