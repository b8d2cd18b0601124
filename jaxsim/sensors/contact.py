"""Contact sensors: which contacts match, which of them are reported, and what of them (mj_sensorAcc).

A sensor has a number of slots, each with the same fields: those of one contact, or of all together. Which contacts
these are is a decision; what is said of them is what is differentiated.
"""

from enum import IntEnum

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import spatial, vector
from jaxsim.algebra.select import gather_groups, take
from jaxsim.algebra.tree import subtree
from jaxsim.collision.compact import gather
from jaxsim.collision.order import ContactOrder, contact_order
from jaxsim.collision.slots import ContactSlots, detected, of_bodies, of_geoms
from jaxsim.constraint.solution import Solution
from jaxsim.core.data import Data
from jaxsim.core.enums import MINVAL, ObjType
from jaxsim.core.model import Model
from jaxsim.sensors.zone import in_sites

Array = jax.Array


class Field(IntEnum):
    """What a sensor says of a contact (mjtConDataField)."""

    FOUND = 0
    FORCE = 1
    TORQUE = 2
    DIST = 3
    POS = 4
    NORMAL = 5
    TANGENT = 6
    LINVEL = 7
    ANGVEL = 8


class Reduce(IntEnum):
    """Which contacts a sensor reports: the first, the deepest, the strongest, or the sum of all."""

    NONE = 0
    MINDIST = 1
    MAXFORCE = 2
    NETFORCE = 3


WIDTH = np.array([1, 3, 3, 1, 3, 3, 3, 3, 3])
START = np.cumsum(WIDTH) - WIDTH  # of each field in a record of all of them
WORLD_AXES = np.array([1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])  # normal and tangent of the sum of contacts, no velocities
# signs of a record seen from the other side: the frame turned about its third axis, the force reversed
TURNED = np.array([1, 1, 1, -1, 1, 1, -1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, 1, 1, -1, 1, 1, -1])


def contacts(m: Model, d: Data, s: np.ndarray, solution: Solution) -> Array:
    """CONTACT [sum of sensor_dim]: the slots of each sensor, one after the other; zeros in those without a contact."""
    reduce, slots, dtype = m.sensor_intprm[s, 1], solution.slots, d.qpos.dtype
    if slots is None:
        return jnp.zeros(int(m.sensor_dim[s].sum()), dtype)
    match, parts = _matches(m, d, s, slots), []
    net, single = (np.flatnonzero(x) for x in (reduce == Reduce.NETFORCE, reduce != Reduce.NETFORCE))
    if len(single):
        parts.append(_records(m, d, s[single], solution, take(match, single)))
    if len(net):
        parts.append(_sums(slots, solution, take(match, net)))
    flat = jnp.concatenate([*(x.reshape(-1) for x in parts), jnp.zeros(1, dtype)])
    return take(flat, _places(m, s, slots.dist.shape[0]))


def _places(m: Model, s: np.ndarray, n: int) -> np.ndarray:
    """Where each value is among the records: of single contacts, k for each sensor, of sums, and then a zero."""
    reduce, k = m.sensor_intprm[s, 1], _most(m, s, n)
    net, size = reduce == Reduce.NETFORCE, int(WIDTH.sum())
    before = np.where(net, np.cumsum(net) - 1 + k * np.sum(~net), k * (np.cumsum(~net) - 1))
    zero = size * int(k * np.sum(~net) + np.sum(net))
    places = []
    for i, (fields, _, num) in enumerate(m.sensor_intprm[s]):
        columns = np.concatenate([START[f] + np.arange(WIDTH[f]) for f in Field if fields >> f & 1])
        record = np.arange(num)[:, None]
        filled = record < (1 if net[i] else k)
        places.append(np.where(filled, size * (before[i] + record) + columns, zero).ravel())
    return np.concatenate(places)


def _most(m: Model, s: np.ndarray, n: int) -> int:
    """The most single contacts that a sensor reports."""
    single = s[m.sensor_intprm[s, 1] != Reduce.NETFORCE]
    return min(int(m.sensor_intprm[single, 2].max(initial=0)), n)


def _matches(m: Model, d: Data, s: np.ndarray, slots: ContactSlots) -> Array:
    """[S, n] 1 where a contact matches, -1 where it does with its geoms in reverse, else 0."""
    objects = _geoms_of(m, m.sensor_objtype[s], m.sensor_objid[s]), _geoms_of(m, m.sensor_reftype[s], m.sensor_refid[s])
    table = jnp.asarray(np.concatenate(objects).T)
    (first1, first2), (second1, second2) = (jnp.split(of_geoms(m, slots, side, table).T, 2) for side in (0, 1))
    counts = detected(m, slots)[None]
    sites = np.flatnonzero(m.sensor_objtype[s] == ObjType.SITE)
    if len(sites):
        zone = in_sites(m, d, m.sensor_objid[s[sites]], slots.pos[None])
        others = np.setdiff1d(np.arange(len(s)), sites)
        counts = counts & gather_groups([(sites, zone), (others, jnp.ones((len(others), 1), bool) & counts)], len(s))
    forward, reverse = first1 & second2, second1 & first2
    one = jnp.ones((), jnp.int32)
    return jnp.where(counts & forward, one, jnp.where(counts & reverse, -one, 0))


def _geoms_of(m: Model, kinds: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """[S, ngeom] which geoms belong to an object; all of them to a site and to no object."""
    body, below = np.asarray(m.geom_bodyid), subtree(m.topology)
    belongs = {
        ObjType.GEOM: lambda i: np.arange(m.ngeom) == i,
        ObjType.BODY: lambda i: body == i,
        ObjType.XBODY: lambda i: below[i][body] != 0,
    }
    return np.array([belongs.get(kind, lambda i: np.ones(m.ngeom, bool))(i) for kind, i in zip(kinds, ids)])


def _records(m: Model, d: Data, s: np.ndarray, solution: Solution, match: Array) -> Array:
    """[S, k, 23] all fields of the contacts that sensors of single contacts report."""
    slots = solution.slots
    assert slots is not None
    k, found = _most(m, s, slots.dist.shape[0]), jnp.sum(match != 0, axis=1, dtype=slots.dist.dtype)
    order = contact_order(m, d, slots)
    chosen = _chosen(m, s, solution, match, order, k)
    used = int(np.bitwise_or.reduce(m.sensor_intprm[s, 0]))
    about = gather(_fields(m, d, solution, used), chosen.reshape(-1)).reshape(len(s), k, -1)
    slot = np.arange(slots.dist.shape[0], dtype=np.int32)
    side = jnp.sum(jnp.where(chosen[:, :, None] == slot[None, None], match[:, None], 0), axis=2)
    turned = jnp.asarray(TURNED[None, None, 1:], about.dtype)
    about = jnp.where((side < 0)[:, :, None], turned * about, about)
    count = jnp.broadcast_to(found[:, None, None], (len(s), k, 1))
    filled = jnp.asarray(np.arange(k), found.dtype)[None] < found[:, None]
    return jnp.where(filled[:, :, None], jnp.concatenate([count, about], axis=2), 0)


def _chosen(m: Model, s: np.ndarray, solution: Solution, match: Array, order: ContactOrder, k: int) -> Array:
    """[S, k] the slots of the contacts that sensors report, the first of equals; any where there are no more."""
    slots, reduce = solution.slots, m.sensor_intprm[s, 1][:, None]
    assert slots is not None
    force = solution.between_surfaces()[:, :3]
    measure = jnp.where(reduce == Reduce.MINDIST, slots.dist[None], 0)
    if (reduce == Reduce.MAXFORCE).any():
        measure = jnp.where(reduce == Reduce.MAXFORCE, -vector.dot(force, force)[None], measure)
    measure = order.sorted(jnp.where(match != 0, lax.stop_gradient(measure), jnp.inf).T).T

    place = np.arange(measure.shape[1], dtype=np.int32)

    def best(left: Array, _: None) -> tuple[Array, Array]:
        first = jnp.argmin(left, axis=1).astype(jnp.int32)
        return jnp.where(first[:, None] == place[None], jnp.inf, left), first

    places = best(measure, None)[1][None] if k == 1 else lax.scan(best, measure, None, length=k)[1]
    return gather(jnp.asarray(order.slot, jnp.int32), places.T)


def _fields(m: Model, d: Data, solution: Solution, used: int) -> Array:
    """[n, 22] force (N), torque (N m), dist and pos (m), normal, tangent, linvel (m/s) and angvel (rad/s) of contacts.

    Forces, torques and velocities, those of the second body against the first, are along the axes of the frame.
    """
    slots = solution.slots
    assert slots is not None
    parts = [wrenches(solution), slots.dist[:, None], slots.pos, slots.frame[:, 0], slots.frame[:, 1]]
    if used >> Field.LINVEL:
        carried = jnp.concatenate([d.cvel, take(d.subtree_com, m.body_rootid)], axis=1)
        first, second = (of_bodies(m, slots, side, carried) for side in (0, 1))
        moving = [spatial.shift_motion(x[:, :6], slots.pos - x[:, 6:]) for x in (first, second)]
        angular, linear = (vector.matvec(slots.frame, x) for x in spatial.halves(moving[1] - moving[0]))
        parts += [linear, angular]
    else:
        parts.append(jnp.zeros((slots.dist.shape[0], 6), slots.dist.dtype))
    return jnp.concatenate(parts, axis=1)


def wrenches(solution: Solution) -> Array:
    """Forces and torques [n, 6] of contacts along the axes of their frames."""
    force = solution.between_surfaces()
    return jnp.pad(force, ((0, 0), (0, 6 - force.shape[1])))


def _sums(slots: ContactSlots, solution: Solution, match: Array) -> Array:
    """[S, 23] records of all contacts together: the force and torque in world axes about the centre of the forces."""
    wrench, dtype = wrenches(solution), slots.dist.dtype
    push, turn = (vector.matvec_t(slots.frame, x) for x in (wrench[:, :3], wrench[:, 3:]))
    sign, strength = match.astype(dtype)[:, :, None], vector.norm(push)
    weight = jnp.where(match != 0, strength[None], 0)
    total = jnp.sum(weight, axis=1)[:, None]
    pos = jnp.where(jnp.any(match != 0, axis=0)[:, None], slots.pos, 0)[None]
    center = jnp.sum(weight[:, :, None] * pos, axis=1) / jnp.maximum(total, MINVAL)
    force = jnp.sum(sign * push[None], axis=1)
    moment = turn[None] + vector.cross(pos - center[:, None], jnp.broadcast_to(push[None], (len(match), *push.shape)))
    torque = jnp.sum(sign * moment, axis=1)
    found = jnp.sum(match != 0, axis=1, dtype=dtype)[:, None]
    frame = jnp.where(found > 0, jnp.asarray(WORLD_AXES[None], dtype), 0)
    return jnp.concatenate([found, force, torque, jnp.zeros_like(found), center, frame], axis=1)
