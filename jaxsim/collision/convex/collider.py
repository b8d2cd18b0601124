"""The collider of any two convex shapes."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.collision.convex.form import Library
from jaxsim.collision.convex.locate import DEFAULT, Accuracy
from jaxsim.collision.convex.multicontact import MOST, multicontact
from jaxsim.collision.convex.penetration import Penetration, met, penetration
from jaxsim.collision.shape import NO_CONTACT, Candidates, Shape, detected

Array = jax.Array


def convex(served: Library, a: Shape, b: Shape, margin: Array, accuracy: Accuracy = DEFAULT, several: bool = True):
    """Candidates [4] of two geoms whose data are forms; only the first is one unless `several` (mjc_Convex).

    Args:
        served: the cores of all geoms that are served.
        a, b: the geoms.
        margin: [] distance (m) up to which contacts are detected.
        accuracy: of the search.
        several: whether faces and edges have a contact at each corner.
    """
    found = penetration(a, b, margin, accuracy, met(itertools.product(served.kinds, repeat=2)))
    return contacts_of(served, a, b, found, margin, several)


def contacts_of(
    served: Library, a: Shape, b: Shape, found: Penetration, margin: Array, several: bool, swell: bool = True
) -> Candidates:
    """Candidates [4] of two geoms of which it is known where they are nearest; arguments as of `convex` and
    `multicontact`."""
    found = found._replace(dist=detected(found.dist, margin))
    contacts = multicontact(served, a, b, found, margin, swell) if several else single(a, found)
    return contacts._replace(dist=detected(contacts.dist, margin))


def single(a: Shape, found: Penetration) -> Candidates:
    """The one contact of two shapes, midway between the witnesses, in the first of all places."""
    pos = jnp.broadcast_to((a.pos + 0.5 * (found.witness1 + found.witness2))[None], (MOST, 3))
    dist = jnp.where(np.arange(MOST) == 0, found.dist, NO_CONTACT)
    return Candidates(dist, pos, jnp.broadcast_to(found.normal[None], (MOST, 3)), jnp.zeros_like(pos))
