"""From one contact of two shapes to those of the flat faces, or of the face and the edge, that meet there.

Stage 1 chooses what meets: of the faces at the search's final vertices those that face each other best, within
five degrees; else an edge of one shape that lies along a face of the other, as near. Stage 2 clips the second
face, or the edge, by the sides of the first and keeps at most four corners. Both work on constants: which
features touch is no function to differentiate. Stage 3 computes the contacts from these features alone, exact in
poses, sizes and vertices: corners, and where an edge crosses a side (mjc_multicontact, polygonClip in 4.0).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.collision.convex.clip import clip, corners, following
from jaxsim.collision.convex.features import EDGE_COS, FACE_COS, Features, corners_of, features, most_corners
from jaxsim.collision.convex.form import Library
from jaxsim.collision.convex.penetration import Penetration
from jaxsim.collision.convex.polygons import SIDES, at_index
from jaxsim.collision.convex.quadrilateral import largest_quadrilateral
from jaxsim.collision.shape import NO_CONTACT, Candidates, Shape, first_true, pick
from jaxsim.core.enums import GeomType as G

Array = jax.Array

FACES, EDGE1, EDGE2 = 1, 2, 3  # what meets: two faces, an edge of shape 1 and a face of 2, or the reverse
PARALLEL = 1e3  # times the precision: the sine of the angle of two lines that cross nowhere in particular
MOST = 4  # contacts of two shapes
PAIRS = tuple((i, j) for i in range(4) for j in range(i + 1, 4))


class Meeting(NamedTuple):
    """What meets: kind [] (0 for nothing); the faces, as numbers [2] and as masks [2, d] of the candidates of both
    shapes; and the edge, as a mask [e] of the edges of both."""

    kind: Array
    number: Array
    normal: Array
    edge: Array


def contacts_per_pair(kind1: int, kind2: int) -> int:
    """The most contacts of two shapes (mj_maxContact): four with two flat faces, two with a capsule, else one."""
    flat = (G.CYLINDER, G.BOX, G.MESH)
    if kind1 in flat and kind2 in flat:
        return MOST
    if {kind1, kind2} & {G.CAPSULE} and (kind1 in flat or kind2 in flat):
        return 2
    return 1


def multicontact(
    served: Library, a: Shape, b: Shape, found: Penetration, margin: Array, swell: bool = True
) -> Candidates:
    """All contacts of two shapes, from the deepest one: Candidates [4].

    Args:
        served: the cores that shapes may have.
        a, b: the geoms, whose data are forms.
        found: where they are nearest; its dist is the first contact's where no features meet.
        margin: [] distance (m) up to which corners count.
        swell: whether capsules are thicker by half of the margin where their sides end, as MuJoCo's are.
    """
    thicker = 0.5 * jnp.maximum(margin, 0) if swell else jnp.zeros_like(margin)
    a, b, origin, middle = _about_contact(a, b, found)
    one, two = _features(served, a, b, found, middle, thicker)
    meeting = _meeting(*lax.stop_gradient((one, two, found.normal)))
    both = jax.tree.map(lambda x, y: jnp.stack([x, y]), a, b)
    longest = most_corners(served)
    faces, counts = jax.vmap(lambda s, f: corners_of(s, f, longest, served.polygons))(both, meeting.number)
    face1, face2, count1, count2 = faces[0], faces[1], counts[0], counts[1]

    swap, lies = meeting.kind == EDGE1, meeting.kind == FACES  # the face that cuts is that of shape 2; no edge
    sides = jnp.where(swap, face2, face1)
    nsides = jnp.where(meeting.kind == 0, 0, jnp.where(swap, count2, count1))
    normals = pick(meeting.normal, jnp.concatenate([one.normal, two.normal]))
    up = jnp.where(meeting.kind == 0, found.normal, jnp.where(swap, normals[1], normals[0]))
    # out of a capsule along the contact's normal, and back along the face's
    beyond = jnp.where(swap & (a.data.kind == G.CAPSULE), thicker, 0) * (found.normal + up)
    polygon = jnp.where(lies, face2, _edge(one, two, meeting.edge, longest) + beyond[None])
    count = jnp.where(lies, count2, 2)
    other = jnp.where(lies, normals[1], -up)

    cap = lies & jnp.any(both.data.kind == G.CYLINDER)
    chosen, wanted = _choose(*lax.stop_gradient((polygon, sides, up)), count, nsides, margin, cap)
    point = _points(polygon, count, sides, nsides, (up, other), chosen)
    return _contacts(point, wanted, (sides[0], up, other), meeting.kind, found, (origin, middle))


def cutting_sides(served: Library, a: Shape, b: Shape, found: Penetration) -> Array:
    """How many sides [] int32 the face has that cuts another, or an edge, where two shapes are nearest; 0 where no
    features meet, and there is but one contact."""
    a, b, found = lax.stop_gradient((a, b, found))
    a, b, _, middle = _about_contact(a, b, found)
    meeting = _meeting(*_features(served, a, b, found, middle, jnp.zeros_like(found.dist)), found.normal)
    count = at_index(served.polygons.corner_num, meeting.number)
    return jnp.where(meeting.kind == 0, 0, jnp.where(meeting.kind == EDGE1, count[1], count[0]))


def _about_contact(a: Shape, b: Shape, found: Penetration) -> tuple[Shape, Shape, Array, Array]:
    """The shapes relative to an origin [3] at the contact, that origin, and it relative to the centre of a [3] (m)."""
    middle = lax.stop_gradient(0.5 * (found.witness1 + found.witness2))
    origin = a.pos + middle
    return a._replace(pos=-middle), b._replace(pos=b.pos - origin), origin, middle


# stage 1


def _features(
    served: Library, a: Shape, b: Shape, found: Penetration, middle: Array, swell: Array
) -> tuple[Features, Features]:
    """What of both shapes may touch."""
    both = jax.tree.map(lambda x, y: jnp.stack([x, y]), a, b)
    points = jnp.stack([found.vertices1, found.vertices2])
    touch = jnp.stack([found.normal, -found.normal]), jnp.stack([found.witness1, found.witness2]) - middle[None]
    of_both = jax.vmap(lambda shape, point, at: features(served, shape, point, at, swell))(both, points, touch)
    one, two = (jax.tree.map(lambda x, i=i: x[i], of_both) for i in (0, 1))
    # of two cylinders, C has one contact where an end of the second's side is within the first's cap
    drums = jnp.all(both.data.kind == G.CYLINDER)
    spans = jnp.any(found.vertices2 == 0) & jnp.any(found.vertices2 == 1)
    return one, two._replace(edge=two.edge & (spans | ~drums)[None])


def _meeting(one: Features, two: Features, normal: Array) -> Meeting:
    """The two faces, or the edge and the face, that meet."""
    owner = np.repeat([0, 1], [len(one.face), len(two.face)])
    normals = jnp.concatenate([one.normal, two.normal])
    toward = jnp.sum(normals * normal[None], axis=1) * jnp.asarray(1 - 2 * owner, normal.dtype)
    possible = jnp.concatenate([one.possible, two.possible])
    opposed = _opposed(one.normal, two.normal, possible & (toward > EDGE_COS))

    tiny = 1e-12 if normal.dtype == jnp.float64 else 1e-6
    along, length = vector.normalize_with_norm(jnp.concatenate([one.end - one.start, two.end - two.start]))
    usable = jnp.concatenate([one.edge, two.edge]) & (length > 0)
    flat = jnp.abs(jnp.sum(normals[:, None] * along[None], axis=-1)) < EDGE_COS
    lying = flat & (possible & (toward > tiny))[:, None] & usable[None]

    owner_of_edge = np.repeat([0, 1], [len(one.edge), len(two.edge)])
    block1 = (owner[:, None] == 1) & (owner_of_edge[None] == 0)  # of faces of shape 2 and edges of shape 1
    block2 = (owner[:, None] == 0) & (owner_of_edge[None] == 1)
    has1, has2 = jnp.any(one.possible), jnp.any(two.possible)
    begin2 = (two.size < 3) & has1 & ((two.size < one.size) | ~has2)
    hits1, hits2 = jnp.any(lying & block1), jnp.any(lying & block2)
    kind = jnp.where(hits2 & (begin2 | ~hits1), EDGE2, jnp.where(hits1, EDGE1, 0))
    hit = lying & jnp.where(kind == EDGE1, block1, block2)
    hit = first_true(hit.reshape(-1)).reshape(hit.shape)  # the first face that an edge lies along, and that edge
    kind = jnp.where(jnp.any(opposed), FACES, kind).astype(jnp.int32)
    kind = jnp.where((kind == EDGE1) & ~one.known | (kind == EDGE2) & ~two.known, 0, kind)  # C's is any of many
    face = jnp.where(kind == FACES, opposed, jnp.any(hit, axis=1))
    masks = face[None] & (owner[None] == np.arange(2)[:, None])
    numbers = jnp.sum(jnp.where(masks, jnp.concatenate([one.face, two.face])[None], 0), axis=1, dtype=jnp.int32)
    return Meeting(kind, numbers, masks, jnp.any(hit, axis=0))


def _opposed(normal1: Array, normal2: Array, toward: Array) -> Array:
    """The two faces that face each other best, as a mask of the candidates of both; none beyond the tolerance."""
    n = len(normal1)
    cos = jnp.sum(normal1[:, None] * normal2[None], axis=-1)
    cos = jnp.where(toward[:n, None] & toward[None, n:], cos, 1).reshape(-1)
    tie = 1e-12 if cos.dtype == jnp.float64 else 1e-5
    best = first_true((cos < jnp.min(cos) + tie) & (cos < -FACE_COS)).reshape(n, -1)
    return jnp.concatenate([jnp.any(best, axis=1), jnp.any(best, axis=0)])


def _edge(one: Features, two: Features, edge: Array, most: int) -> Array:
    """The ends of the edge that meets a face, as a polygon [most, 3]."""
    starts, ends = jnp.concatenate([one.start, two.start]), jnp.concatenate([one.end, two.end])
    both = pick(edge[None], jnp.stack([starts, ends], axis=1))[0]
    return both[np.minimum(np.arange(most), 1)]


# stage 2


def _choose(polygon: Array, sides: Array, up: Array, count: Array, nsides: Array, margin: Array, cap: Array):
    """Slot, cut [4] (see `clip.Ring`) and place [4, 3] of the corners that stay, and whether [4] each is one."""
    axes = _axes(up)
    local, flat = (jnp.sum((x - sides[:1])[:, None] * axes[None], axis=-1) for x in (polygon, sides))
    height = jnp.where(nsides > 2, margin, -NO_CONTACT)
    ring = clip(local, count, flat[:, :2], nsides)
    found = corners(ring, height)
    places = ring.ends[:, 0]
    whole = cap & (found.total == SIDES)  # a cylinder's cap as it is
    four = largest_quadrilateral(
        lambda i: at_index(places, at_index(found.slot, i)), found.total, 16 * len(places), up.dtype, level=whole
    )
    slot = at_index(found.slot, jnp.minimum(four, len(places) - 1))
    ends, many = _ends(at_index(places, found.slot[:4]), found.total), (count == 2) & (found.total > 2)
    slot = jnp.where(many, at_index(found.slot, ends), slot)
    wanted = np.arange(4, dtype=np.int32) < jnp.where(many, 2, found.total)
    place = sides[:1] + jnp.sum(at_index(places, slot)[:, :, None] * axes[None], axis=1)
    return (slot, at_index(ring.cut, slot), place), wanted


def _axes(up: Array) -> Array:
    """Unit axes [3, 3], rows, of which the last is `up`."""
    side = jnp.where(jnp.abs(up[:1]) < 0.7, np.array([1.0, 0, 0]), np.array([0, 1.0, 0])).astype(up.dtype)
    across = vector.normalize(vector.cross(up, side))
    return jnp.stack([across, vector.cross(up, across), up])


def _ends(point: Array, total: Array) -> Array:
    """The two of an edge's corners [4, 3], of which each crossing gives two at one place, that are furthest apart."""
    first, second = (np.array(x, np.int32) for x in zip(*PAIRS))
    apart = point[second] - point[first]
    far = jnp.where(second < total, jnp.sum(apart * apart, axis=1), -1)
    hot = first_true(far >= jnp.max(far) * (1 - 1e-9))
    i, j = (jnp.sum(jnp.where(hot, x, 0), dtype=jnp.int32) for x in (first, second))
    return jnp.stack([i, j, i, j])


# stage 3


def _points(polygon: Array, count: Array, sides: Array, nsides: Array, normals, chosen) -> Array:
    """Where the chosen slots meet [4, 3]: a corner, a side that an edge crosses, or a side's corner held against the
    polygon's plane; nearly where the clipping had them."""
    up, other = normals
    slot, cut, nearly = chosen
    p, s = polygon.shape[0], sides.shape[0]
    own, cut_own = slot < p, cut < p
    line, wall = jnp.where(own, slot, cut), jnp.where(own, cut, slot) - p
    edges = (
        jnp.stack([polygon, following(polygon, count)], axis=1),
        jnp.stack([sides, following(sides, nsides)], axis=1),
    )
    start, end = _columns(pick(line[:, None] == np.arange(p, dtype=np.int32)[None], edges[0]))
    foot, head = _columns(pick(wall[:, None] == np.arange(s, dtype=np.int32)[None], edges[1]))

    inward = vector.cross(head - foot, jnp.broadcast_to(up[None], head.shape))
    h1, h2 = vector.dot(start - foot, inward), vector.dot(end - foot, inward)
    crosses = (own != cut_own) & (h1 != h2)
    # side by side rounding decides where they cross, and that has to be where the clipping had it
    along = end - start
    length, width = vector.norm(along), vector.norm(inward)
    aside = jnp.abs(h1 - h2) <= PARALLEL * jnp.finfo(h1.dtype).eps * length * width
    clipped = vector.dot(nearly - start, along) / jnp.where(length > 0, length * length, 1)
    share = jnp.where(aside, lax.stop_gradient(clipped), h1 / jnp.where(crosses & ~aside, h1 - h2, 1))
    crossing = start + share[:, None] * along
    # seen from one side the two polygons run opposite ways: that where two sides meet begins at the side's head
    level = vector.dot(head - polygon[:1], other[None]) / jnp.where(jnp.sum(up * other) < -0.5, jnp.sum(up * other), -1)
    lifted = head - level[:, None] * up[None]
    # where polygons are not quite flat the corner is held against the chord that the clipping made
    lifted = lifted + lax.stop_gradient(nearly - lifted)
    return jnp.where((own & cut_own)[:, None], start, jnp.where((own != cut_own)[:, None], crossing, lifted))


def _columns(x: Array) -> tuple[Array, Array]:
    return x[:, 0], x[:, 1]


def _contacts(point: Array, wanted: Array, plane, kind: Array, found: Penetration, places) -> Candidates:
    """Contacts [k] of corners with the face that cut them; the one that was found if there are none."""
    (foot, up, other), (origin, middle) = plane, places
    height = vector.dot(point - foot[None], up[None])
    on_face = point - height[:, None] * up[None]
    dist = -height * jnp.sum(up * other)
    pos = on_face - 0.5 * dist[:, None] * other[None]
    normal = jnp.where(kind == EDGE1, -up, jnp.where(kind == EDGE2, up, -other))

    several = jnp.any(wanted) & (found.dist < NO_CONTACT)
    single = np.arange(len(point)) == 0
    dist = jnp.where(several, jnp.where(wanted, dist, NO_CONTACT), jnp.where(single, found.dist, NO_CONTACT))
    between = 0.5 * (found.witness1 + found.witness2) - middle
    pos = origin[None] + jnp.where(several, pos, between[None])
    normal = jnp.broadcast_to(jnp.where(several, normal, found.normal)[None], pos.shape)
    return Candidates(dist, pos, normal, jnp.zeros_like(normal))
