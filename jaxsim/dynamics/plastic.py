"""Springs that yield: rest positions that are part of the state, and follow what stretches a spring too far.

A spring of rest position r and yield y that is stretched by x = q - r beyond y moves its rest position to where
x = y again (ideal elasto-plasticity, with the return mapping at the end of each step).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.select import gather_groups, put, take
from jaxsim.core.data import Data, plastic_source
from jaxsim.core.enums import DisableBit, JointType
from jaxsim.core.model import Model
from jaxsim.dynamics.coordinates import SCALAR, joints_of, quats_of, read

Array = jax.Array


def spring_rest(m: Model, d: Data) -> tuple[Array, Array]:
    """Where springs are at rest: of joints [nq], and the least and largest length [ntendon, 2] of tendons (m)."""
    if not m.nplastic:
        return m.qpos_spring, m.tendon_lengthspring
    springs = jnp.concatenate([m.qpos_spring, m.tendon_lengthspring.reshape(-1)])
    springs = put(springs, plastic_source(m.topology), d.plastic)
    return springs[: m.nq], springs[m.nq :].reshape(-1, 2)


def flow(m: Model, d: Data, ten_J: Array, velocity: Array, moved: Data) -> Data:
    """`moved`, the Data one step after `d`, with the rest positions that its springs yield to.

    Lengths of tendons are those of `d`, advanced by the velocity [nv] of the step and the Jacobian [ntendon, nv].
    """
    if not m.nplastic or m.opt.disables(DisableBit.SPRING):
        return moved
    rest, lengths = spring_rest(m, d)
    yields = np.asarray(m.jnt_plasticadr) >= 0
    groups = []
    scalar, ball = (joints[yields[joints]] for joints in (joints_of(m, *SCALAR), joints_of(m, JointType.BALL)))
    if len(scalar):
        adr, limit = m.jnt_qposadr[scalar], take(m.jnt_springyield, scalar)
        x = take(moved.qpos - rest, adr)
        groups.append((m.jnt_plasticadr[scalar], take(rest, adr) + x - jnp.clip(x, -limit, limit)))
    if len(ball):
        address = m.jnt_plasticadr[ball][:, None] + np.arange(4)
        now, was = (read(q, quats_of(m, ball)) for q in (moved.qpos, rest))
        new = _turned(was, vector.normalize(now), take(m.jnt_springyield, ball))
        groups.append((address.ravel(), new.reshape(-1)))
    tendons = np.flatnonzero(m.tendon_plasticadr >= 0)
    if len(tendons):
        rate = lax.dot(ten_J, velocity, precision=lax.Precision.HIGHEST)
        length = take(d.ten_length + m.opt.timestep * rate, tendons)
        new = _drawn(take(lengths, tendons), length, take(m.tendon_springyield, tendons))
        groups.append(((m.tendon_plasticadr[tendons][:, None] + np.arange(2)).ravel(), new.reshape(-1)))
    return moved.replace(plastic=gather_groups(groups, m.nplastic))


def _turned(rest: Array, now: Array, limit: Array) -> Array:
    """Rest orientations [n, 4] turned towards `now` [n, 4] until the angle is at most the limit [n] (rad)."""
    x = quaternion.subtract(now, rest)
    angle = vector.norm(x)
    beyond = angle > limit
    share = jnp.where(beyond, 1 - limit / jnp.where(beyond, angle, 1), 0)
    return jnp.where(beyond[:, None], vector.normalize(quaternion.mul(rest, quaternion.exp(share[:, None] * x))), rest)


def _drawn(rest: Array, length: Array, limit: Array) -> Array:
    """Ranges [n, 2] of lengths at rest, shifted until the length [n] is outside by at most the limit [n] (m).

    A tendon that may hang loose, from length 0 up, still may after it was drawn out.
    """
    low, high = rest[:, 0], rest[:, 1]
    shift = jnp.maximum(length - high - limit, 0) + jnp.minimum(length - low + limit, 0)
    loose = (low == 0) & (high > 0) & (shift > 0)
    return jnp.stack([low + jnp.where(loose, 0, shift), high + shift], axis=1)
