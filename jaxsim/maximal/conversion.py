"""Between maximal coordinates, poses and velocities of links, and minimal ones, those of joints.

A velocity is the change over the step that ended: qvel = (q - q_before) / h, and likewise for links, so that both
configurations keep the joints together and neither conversion loses anything.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.select import take
from jaxsim.core.data import make_data
from jaxsim.core.topology import Topology, per_topology
from jaxsim.dynamics.coordinates import positions_of, quats_of, write
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.dynamics.position import differentiate_pos, integrate_pos
from jaxsim.maximal.bodies import product, transposed, turn
from jaxsim.maximal.forces import to_dofs
from jaxsim.maximal.joints import along, frames, gaps, motion, slots_of
from jaxsim.maximal.mechanism import Mechanism, State
from jaxsim.maximal.structure import structure_of
from jaxsim.solvers.linear.general import solve_general

Array = jax.Array

REFINEMENTS = 2  # of coordinates, by Newton's method from those of the state


def poses(mechanism: Mechanism, qpos: Array) -> tuple[Array, Array]:
    """Poses [n, 3] (m), [n, 4] of links at coordinates qpos [nq]."""
    m, s = mechanism.model, mechanism.structure
    d = kinematics(m, make_data(m).replace(qpos=qpos))
    quat = take(d.xquat, s.body)
    return take(d.xpos, s.body) + quaternion.rotate(quat, mechanism.com), quat


def to_maximal(mechanism: Mechanism, qpos: Array, qvel: Array, act: Array | None = None) -> State:
    """The state of links at coordinates qpos [nq] that changed with qvel [nv] (m/s, rad/s) in the step before.

    Args:
        mechanism: from `from_model`.
        qpos: coordinates [nq] (m, rad, quaternions), as in `js.Data`.
        qvel: their velocities [nv] over the last step.
        act: activations of actuators [na], zero by default.

    Returns:
        Poses and velocities of the n links, with the coordinates.
    """
    h = mechanism.model.opt.timestep
    both = jnp.stack([qpos, integrate_pos(mechanism.model, qpos, qvel, -h)])
    (pos, before), (quat, turned) = jax.vmap(lambda q: poses(mechanism, q))(both)
    ang = _inverse_turn(quaternion.mul(quaternion.conj(turned), quat), h)
    act = jnp.zeros(mechanism.model.na, qpos.dtype) if act is None else act
    return State(pos, quat, (pos - before) / h, ang, qpos, qvel, act)


def _inverse_turn(c: Array, h: Array) -> Array:
    """Angular velocity [n, 3] (rad/s) whose `turn` is c [n, 4]."""
    return 2 / h * c[:, 1:] * jnp.where(c[:, :1] < 0, -1, 1).astype(c.dtype)


def earlier(mechanism: Mechanism, state: State) -> tuple[Array, Array]:
    """Poses [n, 3] (m), [n, 4] of links a step before."""
    h = mechanism.model.opt.timestep
    back = quaternion.conj(turn(state.ang, h))
    return state.pos - h * state.vel, quaternion.mul(state.quat, back)


def to_minimal(mechanism: Mechanism, state: State) -> tuple[Array, Array]:
    """Joint coordinates qpos [nq] and velocities qvel [nv] (m/s, rad/s) of the links' poses and velocities.

    The state's own coordinates say which turn a hinge is in; what follows from the poses alone, and what derivatives
    with respect to them see, is where in it.
    """
    m, h = mechanism.model, mechanism.model.opt.timestep
    qpos, qvel = lax.stop_gradient((state.qpos, state.qvel))
    before, turned = earlier(mechanism, state)
    near = jnp.stack([qpos, integrate_pos(m, qpos, qvel, -h)])
    pos, quat = jnp.stack([state.pos, before]), jnp.stack([state.quat, turned])
    now, then = jax.vmap(lambda *at: _coordinates(mechanism, *at))(pos, quat, near)
    return now, differentiate_pos(m, h, then, now)


def _coordinates(mechanism: Mechanism, pos: Array, quat: Array, near: Array) -> Array:
    """Coordinates [nq] of poses [n, 3], [n, 4], near others."""
    if mechanism.structure.width:
        fixed = lax.stop_gradient((pos, quat))
        near = lax.fori_loop(0, REFINEMENTS, lambda _, q: _refined(mechanism, *fixed, q), near)
        near = _refined(mechanism, pos, quat, near)
    return _with_floating(mechanism, pos, quat, near)


def _refined(mechanism: Mechanism, pos: Array, quat: Array, near: Array) -> Array:
    """Coordinates [nq] from others by a step of Newton's method, least squares where poses do not fit."""
    m, s, at = mechanism.model, mechanism.structure, frames(pos, quat)
    moves = motion(mechanism, slots_of(m, near))
    columns, apart = along(mechanism, at, moves), gaps(mechanism, at, moves)
    padding = np.where(s.dof < m.nv, 0.0, 1.0)[:, :, None] * np.eye(s.width)
    normal = product(transposed(columns), columns) + jnp.asarray(padding, pos.dtype)
    u = jax.vmap(solve_general)(normal, vector.matvec_t(columns, apart))
    return integrate_pos(m, near, to_dofs(m.topology, u), jnp.ones((), pos.dtype))


def _with_floating(mechanism: Mechanism, pos: Array, quat: Array, qpos: Array) -> Array:
    """qpos [nq] with those of free joints from poses of links."""
    m = mechanism.model
    free, joint = floating_joints(m.topology)
    if not len(free):
        return qpos
    turned = take(quat, free)
    origin = take(pos, free) - quaternion.rotate(turned, take(mechanism.com, free))
    return write(write(qpos, positions_of(m, joint), origin), quats_of(m, joint), turned)


@per_topology
def floating_joints(t: Topology) -> tuple[np.ndarray, np.ndarray]:
    """Floating links [k] and their free joints [k]."""
    s = structure_of(t)
    free = np.flatnonzero(s.floating)
    return free, t.body_jntadr[s.body[free]]


def coordinates_after(mechanism: Mechanism, state: State, at: tuple[Array, Array], speed: Array) -> tuple[Array, Array]:
    """qpos [nq] and qvel [nv] after a step that led to poses at, with speeds of joints' coordinates [n, width]."""
    m, h = mechanism.model, mechanism.model.opt.timestep
    moved = integrate_pos(m, state.qpos, to_dofs(m.topology, speed), h)
    qpos = _with_floating(mechanism, *at, moved)
    return qpos, differentiate_pos(m, h, state.qpos, qpos)
