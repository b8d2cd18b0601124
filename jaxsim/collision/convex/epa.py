"""Depth of two convex shapes that overlap: the face of their difference nearest to the origin (EPA).

A polytope within the difference grows where it is nearest to the origin, until it cannot: its nearest face then is
the difference's own. A new vertex sees some faces from outside. These go, and the edges between them and the
others, the rim, make new faces with it. Around a vertex of the rim, of what follows it in the seen faces and what
comes before it all but the next and the previous vertex of the rim cancel; so one sum for each vertex, of a code for
what follows less that for what comes before, tells the whole rim. Codes hold a number and its square, as the sum of
two numbers follows from their difference and that of their squares. Of faces 0 1 2 and 0 2 3, seen from 4:

    around 0   1 and 2 follow, 2 and 3 come before: differences 1 - 3 and 1 - 9, so 1 is next and 3 was previous
    new faces  0 1 4, 1 2 4, 2 3 4, 3 0 4

Heights are signed, so the polytope need not hold the origin: faces that have it outside come first. It begins as
one triangle with two sides.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.algebra.select import take
from jaxsim.collision.convex.difference import Difference
from jaxsim.collision.shape import safe_norm
from jaxsim.core.enums import GeomType

Array = jax.Array

NOWHERE = 1e30  # height of a face that is not there: nothing sees it, and all others are nearer
# steps that there is room for at first and next, as a step costs as much as the square of the room: hulls of a dozen
# vertices take five, smooth shapes about twenty
FEW = (12, 24)
SMOOTH = 24  # steps after which smooth shapes are left to a descent: which normal is best is known by then
GROWTH = 4  # times as many are next, for shapes that need them
MOST = 1000  # steps, as in MuJoCo
SEEN = (2, 0.25)  # times rounding: how far above a face a point is that sees it, if it is tried again and at first
SHIFT = 11  # bits of a code that hold a number or a difference of two
# of the coordinates: how exact the nearest face has to be for Newton's method to go on from it; on a mesh of many small
# faces each has a depth of its own, closer to the others' than that
COARSE = 1e-5


class Polytope(NamedTuple):
    """Vertices [v, 8] and faces [f, 7], as outward normal, height and three vertices.

    `found` [8] is the face beyond which the difference reaches least far, of those that were nearest at some time, and
    how far it reaches along that one's normal.
    """

    rows: Array
    face: Array
    nearest: Array  # [] int32
    found: Array
    step: Array  # [] int32: there are 3 + step vertices
    done: Array  # [] bool
    again: Array  # [] bool: the last vertex is to be tried once more


def epa(shapes: Difference, triangle: Array, start: Array, tolerance: Array, iterations: int) -> tuple[Array, Array]:
    """The vertices [3, 8] and the outward normal [3] of the nearest face, as near as there are steps.

    Args:
        shapes: their difference.
        triangle: [3, 8] points of it that are not on a line.
        start: [] bool, whether to search at all.
        tolerance: [] by how much (m) the face of smooth shapes may lie within the difference.
        iterations: most steps, each of which adds a vertex.
    """
    rounding = 16 * jnp.finfo(triangle.dtype).eps * shapes.scale
    faceted = jnp.any(shapes.forms.kind == GeomType.MESH)
    by_newton = jnp.maximum(tolerance, jnp.where(faceted, rounding, COARSE * shapes.scale))
    enough = jnp.where(shapes.smooth, by_newton, rounding)

    def grow(p: Polytope) -> Polytope:
        near = p.face.at[p.nearest].get(mode="promise_in_bounds")
        row = shapes.point(near[:3])
        reach = jnp.sum(row[:3] * near[:3], keepdims=True)
        done = reach[0] - near[3] <= enough
        found = jnp.where(done | (reach[0] < p.found[7]), jnp.concatenate([near, reach]), p.found)
        seen = vector.dot(p.face[:, :3], row[:3][None]) - p.face[:, 3] > jnp.where(p.again, *SEEN) * rounding
        rim = _rim(p, seen)
        # a rim that touches itself is of rounding's making, as of faces in one plane: then without those that are
        # hardly seen; if that is no better, what was found so far has to do
        again = ~rim.simple & ~p.again & ~done
        done |= ~rim.simple & ~again
        face = _replaced(p.face, seen, rim.on, _new_faces(p, row, rim.next, rounding))
        here = np.arange(len(p.rows), dtype=np.int32) == 3 + p.step
        rows = jnp.where(here[:, None], row[None], p.rows)
        moved = Polytope(rows, face, _lowest(face), found, p.step + 1, done, again)
        kept = jax.tree.map(lambda new, old: jnp.where(done | again, old, new), moved, p)
        return kept._replace(found=found, done=done, again=again)

    face = _two_sided(triangle[:, :3])
    none = jnp.concatenate([face[0], jnp.full(1, NOWHERE, face.dtype)])
    zero = jnp.zeros((), jnp.int32)
    p = Polytope(triangle, face, _lowest(face), none, zero, ~start, jnp.zeros((), bool))
    for room in _rooms(iterations):
        p = lax.while_loop(_unfinished(room), grow, _with_room(p, room))
        p = p._replace(done=p.done | shapes.smooth & (room >= SMOOTH))
    return p.rows.at[_met(p, rounding)].get(mode="promise_in_bounds"), p.found[:3]


def _met(p: Polytope, rounding: Array) -> Array:
    """The vertices [3] int32 of the triangle that the normal of the nearest face meets, out of the origin.

    A face of the difference with more than three corners is many triangles; which is the nearest, is up to rounding.
    """
    normal, height = p.found[:3], p.found[3]
    number = jnp.concatenate([p.found[None, 4:7], p.face[:, 4:]]).astype(jnp.int32)
    corner = p.rows[:, :3].at[number].get(mode="promise_in_bounds")
    part = vector.dot(vector.cross(corner[:, [1, 2, 0]], corner[:, [2, 0, 1]]), normal[None, None])
    whole = jnp.sum(part, axis=1)
    within = jnp.all(vector.dot(corner, normal[None, None]) >= height - rounding, axis=1)
    size = jnp.max(jnp.abs(p.rows[:, :3]))
    usable = within & (whole > 8 * rounding * size)  # of a thinner one rounding decides what it meets
    least = jnp.where(usable, jnp.min(part, axis=1) / jnp.where(usable, whole, 1), -NOWHERE)
    return number.at[jnp.argmax(least).astype(jnp.int32)].get(mode="promise_in_bounds")


def _rooms(iterations: int) -> list[int]:
    """For how many steps there is room, in one loop after the other."""
    rooms, most = list(FEW), min(iterations, MOST)
    while rooms[-1] < most:
        rooms.append(rooms[-1] * GROWTH)
    return [*(x for x in rooms if x < most), most]


def _unfinished(steps: int) -> Callable[[Polytope], Array]:
    """Whether a polytope is to grow on, within so many steps."""
    return lambda p: ~p.done & (p.step < steps)


def _with_room(p: Polytope, steps: int) -> Polytope:
    """The polytope with room for so many steps."""
    rows = jnp.broadcast_to(p.rows[:1], (3 + steps - len(p.rows), 8))
    faces = jnp.broadcast_to(_gone(p.face.dtype)[None], (2 + 2 * steps - len(p.face), 7))
    return p._replace(rows=jnp.concatenate([p.rows, rows]), face=jnp.concatenate([p.face, faces]))


def _two_sided(triangle: Array) -> Array:
    """The faces [2, 7] of a triangle [3, 3] and of its other side."""
    a, b, c = triangle[0], triangle[1], triangle[2]
    normal = vector.cross(b - a, c - a)
    normal = normal / safe_norm(normal)
    plane = jnp.concatenate([normal, jnp.sum(normal * a, keepdims=True)])
    front = jnp.concatenate([plane, jnp.asarray([0, 1, 2], plane.dtype)])
    back = jnp.concatenate([-plane, jnp.asarray([1, 0, 2], plane.dtype)])
    return jnp.stack([front, back])


def _gone(dtype) -> Array:
    return jnp.asarray([0, 0, 0, NOWHERE, 0, 0, 0], dtype)


def _lowest(face: Array) -> Array:
    """The nearest face []."""
    return jnp.argmin(face[:, 3]).astype(jnp.int32)


class Rim(NamedTuple):
    """Of each vertex [v] whether it is on the rim, and the next one there; and [] whether each is there only once."""

    on: Array
    next: Array
    simple: Array


def _rim(p: Polytope, seen: Array) -> Rim:
    number = np.arange(len(p.rows), dtype=np.int32)
    corner = p.face[:, 4:].T.astype(jnp.int32)
    code = _code(corner)
    change = jnp.where(seen[None], take(code, [1, 2, 0]) - take(code, [2, 0, 1]), 0)
    around = corner[:, None] == number[None, :, None]
    x = _once(jnp.sum(jnp.where(around, change[:, None], 0), axis=(0, 2), dtype=jnp.int32))
    on = x != 0
    less = jnp.left_shift(x, 32 - SHIFT) >> (32 - SHIFT)  # the next number less the previous one
    squares = ((x - less) >> SHIFT).astype(jnp.float32)
    both = (squares / jnp.where(less == 0, 1, less).astype(jnp.float32)).astype(jnp.int32)
    following = (both + less) >> 1
    simple = jnp.all(~on | (x == _code(following) - _code(following - less)))
    return Rim(on, jnp.clip(following, 0, number[-1]), simple)


def _code(x: Array) -> Array:
    """What tells a number below 1024 and its square, whose difference for two of them tells both."""
    return x * x * (1 << SHIFT) + x


def _once(x: Array) -> Array:
    """x [n], such that a batch on a CPU computes it once rather than wherever it is read: what is joined is stored."""
    return jnp.concatenate([x[:1], x[1:]])


def _new_faces(p: Polytope, row: Array, following: Array, rounding: Array) -> Array:
    """[v, 7] for each vertex the face of the edge from there to the following one, and a new vertex."""
    vertex = p.rows[:, :3]
    edge, side = vertex.at[following].get(mode="promise_in_bounds") - vertex, row[None, :3] - vertex
    edges = jnp.concatenate([edge, side], axis=1)
    edge, side = edges[:, :3], edges[:, 3:]
    normal = vector.cross(edge, side)
    length = safe_norm(normal)
    longest = jnp.maximum(vector.dot(edge, edge), vector.dot(side, side))[:, None]
    thin = length * length <= rounding * rounding * longest
    normal = jnp.where(thin, 0, normal / length)
    height = jnp.where(thin, NOWHERE, vector.dot(normal, vertex)[:, None])
    number = jnp.arange(len(vertex), dtype=row.dtype)[:, None]
    new = jnp.broadcast_to((3 + p.step).astype(row.dtype), height.shape)
    return jnp.concatenate([normal, height, number, following[:, None].astype(row.dtype), new], axis=1)


def _replaced(face: Array, seen: Array, wanted: Array, new: Array) -> Array:
    """Faces [f, 7] with the wanted ones of the new [v, 7] where the seen ones and nothing were."""
    free = seen | (face[:, 3] == NOWHERE)
    place, _ = _ranks(free)
    rank, total = _ranks(wanted)
    number = np.arange(len(new), dtype=np.int32)
    ranks = _once(jnp.concatenate([place, jnp.where(wanted, rank, -1)]))
    place, rank = ranks[: len(face)], ranks[len(face) :]
    which = jnp.sum(jnp.where(place[:, None] == rank[None], number[None], 0), axis=1, dtype=jnp.int32)
    moved = new.at[which].get(mode="promise_in_bounds")
    kept = jnp.where(seen[:, None], _gone(face.dtype)[None], face)
    return jnp.where((free & (place < total))[:, None], moved, kept)


def _ranks(chosen: Array) -> tuple[Array, Array]:
    """How many chosen ones [n] come before each [n], and how many there are []: by counting bits in words."""
    n, width = len(chosen), 31
    many = -(-n // width)
    power = np.asarray(2 ** (np.arange(n) % width), np.int32)
    bits = jnp.pad(jnp.where(chosen, power, 0), (0, many * width - n)).reshape(many, width)
    word = jnp.sum(bits, axis=1, dtype=jnp.int32)
    count = lax.population_count(word)
    before = jnp.sum(jnp.where(np.tri(many, k=-1, dtype=bool), count[None], 0), axis=1, dtype=jnp.int32)
    below = np.asarray(2 ** np.arange(width) - 1, np.int32)
    rank = before[:, None] + lax.population_count(word[:, None] & below[None])
    return rank.reshape(-1)[:n], jnp.sum(count, dtype=jnp.int32)
