"""The convex routine for many pairs: in blocks of pairs, and only in those that have something near.

Slots for pairs are for the worst; few of them are taken as a rule, the first ones of each two types. So blocks of
pairs of which none is near, in any of the worlds that are stepped together, are left out: the search as a loop of
one round or none, and what follows it, which is differentiated, as a branch.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.collision.convex.collider import contacts_of
from jaxsim.collision.convex.form import Library, corners
from jaxsim.collision.convex.multicontact import MOST
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

    def finish(lanes: tuple[Index, Index, Array], found: Located) -> Candidates:
        a, b = (formed(m, d, g, served, points=False) for g in lanes[:2])

        def one(a: Shape, b: Shape, found: Located, reach: Array) -> Candidates:
            corner = jnp.stack([corners(served, x.data, n) for x, n in zip((a, b), found.numbers())])
            return contacts_of(served, a, b, penetration_at(a, b, found, corner, drums), reach, several)

        return jax.vmap(one)(a, b, found, lanes[2])

    return _in_blocks(search, finish, (*geoms, reach))


def convex_shapes(served: Library, a: Shape, b: Shape, reach: Array, accuracy: Accuracy, several: bool) -> Candidates:
    """The same of shapes [n] with forms, which need not be geoms."""
    drums = GeomType.CYLINDER in served.kinds

    def search(lanes: tuple[Shape, Shape, Array]) -> Located:
        return jax.vmap(lambda a, b, r: locate(a, b, r, accuracy, drums))(*lanes)

    def finish(lanes: tuple[Shape, Shape, Array], found: Located) -> Candidates:
        def one(a: Shape, b: Shape, found: Located, reach: Array) -> Candidates:
            exact = penetration_at(a, b, found, corners_of_cores(a, b, found), drums)
            return contacts_of(served, a, b, exact, reach, several)

        return jax.vmap(one)(*lanes[:2], found, lanes[2])

    return _in_blocks(search, finish, (a, b, reach))


def _in_blocks(
    search: Callable[[Any], Located], finish: Callable[[Any, Located], Candidates], lanes: Any
) -> Candidates:
    """The candidates of lanes [n], the last of which says how far each reaches: block by block."""
    n = len(lanes[-1])
    if n <= BLOCK:
        return finish(lanes, _if_near(search, lax.stop_gradient(lanes)))
    count = -(-n // BLOCK)

    def split(x: Index) -> Array:
        x = jnp.asarray(x, jnp.int32) if isinstance(x, np.ndarray) else x
        more = jnp.broadcast_to(x[:1], (count * BLOCK - n, *x.shape[1:]))
        return jnp.concatenate([x, more]).reshape(count, BLOCK, *x.shape[1:])

    blocks = jax.tree.map(split, lanes)
    filled = jnp.arange(count * BLOCK, dtype=jnp.int32).reshape(count, BLOCK) < n
    blocks = (*blocks[:-1], jnp.where(filled, blocks[-1], -NO_CONTACT))
    dtype = blocks[-1].dtype
    none = Candidates(
        jnp.full((BLOCK, MOST), NO_CONTACT, dtype), *(jnp.zeros((BLOCK, MOST, 3), dtype) for _ in range(3))
    )

    def one(block: Any) -> Candidates:
        found = _if_near(search, lax.stop_gradient(block))
        return lax.cond(jnp.any(found.search.near), finish, lambda *_: none, block, found)

    found = lax.map(one, blocks)
    return jax.tree.map(lambda x: x.reshape(count * BLOCK, *x.shape[2:])[:n], found)


def _if_near(search: Callable[[Any], Located], lanes: Any) -> Located:
    """What a search finds of lanes, none of which is run if all reach nowhere: a loop of one round or none."""
    reach = lanes[-1]
    nothing = jax.tree.map(lambda x: jnp.broadcast_to(x[None], (len(reach), *x.shape)), unlocated(reach.dtype))
    start = (jnp.any(reach > -NO_CONTACT), nothing)
    return lax.while_loop(lambda s: s[0], lambda s: (jnp.zeros((), bool), search(lanes)), start)[1]
