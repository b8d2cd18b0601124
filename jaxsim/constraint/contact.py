"""Contact rows: Jacobian, regularisation and reference in the contact frame (mj_instantiateContact)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import vector
from jaxsim.algebra.select import product as product_of_tree
from jaxsim.algebra.select import products, take
from jaxsim.algebra.structured import product, product_t
from jaxsim.algebra.tree import ancestor
from jaxsim.collision.compact import gather
from jaxsim.collision.params import PairParams
from jaxsim.collision.shape import NO_CONTACT
from jaxsim.collision.slots import (
    ContactSlots,
    are_many,
    detected,
    of_bodies,
    of_slots,
    pairs_of,
    slot_adhesion,
    slot_params,
)
from jaxsim.constraint.impedance import Impedance, distant, end_of_step, impedance, reference, regularization
from jaxsim.constraint.row_table import row_table
from jaxsim.constraint.surface import surface_velocity
from jaxsim.core.data import Data
from jaxsim.core.enums import MAXIMP, MINIMP, MINVAL, Cone, ContactLaw, Integrator
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology
from jaxsim.dynamics.trees import trees_of

Array = jax.Array

ROUNDING = 64  # digits' units that a Jacobian's entries and the frames they are made of are good to
# R of contacts with pivots, of what a force does where it presses: solimp gives 1e-4 at the least
STIFFEST = {"float64": 1e-10, "float32": 1e-5}


class ContactRows(NamedTuple):
    """Contacts of one world in n slots; axes of a slot are normal, two tangents, spin, two rolls.

    `dim` is the largest condim of any candidate; a contact of smaller condim leaves the last axes idle.
    """

    J: Any  # [n, dim, nv] relative velocity of the bodies along each axis; None where trees are many
    motion: Any  # what J is made of: ContactMotion, or BodyMotion where trees are many
    D: Array  # [n, dim] (pyramidal: the edges' common D in column 0; idle contacts: 0)
    aref: Array  # [n, dim] m/s^2, rad/s^2
    friction: Array  # [n, dim - 1]
    mu: Array  # [n] friction of the regularised cone
    condim: Array  # [n] number of axes, 0 for idle contacts
    pos: Array  # [n]
    margin: Array  # [n] m
    adhesion: Array | None  # [n] N, with which the surfaces of active contacts stick; None where nothing does


class ContactMotion(NamedTuple):
    """What J [n, dim, nv] is made of: J_cij = sum over sides of moves_cj wrench_ci . cdof_j."""

    cdof: Array  # [nv, 6]
    wrenches: tuple[Array, ...]  # [n, dim, 6] each: the unit force or torque along an axis, about the com of a tree
    moves: tuple[Array, ...]  # [n, nv] each: 1 where a dof moves body 2, -1 where it moves body 1, else 0


class BodyMotion(NamedTuple):
    """The same where trees are many: through the bodies, of which a contact has two."""

    cdof: Array  # [nv, 6]
    wrenches: tuple[Array, ...]  # [n, dim, 6] each, turned round for body 1
    bodies: tuple[Array, ...]  # [n] each


def velocity_of_bodies(t: Topology, motion: BodyMotion, x: Array) -> Array:
    """J x [n, dim], for x [nv]: the motions of all bodies first, then along the axes of contacts."""
    twist = product_of_tree(ancestor(t), motion.cdof * x[:, None])
    parts = [jnp.sum(w * gather(twist, body)[:, None], axis=-1) for w, body in zip(motion.wrenches, motion.bodies)]
    return sum(parts[1:], parts[0])


def forces_of_bodies(t: Topology, motion: BodyMotion, pull: Array) -> Array:
    """J^T pull [nv], for forces [n, dim] along the axes of contacts: `velocity_of_bodies` read backwards."""
    x = jax.ShapeDtypeStruct(motion.cdof.shape[:1], pull.dtype)
    return jax.linear_transpose(lambda x: velocity_of_bodies(t, motion, x), x)(pull)[0]


def contact_velocity(motion: ContactMotion, x: Array) -> Array:
    """J x [n dim] without J, for x [nv]: what the bodies' motions do along the axes of contacts."""
    spread = motion.cdof * x[:, None]
    parts = [
        jnp.sum(wrench * lax.dot(moves, spread, precision=lax.Precision.HIGHEST)[:, None], axis=-1)
        for wrench, moves in zip(motion.wrenches, motion.moves)
    ]
    return sum(parts[1:], parts[0]).reshape(-1)


def contact_rows(m: Model, d: Data, slots: ContactSlots, weigh: Callable[[Array], Array] | None = None) -> ContactRows:
    """Rows of all contacts: J [n, dim, nv], D and aref [n, dim] per axis of the contact frames of n slots.

    `weigh` is that of `make_constraint`.

    A pyramid edge is normal +- friction_i * axis_i, so its aref is the same combination of the axes' aref.
    """
    p, dim = slot_params(m, slots), row_table(m).contact_dim
    pos, condim, near, adhesion = _acting(m, slots, p)
    if trees_of(m) is None:
        motion: Any = contact_motion(m, d, slots, dim)
        J: Any = contact_jacobian(motion)
        if m.haspivots:
            J = _without_rounding(J, motion)
        velocity = product(contact_velocity, as_matrix(J), motion, d.qvel).reshape(J.shape[:2])
    else:
        J, motion = None, body_motion(m, d, slots, dim)
        velocity = velocity_of_bodies(m.topology, motion, d.qvel)
    if m.hassurfacevel:
        velocity = velocity + surface_velocity(m, d, slots, dim)
    bare = impedance(m, p.solref, p.solimp, pos)
    if near is not None:
        pos, bare = distant(m, near, pos, bare)
    imp, softer = end_of_step(m, bare)
    normal = -imp.stiffness * imp.imp * pos
    damping = jnp.broadcast_to(imp.damping[:, None], velocity.shape)
    mu = p.friction[:, 0] / jnp.sqrt(jnp.maximum(m.opt.impratio, MINVAL))
    edged = condim > 1 if m.opt.cone == Cone.PYRAMIDAL else jnp.zeros_like(condim, bool)
    weight = p.invweight
    if weigh is not None:
        axes = contact_jacobian(_of_dofs(m.topology, motion)) if J is None else J
        weight = _weight(weigh, axes, jnp.where(edged, p.friction[:, 0], 0))
    if m.opt.cone == Cone.ELLIPTIC:
        damping = _friction_damping(m, damping, bare, p.solreffriction, p.solimp)
        D = _elliptic_D(m, imp.imp, weight, p.friction, dim, softer)
    else:
        D = _pyramidal_D(imp.imp, weight, p.friction, mu, edged, softer)[:, None] * jnp.ones((1, dim), pos.dtype)
    live = np.arange(dim, dtype=np.int32)[None] < condim[:, None]
    D = jnp.where(live, D, 0)
    if m.haspivots:
        squares = _squares(d, J) if J is not None else _squares_of_bodies(m, d, slots, motion)
        D = D * _softened(D, STIFFEST[str(D.dtype)] * jnp.max(squares, axis=1, keepdims=True))
    aref = -damping * velocity
    if adhesion is not None:
        normal = normal + _balance(m, adhesion, D[:, 0], condim)
    aref = jnp.concatenate([(aref[:, 0] + normal)[:, None], aref[:, 1:]], axis=1)
    friction = p.friction[:, : max(dim - 1, 0)]
    return ContactRows(J, motion, D, aref, friction, mu, condim, slots.dist, p.margin, adhesion)


def _acting(m: Model, slots: ContactSlots, p: PairParams) -> tuple[Array, Array, Array | None, Array | None]:
    """Of contacts [n] how far they are past their margin (m), and how many axes they have, 0 where they are idle.

    Besides, which only come near under the law that lets them act at a distance, and with what force (N) they stick;
    None where nothing does.
    """
    # the hard law also minds what may touch within the step
    active = touching = slots.dist < (NO_CONTACT if m.opt.contact.rigid else p.margin)
    adhesion = near = None
    if m.hasadhesion:  # sticky surfaces also hold on to each other in the gap beyond the margin
        adhesion = jnp.where(detected(m, slots), slot_adhesion(m, slots), 0)
        active = touching | (adhesion != 0)
    if m.opt.contact == ContactLaw.DISTANT:
        near = ~touching & (slots.dist < p.margin + m.opt.contact_reach)
        active = active | near
    # far from zero only in idle slots, where it would overflow in float32
    pos = jnp.where(active, slots.dist - p.margin, 0)
    condim = jnp.where(active, of_slots(m, slots, jnp.asarray(pairs_of(m).condim, jnp.int32)), 0)
    if m.hasadhesion:  # where they do so without friction
        condim = jnp.where(touching, condim, jnp.minimum(condim, 1))
    if near is not None:  # what does not touch has no friction
        condim = jnp.where(near, jnp.minimum(condim, 1), condim)
    still = still_pairs(m)
    if still.any():
        condim = jnp.where(of_slots(m, slots, jnp.asarray(still)), 0, condim)
    return pos, condim, near, adhesion


def still_pairs(m: Model) -> np.ndarray:
    """[npair] which candidate pairs are of bodies that cannot move: their contacts are listed, and have no rows."""
    pairs, moves = pairs_of(m), np.any(ancestor(m.topology), axis=1)
    return ~(moves[m.geom_bodyid[pairs.geom1]] | moves[m.geom_bodyid[pairs.geom2]])


def _squares(d: Data, J: Array) -> Array:
    """[n, dim] what a force along each axis of contacts with J [n, dim, nv] does there, of each dof on its own."""
    return jnp.sum(J * J / jnp.diagonal(d.qM)[None, None], axis=2)


def _squares_of_bodies(m: Model, d: Data, slots: ContactSlots, motion: BodyMotion) -> Array:
    """The same where trees are many: dofs that move both bodies of a contact cancel there."""
    share = motion.cdof[:, :, None] * motion.cdof[:, None] / d.qM.diagonal()[:, None, None]
    of_body = product_of_tree(ancestor(m.topology), share.reshape(-1, 36))

    def along(wrench: Array, body: Array) -> Array:
        square = gather(of_body, body).reshape(-1, 1, 6, 6)
        return jnp.sum(jnp.sum(wrench[:, :, :, None] * square, axis=2) * wrench, axis=2)

    first, second = map(along, motion.wrenches, motion.bodies)
    total = first + second
    shared = _last_shared(m)
    if not shared.any():
        return total
    return total - 2 * along(motion.wrenches[0], of_slots(m, slots, jnp.asarray(shared)))


def _last_shared(m: Model) -> np.ndarray:
    """[npair] the last body that is above, or is, both of each candidate pair: what moves it moves both."""
    pairs, parent = pairs_of(m), m.body_parentid
    a, b = m.geom_bodyid[pairs.geom1], m.geom_bodyid[pairs.geom2]
    b = np.where(m.body_rootid[a] == m.body_rootid[b], b, 0)
    while np.any(a != b):  # bodies come after those that they hang on
        a, b = np.where(a > b, parent[a], a), np.where(b > a, parent[b], b)
    return a.astype(np.int32)


def _softened(D: Array, least: Array) -> Array:
    """[n, 1] by what to multiply D [n, dim] for all axes to have the least R [n, 1] that floats can tell from none.

    Where what presses is beside a pivot's axis, MuJoCo's R is up to 17 orders of magnitude less than what a force does
    there, and of a Newton step's matrix only that contact is left. A puzzle's cubes flew apart so. This departs from
    MuJoCo, whose own bodies are thrown there, also in float64; rows that act through the axis stay as they are.

    All axes alike: forces on an elliptic cone are continuous only where friction's R and the normal's keep their ratio.
    """
    return 1 / jnp.maximum(least * jnp.max(D, axis=1, keepdims=True), 1)


def _balance(m: Model, adhesion: Array, D: Array, condim: Array) -> Array:
    """What is added to the aref of normals [n] so that a resting contact is as deep as without adhesion.

    At rest its normal force then is larger by the adhesion [n], which the edges of a pyramid share.
    """
    edges = jnp.where(condim > 1, 2 * (condim - 1), 1) if m.opt.cone == Cone.PYRAMIDAL else jnp.ones_like(condim)
    return jnp.where(D > 0, adhesion / jnp.where(D > 0, D, 1), 0) / edges.astype(D.dtype)


def rescaled(m: Model, rows: ContactRows, ratio: Array) -> ContactRows:
    """Contacts [n] with R over ratio [n]."""
    scaled = rows._replace(D=rows.D * ratio[:, None])
    if rows.adhesion is None:
        return scaled
    change = _balance(m, rows.adhesion, scaled.D[:, 0], rows.condim) - _balance(
        m, rows.adhesion, rows.D[:, 0], rows.condim
    )
    return scaled._replace(aref=jnp.concatenate([(rows.aref[:, 0] + change)[:, None], rows.aref[:, 1:]], axis=1))


def normal_forces(t: Topology, rows: ContactRows, force: Array) -> Array:
    """J^T f [nv], for forces [n] along the normals of contacts."""
    along = force[:, None] * jnp.asarray(np.eye(1, rows.D.shape[1]), force.dtype)
    if rows.J is None:
        return forces_of_bodies(t, rows.motion, along)
    return product_t(contact_velocity, as_matrix(rows.J), rows.motion, along.reshape(-1))


def adhesion_force(t: Topology, rows: ContactRows) -> Array:
    """qfrc_adhesion [nv]: the pull between the surfaces of sticky contacts (mj_adhesion)."""
    return normal_forces(t, rows, -rows.adhesion)


def _weight(weigh: Callable[[Array], Array], J: Array, friction: Array) -> Array:
    """[n] of contacts with J [n, dim, nv] what their normals weigh, or their first edges beside 1 + friction^2 [n]."""
    along = J[:, 0] if J.shape[1] == 1 else J[:, 0] + friction[:, None] * J[:, 1]
    return weigh(along) / (1 + friction * friction)


def _pyramidal_D(
    imp: Array, translation: Array, friction: Array, mu: Array, edged: Array, softer: Array | None
) -> Array:
    """1/R of the edges, or of the normal where the contact is frictionless."""
    fri = friction[:, 0]
    edge = regularization(imp, translation + fri * fri * translation, softer)
    return jnp.where(edged, 1 / (2 * mu * mu * edge), 1 / regularization(imp, translation, softer))


def _elliptic_D(m: Model, imp: Array, translation: Array, friction: Array, dim: int, softer: Array | None) -> Array:
    """1/R per axis: R_1 = R_0 / impratio, and R_j friction_j^2 the same for all friction axes."""
    normal = regularization(imp, translation, softer)
    first = normal / jnp.maximum(m.opt.impratio, MINVAL)
    ratio = friction[:, :1] / friction[:, : max(dim - 1, 0)]
    return 1 / jnp.concatenate([normal[:, None], first[:, None] * ratio * ratio], axis=1)


def _friction_damping(m: Model, damping: Array, bare: Impedance, solreffriction: Array, solimp: Array) -> Array:
    """Damping per axis [n, dim]: the friction axes use solreffriction where it is given, and have no spring."""
    _, own = reference(m, solreffriction, jnp.clip(solimp[:, 1], MINIMP, MAXIMP), bare.imp)
    same_sign = (solreffriction[:, 0] > 0) == (solreffriction[:, 1] > 0)
    given = jnp.any(solreffriction != 0, axis=1) & same_sign
    if m.opt.integrator == Integrator.DISCRETE:
        own = jnp.where(given, own, bare.damping)
        own, given = end_of_step(m, Impedance(jnp.zeros_like(own), own, bare.imp))[0].damping, jnp.ones_like(given)
    tangent = jnp.where(given[:, None], own[:, None], damping[:, 1:])
    return jnp.concatenate([damping[:, :1], tangent], axis=1)


def contact_motion(m: Model, d: Data, slots: ContactSlots, dim: int) -> ContactMotion:
    """The first dim axes of each contact as wrenches, and the dofs that move its bodies."""
    moves, dtype = ancestor(m.topology), slots.frame.dtype
    pairs = pairs_of(m)
    body1, body2 = m.geom_bodyid[pairs.geom1], m.geom_bodyid[pairs.geom2]
    if m.ntree <= 1 and not are_many(m):  # one com serves both bodies
        moved = of_slots(m, slots, jnp.asarray(moves[body2] - moves[body1], dtype))
        root = int(m.body_rootid[m.dof_bodyid[0]])
        center = jnp.broadcast_to(d.subtree_com[root][None], slots.pos.shape)
        return ContactMotion(d.cdof, (_wrenches(slots.frame, slots.pos - center, dim),), (moved,))
    wrenches, sides = [], []
    some = np.any(moves, axis=1)
    for body, side, sign in ((body2, 1, 1), (body1, 0, -1)):
        if some[body].any():
            sides.append(of_bodies(m, slots, side, jnp.asarray(sign * moves, dtype)))
            center = of_bodies(m, slots, side, take(d.subtree_com, m.body_rootid))
            wrenches.append(_wrenches(slots.frame, slots.pos - center, dim))
    return ContactMotion(d.cdof, tuple(wrenches), tuple(sides))


def body_motion(m: Model, d: Data, slots: ContactSlots, dim: int) -> BodyMotion:
    """The first dim axes of each contact as wrenches on its two bodies, each about the com of the body's tree."""
    wrenches, bodies = [], []
    centers, pairs = take(d.subtree_com, m.body_rootid), pairs_of(m)
    some = np.any(ancestor(m.topology), axis=1)
    for geom, side, sign in ((pairs.geom2, 1, 1), (pairs.geom1, 0, -1)):
        if some[m.geom_bodyid[geom]].any():
            body = of_bodies(m, slots, side, np.arange(m.nbody, dtype=np.int32))
            bodies.append(body)
            wrenches.append(sign * _wrenches(slots.frame, slots.pos - gather(centers, body), dim))
    return BodyMotion(d.cdof, tuple(wrenches), tuple(bodies))


def written_out(t: Topology, rows: ContactRows) -> Array:
    """J [n, dim, nv], also where trees are many."""
    return contact_jacobian(_of_dofs(t, rows.motion)) if rows.J is None else rows.J


def _of_dofs(t: Topology, motion: BodyMotion) -> ContactMotion:
    """The same motion by which dofs move the two bodies."""
    moves = jnp.asarray(ancestor(t), motion.cdof.dtype)
    return ContactMotion(motion.cdof, motion.wrenches, tuple(gather(moves, body) for body in motion.bodies))


def contact_jacobian(motion: ContactMotion) -> Array:
    """Velocity of body 2 relative to body 1 along the contact axes, per unit qvel [n, dim, nv].

    With w the unit force (or torque) along an axis moved to the com of a tree, a dof contributes w . cdof,
    counted +1 where it moves body 2 and -1 where it moves body 1.
    """
    parts = []
    for wrench, moves in zip(motion.wrenches, motion.moves):
        n, dim, _ = wrench.shape
        parts.append(moves[:, None] * products(wrench.reshape(n * dim, 6), motion.cdof).reshape(n, dim, -1))
    return sum(parts[1:], parts[0])


def _without_rounding(J: Array, motion: ContactMotion) -> Array:
    """J [n, dim, nv] with zeros for what is small enough to be what rounding left of a difference of large numbers.

    What presses on a body that turns about its centre of mass has a force as if nothing could move it, up to 1e18 N. As
    long as it points at the axis that must be multiplied by zero. It is not where trees are many, since J
    is not written out there.
    """
    size = contact_jacobian(jax.tree.map(jnp.abs, motion))
    return jnp.where(jnp.abs(J) > ROUNDING * jnp.finfo(J.dtype).eps * size, J, 0)


def as_matrix(J: Array) -> Array:
    """Contact Jacobians [n, dim, nv] as one matrix [n dim, nv]."""
    return J.reshape(-1, J.shape[-1])


def _wrenches(frame: Array, arm: Array, dim: int) -> Array:
    """Unit forces along the first dim axes of each contact, from a third one on torques [n, dim, 6]."""
    linear = frame[:, : min(dim, 3)]
    torque = vector.cross(jnp.broadcast_to(arm[:, None], linear.shape), linear)
    wrench = vector.join(torque, linear)
    if dim > 3:
        spin = frame[:, : dim - 3]
        wrench = jnp.concatenate([wrench, vector.join(spin, jnp.zeros_like(spin))], axis=1)
    return wrench
