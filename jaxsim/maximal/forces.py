"""Forces along joint coordinates: springs, actuators and what is applied, at the step's beginning; dampers after it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra.select import take
from jaxsim.core.data import Data, make_data
from jaxsim.core.enums import DisableBit
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology
from jaxsim.dynamics.actuation import actuation, next_activation
from jaxsim.dynamics.armature import joint_armature, on_joint
from jaxsim.dynamics.com import com_pos, com_vel
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.dynamics.passive import damping, passive, poly_force, poly_force_slope
from jaxsim.dynamics.tendon import tendon
from jaxsim.dynamics.transmission import transmission
from jaxsim.maximal.bodies import identities, product, skew
from jaxsim.maximal.mechanism import Mechanism, State
from jaxsim.maximal.structure import structure_of

Array = jax.Array


class Forces(NamedTuple):
    """What acts along the coordinates of joints in a step."""

    explicit: Array  # [nv] N, N m: springs, actuators and applied forces
    act: Array  # [na] activations after the step


def forces_at(m: Model, state: State, ctrl: Array, applied: Array) -> Forces:
    """Springs, actuators with controls [nu], and applied forces [nv] (N, N m), at a state."""
    d, ten_J, moment = _moments(m, make_data(m).replace(qpos=state.qpos, qvel=state.qvel, act=state.act, ctrl=ctrl))
    d, gravcomp = passive(m, d, ten_J)
    d = actuation(m, d, moment, gravcomp)
    force = d.qfrc_passive + d.qfrc_actuator + applied
    if not m.opt.disables(DisableBit.DAMPER):  # dampers of joints are implicit: see `Dampers`
        force = force + d.qvel * poly_force(*damping(m), d.qvel, odd=True)
    return Forces(force, next_activation(m, d))


def _moments(m: Model, d: Data) -> tuple[Data, Array, Array]:
    """Data with lengths and velocities of tendons and actuators, and the moments of both."""
    if m.ntendon or m.ngravcomp or m.hasfluid or not on_joint(m).all():
        d = com_pos(m, kinematics(m, d))
        d, _ = com_vel(m, d)
    d, ten_J = tendon(m, d)
    d, moment = transmission(m, d, ten_J)
    speeds = (lax.dot(rows, d.qvel, precision=lax.Precision.HIGHEST) for rows in (ten_J, moment))
    return d.replace(**dict(zip(("ten_velocity", "actuator_velocity"), speeds))), ten_J, moment


class Dampers(NamedTuple):
    """Viscous damping and rotor inertia of coordinates, by joint [n, width] or of floating links [n, 6]."""

    linear: Array
    poly: Array  # [..., 2]
    armature: Array

    def force(self, speed: Array) -> Array:
        """Force (N, N m) against the speeds of coordinates."""
        return speed * poly_force(self.linear, self.poly, speed, odd=True)

    def slope(self, speed: Array) -> Array:
        """Its derivative."""
        return poly_force_slope(self.linear, self.poly, speed, odd=True)


def dampers_of(m: Model, dof: np.ndarray) -> Dampers:
    """Damping of the coordinates with addresses [n, k], nv where there is none."""
    linear, poly = damping(m)
    if m.opt.disables(DisableBit.DAMPER):
        linear, poly = jnp.zeros_like(linear), jnp.zeros_like(poly)
    return Dampers(*(by_joint(x, dof) for x in (linear, poly, joint_armature(m))))


def by_joint(x: Array, dof: np.ndarray) -> Array:
    """Numbers [nv, ...] of coordinates, as [n, k, ...] at addresses [n, k], zero where there is none."""
    padded = jnp.concatenate([x, jnp.zeros((1, *x.shape[1:]), x.dtype)])
    return take(padded, dof.ravel()).reshape(*dof.shape, *x.shape[1:])


def floating_dofs(m: Model) -> np.ndarray:
    """[n, 6] addresses in qvel of the coordinates of floating links, nv for the others."""
    s = structure_of(m.topology)
    address = m.body_dofadr[s.body][:, None] + np.arange(6)
    return np.where(s.floating[:, None], address, m.nv)


def floating_map(mechanism: Mechanism, mat: Array) -> Array:
    """[n, 6, 6] from velocities of links with orientations [n, 3, 3] to those of their coordinates, were they free: of
    the body's origin in the world's axes, and angular in its own. Its transpose takes forces to the link."""
    n, dtype = len(mat), mat.dtype
    linear = jnp.concatenate([identities(n, 3, dtype), product(mat, skew(mechanism.com))], axis=2)
    angular = jnp.concatenate([jnp.zeros((n, 3, 3), dtype), identities(n, 3, dtype)], axis=2)
    return jnp.concatenate([linear, angular], axis=1)


def to_dofs(t: Topology, x: Array) -> Array:
    """[nv] from [n, width] numbers of coordinates of joints; zero for those of floating links."""
    flat = jnp.concatenate([x.reshape(-1), jnp.zeros(1, x.dtype)])
    return take(flat, _place(t))


@per_topology
def _place(t: Topology) -> np.ndarray:
    dof = structure_of(t).dof
    place = np.full(t.nv + 1, dof.size)
    place[dof.ravel()] = np.arange(dof.size)
    return place[: t.nv]
