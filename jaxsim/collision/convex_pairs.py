"""The convex routine for many pairs: the search in blocks of pairs, and only in those that have something near.

Slots for pairs are for the worst; few of them are taken as a rule, the first ones of each two types. The search
costs by far the most, so blocks of pairs of which none is near, in any of the worlds that are stepped together, are
left out. What follows the search is differentiated and done for all.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.collision.convex.collider import contacts_of
from jaxsim.collision.convex.form import Library, corners
from jaxsim.collision.convex.penetration import Accuracy, Located, corners_of_cores, locate, penetration_at, unlocated
from jaxsim.collision.shape import NO_CONTACT, Candidates, Shape
from jaxsim.collision.shapes import formed
from jaxsim.core.data import Data
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model

Array = jax.Array
Index = np.ndarray | Array

BLOCK = 32  # pairs


def convex_pairs(
    m: Model,
    d: Data,
    served: Library,
    geoms: tuple[Index, Index],
    reach: Array,
    accuracy: Accuracy,
    several: bool,
) -> Candidates:
    """Candidates [n, 4] of pairs of geoms; of those with a reach of -NO_CONTACT there are none.

    Args:
        m: the model.
        d: with geom_xpos [ngeom, 3] (m) and geom_xmat [ngeom, 9].
        served: the cores of all geoms that may be among them.
        geoms: [n] of each pair.
        reach: [n] distance (m) up to which contacts are detected.
        accuracy: of the search.
        several: whether faces and edges have a contact at each corner.
    """
    drums = GeomType.CYLINDER in served.kinds
    still = m.replace(geom_size=lax.stop_gradient(m.geom_size))
    poses = d.replace(geom_xpos=lax.stop_gradient(d.geom_xpos), geom_xmat=lax.stop_gradient(d.geom_xmat))

    def search(lanes: tuple[Index, Index, Array]) -> Located:
        a, b = (formed(still, poses, g, served) for g in lanes[:2])
        return jax.vmap(lambda a, b, r: locate(a, b, r, accuracy, drums))(a, b, lanes[2])

    found = _in_blocks(search, (*geoms, lax.stop_gradient(reach)))
    a, b = (formed(m, d, g, served, points=False) for g in geoms)

    def finish(a: Shape, b: Shape, found: Located, reach: Array) -> Candidates:
        corner = jnp.stack([corners(served, x.data, n) for x, n in zip((a, b), found.numbers())])
        return contacts_of(served, a, b, penetration_at(a, b, found, corner, drums), reach, several)

    return jax.vmap(finish)(a, b, found, reach)


def convex_shapes(served: Library, a: Shape, b: Shape, reach: Array, accuracy: Accuracy, several: bool) -> Candidates:
    """The same of shapes [n] with forms, which need not be geoms."""
    drums = GeomType.CYLINDER in served.kinds
    found = _in_blocks(
        lambda lanes: jax.vmap(lambda a, b, r: locate(a, b, r, accuracy, drums))(*lanes),
        lax.stop_gradient((a, b, reach)),
    )

    def finish(a: Shape, b: Shape, found: Located, reach: Array) -> Candidates:
        exact = penetration_at(a, b, found, corners_of_cores(a, b, found), drums)
        return contacts_of(served, a, b, exact, reach, several)

    return jax.vmap(finish)(a, b, found, reach)


def _in_blocks(search: Callable[[Any], Located], lanes: Any) -> Located:
    """What a search finds of lanes [n], the last of which says how far each reaches: block by block."""
    n = len(lanes[-1])
    if n <= BLOCK:
        return _if_near(search, lanes)
    count = -(-n // BLOCK)

    def split(x: Index) -> Array:
        x = jnp.asarray(x, jnp.int32) if isinstance(x, np.ndarray) else x
        more = jnp.broadcast_to(x[:1], (count * BLOCK - n, *x.shape[1:]))
        return jnp.concatenate([x, more]).reshape(count, BLOCK, *x.shape[1:])

    blocks = jax.tree.map(split, lanes)
    filled = jnp.arange(count * BLOCK, dtype=jnp.int32).reshape(count, BLOCK) < n
    blocks = (*blocks[:-1], jnp.where(filled, blocks[-1], -NO_CONTACT))
    found = lax.map(lambda block: _if_near(search, block), blocks)
    return jax.tree.map(lambda x: x.reshape(count * BLOCK, *x.shape[2:])[:n], found)


def _if_near(search: Callable[[Any], Located], lanes: Any) -> Located:
    """What a search finds of lanes, none of which is run if all reach nowhere: a loop of one round or none."""
    reach = lanes[-1]
    nothing = jax.tree.map(lambda x: jnp.broadcast_to(x[None], (len(reach), *x.shape)), unlocated(reach.dtype))
    start = (jnp.any(reach > -NO_CONTACT), nothing)
    return lax.while_loop(lambda s: s[0], lambda s: (jnp.zeros((), bool), search(lanes)), start)[1]
