"""Gaps at the end of a step, linearised there: what the hard contact law keeps positive.

Where something meets a flat side that rests, it has a core point that is fixed to its body, with a radius about it: the
centre of a sphere, a point on a capsule's axis, or else the point that touches, with the radius zero. The normal rests:

    gap(v) = gap now + n . (core(q (+) h v) - core(q))

which is exact for a sphere, an end of a capsule, a corner or a vertex; ellipsoids and cylinders roll, so that another
point is the core at the end of the step (`rolling.py`). Spheres and capsules have segments as cores, and two of them
the gap that they will have, whichever points of their cores are nearest then:

    gap(v) = |core2 - core1| - radii    at q (+) h v,    d gap = n . (dcore2 - dcore1)

Nearest points need not be differentiated for that. Parallel capsules touch twice, each time an end of one against the
segment of the other. Where one of them meets another shape that moves, that has a plane fixed to its body, through
the point that touches and across the normal, which is exact for a box's face, and before which a convex body lies:

    gap(v) = n . (core - plane)    at q (+) h v,    d gap = n . (dcore - what the plane's body moves by at the core)

Gaps between other bodies of which both move are linear in v.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.algebra.select import put, take
from jaxsim.algebra.tree import ancestor
from jaxsim.collision.segments import nearest, parallel
from jaxsim.collision.shape import NO_CONTACT
from jaxsim.collision.slots import ContactSlots, of_bodies, of_geoms, of_slots, pairs_of
from jaxsim.constraint.contact import ContactMotion, contact_jacobian
from jaxsim.constraint.rolling import Rolling, rolled, rolling_of
from jaxsim.core.data import Data
from jaxsim.core.enums import GeomType
from jaxsim.core.model import Model
from jaxsim.dynamics.com import motion_axes
from jaxsim.dynamics.coordinates import TURNING, joints_of, read, spins_of
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.dynamics.position import integrate_pos

Array = jax.Array

ROUND = (GeomType.SPHERE, GeomType.CAPSULE)
# the matrix of a cross product with a is sum_i a_i CROSS[i]
CROSS = np.stack([np.cross(np.eye(3), e) for e in np.eye(3)])


class Side(NamedTuple):
    """One side of n contacts; where it is a plane, `core` is a point of it and `axis` the contact's normal."""

    which: int  # 0 for the first geom, 1 for the second
    sign: Array  # [n] of its motion along the normal in the gap; 0 where it rests, or where the gap is linear
    core: Array  # [n, 3] m, the core point, or the middle of the core segment
    axis: Array  # [n, 3] m, half of the core segment; zero for points


class Cores(NamedTuple):
    """The cores of n contacts between round geoms, as the step begins; idle elsewhere."""

    on: Array  # [n] bool
    apart: Array  # [n] m, how far from each other


class Approach(NamedTuple):
    """What of n contacts does not depend on the velocity of the step."""

    m: Model
    d: Data
    slots: ContactSlots
    curved: Array  # [n] bool: the gap is not linear; the rest of these says nothing of other contacts
    sides: list[Side]  # as the step begins
    local: list[Side]  # the same in the frames of their bodies
    normal: Array  # [n, 3] from the first geom to the second, as the step begins
    cores: Cores | None
    flat: tuple[Array, Array] | None  # [n] bool: which sides are planes of bodies that move
    rolling: list[Rolling | None]  # of each side


def approach_of(m: Model, d: Data, slots: ContactSlots) -> Approach | None:
    """The contacts [n] of a state; None if all gaps are linear."""
    signs, normal = _signs(m), slots.frame[:, 0]
    sides = [_side(m, slots, which, signs[which]) for which in (0, 1) if signs[which].any()]
    if not sides:
        return None
    alone = ~(_both(m) | _flat(m).any(axis=0))
    rolling = [rolling_of(m, d, slots, s.which, alone & (signs[s.which] != 0), s.core) for s in sides]
    curved, cores = of_slots(m, slots, jnp.asarray(signs.any(axis=0))), None
    if _both(m).any():
        apart = _length(slots) + _radius(m, slots, 0) + _radius(m, slots, 1)
        cores = Cores(of_slots(m, slots, jnp.asarray(_both(m))), apart)
        sides = _segments(m, d, slots, cores.on, sides)
    flat = None
    if _flat(m).any():
        one, two = (of_slots(m, slots, jnp.asarray(x)) for x in _flat(m))
        flat = one, two
        sides = [s._replace(axis=jnp.where(x[:, None], normal, s.axis)) for s, x in zip(sides, flat)]
    local = [_placed(m, d, slots, s, back=True) for s in sides]
    return Approach(m, d, slots, curved, sides, local, normal, cores, flat, rolling)


def _length(slots: ContactSlots) -> Array:
    """[n] m: distances, zero in idle slots."""
    return jnp.where(slots.dist < NO_CONTACT, slots.dist, 0)


def _radius(m: Model, slots: ContactSlots, which: int) -> Array:
    """[n] m: about the core of one side."""
    return of_geoms(m, slots, which, jnp.where(np.isin(m.geom_type, ROUND), m.geom_size[:, 0], 0))


def _side(m: Model, slots: ContactSlots, which: int, sign: np.ndarray) -> Side:
    """One side with the core points at which it touches."""
    outwards = (-1, 1)[which] * slots.frame[:, 0]
    core = slots.pos + (0.5 * _length(slots) + _radius(m, slots, which))[:, None] * outwards
    return Side(which, of_slots(m, slots, jnp.asarray(sign, core.dtype)), core, jnp.zeros_like(core))


def _segments(m: Model, d: Data, slots: ContactSlots, on: Array, sides: list[Side]) -> list[Side]:
    """Both sides, with core segments where both are round, but for the touching ends of parallel capsules."""
    half = jnp.where(m.geom_type == GeomType.CAPSULE, m.geom_size[:, 1], 0)
    table = vector.join(d.geom_xpos, half[:, None] * d.geom_xmat[:, 2::3])
    whole = [of_geoms(m, slots, s.which, table) for s in sides]
    middle, axis = [x[:, :3] for x in whole], [x[:, 3:] for x in whole]
    # the one that touches farther along its half: |core - middle| / |axis|, without the division
    far = [jnp.abs(vector.dot(s.core - x, u)) for s, x, u in zip(sides, middle, axis)]
    first = far[0] * vector.dot(axis[1], axis[1]) > far[1] * vector.dot(axis[0], axis[0])
    along = parallel(*axis)
    ends = [along & first, along & ~first]
    return [
        s._replace(core=jnp.where((on & ~end)[:, None], x, s.core), axis=jnp.where((on & ~end)[:, None], u, 0))
        for s, x, u, end in zip(sides, middle, axis, ends)
    ]


def _placed(m: Model, d: Data, slots: ContactSlots, s: Side, *, back: bool = False) -> Side:
    """A side with its core taken from the frames of bodies to the world's, or back."""
    here = of_bodies(m, slots, s.which, jnp.concatenate([d.xpos, d.xmat], axis=1))
    pos, mat = here[:, :3], here[:, 3:].reshape(-1, 3, 3)
    if back:
        return s._replace(core=vector.matvec_t(mat, s.core - pos), axis=vector.matvec_t(mat, s.axis))
    return s._replace(core=pos + vector.matvec(mat, s.core), axis=vector.matvec(mat, s.axis))


def linearised(a: Approach, v: Array, linear: Array) -> tuple[Array, Array]:
    """By how much gaps [n] (m) grow in a step with the velocity v [nv], and the derivatives [n, nv] of that with v, by
    the timestep; `linear` [n, nv] is J of the normals."""
    m, h = a.m, a.m.opt.timestep
    d = kinematics(m, a.d.replace(qpos=integrate_pos(m, a.d.qpos, v, h)))
    ends = [_placed(m, d, a.slots, s) for s in a.local]
    ends = [s if r is None else s._replace(core=rolled(m, d, a.slots, r, s.core)) for s, r in zip(ends, a.rolling)]
    rise, normal, points = jnp.zeros_like(a.slots.dist), a.normal, [end.core for end in ends]
    for s, point in zip(a.sides, points):
        rise = rise + s.sign * vector.dot(normal, point - s.core)
    if a.cores is not None:
        points, normal, between = _between(a, a.cores, *ends)
        rise = jnp.where(a.cores.on, between, rise)
    if a.flat is not None:
        on = (a.flat[0] | a.flat[1])[:, None]
        turned = jnp.where(a.flat[1][:, None], ends[1].axis, ends[0].axis)
        apart, before = ends[1].core - ends[0].core, a.sides[1].core - a.sides[0].core
        rise = jnp.where(on[:, 0], vector.dot(turned, apart) - vector.dot(a.normal, before), rise)
        normal = jnp.where(on, turned, normal)
        at = jnp.where(a.flat[1][:, None], ends[0].core, ends[1].core)
        points = [jnp.where(on, at, point) for point in points]
    wrenches, moves = [], []
    root, below = take(a.d.subtree_com, m.body_rootid[m.geom_bodyid]), ancestor(m.topology)[m.geom_bodyid]
    for s, point in zip(a.sides, points):
        arm = point - of_geoms(m, a.slots, s.which, root)
        wrenches.append(vector.join(vector.cross(arm, normal), normal)[:, None])
        moves.append(s.sign[:, None] * of_geoms(m, a.slots, s.which, jnp.asarray(below, v.dtype)))
    J = contact_jacobian(ContactMotion(motion_axes(m, d, a.d.subtree_com), tuple(wrenches), tuple(moves)))[:, 0]
    joints = joints_of(m, *TURNING)
    if len(joints):
        spins = spins_of(m, joints)
        columns = take(J.T, spins.ravel()).reshape(*spins.shape, -1)
        turned = jnp.einsum("jas,jan->jsn", _turn_rate(h * read(v, spins)), columns, precision="highest")
        J = put(J.T, spins.ravel(), turned.reshape(spins.size, -1)).T
    rise = jnp.where(a.curved, rise, h * lax.dot(linear, v, precision=lax.Precision.HIGHEST))
    return rise, jnp.where(a.curved[:, None], J, linear)


def _between(a: Approach, cores: Cores, first: Side, second: Side) -> tuple[list[Array], Array, Array]:
    """Nearest points [n, 3] of cores at the step's end, normals [n, 3] there, and how much further apart they are [n].

    A normal that turns by more than a right angle has passed the other core by: it stays what it was.
    """
    s, t = nearest(first.axis, second.axis, second.core - first.core)
    points = [first.core + s[:, None] * first.axis, second.core + t[:, None] * second.axis]
    line = points[1] - points[0]
    ahead = cores.on & (vector.dot(line, a.normal) > 0)
    length = vector.norm(line)
    normal = jnp.where(ahead[:, None], line / jnp.where(ahead, length, 1)[:, None], a.normal)
    return points, normal, vector.dot(normal, line) - cores.apart


def _turn_rate(x: Array) -> Array:
    """[n, 3, 3]: how a rotation by the vectors x [n, 3] turns further, in its own frame, when x changes."""
    square = vector.dot(x, x)[:, None, None]
    small = square < 1e-4
    some = jnp.where(small, 1, square)
    angle = jnp.sqrt(some)
    first = jnp.where(small, 0.5 - square / 24, (1 - jnp.cos(angle)) / some)
    second = jnp.where(small, 1 / 6 - square / 120, (1 - jnp.sin(angle) / angle) / some)
    skew = jnp.einsum("nk,kij->nij", x, jnp.asarray(CROSS, x.dtype), precision="highest")
    twice = jnp.einsum("nij,njk->nik", skew, skew, precision="highest")
    return jnp.eye(3, dtype=x.dtype)[None] - first * skew + second * twice


def _both(m: Model) -> np.ndarray:
    """[npair] bool: both sides are round."""
    pairs, rounded = pairs_of(m), np.isin(m.geom_type, ROUND)
    return rounded[pairs.geom1] & rounded[pairs.geom2]


def _flat(m: Model) -> np.ndarray:
    """[2, npair] bool: which sides are planes that move, since the other one is round."""
    pairs, rounded = pairs_of(m), np.isin(m.geom_type, ROUND)
    moves = m.body_weldid[m.geom_bodyid] != 0
    one, other = pairs.geom1, pairs.geom2
    return np.stack([~rounded[one] & rounded[other] & moves[one], ~rounded[other] & rounded[one] & moves[other]])


def _signs(m: Model) -> np.ndarray:
    """[2, npair] of the motion of each side along the normal: of the one that meets a flat side that rests, and of both
    where both are round, or one is and the other moves; else 0."""
    pairs, both = pairs_of(m), _both(m) | _flat(m).any(axis=0)
    rests = ~np.isin(m.geom_type, ROUND) & (m.body_weldid[m.geom_bodyid] == 0)
    second = rests[pairs.geom1] | both
    first = (rests[pairs.geom2] | both) & ~rests[pairs.geom1]
    return np.stack([-1 * first, 1 * second])
