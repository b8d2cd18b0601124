"""Gaps at the end of a step to what stands still, linearised there: what the hard contact law keeps positive.

A contact has a core point that is fixed to the moving body, with a radius about it: the centre of a sphere, a point on
a capsule's axis, or else the point that touches, with the radius zero. The other side rests, and so does the normal:

    gap(v) = gap now + n . (core(q (+) h v) - core(q))

which is exact where a sphere, an end of a capsule, a corner or a vertex meets a plane or a resting face; of other
shapes it leaves out how the touching point wanders over the surface within the step, which is of second order. So it
does between two bodies that move, whose gaps are linear in v.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.algebra.select import put, take
from jaxsim.algebra.tree import ancestor
from jaxsim.collision.compact import gather
from jaxsim.collision.shape import NO_CONTACT
from jaxsim.collision.slots import ContactSlots, fixed_pairs, of_slots, pairs_of
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


class Approach(NamedTuple):
    """What of n contacts does not depend on the velocity of the step."""

    m: Model
    d: Data
    slots: ContactSlots
    resting: Array  # [n] bool: one side stands still; the rest of these says nothing of other contacts
    core: Array  # [n, 3] m
    local: Array  # [n, 3] m, the same in the frame of its body
    normal: Array  # [n, 3] away from what stands still


def approach_of(m: Model, d: Data, slots: ContactSlots) -> Approach | None:
    """The contacts [n] of a state; None if none has a side that stands still."""
    side = _moving(m)[0]
    if not side.any():
        return None
    away = of_slots(m, slots, jnp.asarray(np.where(side == 2, 1, -1), slots.pos.dtype))
    normal = away[:, None] * slots.frame[:, 0]
    half = 0.5 * jnp.where(slots.dist < NO_CONTACT, slots.dist, 0)
    radius = _of_geom(slots, m, jnp.where(np.isin(m.geom_type, ROUND), m.geom_size[:, 0], 0))
    core = slots.pos + (half + radius)[:, None] * normal
    pos, mat = _poses(m, d, slots)
    local = vector.matvec_t(mat, core - pos)
    return Approach(m, d, slots, of_slots(m, slots, jnp.asarray(side > 0)), core, local, normal)


def _ahead(a: Approach, v: Array) -> tuple[Data, Array]:
    """Where bodies and core points [n, 3] are after a step with the velocity v [nv]."""
    d = kinematics(a.m, a.d.replace(qpos=integrate_pos(a.m, a.d.qpos, v, a.m.opt.timestep)))
    pos, mat = _poses(a.m, d, a.slots)
    return d, pos + vector.matvec(mat, a.local)


def linearised(a: Approach, v: Array, linear: Array) -> tuple[Array, Array]:
    """By how much gaps [n] (m) grow in a step with the velocity v [nv], and the derivatives [n, nv] of that with v, by
    the timestep; `linear` [n, nv] is J of the normals."""
    m, (d, core) = a.m, _ahead(a, v)
    h = m.opt.timestep
    rise = jnp.where(
        a.resting, vector.dot(a.normal, core - a.core), h * lax.dot(linear, v, precision=lax.Precision.HIGHEST)
    )
    body, root = m.geom_bodyid, take(a.d.subtree_com, m.body_rootid)
    arm = core - _of_geom(a.slots, m, take(root, body))
    wrench = vector.join(vector.cross(arm, a.normal), a.normal)[:, None]
    moves = _of_geom(a.slots, m, jnp.asarray(ancestor(m.topology)[body], v.dtype))
    J = contact_jacobian(ContactMotion(motion_axes(m, d, a.d.subtree_com), (wrench,), (moves,)))[:, 0]
    joints = joints_of(m, *TURNING)
    if len(joints):
        spins = spins_of(m, joints)
        columns = take(J.T, spins.ravel()).reshape(*spins.shape, -1)
        turned = jnp.einsum("jas,jan->jsn", _turn_rate(h * read(v, spins)), columns, precision="highest")
        J = put(J.T, spins.ravel(), turned.reshape(spins.size, -1)).T
    return rise, jnp.where(a.resting[:, None], J, linear)


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


def _moving(m: Model) -> tuple[np.ndarray, np.ndarray]:
    """[npair] which side moves against a flat one that rests, 1 or 2, or 0 if it is not so; and the geom that does."""
    pairs, flat = pairs_of(m), ~np.isin(m.geom_type, ROUND)
    rests = flat & (m.body_weldid[m.geom_bodyid] == 0)
    side = np.where(rests[pairs.geom1], 2, np.where(rests[pairs.geom2], 1, 0))
    return side, np.where(side == 1, pairs.geom1, pairs.geom2)


def _of_geom(slots: ContactSlots, m: Model, table: Array) -> Array:
    """What a table over the geoms [ngeom, ...] says of the moving geom of each slot [n, ...]."""
    geom = _moving(m)[1]
    if slots.pair is None:
        return take(table, geom[fixed_pairs(m)])
    return gather(table, gather(jnp.asarray(geom, jnp.int32), slots.pair))


def _poses(m: Model, d: Data, slots: ContactSlots) -> tuple[Array, Array]:
    """Positions [n, 3] and orientations [n, 3, 3] of the moving bodies."""
    poses = jnp.concatenate([d.xpos, d.xmat], axis=1)
    here = _of_geom(slots, m, take(poses, m.geom_bodyid))
    return here[:, :3], here[:, 3:].reshape(-1, 3, 3)
