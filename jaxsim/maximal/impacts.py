"""Contacts and limits of a step: impulses that are complementary to gaps at its end, on the central path.

With gamma along the normals n, and beta along two tangents in units of friction, at points p of links,

    s = n . p(z+) - offset,    gamma s = kappa
    xi = (gamma, beta), eta = (eta_0, mu tangents . velocity of p),    xi o eta = kappa e

and the same without friction between coordinates and the ends of their ranges. Points move exactly; impulses and slip
act where the points are at the step's beginning, as the impulses of joints do. A contact touches one link only, so that
a Newton step, condensed to velocities, changes the diagonal blocks of the tree's matrix and nothing else.

Source: Dojo (Howell, Le Cleac'h et al. 2022), section IV; `constraint.laws.hard` for the elimination of friction.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.select import scatter_add, take
from jaxsim.collision.pairs import candidate_pairs
from jaxsim.collision.params import pair_params
from jaxsim.constraint.laws.hard import Friction, bound_step, friction_step
from jaxsim.core.enums import DisableBit
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology
from jaxsim.dynamics.kinematics import local_frames
from jaxsim.maximal.bodies import rotation, skew, turn_rate
from jaxsim.maximal.equations import Begin, Unknowns, ahead, linearised, straight_ahead
from jaxsim.maximal.factor import Factors, factor, solve_bordered
from jaxsim.maximal.forces import by_joint, to_dofs
from jaxsim.maximal.joints import Frames
from jaxsim.maximal.mechanism import Mechanism, State, in_link
from jaxsim.maximal.points import points_of
from jaxsim.solvers.impacts import PUSH, SLIPS, SPEED, friction_on_path, way_weight
from jaxsim.solvers.interior_point.cones import Cones
from jaxsim.solvers.interior_point.problem import Point, Problem

Array = jax.Array


class Touch(NamedTuple):
    """What of k contacts and l limits does not depend on the unknowns."""

    point: Array  # [k, 3] m, in the link's frame
    normal: Array  # [k, 3]
    offset: Array  # [k] m, with the radius
    push: Array  # [k, 6] motion of the link to that of the point along the normal, as the step begins
    slip: Array  # [k, 2, 6] and along two tangents, in units of friction
    bound: Array  # [l] m, rad, counted from qpos0


@per_topology
def limits_of(t: Topology, disableflags: int) -> tuple[np.ndarray, np.ndarray]:
    """Joints of limits, low ends first, and 1 for low ends and -1 for high ones: [l] each."""
    joints = np.flatnonzero(t.jnt_limited) if not disableflags & DisableBit.LIMIT else np.zeros(0, int)
    return np.tile(joints, 2), np.repeat([1, -1], len(joints))


def cones_of(m: Model) -> Cones:
    """The cones of a model's contacts and limits."""
    flags = int(m.opt.disableflags)
    k, limits = len(points_of(m.topology, flags).geom), len(limits_of(m.topology, flags)[0])
    return Cones(k + limits, ((k, 3),) if k else ())


def touch_of(mechanism: Mechanism, state: State) -> Touch:
    """Points [k, 3] of links with the planes under them, and ends [l] of ranges."""
    m, t = mechanism.model, mechanism.model.topology
    flags = int(m.opt.disableflags)
    joint, side = limits_of(t, flags)
    ends = m.jnt_range - take(m.qpos0, m.jnt_qposadr)[:, None] if m.njnt else m.jnt_range
    bound = take(ends.reshape(-1), 2 * joint + (side < 0))
    points = points_of(t, flags)
    link = mechanism.structure.link[m.geom_bodyid[points.geom]]
    pos, quat = _geoms(m)
    size = take(m.geom_size, points.geom)
    # a capsule's ends are half its length, the second size, along its axis
    half = jnp.where(points.round[:, None], size[:, 1:2], size) * jnp.asarray(points.place, size.dtype)
    at, turned = take(pos, points.geom), take(quat, points.geom)
    point = at + vector.matvec(rotation(turned), half) - take(mechanism.com, link)
    plane = rotation(take(quat, points.plane))
    normal, across = plane[:, :, 2], jnp.swapaxes(plane[:, :, :2], 1, 2)
    radius = jnp.where(points.round, size[:, 0], 0)
    pairs = candidate_pairs(t, flags)
    params = pair_params(m, pairs)
    # margins are distances that are kept, as in joint coordinates
    offset = vector.dot(normal, take(pos, points.plane)) + radius + take(params.margin, points.pair)
    friction = take(params.friction, points.pair)[:, :2]
    friction = friction * jnp.asarray(pairs.condim[points.pair][:, None] > 1, friction.dtype)
    mat = take(rotation(state.quat), link)
    foot = vector.matvec(mat, point) - radius[:, None] * normal  # where it touches, from the centre of mass
    # velocity of the foot: vel + R (w x R' foot)
    lever = -jnp.einsum("kij,kjl->kil", mat, skew(vector.matvec_t(mat, foot)), precision="highest")
    motion = jnp.concatenate([jnp.broadcast_to(jnp.eye(3, dtype=mat.dtype), mat.shape), lever], axis=2)
    push = jnp.einsum("ki,kij->kj", normal, motion, precision="highest")
    slip = friction[:, :, None] * jnp.einsum("kti,kij->ktj", across, motion, precision="highest")
    return Touch(point, normal, offset, push, slip, bound)


def _geoms(m: Model) -> tuple[Array, Array]:
    """Positions [ngeom, 3] and orientations [ngeom, 4] of geoms in the frames of their links' bodies."""
    pos, quat = in_link(m)
    turned = take(quat, m.geom_bodyid)
    local, turn = (x[m.nbody : m.nbody + m.ngeom] for x in local_frames(m))
    return take(pos, m.geom_bodyid) + quaternion.rotate(turned, local), quaternion.mul(turned, turn)


class Errors(NamedTuple):
    """Residuals of a step with contacts and limits, or right-hand sides."""

    step: Unknowns
    gap: Array  # [k + l] m, rad
    head: Array  # [k] N s
    slip: Array  # [k, 2] m/s


class Theta(NamedTuple):
    """What the problem of a step depends on."""

    mechanism: Mechanism
    state: State
    begin: Begin
    touch: Touch


def impact_problem(m: Model) -> Problem:
    """The problem of one step; its theta is a `Theta`, and its a the step's `Unknowns`."""
    return Problem(cones_of(m), _residual, _factor, _solve, weight=_weight)


def _weight(t: Theta) -> Array:
    return way_weight(cones_of(t.mechanism.model), t.mechanism.model.opt.timestep)


def start_of(t: Theta, u: Unknowns) -> Point:
    """Where the solver begins: unknowns, with gaps, impulses and slips that are on the central path for them.

    Gaps are not less than a step's at `SPEED`, and impulses are of the size of a step's at `PUSH`, as in joint
    coordinates.
    """
    m, h = t.mechanism.model, t.mechanism.model.opt.timestep
    least = SPEED * h
    kappa = least * PUSH * h * m.stat.meaninertia
    end, straight = ahead(t.mechanism, t.state, u), straight_ahead(t.mechanism, t.state, u)
    gap = jnp.maximum(gaps_at(t.mechanism, t.touch, end, straight), least)
    number, k, cones = kappa / gap, len(t.touch.offset), cones_of(m)
    xi, eta = friction_on_path(number[:k], _speeds(t, u.link), kappa * SLIPS / h)
    return Point(u, cones.join(number, [xi] if k else []), cones.join(gap, [eta] if k else []))


def _parts(t: Theta, b: Array) -> tuple[Array, Array, Array]:
    """Of a vector of the cones: numbers of contacts [k] and of limits [l], vectors [k, 3]."""
    cones, k = cones_of(t.mechanism.model), len(t.touch.offset)
    numbers, vectors = cones.split(b)
    return numbers[:k], numbers[k:], vectors[0] if k else jnp.zeros((0, 3), b.dtype)


def _links(mechanism: Mechanism) -> np.ndarray:
    """[k] the link of each contact."""
    m = mechanism.model
    return mechanism.structure.link[m.geom_bodyid[points_of(m.topology, int(m.opt.disableflags)).geom]]


def _limits(mechanism: Mechanism) -> tuple[np.ndarray, np.ndarray]:
    """[l] dofs and sides of limits."""
    m = mechanism.model
    joint, side = limits_of(m.topology, int(m.opt.disableflags))
    return m.jnt_dofadr[joint], side


def _impulses(t: Theta, contact: Array, friction: Array, limit: Array) -> Array:
    """[n, 12 + width] what impulses [k], [k, 2], [l] add to the balances of links and coordinates."""
    n = t.mechanism.structure.n
    wrench = t.touch.push * contact[:, None] + jnp.einsum("kti,kt->ki", t.touch.slip, friction, precision="highest")
    links = scatter_add(_links(t.mechanism), wrench, n + 1)[:n]
    dof, side = _limits(t.mechanism)
    along = scatter_add(dof, jnp.asarray(side, limit.dtype) * limit, t.mechanism.model.nv)
    coordinates = by_joint(along, t.mechanism.structure.dof)
    return jnp.concatenate([links, jnp.zeros_like(links), coordinates], axis=1)


def gaps_at(mechanism: Mechanism, touch: Touch, end: Frames, straight: Array) -> Array:
    """[k + l] gaps of points and of ranges at poses of links, and scalar coordinates [nv] counted from qpos0."""
    link = _links(mechanism)
    where = take(end.pos, link) + vector.matvec(take(end.mat, link), touch.point)
    dof, side = _limits(mechanism)
    inside = jnp.asarray(side, straight.dtype) * (take(straight, dof) - touch.bound)
    return jnp.concatenate([vector.dot(touch.normal, where) - touch.offset, inside])


def _speeds(t: Theta, link: Array) -> Array:
    """[k, 2] slip of contacts, in units of friction, with the links' unknowns [n, 12 + width]."""
    return jnp.einsum("kti,ki->kt", t.touch.slip, take(link[:, :6], _links(t.mechanism)), precision="highest")


def _residual(t: Theta, w: Point) -> Errors:
    contact, limit, xi = _parts(t, w.b)
    *_, eta = _parts(t, w.c)
    error, _ = linearised(t.mechanism, t.state, t.begin, w.a)
    link = error.link - _impulses(t, contact, xi[:, 1:], limit)
    gaps = gaps_at(t.mechanism, t.touch, ahead(t.mechanism, t.state, w.a), straight_ahead(t.mechanism, t.state, w.a))
    gap = w.c[: len(gaps)] - gaps
    return Errors(error._replace(link=link), gap, xi[:, 0] - contact, eta[:, 1:] - _speeds(t, w.a.link))


def _closing(t: Theta, u: Unknowns) -> Array:
    """[k, 6] derivatives of the gaps of points with the velocities of their links."""
    h, link = t.mechanism.model.opt.timestep, _links(t.mechanism)
    mat = take(ahead(t.mechanism, t.state, u).mat, link)
    inward = vector.matvec_t(mat, t.touch.normal)
    turned = vector.matvec_t(take(turn_rate(u.ang, h), link), vector.cross(t.touch.point, inward))
    return vector.join(h * t.touch.normal, turned)


class Condensed(NamedTuple):
    """A factored matrix, and what it was condensed with."""

    factors: Factors
    closing: Array  # [k, 6]


def _factor(t: Theta, w: Point) -> Condensed:
    mechanism = t.mechanism
    n, width = mechanism.structure.dof.shape
    h, dtype = mechanism.model.opt.timestep, w.b.dtype
    (contact, limit, xi), (gap, room, eta) = _parts(t, w.b), _parts(t, w.c)
    _, a = linearised(mechanism, t.state, t.begin, w.a)
    closing = _closing(t, w.a)
    law = friction_step(xi, eta, jnp.zeros_like(xi))
    stiff = (contact / gap)[:, None] * closing
    through = jnp.einsum("kts,ksi->kti", law.slip, t.touch.slip, precision="highest")
    through = through - law.normal[:, :, None] * stiff[:, None, :]
    block = t.touch.push[:, :, None] * stiff[:, None, :]
    block = block - jnp.einsum("kti,ktj->kij", t.touch.slip, through, precision="highest")
    blocks = scatter_add(_links(t.mechanism), block, n + 1)[:n]
    dof, _ = _limits(t.mechanism)
    diagonal = by_joint(scatter_add(dof, h * limit / room, mechanism.model.nv), mechanism.structure.dof)
    blocks = jnp.pad(blocks, ((0, 0), (0, 6 + width), (0, 6 + width)))
    diagonal = jnp.pad(diagonal, ((0, 0), (12, 0)))[:, :, None] * jnp.eye(12 + width, dtype=dtype)[None]
    tree = a.tree._replace(own=a.tree.own + blocks + diagonal)
    return Condensed(factor(mechanism.model.topology, a._replace(tree=tree)), closing)


def _solve(t: Theta, w: Point, factors: Condensed, r: Errors, s: Array) -> Point:
    (contact, limit, xi), (gap, room, eta) = _parts(t, w.b), _parts(t, w.c)
    first, second, third = _parts(t, s)
    k, h = len(contact), t.mechanism.model.opt.timestep
    law: Friction = friction_step(xi, eta, third)
    press = (first - contact * r.gap[:k]) / gap
    hold = (second - limit * r.gap[k:]) / room
    drag = law.offset + law.normal * (press + r.head)[:, None] + vector.matvec(law.slip, r.slip)
    right = r.step._replace(link=r.step.link + _impulses(t, press, drag, hold))
    a = solve_bordered(t.mechanism.model.topology, factors.factors, right)
    near = vector.dot(factors.closing, take(a.link[:, :6], _links(t.mechanism)))
    dof, side = _limits(t.mechanism)
    apart = h * jnp.asarray(side, s.dtype) * take(to_dofs(t.mechanism.model.topology, a.link[:, 12:]), dof)
    opened = r.gap + jnp.concatenate([near, apart])
    pressed = (first - contact * opened[:k]) / gap
    held = (second - limit * opened[k:]) / room
    slip = r.slip + _speeds(t, a.link)
    dxi = (pressed + r.head)[:, None]
    rubbed = law.offset + law.normal * dxi + vector.matvec(law.slip, slip)
    dxi = jnp.concatenate([dxi, rubbed], axis=1)
    deta = jnp.concatenate([bound_step(xi, eta, third, dxi, slip), slip], axis=1)
    cones = cones_of(t.mechanism.model)
    vectors = [[dxi], [deta]] if k else [[], []]
    b = cones.join(jnp.concatenate([pressed, held]), vectors[0])
    return Point(a, b, cones.join(opened, vectors[1]))
