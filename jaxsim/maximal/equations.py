"""The equations of one step: balances of impulses of links and coordinates now, and constraints at the step's end.

With W = d gap / d (link, carrier) and Q the motion of the coordinates at the step's beginning, lambda the impulses
that hold the joints and mu those that close loops (rows of the residual, in this order, for each link):

    p(v+, w+) - p(v-, w-) - h forces - W^T lambda - E_z^T mu = 0        6   N s, N m s
    gap(z+, q+)                                              = 0        6   m, rad
    A (s+ - s-) - h (tau - c(s+)) + Q^T lambda - E_q^T mu    = 0        width
    loop gaps(z+, q+)                                        = 0        rows of loops

The constraints hold exactly at the end of every step, and momentum is kept, since all impulses act where links are.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.select import scatter_add, take
from jaxsim.core.enums import DisableBit
from jaxsim.core.model import Model
from jaxsim.maximal.bodies import (
    identities,
    momentum_ahead,
    momentum_behind,
    momentum_slope,
    product,
    transposed,
    turn,
    turn_rate,
)
from jaxsim.maximal.elimination import Blocks
from jaxsim.maximal.forces import Dampers, Forces, by_joint, dampers_of, floating_dofs, floating_map, to_dofs
from jaxsim.maximal.joints import Frames, Slot, across, along, frames, gaps, motion, slots_of
from jaxsim.maximal.loops import loop_count, loop_gaps, loop_jacobian, straight_coordinates
from jaxsim.maximal.mechanism import Mechanism, State

Array = jax.Array


class Unknowns(NamedTuple):
    """What a step solves for."""

    link: Array  # [n, 12 + width] velocities (m/s, rad/s), impulses of joints (N s, N m s), speeds of coordinates
    loop: Array  # [rows] N s, N m s: impulses that close loops

    @property
    def vel(self) -> Array:
        """[n, 3] m/s"""
        return self.link[:, :3]

    @property
    def ang(self) -> Array:
        """[n, 3] rad/s"""
        return self.link[:, 3:6]

    @property
    def hold(self) -> Array:
        """[n, 6] N s, N m s"""
        return self.link[:, 6:12]

    @property
    def speed(self) -> Array:
        """[n, width] m/s, rad/s"""
        return self.link[:, 12:]


class Floating(NamedTuple):
    """What slows floating links."""

    map: Array  # [n, 6, 6] from velocities of links to those of their coordinates
    damper: Dampers


class Begin(NamedTuple):
    """What of a step does not depend on its unknowns."""

    slots: list[Slot]
    across: Array  # [n, 6, 6] see `joints.across`
    along: Array  # [n, 6, width] see `joints.along`
    held: Array  # [n, 1] 1 where a joint holds the link, 0 where it floats
    used: Array  # [n, width] 1 for the coordinates that there are
    wrench: Array  # [n, 6] impulse that a link starts with and gets from outside: world axes, own axes
    push: Array  # [n, width] the same along coordinates
    damper: Dampers
    floating: Floating | None
    loop: tuple[Array, Array] | None  # [rows, n, 6], [rows, n, width] of gaps with displacements and coordinates


def guess(mechanism: Mechanism, state: State) -> Unknowns:
    """Unknowns [n, 12 + width], [rows] to start from: velocities as they were, no impulses."""
    s, m = mechanism.structure, mechanism.model
    speed, nothing = by_joint(state.qvel, s.dof), jnp.zeros((s.n, 6), state.pos.dtype)
    link = jnp.concatenate([state.vel, state.ang, nothing, speed], axis=1)
    return Unknowns(link, jnp.zeros(loop_count(m.topology), link.dtype))


def begin(mechanism: Mechanism, state: State, forces: Forces) -> Begin:
    """All that is known before a step is solved for: how joints move links [n, 6, width], and impulses [n, 6]."""
    s, m, h = mechanism.structure, mechanism.model, mechanism.model.opt.timestep
    at, slots = frames(state.pos, state.quat), slots_of(m, state.qpos)
    now = motion(mechanism, slots)
    damper = dampers_of(m, s.dof)
    wrench, floating = _wrench(mechanism, state, at, forces)
    return Begin(
        slots=slots,
        across=across(mechanism, at),
        along=along(mechanism, at, now),
        held=jnp.asarray(~s.floating[:, None], at.pos.dtype),
        used=jnp.asarray(s.dof < m.nv, at.pos.dtype),
        wrench=wrench,
        push=h * by_joint(forces.explicit, s.dof) + damper.armature * by_joint(state.qvel, s.dof),
        damper=damper,
        floating=floating,
        loop=_loops(mechanism, at, straight_coordinates(m, state.qpos)),
    )


def _wrench(mechanism: Mechanism, state: State, at: Frames, forces: Forces) -> tuple[Array, Floating | None]:
    """Impulses [n, 6] of momentum, of gravity and along the coordinates of floating links; and what slows those."""
    m, h = mechanism.model, mechanism.model.opt.timestep
    weight = gravity(m) * (h * mechanism.mass)[:, None]
    linear = mechanism.mass[:, None] * state.vel + weight
    wrench = vector.join(linear, momentum_behind(mechanism.inertia, state.ang, h))
    if not mechanism.structure.floating.any():
        return wrench, None
    dofs = floating_dofs(m)
    floating = Floating(floating_map(mechanism, at.mat[:-1]), dampers_of(m, dofs))
    before = vector.matvec(floating.map, vector.join(state.vel, state.ang))
    push = h * by_joint(forces.explicit, dofs) + floating.damper.armature * before
    return wrench + vector.matvec_t(floating.map, push), floating


def gravity(m: Model) -> Array:
    """[1, 3] m/s^2"""
    return m.opt.gravity[None] * (0 if m.opt.disables(DisableBit.GRAVITY) else 1)


def _loops(mechanism: Mechanism, at: Frames, straight: Array) -> tuple[Array, Array] | None:
    s, m = mechanism.structure, mechanism.model
    if not loop_count(m.topology):
        return None
    links, coordinates = loop_jacobian(mechanism, at, straight)
    return links, jnp.moveaxis(by_joint(coordinates.T, s.dof), -1, 0)


def ahead(mechanism: Mechanism, state: State, unknowns: Unknowns) -> Frames:
    """Poses [n + 1, 3], [n + 1, 4] of links at the end of a step."""
    h = mechanism.model.opt.timestep
    return frames(state.pos + h * unknowns.vel, quaternion.mul(state.quat, turn(unknowns.ang, h)))


def straight_ahead(mechanism: Mechanism, state: State, unknowns: Unknowns) -> Array:
    """[nv] scalar coordinates at the end of a step, counted from those at qpos0."""
    m = mechanism.model
    return straight_coordinates(m, state.qpos) + m.opt.timestep * to_dofs(m.topology, unknowns.speed)


def residual(mechanism: Mechanism, state: State, forces: Forces, unknowns: Unknowns) -> Unknowns:
    """How far unknowns are from solving the step's equations, in the same form: [n, 12 + width] and [rows]."""
    return linearised(mechanism, state, begin(mechanism, state, forces), unknowns)[0]


class Matrix(NamedTuple):
    """The derivative of the residual with the unknowns: that of a tree, bordered by the rows of loops."""

    tree: Blocks
    rows: Array  # [rows, n, 12 + width] of loop gaps
    columns: Array  # [n, 12 + width, rows] of impulses of loops


def linearised(mechanism: Mechanism, state: State, b: Begin, u: Unknowns) -> tuple[Unknowns, Matrix]:
    """The residual [n, 12 + width], [rows], and its derivative, which is exact where the constraints hold."""
    h, n, dtype = mechanism.model.opt.timestep, mechanism.structure.n, u.link.dtype
    end = ahead(mechanism, state, u)
    now = motion(mechanism, b.slots, h * u.speed)
    turns = turn_rate(u.ang, h)
    balance, inertia = _balance(mechanism, b, u)
    gap = b.held * gaps(mechanism, end, now) + (1 - b.held) * u.hold
    coordinates, damping = _coordinates(mechanism, b, u)
    error = Unknowns(jnp.concatenate([balance, gap, coordinates], axis=1), _open(mechanism, state, u, end))
    none = jnp.zeros((n, 3, 3), dtype)
    moved = jnp.concatenate(
        [
            jnp.concatenate([h * identities(n, 3, dtype), none], axis=2),
            jnp.concatenate([none, turns], axis=2),
        ],
        axis=1,
    )
    tree = _blocks(mechanism, b, inertia, damping, moved, along(mechanism, end, now), across(mechanism, end))
    return error, Matrix(tree, *_border(mechanism, state, b, u, end, moved))


def _balance(mechanism: Mechanism, b: Begin, u: Unknowns) -> tuple[Array, Array]:
    """[n, 6] balance of impulses of links, and its derivative [n, 6, 6] with their velocities."""
    s, h = mechanism.structure, mechanism.model.opt.timestep
    n, dtype = s.n, u.link.dtype
    momentum = vector.join(mechanism.mass[:, None] * u.vel, momentum_ahead(mechanism.inertia, u.ang, h))
    none = jnp.zeros((n, 3, 3), dtype)
    linear = jnp.concatenate([mechanism.mass[:, None, None] * identities(n, 3, dtype), none], axis=2)
    angular = jnp.concatenate([none, momentum_slope(mechanism.inertia, u.ang, h)], axis=2)
    inertia = jnp.concatenate([linear, angular], axis=1)
    hold = b.held * u.hold
    carried = scatter_add(s.parent, vector.matvec_t(b.across, hold), n + 1)[:n]
    balance = momentum - b.wrench - hold + carried
    if b.loop is not None:
        balance = balance - jnp.einsum("rni,r->ni", b.loop[0], u.loop, precision="highest")
    if b.floating is None:
        return balance, inertia
    to, damper = b.floating
    speed = vector.matvec(to, u.link[:, :6])
    slowed = vector.matvec_t(to, h * damper.force(speed) + damper.armature * speed)
    slope = (h * damper.slope(speed) + damper.armature)[:, :, None]
    return balance + slowed, inertia + product(transposed(to), slope * to)


def _coordinates(mechanism: Mechanism, b: Begin, u: Unknowns) -> tuple[Array, Array]:
    """[n, width] balance of impulses along coordinates, those that are not there having no speed; and its derivative
    [n, width] with the speeds."""
    h = mechanism.model.opt.timestep
    balance = b.damper.armature * u.speed - b.push + h * b.damper.force(u.speed) + vector.matvec_t(b.along, u.hold)
    if b.loop is not None:
        balance = balance - jnp.einsum("rni,r->ni", b.loop[1], u.loop, precision="highest")
    slope = b.damper.armature + h * b.damper.slope(u.speed)
    return b.used * balance + (1 - b.used) * u.speed, b.used * slope + (1 - b.used)


def _open(mechanism: Mechanism, state: State, u: Unknowns, end: Frames) -> Array:
    """[rows] gaps of loops at the end of the step."""
    if not len(u.loop):
        return u.loop
    return loop_gaps(mechanism, end, straight_ahead(mechanism, state, u))


def _blocks(mechanism: Mechanism, b: Begin, inertia: Array, damping: Array, moved: Array, reach: Array, over: Array):
    """The tree's matrix [n, 12 + width, 12 + width] from derivatives of balances, of poses with velocities `moved`, and
    how coordinates (`reach`) and carriers (`over`) move links at the step's end."""
    s, h = mechanism.structure, mechanism.model.opt.timestep
    n, width = s.dof.shape
    held, one = b.held[:, :, None], identities(n, 6, moved.dtype)
    nothing = jnp.zeros((n, 6, width), moved.dtype)
    own = jnp.concatenate(
        [
            jnp.concatenate([inertia, -held * one, nothing], axis=2),
            jnp.concatenate([held * moved, (1 - held) * one, -h * held * reach], axis=2),
            jnp.concatenate(
                [
                    transposed(nothing),
                    b.used[:, :, None] * transposed(b.along),
                    damping[:, :, None] * identities(n, width, moved.dtype),
                ],
                axis=2,
            ),
        ],
        axis=1,
    )
    carrier = jnp.concatenate([moved, jnp.zeros((1, 6, 6), moved.dtype)])
    up = -held * product(over, take(carrier, s.parent))
    down = held * transposed(b.across)
    up = jnp.concatenate([jnp.zeros((n, 6, 6), up.dtype), up, transposed(nothing)], axis=1)
    return Blocks(own, up, jnp.concatenate([jnp.zeros((n, 6, 6), up.dtype), down, nothing], axis=2))


def _border(mechanism: Mechanism, state: State, b: Begin, u: Unknowns, end: Frames, moved: Array):
    """Rows [rows, n, 12 + width] and columns [n, 12 + width, rows] of loops."""
    n, width = mechanism.structure.dof.shape
    h, rows = mechanism.model.opt.timestep, len(u.loop)
    after = _loops(mechanism, end, straight_ahead(mechanism, state, u)) if rows else None
    if b.loop is None or after is None:
        return jnp.zeros((0, n, 12 + width), u.link.dtype), jnp.zeros((n, 12 + width, 0), u.link.dtype)
    velocities = jnp.einsum("rni,nij->rnj", after[0], moved, precision="highest")
    nothing = jnp.zeros((rows, n, 6), u.link.dtype)
    right = jnp.concatenate([velocities, nothing, h * after[1]], axis=2)
    left = jnp.concatenate([-b.loop[0], nothing, -b.loop[1]], axis=2)
    return right, jnp.moveaxis(left, 0, -1)
