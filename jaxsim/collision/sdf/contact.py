"""Contacts at the points that a search found, as exact functions of poses and sizes.

The search is not differentiated. Where its points go as the solids move is decided by what it is after: a point stays
as far from either surface as from the other, up to what the difference is; across the normal n it stays where the
sum of the two slopes is what it is, and in directions in which the slopes do not change (of flat or fitting surfaces)
it moves along with both solids, half with each. One step of Newton's method from there gives the derivative.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.sdf.field import Kinds
from jaxsim.collision.sdf.search import Overlap, meet, overlap_points
from jaxsim.collision.shape import NO_CONTACT, Candidates, Shape, make_frame, safe_norm, to_world
from jaxsim.core.enums import MINVAL
from jaxsim.layout import where_asked

Array = jax.Array

FREE = 1e-4  # change of the slopes, over the size of the solid, from which a direction is not free


def sdf_contacts(kinds: Kinds, a: Shape, b: Shape, asked: Array, points: int, iterations: int) -> Candidates:
    """Candidates [n, points] of pairs [n] whose data are solids, b of which are signed distance fields (mjc_SDF)."""

    def search(_, a: Shape, b: Shape) -> tuple[Array, Array]:
        x, depth = overlap_points(kinds, _overlap(a, b), points, iterations)
        return x, (depth <= 0) & ~_known(x, depth <= 0)

    def place(_, a: Shape, b: Shape, x: Array) -> Candidates:
        return placed(kinds, _overlap(a, b), b, x)

    still = lax.stop_gradient((a, b))
    near = asked & jax.vmap(lambda a, b: meet(_overlap(a, b)))(*still)
    x, touching = where_asked(search)(near, None, *still)
    found = where_asked(place)(jnp.any(touching, axis=1), None, a, b, x)
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


def placed(kinds: Kinds, o: Overlap, b: Shape, x: Array) -> Candidates:
    """Candidates at points [n, 3] in the frame of b, on the surface where both distances are the same."""
    x = _carried(kinds, x, o)
    first, second, down1, down2 = o.slopes(kinds, x)
    dist = jnp.maximum(first, second)
    across = down2 / safe_norm(down2) - down1 / safe_norm(down1)
    normal = to_world(b.mat, across / safe_norm(across))
    pos = b.pos[None] + to_world(b.mat, x) + 0.5 * dist[:, None] * normal
    return Candidates(dist, pos, normal, jnp.zeros_like(pos))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _carried(kinds: Kinds, x: Array, o: Overlap) -> Array:
    """The points [n, 3] where they are, which follow the solids when these move."""
    return x


@_carried.defjvp
def _(kinds: Kinds, primals, tangents):
    x, o = primals
    moved = tangents[-1]
    # half of the velocity that a has at the points, as seen from b
    seen = vector.matvec(moved.turn[None], x) + moved.offset[None]
    along = -0.5 * vector.matvec_t(o.turn[None], seen)
    return x, along + _settled(kinds, x, o, along, moved)


def _settled(kinds: Kinds, x: Array, o: Overlap, along: Array, moved: Overlap) -> Array:
    """How points [n, 3] that go along have to move on to stay where the search's conditions are met."""
    solids = (o.a.size, o.a.constant, o.b.size, o.b.constant)
    changes = (moved.a.size, moved.a.constant, moved.b.size, moved.b.constant)

    def conditions(x: Array, turn: Array, offset: Array, solids) -> tuple[Array, Array, Array]:
        a = o.a._replace(size=solids[0], constant=solids[1])
        b = o.b._replace(size=solids[2], constant=solids[3])
        first, second, down1, down2 = Overlap(a, b, turn, offset).slopes(kinds, x)
        return first - second, down1 - down2, down1 + down2

    at = (x, o.turn, o.offset, solids)
    (_, across, _), (gap, _, total) = jax.jvp(conditions, at, (along, moved.turn, moved.offset, changes))
    across = lax.stop_gradient(across)
    basis = make_frame(across, jnp.zeros_like(across))  # [n, 3, 3], of which the first row is along the normal
    normal, tangent = basis[:, 0], basis[:, 1:]

    def changed(direction: Array) -> Array:
        return jax.jvp(lambda x: conditions(x, *at[1:])[2], (x,), (direction,))[1]

    curved = lax.stop_gradient(jax.vmap(changed, 1, 1)(basis))  # [n, 3, 3]
    length = jnp.maximum(vector.norm(across), MINVAL)
    lift = -(gap / length)[:, None]
    total = total + curved[:, 0] * lift
    stiff = jnp.sum(tangent[:, :, None] * curved[:, None, 1:], axis=3)
    least = FREE / safe_norm(lax.stop_gradient(o.b.aabb[3:]))
    inverse = _pseudo_inverse(0.5 * (stiff + jnp.swapaxes(stiff, 1, 2)), least)
    slide = -vector.matvec_t(tangent, vector.matvec(inverse, vector.matvec(tangent, total)))
    usable = jnp.isfinite(length + jnp.sum(inverse, axis=(1, 2)))
    return jnp.where(usable[:, None], slide + normal * lift, 0)


def _pseudo_inverse(x: Array, least: Array) -> Array:
    """Inverses of symmetric matrices [n, 2, 2] within the eigenspaces whose eigenvalues are not below `least`."""
    mean = 0.5 * (x[:, 0, 0] + x[:, 1, 1])
    lean = 0.5 * (x[:, 0, 0] - x[:, 1, 1])
    radius = jnp.sqrt(lean * lean + x[:, 0, 1] * x[:, 0, 1])
    eye = jnp.asarray(np.eye(2), x.dtype)[None]
    round_ = (radius > 1e-9 * jnp.abs(mean) + MINVAL)[:, None, None]
    split = jnp.where(round_[:, 0, 0], radius, 1)[:, None, None]
    greater = jnp.where(round_, 0.5 * (eye + (x - mean[:, None, None] * eye) / split), eye)
    total = jnp.zeros_like(x)
    for value, projector in ((mean + radius, greater), (mean - radius, jnp.where(round_, eye - greater, 0))):
        stiff = (value > least)[:, None, None]
        total = total + jnp.where(stiff, projector / jnp.where(stiff, value[:, None, None], 1), 0)
    return total
