"""A Model in maximal coordinates: masses and frames of links, compiled from the same fields."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.select import product, take
from jaxsim.core.enums import DisableBit, EqType, EqualityLaw, JointType, TrnType
from jaxsim.core.model import Model, known
from jaxsim.core.topology import Topology, per_topology
from jaxsim.dynamics.kinematics import local_frames
from jaxsim.maximal.bodies import rotation
from jaxsim.maximal.points import untouched
from jaxsim.maximal.structure import Structure, structure_of

Array = jax.Array


class Mechanism(NamedTuple):
    """Links and joints of a Model: n links, whose frames are at their centres of mass, in their bodies' axes."""

    model: Model
    mass: Array  # [n] kg
    inertia: Array  # [n, 3, 3] kg m^2
    com: Array  # [n, 3] m, centre of mass in the frame of the link's body
    base_pos: Array  # [n, 3] m, where joints begin, in the carrying link's frame
    base_quat: Array  # [n, 4]

    @property
    def structure(self) -> Structure:
        """Its static part."""
        return structure_of(self.model.topology)


class State(NamedTuple):
    """A mechanism between two steps. The velocities are those of the step that ended here, at its middle.

    Poses are maximal coordinates; `qpos` are the joint coordinates at them, which follow from the poses but for the
    number of turns, and `qvel` how fast they changed in the last step.
    """

    pos: Array  # [n, 3] m, centres of mass
    quat: Array  # [n, 4] orientations of links
    vel: Array  # [n, 3] m/s, world frame
    ang: Array  # [n, 3] rad/s, frame of the link at the beginning of the last step
    qpos: Array  # [nq]
    qvel: Array  # [nv]
    act: Array  # [na]


def from_model(model: Model, without: tuple[str, ...] = ()) -> Mechanism:
    """The mechanism of a model, which may be traced.

    Args:
        model: any model that `js.load` gives, of MJCF or URDF.
        without: inequalities of the model to leave out, of "contact", "limit" and "frictionloss".

    Returns:
        Its links [n] with masses (kg), inertias (kg m^2) and joint frames (m).

    Raises:
        ValueError: the model has something that is not simulated in maximal coordinates; all of it is named.
    """
    model = leaving_out(model, without)
    problems = refused(model)
    if problems:
        raise ValueError("not simulated in maximal coordinates: " + "; ".join(problems))
    s, pos, quat = structure_of(model.topology), *in_link(model)
    members = jnp.asarray(_members(model.topology), pos.dtype)
    mass = product(_members(model.topology), model.body_mass)
    local, turn = (x[: model.nbody] for x in local_frames(model))
    centre = pos + quaternion.rotate(quat, local)
    heavy = mass > 0
    com = product(_members(model.topology), model.body_mass[:, None] * centre) / jnp.where(heavy, mass, 1)[:, None]
    axes = rotation(quaternion.mul(quat, turn))
    own = jnp.einsum("bij,bj,bkj->bik", axes, model.body_inertia, axes, precision="highest")
    arm = centre - take(jnp.concatenate([com, jnp.zeros((1, 3), com.dtype)]), s.link)
    square = vector.dot(arm, arm)[:, None, None] * jnp.eye(3, dtype=arm.dtype)[None]
    moved = own + model.body_mass[:, None, None] * (square - arm[:, :, None] * arm[:, None, :])
    inertia = jnp.einsum("nb,bij->nij", members, moved, precision="highest")
    below = take(jnp.concatenate([com, jnp.zeros((1, 3), com.dtype)]), s.parent)
    base = take(pos, s.mount) + quaternion.rotate(take(quat, s.mount), take(model.body_pos, s.body)) - below
    base_quat = quaternion.mul(take(quat, s.mount), take(model.body_quat, s.body))
    return Mechanism(model, mass, inertia, com, base, base_quat)


def in_link(m: Model) -> tuple[Array, Array]:
    """Poses of bodies [nbody, 3], [nbody, 4] in the frame of the body on top of their link, or of the world."""
    pos, quat = jnp.zeros_like(m.body_pos), jnp.zeros_like(m.body_quat).at[:, 0].set(1)
    for index, parent in _welded(m.topology):
        above, turned = take(pos, parent), take(quat, parent)
        pos = pos.at[index].set(above + quaternion.rotate(turned, take(m.body_pos, index)))
        quat = quat.at[index].set(vector.normalize(quaternion.mul(turned, take(m.body_quat, index))))
    return pos, quat


@per_topology
def _welded(t: Topology) -> list[tuple[np.ndarray, np.ndarray]]:
    """Bodies that are welded to their parents, by how many welds there are above them, and those parents."""
    fixed = t.body_weldid != np.arange(t.nbody)
    count = np.zeros(t.nbody, int)
    for b in range(1, t.nbody):
        count[b] = count[t.body_parentid[b]] + 1 if fixed[b] else 0
    rounds = [np.flatnonzero(count == k) for k in range(1, count.max() + 1)]
    return [(index, t.body_parentid[index]) for index in rounds]


@per_topology
def _members(t: Topology) -> np.ndarray:
    """[n, nbody] 0/1: the bodies of each link."""
    s = structure_of(t)
    return np.where(s.link[None] == np.arange(s.n)[:, None], 1.0, 0.0)


FLAGS = {"contact": DisableBit.CONTACT, "limit": DisableBit.LIMIT, "frictionloss": DisableBit.FRICTIONLOSS}


def leaving_out(m: Model, without: tuple[str, ...]) -> Model:
    """The model with MuJoCo's flags set that disable what is left out."""
    unknown = sorted(set(without) - set(FLAGS))
    if unknown:
        raise ValueError(f"without={unknown[0]!r} is not one of {', '.join(FLAGS)}")
    flags = functools.reduce(int.__or__, (int(FLAGS[name]) for name in without), int(m.opt.disableflags))
    return m.replace(opt=m.opt.replace(disableflags=flags))


def refused(m: Model) -> list[str]:
    """What of a model is not simulated, a sentence each; empty where it all is."""
    sizes = {"nmocap": "mocap bodies", "nplastic": "springs that yield", "nhistory": "delays"}
    sizes["nsleep"] = "trees that may sleep"
    found = [f"{getattr(m, name)} {what}" for name, what in sizes.items() if getattr(m, name)]
    if any(part is not None for part in m.extension):
        found.append("functions given to js.extend")
    if m.neq and m.opt.equality == EqualityLaw.COMPLIANT:
        found.append('equalities that give way (opt.equality="compliant")')
    found += [
        f"joint {m.topology.names['joint'][j] or j}: a free joint of a body with other joints"
        for j in np.flatnonzero(m.jnt_type == JointType.FREE)
        if m.body_jntnum[m.jnt_bodyid[j]] > 1
    ]
    return found + _inequalities(m) + _couplings(m)


def _inequalities(m: Model) -> list[str]:
    found = []
    turning = m.jnt_limited.astype(bool) & (m.jnt_type == JointType.BALL)
    if not m.opt.disables(DisableBit.LIMIT) and (turning.any() or np.any(m.tendon_limited)):
        found.append('limits of balls or tendons (from_model(..., without=("limit",)) leaves them out)')
    if not m.opt.disables(DisableBit.FRICTIONLOSS) and (m.dof_hasfriction.any() or m.tendon_hasfriction.any()):
        found.append('friction of joints or tendons (without=("frictionloss",) leaves it out)')
    if m.opt.disables(DisableBit.CONTACT):
        return found
    surfaces = {"moving surfaces": m.hassurfacevel, "surfaces that stick": m.hasadhesion}
    surfaces["bodies that bounce (opt.restitution)"] = bool(m.opt.bounces)
    surfaces["actuators that make bodies stick"] = bool(np.any(m.actuator_trntype == TrnType.BODY))
    kinds = untouched(m) + [what for what, present in surfaces.items() if present]
    return found + [f'contacts of {what} (without=("contact",) leaves them out)' for what in kinds]


def _couplings(m: Model) -> list[str]:
    active = m.eq_type[np.asarray(m.eq_active0, bool)]
    found = ["equalities of tendons"] if np.any(active == EqType.TENDON) else []
    tendons = m.tendon_armature
    return found + (["armature of tendons"] if known(tendons) and np.any(np.asarray(tendons)) else [])
