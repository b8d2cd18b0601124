"""Signed distances of pairs of geoms, with the points where they are nearest (mj_geomDistance)."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import gather_groups, take
from jaxsim.collision.convex.collider import convex
from jaxsim.collision.convex.form import library
from jaxsim.collision.convex.locate import Accuracy
from jaxsim.collision.convex.penetration import met, penetration
from jaxsim.collision.sdf.collider import Part, fields_met
from jaxsim.collision.sdf.contact import sdf_contacts
from jaxsim.collision.sdf.mesh import mesh_contacts
from jaxsim.collision.shape import NO_CONTACT, Candidates, Shape
from jaxsim.collision.shapes import formed, shapes_of
from jaxsim.collision.table import COLLIDERS, Collider
from jaxsim.core.data import Data
from jaxsim.core.enums import GeomType as G
from jaxsim.core.model import Model

Array = jax.Array


def measurable(kind1: int, kind2: int) -> bool:
    """Whether the distance of geoms of these types is known; flat ones have none from each other."""
    # the prisms of a height field are looked for only where a geom is near
    return (min(kind1, kind2), max(kind1, kind2)) in COLLIDERS and G.HFIELD not in (kind1, kind2)


def distances(m: Model, d: Data, geom1: np.ndarray, geom2: np.ndarray, reach: Array) -> tuple[Array, Array]:
    """Distances of pairs of geoms, all of which are measurable.

    Of signed distance fields it is known where they overlap: as in MuJoCo, about half of how deep.

    Args:
        m: the model.
        d: with geom_xpos and geom_xmat.
        geom1, geom2: [n] indices.
        reach: [n] (m) largest distance that is looked for.

    Returns:
        dist [n] (m), `reach` where it is no less; fromto [n, 6] (m) from a point of geom1 to one of geom2, zero there.
    """
    turned = m.geom_type[geom1] > m.geom_type[geom2]
    first, second = np.where(turned, geom2, geom1), np.where(turned, geom1, geom2)
    kinds = [(int(a), int(b)) for a, b in zip(m.geom_type[first], m.geom_type[second])]
    # as in MuJoCo: the contacts of two boxes are not always where they are nearest
    keys = [None if COLLIDERS[k][0] is convex or k == (G.BOX, G.BOX) else k for k in kinds]
    groups = []
    for key in dict.fromkeys(keys):
        here = np.array([i for i, k in enumerate(keys) if k == key])
        a, b, near = first[here], second[here], take(reach, here)
        found = _by_routine(m, d, a, b, near) if key is None else _by_collider(m, d, COLLIDERS[key][0], a, b, near)
        groups.append((here, found))
    rows = gather_groups(groups, len(geom1))
    near = rows[:, :1] < reach[:, None]
    fromto = jnp.where(jnp.asarray(turned)[:, None], take(rows.T, [4, 5, 6, 1, 2, 3]).T, rows[:, 1:])
    return jnp.where(near, rows[:, :1], reach[:, None])[:, 0], jnp.where(near, fromto, 0)


def _by_routine(m: Model, d: Data, first: np.ndarray, second: np.ndarray, reach: Array) -> Array:
    """Distances and nearest points [n, 7] by the convex routine."""
    served = library(m.topology, tuple(np.unique([first, second]).tolist()))
    accuracy = Accuracy(m.opt.ccd_tolerance, m.opt.ccd_iterations)
    pairs = met(zip(m.geom_type[first].tolist(), m.geom_type[second].tolist()))

    def measure(a: Shape, b: Shape, reach: Array) -> Array:
        p = penetration(a, b, reach, accuracy, pairs)
        return jnp.concatenate([p.dist[None], a.pos + p.witness1, a.pos + p.witness2])

    return jax.vmap(measure)(formed(m, d, first, served), formed(m, d, second, served), reach)


def _by_collider(m: Model, d: Data, collider: Collider, first: np.ndarray, second: np.ndarray, reach: Array) -> Array:
    """Distances and nearest points [n, 7] by the deepest of a collider's contacts."""

    def measure(found: Candidates) -> Array:
        dist, hot = vector.least(found.dist)
        pos, normal = (jnp.sum(jnp.where(hot[:, None], x, 0), axis=0) for x in (found.pos, found.normal))
        half = 0.5 * jnp.where(dist < NO_CONTACT, dist, 0) * normal
        return jnp.concatenate([dist, pos - half, pos + half])

    if collider in (sdf_contacts, mesh_contacts):
        part = Part(first, second, np.unique(first), np.unique(second), reach)
        return jax.vmap(measure)(fields_met(m, d, collider, [part]))
    a, b = shapes_of(m, d, first, first), shapes_of(m, d, second, second)
    return jax.vmap(lambda a, b, reach: measure(collider(a, b, reach)))(a, b, reach)
