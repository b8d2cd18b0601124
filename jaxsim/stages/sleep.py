"""Trees that fall asleep and wake up, where the flag `sleep` is enabled (mj_sleep, mj_wake and its like).

A tree that sleeps lies where it is: no force moves it, its constraints have no rows, and what it alone is measured by
keeps its readings. In MuJoCo that saves time. Here all worlds take the time of their largest, and it is done so that
they are the same.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.select import product, take
from jaxsim.collision.shape import NO_CONTACT
from jaxsim.collision.slots import ContactSlots, of_bodies, slot_params
from jaxsim.constraint.row_table import row_table
from jaxsim.constraint.rows import Rows, count_rows
from jaxsim.core.data import Data
from jaxsim.core.enums import AWAKE, DisableBit, EqType, JointType, ObjType, SensorType, SleepPolicy, TrnType
from jaxsim.core.model import Model
from jaxsim.core.sleep import body_trees, cycles, linked, only_if, woken
from jaxsim.core.topology import Topology, per_topology
from jaxsim.stages.intermediate import Intermediate

Array = jax.Array

NEVER = (SleepPolicy.NEVER, SleepPolicy.AUTO_NEVER)
ALWAYS_READ = (SensorType.USER, SensorType.PLUGIN, SensorType.RANGEFINDER)


def disturbed(m: Model, d: Data) -> Data:
    """Wake the trees that people moved, or push (mj_wake)."""
    if not m.nsleep:
        return d
    moved = _any_of(_members(m.topology, "coordinate"), d.qpos != d.qpos_asleep)
    pushed = ~_may_sleep(m, d, jnp.zeros_like(m.opt.timestep))
    return _woken(d, _if((moved | pushed) & (d.tree_asleep >= 0)))


def woken_by_tendons(m: Model, d: Data) -> Data:
    """Wake the trees that a tendon at its limit joins to one that is awake (mj_wakeTendon)."""
    joining = np.flatnonzero((m.tendon_treenum == 2) & (np.asarray(m.tendon_limited) > 0)) if m.nsleep else ()
    if not len(joining):
        return d
    length, span, margin = (take(x, joining) for x in (d.ten_length, m.tendon_range, m.tendon_margin))
    taut = (length - span[:, 0] < margin) | (span[:, 1] - length < margin)
    trees = m.tendon_treeid[joining].T
    first, second = (take(d.tree_asleep, tree) for tree in trees)
    value = jnp.zeros_like(d.tree_asleep)
    for tree, own, other in ((trees[0], first, second), (trees[1], second, first)):
        value = _called(value, tree, jnp.where(taut & (own >= 0), jnp.minimum(other, 0), 0))
    return _woken(d, value)


def woken_by_equalities(m: Model, d: Data) -> Data:
    """Wake what an equality joins to something awake, or to what fell asleep without it (mj_wakeEquality)."""
    chosen = _joining(m.topology) if m.nsleep else ()
    if not len(chosen):
        return d
    trees = _equality_trees(m.topology)[chosen].T
    together, of_all = cycles(d.tree_asleep), jnp.concatenate([d.tree_asleep, jnp.asarray([AWAKE], jnp.int32)])
    first, second = (take(of_all, tree) for tree in trees)  # the last stands for what people move
    both = [np.minimum(tree, m.ntree - 1) for tree in trees]
    same = take(together.reshape(-1), both[0] * m.ntree + both[1])
    apart = take(d.eq_active, chosen) & ((first < 0) | (second < 0) | ~same)
    value = jnp.zeros_like(d.tree_asleep)
    for tree, own in ((trees[0], first), (trees[1], second)):
        value = _called(value, tree, _if(apart & (own >= 0)))
    return _woken(d, value)


def of_awake(m: Model, d: Data, rows: Rows) -> Rows:
    """The rows without those of trees that sleep alone."""
    table = row_table(m)
    if not m.nsleep or not table.blocks:
        return rows
    awake = ~sleeping_dofs(m, d)
    parts = [take(awake, table.dof)] if len(table.dof) else []
    if rows.J.shape[0]:
        parts.append(jnp.any((rows.J != 0) & awake[None], axis=1))
    return rows._replace(D=jnp.where(jnp.concatenate(parts), rows.D, 0))


def sleeping_dofs(m: Model, d: Data) -> Array:
    """[nv] which dofs are of trees that sleep."""
    return take(d.tree_asleep >= 0, m.dof_treeid)


def still(m: Model, d: Data, x: Array) -> Array:
    """x [nv], zero for the dofs of trees that sleep."""
    return jnp.where(sleeping_dofs(m, d), 0, x) if m.nsleep else x


def kept_readings(m: Model, before: Array, d: Data) -> Data:
    """sensordata [nsensordata], as it was before of what only belongs to trees that sleep."""
    if not m.nsleep or not m.nsensordata:
        return d
    of = _sensor_trees(m.topology)
    asleep = ~jnp.any(of & (d.tree_asleep < 0)[None], axis=1) & of.any(axis=1)
    asleep = take(asleep, np.repeat(np.arange(m.nsensor), m.sensor_dim))
    return d.replace(sensordata=jnp.where(asleep, before, d.sensordata))


def lying(m: Model, d: Data, qpos: Array) -> Array:
    """The next positions [nq], where trees that sleep lie as they did."""
    return jnp.where(take(d.tree_asleep >= 0, _coordinates(m.topology)), d.qpos, qpos) if m.nsleep else qpos


def rested(m: Model, d: Data, mid: Intermediate, moved: Data) -> Data:
    """What a step ends by, with those put to sleep whose islands have been slow for long enough (mj_sleep).

    Args:
        m: the model.
        d: the results of `forward`.
        mid: its intermediate results, whose rows say which trees are one island.
        moved: one step later.
    """
    if not m.nsleep:
        return moved
    before = d.tree_asleep
    d = d.replace(tree_asleep=fallen_asleep(m, d, mid))
    qpos, lies = lying(m, d, moved.qpos), take(d.tree_asleep >= 0, _coordinates(m.topology))
    changes = {name: still(m, d, getattr(moved, name)) for name in ("qvel", "qacc", "qacc_warmstart")}
    changes |= {"act": _kept_activations(m, before, d.act, moved.act), "tree_asleep": d.tree_asleep}
    return moved.replace(qpos=qpos, qpos_asleep=jnp.where(lies, qpos, 0), **changes)


def fallen_asleep(m: Model, d: Data, mid: Intermediate) -> Array:
    """tree_asleep [ntree] at the end of a step: one more slow step of the slow ones, and the cycles of new sleepers."""
    before, slow = d.tree_asleep, _may_sleep(m, d, m.opt.sleep_tolerance)
    count = jnp.where(before >= 0, before, jnp.where(slow, jnp.minimum(before + 1, -1), AWAKE))
    ready = count == -1
    if m.opt.disables(DisableBit.ISLAND):  # then MuJoCo knows no islands, and nothing changes where there are rows
        alone = jnp.where(ready, np.arange(m.ntree, dtype=np.int32), count)
        return jnp.where(count_rows(m, mid.rows) > 0, before, alone)

    def islands(count: Array) -> Array:
        together = linked(_touching(m, d, mid))
        return jnp.where(jnp.all(~together | ready[None], axis=1), _next_of(together), count)

    return only_if(jnp.any(ready), islands, count)


def _woken(d: Data, value: Array) -> Data:
    return d.replace(tree_asleep=woken(d.tree_asleep, value))


def _if(called: Array) -> Array:
    """What trees [n] are woken to that are called."""
    return jnp.where(called, jnp.asarray(AWAKE, jnp.int32), 0)


def _called(value: Array, trees: np.ndarray, calls: Array) -> Array:
    """The least of what calls each tree: of value [ntree], and of calls [k] to trees [k]."""
    of_tree = trees[:, None] == np.arange(len(value))[None]
    return jnp.minimum(value, jnp.min(jnp.where(of_tree, calls[:, None], 0), axis=0))


def _may_sleep(m: Model, d: Data, tolerance: Array) -> Array:
    """[ntree] which trees may sleep: no one pushes them, and they are slower than a tolerance, or still if it is 0."""
    t = m.topology
    speed = m.dof_length * jnp.abs(d.qvel)
    fast = (d.qvel != 0) & (speed >= tolerance)
    pushed = jnp.any(d.xfrc_applied != 0, axis=1)
    pulled = _any_of(_members(t, "dof"), fast | (d.qfrc_applied != 0))
    return ~_any_of(_members(t, "body"), pushed) & ~pulled & ~np.isin(m.tree_sleep_policy, NEVER)


def _any_of(members: np.ndarray, flags: Array) -> Array:
    """[ntree] whether any of the flags [n] is set that are of each tree, from `_members`."""
    return jnp.any(take(flags, members.ravel()).reshape(members.shape), axis=1)


@per_topology
def _members(t: Topology, kind: str) -> np.ndarray:
    """[ntree, most] the bodies, dofs or coordinates of each tree; the first again where it has fewer."""
    tree = {"body": t.body_treeid, "dof": t.dof_treeid, "coordinate": _coordinates(t)}[kind]
    found = [np.flatnonzero(tree == i) for i in range(t.ntree)]
    most = max(map(len, found))
    return np.array([[*x, *[x[0]] * (most - len(x))] for x in found])


def _touching(m: Model, d: Data, mid: Intermediate) -> Array:
    """[ntree, ntree] bool: which trees a constraint joins."""
    links = jnp.zeros((m.ntree, m.ntree), bool)
    if mid.rows.J.shape[0]:
        first = len(row_table(m).dof)
        held = (mid.rows.J != 0) & (mid.rows.D[first:] > 0)[:, None]
        dofs = (m.dof_treeid[None] == np.arange(m.ntree)[:, None]).astype(float)
        of_tree = product(dofs, held.T.astype(d.qpos.dtype))
        links = links | _meet(of_tree, of_tree)
    if mid.slots is not None:
        links = links | _meet(*(side.T.astype(d.qpos.dtype) for side in _of_contacts(m, mid.slots)))
    return links


def _of_contacts(m: Model, slots: ContactSlots) -> tuple[Array, Array]:
    """[slots, ntree] bool of both sides: whether the contact pushes on the tree."""
    tree = jnp.asarray(m.body_treeid, jnp.int32)
    # what pushes under the hard law is a gap that is small, not one that is negative
    pushes = slots.dist < (NO_CONTACT if m.opt.contact.rigid else slot_params(m, slots).margin)
    sides = [of_bodies(m, slots, side, tree)[:, None] == np.arange(m.ntree, dtype=np.int32)[None] for side in (0, 1)]
    return sides[0] & pushes[:, None], sides[1] & pushes[:, None]


def _meet(first: Array, second: Array) -> Array:
    """[n, n] whether some of k numbers is positive for i in the first [n, k] and for j in the second."""
    return lax.dot_general(first, second, (((1,), (1,)), ((), ()))) > 0


def _next_of(together: Array) -> Array:
    """[n] the next larger of those together with each, or the smallest where it is the largest."""
    n = together.shape[0]
    numbers = np.arange(n, dtype=np.int32)
    later = jnp.min(jnp.where(together & (numbers[None] > numbers[:, None]), numbers[None], n), axis=1)
    first = jnp.min(jnp.where(together, numbers[None], n), axis=1)
    return jnp.where(later < n, later, first)


def _kept_activations(m: Model, before: Array, old: Array, new: Array) -> Array:
    """Activations [na], as they were of actuators of trees that slept before the step."""
    if not m.na:
        return new
    of = _actuator_trees(m.topology)
    asleep = ~jnp.any(of & (before < 0)[None], axis=1) & of.any(axis=1)
    return jnp.where(take(asleep, np.repeat(np.arange(m.nactuator), m.actuator_actnum)), old, new)


@per_topology
def _coordinates(t: Topology) -> np.ndarray:
    """[nq] the tree of each coordinate."""
    return np.repeat(t.dof_treeid[t.jnt_dofadr], [JointType(kind).nq for kind in t.jnt_type])


@per_topology
def _equality_trees(t: Topology) -> np.ndarray:
    """[neq, 2] the trees of both sides: ntree where people move it, -1 where it never moves or there is nothing."""
    trees = np.full((t.neq, 2), -1)
    for i, kind in enumerate(t.eq_type):
        for side, element in enumerate((t.eq_obj1id[i], t.eq_obj2id[i])):
            if kind in (EqType.CONNECT, EqType.WELD):
                trees[i, side] = _tree_of(t, int(t.eq_objtype[i]), int(element))
            elif kind == EqType.JOINT and element >= 0:
                trees[i, side] = _tree_of(t, ObjType.JOINT, int(element))
    return trees


@per_topology
def _joining(t: Topology) -> np.ndarray:
    """The equalities of two trees, or of a tree and what people move."""
    trees = _equality_trees(t)
    return np.flatnonzero((trees >= 0).all(axis=1) & (trees[:, 0] != trees[:, 1]))


def _tree_of(t: Topology, kind: int, element: int) -> int:
    """The tree of an element as of its body in `body_trees`; -1 too for what has no body."""
    if kind in (ObjType.BODY, ObjType.XBODY):
        return int(body_trees(t)[element])
    owner = {ObjType.JOINT: "jnt", ObjType.GEOM: "geom", ObjType.SITE: "site", ObjType.CAMERA: "cam"}
    bodies = {k: getattr(t, f"{name}_bodyid") for k, name in owner.items()}
    return int(body_trees(t)[bodies[ObjType(kind)][element]]) if kind in bodies else -1


def _trees_of(t: Topology, kind: int, element: int) -> list[int]:
    """The trees that an element is asleep with, ntree among them where it always is awake."""
    if kind == ObjType.UNKNOWN or element < 0:
        return []
    if kind == ObjType.TENDON:
        return [int(t.ntree)] if t.tendon_treenum[element] > 2 else [int(k) for k in t.tendon_treeid[element] if k >= 0]
    if kind == ObjType.ACTUATOR:
        return _driven(t, element)
    tree = _tree_of(t, kind, element)
    return [tree] if tree >= 0 else []


def _driven(t: Topology, actuator: int) -> list[int]:
    """The trees of an actuator's transmission."""
    kind, (first, second) = t.actuator_trntype[actuator], t.actuator_trnid[actuator]
    if kind in (TrnType.JOINT, TrnType.JOINTINPARENT) or (kind == TrnType.SO3 and second < 0):
        return _trees_of(t, ObjType.JOINT, first)
    if kind in (TrnType.TENDON, TrnType.BODY):
        return _trees_of(t, ObjType.TENDON if kind == TrnType.TENDON else ObjType.BODY, first)
    both = (first, second) if kind in (TrnType.SLIDERCRANK, TrnType.SO3) else (first,)
    return [tree for site in both for tree in _trees_of(t, ObjType.SITE, site)]


@per_topology
def _actuator_trees(t: Topology) -> np.ndarray:
    """[nactuator, ntree] bool: the trees that an actuator sleeps with; none where it never does."""
    return _flags(t, [_driven(t, i) for i in range(t.nactuator)])


@per_topology
def _sensor_trees(t: Topology) -> np.ndarray:
    """[nsensor, ntree] bool: the trees that a sensor sleeps with; none where it never does."""
    found = []
    for i, kind in enumerate(t.sensor_type):
        ends = [(t.sensor_objtype[i], t.sensor_objid[i]), (t.sensor_reftype[i], t.sensor_refid[i])]
        zone = kind == SensorType.CONTACT and any(what == ObjType.SITE for what, _ in ends)
        read = kind in ALWAYS_READ or zone
        found.append([] if read else [tree for end in ends for tree in _trees_of(t, *map(int, end))])
    return _flags(t, found)


def _flags(t: Topology, found: list[list[int]]) -> np.ndarray:
    """[n, ntree] bool from lists of trees; of none where one of them is awake for good."""
    flags = np.zeros((len(found), t.ntree), bool)
    for row, trees in zip(flags, found):
        row[[k for k in trees if t.ntree not in trees]] = True
    return flags
