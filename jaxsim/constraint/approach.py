"""Gaps at the end of a step, linearised there: what the hard contact law keeps positive.

Each side of a contact has a core point that is fixed to its body, with a radius about it: the centre of a sphere, a
point on a capsule's axis, or else the point that touches, with the radius zero. The normal rests:

    gap(v) = gap now + n . (core2(q (+) h v) - core2(q)) - n . (core1(q (+) h v) - core1(q))

which is exact where a sphere, an end of a capsule, a corner or a vertex meets a plane or a resting face, and between
two spheres never more than the gap; of other shapes it leaves out how the touching point wanders over the surface
within the step, which is of second order. So do gaps between other bodies of which both move: they are linear in v.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.algebra.select import put, take
from jaxsim.algebra.tree import ancestor
from jaxsim.collision.shape import NO_CONTACT
from jaxsim.collision.slots import ContactSlots, of_bodies, of_geoms, of_slots, pairs_of
from jaxsim.constraint.contact import ContactMotion, contact_jacobian
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
    """One side of n contacts."""

    which: int  # 0 for the first geom, 1 for the second
    sign: Array  # [n] of its motion along the normal in the gap; 0 where it rests, or where the gap is linear
    core: Array  # [n, 3] m
    local: Array  # [n, 3] m, the same in the frame of its body


class Approach(NamedTuple):
    """What of n contacts does not depend on the velocity of the step."""

    m: Model
    d: Data
    slots: ContactSlots
    curved: Array  # [n] bool: the gap is not linear; the rest of these says nothing of other contacts
    sides: list[Side]
    normal: Array  # [n, 3] from the first geom to the second


def approach_of(m: Model, d: Data, slots: ContactSlots) -> Approach | None:
    """The contacts [n] of a state; None if all gaps are linear."""
    signs, normal = _signs(m), slots.frame[:, 0]
    sides = [_side(m, d, slots, which, signs[which]) for which in (0, 1) if signs[which].any()]
    curved = of_slots(m, slots, jnp.asarray(signs.any(axis=0)))
    return Approach(m, d, slots, curved, sides, normal) if sides else None


def _side(m: Model, d: Data, slots: ContactSlots, which: int, sign: np.ndarray) -> Side:
    outwards = (-1, 1)[which] * slots.frame[:, 0]
    half = 0.5 * jnp.where(slots.dist < NO_CONTACT, slots.dist, 0)
    radius = of_geoms(m, slots, which, jnp.where(np.isin(m.geom_type, ROUND), m.geom_size[:, 0], 0))
    core = slots.pos + (half + radius)[:, None] * outwards
    pos, mat = _poses(m, d, slots, which)
    each = of_slots(m, slots, jnp.asarray(sign, core.dtype))
    return Side(which, each, core, vector.matvec_t(mat, core - pos))


def linearised(a: Approach, v: Array, linear: Array) -> tuple[Array, Array]:
    """By how much gaps [n] (m) grow in a step with the velocity v [nv], and the derivatives [n, nv] of that with v, by
    the timestep; `linear` [n, nv] is J of the normals."""
    m, h = a.m, a.m.opt.timestep
    d = kinematics(m, a.d.replace(qpos=integrate_pos(m, a.d.qpos, v, h)))
    rise, wrenches, moves = jnp.zeros_like(a.slots.dist), [], []
    root, below = take(a.d.subtree_com, m.body_rootid[m.geom_bodyid]), ancestor(m.topology)[m.geom_bodyid]
    for s in a.sides:
        pos, mat = _poses(m, d, a.slots, s.which)
        core = pos + vector.matvec(mat, s.local)
        rise = rise + s.sign * vector.dot(a.normal, core - s.core)
        arm = core - of_geoms(m, a.slots, s.which, root)
        wrenches.append(vector.join(vector.cross(arm, a.normal), a.normal)[:, None])
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


def _signs(m: Model) -> np.ndarray:
    """[2, npair] of the motion of each side along the normal: of the one that meets a flat side that rests, and of both
    where both are round; else 0."""
    pairs, rounded = pairs_of(m), np.isin(m.geom_type, ROUND)
    rests = ~rounded & (m.body_weldid[m.geom_bodyid] == 0)
    both = rounded[pairs.geom1] & rounded[pairs.geom2]
    second = rests[pairs.geom1] | both
    first = (rests[pairs.geom2] | both) & ~rests[pairs.geom1]
    return np.stack([-1 * first, 1 * second])


def _poses(m: Model, d: Data, slots: ContactSlots, which: int) -> tuple[Array, Array]:
    """Positions [n, 3] and orientations [n, 3, 3] of the bodies on one side."""
    here = of_bodies(m, slots, which, jnp.concatenate([d.xpos, d.xmat], axis=1))
    return here[:, :3], here[:, 3:].reshape(-1, 3, 3)
