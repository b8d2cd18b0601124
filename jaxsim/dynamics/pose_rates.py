"""How the frames of kinematics move with qpos: every body turns and travels, and carries what is fixed to it.

Differentiated operation by operation, kinematics costs many times itself: each body's pose is a product of the poses
above it. Its derivative is simpler than it is: a change of qpos is a velocity, that gives each body a twist, which is
a sum over the dofs above it. This is the derivative with respect to qpos alone; where the model moves too, the
operations are differentiated.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.select import product, put, take
from jaxsim.algebra.structured import derivative_along
from jaxsim.algebra.tree import ancestor, velocity_before
from jaxsim.core.data import Data
from jaxsim.core.enums import MINVAL, JointType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology, per_topology
from jaxsim.dynamics.com import motion_axes
from jaxsim.dynamics.coordinates import TURNING, joints_of, quats_of, read, spins_of, straight_coordinates, write

Array = jax.Array
Frames = dict[str, Array]
Compute = Callable[[Model, Data, Any], Frames]

# what frames follow from, besides qpos
OF_MODEL = (
    *("body_pos", "body_quat", "body_ipos", "body_iquat", "jnt_pos", "jnt_axis", "qpos0"),
    *("geom_pos", "geom_quat", "site_pos", "site_quat"),
)
OF_DATA = ("mocap_pos", "mocap_quat")


def with_rates(m: Model, d: Data, compute: Compute, known: Any = None) -> Frames:
    """`compute(m, d, known)`, whose derivative with respect to qpos [nq] follows the bodies.

    Args:
        m: the model.
        d: Data with qpos and poses of mocap bodies.
        compute: the frames, an array for each field.
        known: arrays found before that `compute` takes instead of computing them; they count as constant.
    """

    def at(fixed: tuple[dict, dict], qpos: Array, known: Any = None) -> Frames:
        return compute(m.replace(**fixed[0]), d.replace(qpos=qpos, **fixed[1]), known)

    # every traced number is an argument: a custom derivative cannot close over what is differentiated
    frames = jax.custom_jvp(at)

    def rule(primals: tuple, tangents: tuple) -> tuple[Frames, Frames]:
        out = frames(*primals)
        fixed_dot, qpos_dot, _ = tangents
        stands = all(isinstance(dot, SymbolicZero) for dot in jax.tree.leaves(fixed_dot))
        if stands and not isinstance(qpos_dot, SymbolicZero):
            return out, _rates(m, d.replace(**out), _velocity(m, primals[1], qpos_dot))
        change = derivative_along(lambda x: at(*x), primals[:2], tangents[:2])
        return out, jax.tree.map(jnp.zeros_like, out) if change is None else change

    frames.defjvp(rule, symbolic_zeros=True)
    parts = {name: getattr(m, name) for name in OF_MODEL}, {name: getattr(d, name) for name in OF_DATA}
    return frames(parts, d.qpos, lax.stop_gradient(known))


def _velocity(m: Model, qpos: Array, dot: Array) -> Array:
    """The velocity [nv] of a change `dot` of qpos, both [nq]; what only scales a quaternion is none."""
    position, dof = straight_coordinates(m)
    velocity = put(jnp.zeros(m.nv, qpos.dtype), dof, take(dot, position))
    joints = joints_of(m, *TURNING)
    if not len(joints):
        return velocity
    q = read(qpos, quats_of(m, joints))
    square = vector.dot(q, q)[:, None]
    spin = 2 * quaternion.mul(quaternion.conj(q), read(dot, quats_of(m, joints)))[:, 1:]
    tiny = square < MINVAL**2  # stands for the identity
    return write(velocity, spins_of(m, joints), jnp.where(tiny, 0, spin) / jnp.where(tiny, 1, square))


def _rates(m: Model, d: Data, velocity: Array) -> Frames:
    """The rates of change of all frames of `d` at a velocity [nv] of qpos."""
    motion = motion_axes(m, d, d.xpos) * velocity[:, None]
    # joints are carried by the dofs before them: after the bodies come the joints
    twist = product(np.concatenate([ancestor(m.topology), _before_joints(m.topology)]), motion)
    bodies, joints = np.arange(m.nbody), m.nbody + np.arange(m.njnt)
    points = {
        "xpos": bodies, "xipos": bodies, "geom_xpos": m.geom_bodyid, "site_xpos": m.site_bodyid, "xanchor": joints,
    }  # fmt: skip
    turning = {"xmat": bodies, "ximat": bodies, "geom_xmat": m.geom_bodyid, "site_xmat": m.site_bodyid}
    root = np.concatenate([m.body_rootid, m.body_rootid[m.jnt_bodyid]])

    carrier = np.concatenate(list(points.values()))
    carried = take(twist, carrier)
    arm = jnp.concatenate([getattr(d, name) for name in points]) - take(d.xpos, root[carrier])
    travel = carried[:, 3:] + vector.cross(carried[:, :3], arm)
    spin = take(twist[:, :3], np.concatenate(list(turning.values())))
    turn = _turned(spin, jnp.concatenate([getattr(d, name) for name in turning]))
    half = jnp.concatenate([jnp.zeros_like(twist[: m.nbody, :1]), 0.5 * twist[: m.nbody, :3]], axis=1)
    return {
        **_parts(travel, points),
        **_parts(turn, turning),
        "xquat": quaternion.mul(half, d.xquat),
        "xaxis": vector.cross(twist[m.nbody :, :3], d.xaxis),
    }


@per_topology
def _before_joints(t: Topology) -> np.ndarray:
    """[njnt, nv] 0/1: row j marks the dofs that move the anchor and the axis of joint j."""
    # of a free joint the anchor moves with the translations: what carries the first of its turns
    first = t.jnt_dofadr + np.where(t.jnt_type == JointType.FREE, 3, 0)
    return velocity_before(t)[first]


def _turned(spin: Array, mat: Array) -> Array:
    """The rates [n, 9] of matrices [n, 9] at angular velocities [n, 3]."""
    x, y, z = spin[:, :1], spin[:, 1:2], spin[:, 2:]
    a, b, c = mat[:, :3], mat[:, 3:6], mat[:, 6:]
    return jnp.concatenate([y * c - z * b, z * a - x * c, x * b - y * a], axis=1)


def _parts(x: Array, places: dict[str, np.ndarray]) -> Frames:
    """The rows of x, field by field."""
    ends = np.cumsum([len(p) for p in places.values()])
    return {name: x[end - len(p) : end] for (name, p), end in zip(places.items(), ends)}
