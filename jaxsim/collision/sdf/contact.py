"""Contacts at the points that a search found, as functions of poses and sizes.

A search is a hundred distances for each of its points, most of them for the lengths of its steps. Its derivative is
that of the steps at these lengths: exact where a small change of the poses leaves them, and which surface is the
nearer one, as they are. Ten steps seldom end at rest, so that what they were to converge to would move otherwise.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.sdf.field import Kinds
from jaxsim.collision.sdf.search import Overlap, Path, meet, overlap_points, retraced
from jaxsim.collision.shape import NO_CONTACT, Candidates, Shape, safe_norm, to_world
from jaxsim.core.enums import MINVAL
from jaxsim.layout import where_asked

Array = jax.Array


def sdf_contacts(kinds: Kinds, a: Shape, b: Shape, asked: Array, points: int, iterations: int) -> Candidates:
    """Candidates [n, points] of pairs [n] whose data are solids, b of which are signed distance fields (mjc_SDF)."""

    def search(_, a: Shape, b: Shape) -> tuple[Array, Path, Array]:
        x, depth, path = overlap_points(kinds, _overlap(a, b), points, iterations)
        return x, path, (depth <= 0) & ~_known(x, depth <= 0)

    def place(_, a: Shape, b: Shape, x: Array, path: Path) -> Candidates:
        return placed(kinds, _overlap(a, b), b, x, path)

    still = lax.stop_gradient((a, b))
    near = asked & jax.vmap(lambda a, b: meet(_overlap(a, b)))(*still)
    x, path, touching = where_asked(search)(near, None, *still)
    found = where_asked(place)(jnp.any(touching, axis=1), None, a, b, x, path)
    return found._replace(dist=jnp.where(touching, found.dist, NO_CONTACT))


def _overlap(a: Shape, b: Shape) -> Overlap:
    turn = jnp.sum(a.mat[:, :, None] * b.mat[:, None], axis=0)
    return Overlap(a.data, b.data, turn, vector.matvec_t(a.mat, b.pos - a.pos))


def _known(x: Array, touching: Array) -> Array:
    """[n] whether a touching point is where an earlier one is."""
    apart = x[:, None] - x[None]
    same = jnp.sum(apart * apart, axis=2) < MINVAL * MINVAL
    n = len(touching)
    return jnp.any(same & touching[None] & np.tril(np.ones((n, n), bool), -1), axis=1)


def placed(kinds: Kinds, o: Overlap, b: Shape, x: Array, path: Path) -> Candidates:
    """Candidates at points [n, 3] in the frame of b, where a search of [steps, n] steps has ended."""
    x = _carried(kinds, x, path, o)
    first, second, down1, down2 = o.slopes(kinds, x)
    dist = jnp.maximum(first, second)
    across = down2 / safe_norm(down2) - down1 / safe_norm(down1)
    normal = to_world(b.mat, across / safe_norm(across))
    pos = b.pos[None] + to_world(b.mat, x) + 0.5 * dist[:, None] * normal
    return Candidates(dist, pos, normal, jnp.zeros_like(pos))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _carried(kinds: Kinds, x: Array, path: Path, o: Overlap) -> Array:
    """The points [n, 3] where they are, which move as those of the search do."""
    return x


@_carried.defjvp
def _(kinds: Kinds, primals, tangents):
    x, path, o = primals
    return x, retraced(kinds, o, path, tangents[-1])
