"""Signed distances of meshes, interpolated in the leaf of their octree that a point is in (oct_distance)."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.compact import gather
from jaxsim.core.topology import Topology, per_topology

Array = jax.Array

INSET = 1e-6  # m, from the side of the root to where points beyond it are moved for interpolation


def octree_distance(t: Topology, mesh: int) -> Callable[[Array, Any], Array]:
    """The distance [n] (m) of points [n, 3] (m) from a mesh; beyond its octree, that of the nearest point in it and
    that from there."""
    leaf, table = _leaves(t, mesh)
    side = len(leaf)
    centre, half = np.split(t.oct_aabb[t.mesh_octadr[mesh]], 2)

    def distance(p: Array, _: Any) -> Array:
        dtype = p.dtype
        rest = p - jnp.asarray(centre, dtype)[None]
        beyond = jnp.abs(rest) - jnp.asarray(half, dtype)[None]
        outside = jnp.max(beyond, axis=1, keepdims=True) > 0
        back = jnp.where(outside & (beyond >= 0), beyond + INSET, 0)
        inner = rest - jnp.where(rest > 0, 1, -1) * back
        scaled = (lax.stop_gradient(inner) / jnp.asarray(half, dtype)[None] + 1) * (0.5 * side)
        place = jnp.clip(scaled.astype(jnp.int32), 0, side - 1)
        number = (place[:, 0] * side + place[:, 1]) * side + place[:, 2]
        cell = gather(jnp.asarray(table, dtype), gather(jnp.asarray(leaf.reshape(-1)), number))
        share = ((inner - cell[:, :3]) / cell[:, 3:6])[..., None]
        shares = jnp.concatenate([1 - share, share], axis=2)  # [n, 3, 2]
        x, y, z = (jnp.squeeze(s, 1) for s in jnp.split(shares, 3, axis=1))
        weight = z[:, :, None, None] * y[:, None, :, None] * x[:, None, None]
        inside = jnp.sum(weight.reshape(-1, 8) * cell[:, 6:], axis=1)
        return inside + vector.norm(jnp.where(outside, jnp.maximum(beyond, 0), 0))

    return distance


@per_topology
def _leaves(t: Topology, mesh: int) -> tuple[np.ndarray, np.ndarray]:
    """The leaf at each of [s, s, s] equal parts of an octree; and of each cell its low corner from the root's centre
    [3], its size [3] (m) and its coefficients [8]."""
    here = slice(t.mesh_octadr[mesh], t.mesh_octadr[mesh] + t.mesh_octnum[mesh])
    child, aabb, coeff = t.oct_child[here], t.oct_aabb[here], t.oct_coeff[here]
    level = np.rint(np.log2(aabb[0, 3] / aabb[:, 3])).astype(int)
    side = 1 << int(level.max())
    low = aabb[:, :3] - aabb[:, 3:] - aabb[0, :3]
    place = np.rint((low + aabb[0, 3:]) / (2 * aabb[0, 3:]) * side).astype(int)
    leaf = np.zeros((side,) * 3, np.int32)
    for i in np.flatnonzero(child[:, 0] < 0):
        (x, y, z), w = place[i], side >> level[i]
        leaf[x : x + w, y : y + w, z : z + w] = i
    return leaf, np.concatenate([low, 2 * aabb[:, 3:], coeff], axis=1)
