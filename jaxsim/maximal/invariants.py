"""Momentum and energy of a mechanism: what the integrator keeps, and what it nearly keeps."""

import jax
import jax.numpy as jnp

from jaxsim.algebra import quaternion, vector
from jaxsim.core.data import make_data
from jaxsim.core.enums import DisableBit
from jaxsim.dynamics.armature import joint_armature
from jaxsim.dynamics.energy import potential
from jaxsim.dynamics.position import integrate_pos
from jaxsim.dynamics.tendon import tendon
from jaxsim.maximal.bodies import momentum_behind
from jaxsim.maximal.equations import gravity
from jaxsim.maximal.impacts import gaps_at, touch_of
from jaxsim.maximal.joints import frames, gaps, motion, slots_of
from jaxsim.maximal.loops import straight_coordinates
from jaxsim.maximal.mechanism import Mechanism, State

Array = jax.Array


def momentum(mechanism: Mechanism, state: State) -> Array:
    """Linear (kg m/s) and angular momentum (kg m^2/s) about the world's origin of all links, [6].

    That of the discrete Lagrangian at the state, which forces between links leave as it is, to rounding.
    """
    linear = mechanism.mass[:, None] * state.vel
    spin = quaternion.rotate(state.quat, momentum_behind(mechanism.inertia, state.ang, mechanism.model.opt.timestep))
    return jnp.sum(vector.join(linear, vector.cross(state.pos, linear) + spin), axis=0)


def energy(mechanism: Mechanism, state: State) -> Array:
    """Potential (gravity, springs) and kinetic energy [2] (J) at the middle of the last step, where velocities are."""
    m, h = mechanism.model, mechanism.model.opt.timestep
    middle = state.pos - 0.5 * h * state.vel
    weight = -jnp.sum(mechanism.mass * vector.dot(middle, jnp.broadcast_to(gravity(m), middle.shape)))
    spin = vector.dot(state.ang, vector.matvec(mechanism.inertia, state.ang))
    kinetic = 0.5 * jnp.sum(mechanism.mass * vector.dot(state.vel, state.vel) + spin)
    rotors = 0.5 * jnp.sum(joint_armature(m) * state.qvel * state.qvel)
    return jnp.stack([weight + _springs(mechanism, state), kinetic + rotors])


def _springs(mechanism: Mechanism, state: State) -> Array:
    m = mechanism.model
    springs = m.replace(opt=m.opt.replace(disableflags=int(m.opt.disableflags) | DisableBit.GRAVITY))
    qpos = integrate_pos(m, state.qpos, state.qvel, -0.5 * m.opt.timestep)
    d, _ = tendon(m, make_data(m).replace(qpos=qpos))
    return potential(springs, d)


def violation(mechanism: Mechanism, state: State) -> Array:
    """How far links are from where their carriers and coordinates have them, [n, 6] (m, rad)."""
    s, dtype = mechanism.structure, state.pos.dtype
    relative = motion(mechanism, slots_of(mechanism.model, state.qpos))
    apart = gaps(mechanism, frames(state.pos, state.quat), relative)
    return apart * jnp.asarray(~s.floating[:, None], dtype)


def clearance(mechanism: Mechanism, state: State) -> Array:
    """Gaps [k + l] of the points that may touch planes (m), and of coordinates to the ends of their ranges (m, rad)."""
    m = mechanism.model
    touch = touch_of(mechanism, state)
    return gaps_at(mechanism, touch, frames(state.pos, state.quat), straight_coordinates(m, state.qpos))
