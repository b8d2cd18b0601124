"""One step of the dynamics in which only inertia, limits and equalities act, for several worlds at once.

This serves the search for actuator length ranges; the simulator proper is elsewhere. Arrays are [n, world].
"""

from typing import Any

import numpy as np

from jaxsim.core.enums import MAXIMP, MINIMP, MINVAL, EqType, JointType
from jaxsim.mjcf.algebra.quaternion import cross, norm, quat_mul, quat_normalize, quat_to_rotvec
from jaxsim.mjcf.derived.armature import joint_armature, tendon_armature
from jaxsim.mjcf.derived.kinematics import (
    State,
    Tree,
    add_to_parents,
    rigid_inertia,
    spatial_inertia,
)

Array = np.ndarray


class Pusher:
    """What stays the same during the search: timestep, strength of the push, sources of constraint rows."""

    def __init__(self, m: Any, t: Tree, settings: Any):
        self.timestep = settings.timestep if settings.timestep > 0 else m.opt.timestep
        self.accel, self.maxforce = settings.accel, settings.maxforce
        self.armature = np.diag(joint_armature(m))[..., None]
        self.tendon_armature = tendon_armature(m)
        self.coupled, self.carry = (t.below | t.below.T)[..., None], _carriers(m, t)
        active = m.eq_active0.astype(bool)
        self.equalities = [int(i) for i in np.flatnonzero(active)]

    def step(
        self,
        m: Any,
        t: Tree,
        s: State,
        qvel: Array,
        ten_length: Array,
        ten_J: Array,
        moment: Array,
        direction: Array,
    ) -> tuple[Array, Array]:
        """Next qpos [nq, world] and qvel [nv, world] with a force along, or against, moment [nv, world]."""
        inertia = rigid_inertia(m, t, s) + self.armature
        if self.tendon_armature.any():
            inertia += np.einsum("tv...,tu...,t->vu...", ten_J, ten_J, self.tendon_armature) * self.coupled
        inertia = np.moveaxis(inertia, -1, 0)
        force = self._force(inertia, moment, direction)
        smooth = np.linalg.solve(inertia, (force - _bias(m, t, s, qvel, self.carry)).T[..., None])[..., 0]
        rows = Rows(m, s.qpos, qvel, ten_length, ten_J, self)
        qacc = _constrained(inertia, smooth, rows)
        qvel = qvel + self.timestep * qacc.T
        return _integrate(m, s.qpos, qvel, self.timestep), qvel

    def _force(self, inertia: Array, moment: Array, direction: Array) -> Array:
        """Generalised force [nv, world] that gives the wanted acceleration, within the maximal force."""
        response = np.linalg.solve(inertia, moment.T[..., None])[..., 0]
        force = moment * (direction * self.accel / np.maximum(MINVAL, np.linalg.norm(response, axis=1)))
        if self.maxforce > 0:
            strength = np.maximum(np.linalg.norm(force, axis=0), MINVAL)
            force = force * np.minimum(1, self.maxforce / strength)
        return force


def _cross_motion(vel: Array, v: Array) -> Array:
    """Rate of change of a motion vector that is carried along with a velocity [..., 6]."""
    spin, rot = vel[..., :3], v[..., :3]
    return np.concatenate([cross(spin, rot), cross(spin, v[..., 3:]) + cross(vel[..., 3:], rot)], -1)


def _cross_force(vel: Array, f: Array) -> Array:
    """Rate of change of a momentum that is carried along with a velocity [..., 6]."""
    spin, force = vel[..., :3], f[..., 3:]
    return np.concatenate([cross(spin, f[..., :3]) + cross(vel[..., 3:], force), cross(spin, force)], -1)


def _bias(m: Any, t: Tree, s: State, qvel: Array, carry: Array) -> Array:
    """Coriolis and centrifugal forces [nv, world] (mj_rne without gravity); carry is from `_carriers`."""
    rate = s.cdof * qvel[..., None]
    moves = t.moves.astype(float)
    cvel = np.tensordot(moves, rate, 1)
    cdof_dot = _cross_motion(np.tensordot(carry, rate, 1), s.cdof)
    cdof_dot[_translations(m)] = 0
    cacc = np.tensordot(moves, cdof_dot * qvel[..., None], 1)
    inertia = spatial_inertia(m, s)
    momentum = (inertia @ cvel[..., None])[..., 0]
    force = (inertia @ cacc[..., None])[..., 0] + _cross_force(cvel, momentum)
    return np.sum(s.cdof * add_to_parents(m, t, force)[m.dof_bodyid], axis=-1)


def _translations(m: Any) -> Array:
    """Which dofs are translations of a free joint."""
    index = np.arange(m.nv) - m.jnt_dofadr[m.dof_jntid]
    return (m.jnt_type[m.dof_jntid] == JointType.FREE) & (index < 3)


def _carriers(m: Any, t: Tree) -> Array:
    """[nv, nv]: dofs whose velocity carries the direction of a dof; those of the same rotation do not."""
    joint, linear = m.dof_jntid, _translations(m)
    same = (joint[:, None] == joint[None]) & (linear[:, None] == linear[None])
    return (t.below & ~same).astype(float)


class Rows:
    """Constraint rows: jac [row, nv, world], stiffness D and aref [row, world], and which are equalities."""

    def __init__(self, m: Any, qpos: Array, qvel: Array, ten_length: Array, ten_J: Array, push: Pusher):
        self.parts: list[tuple[Array, Array, Array, Array, Array, Array]] = []
        self.equality: list[bool] = []
        self.qvel = qvel
        for i in push.equalities:
            self._equality(m, i, qpos, ten_length, ten_J)
        scalar = m.jnt_limited.astype(bool) & np.isin(m.jnt_type, (JointType.SLIDE, JointType.HINGE))
        joints = np.flatnonzero(scalar)
        unit = np.zeros((len(joints), *qvel.shape))
        unit[np.arange(len(joints)), m.jnt_dofadr[joints]] = 1
        solver = (
            m.jnt_margin[joints],
            m.jnt_solref[joints],
            m.jnt_solimp[joints],
            m.dof_invweight0[m.jnt_dofadr[joints]],
        )
        self._limits(unit, qpos[m.jnt_qposadr[joints]], m.jnt_range[joints], *solver)
        for j in np.flatnonzero(m.jnt_limited & (m.jnt_type == JointType.BALL)):
            self._ball_limit(m, int(j), qpos)
        limited = np.flatnonzero(m.tendon_limited)
        solver = (
            m.tendon_margin[limited],
            m.tendon_solref_lim[limited],
            m.tendon_solimp_lim[limited],
            m.tendon_invweight0[limited],
        )
        self._limits(ten_J[limited], ten_length[limited], m.tendon_range[limited], *solver)
        self._finish(2 * push.timestep)

    def _limits(self, jac: Array, pos: Array, ends: Array, margin: Array, *solver: Array) -> None:
        """Rows that keep each pos [n, world] between its ends [n, 2]."""
        for sign, end in ((1.0, ends[:, :1]), (-1.0, ends[:, 1:])):
            self.parts.append((sign * jac, sign * (pos - end), margin, *solver))
            self.equality += [False] * len(jac)

    def _ball_limit(self, m: Any, j: int, qpos: Array) -> None:
        dof, adr = m.jnt_dofadr[j], m.jnt_qposadr[j]
        turn = quat_to_rotvec(quat_normalize(qpos[adr : adr + 4].T))
        angle = norm(turn)
        jac = np.zeros_like(self.qvel)
        jac[dof : dof + 3] = -(turn / np.maximum(angle, MINVAL)[:, None]).T
        one = slice(j, j + 1)
        solver = m.jnt_margin[one], m.jnt_solref[one], m.jnt_solimp[one], m.dof_invweight0[dof : dof + 1]
        self.parts.append((jac[None], (m.jnt_range[j].max() - angle)[None], *solver))
        self.equality.append(False)

    def _equality(self, m: Any, i: int, qpos: Array, ten_length: Array, ten_J: Array) -> None:
        """Polynomial relation between two joints or two tendons, or a constant one of a single one."""
        first, second = m.eq_obj1id[i], m.eq_obj2id[i]

        def described(k: int) -> tuple[Array, Array, float]:
            if m.eq_type[i] == EqType.TENDON:
                return ten_length[k] - m.tendon_length0[k], ten_J[k], m.tendon_invweight0[k]
            jac = np.zeros_like(self.qvel)
            jac[m.jnt_dofadr[k]] = 1
            adr = m.jnt_qposadr[k]
            return qpos[adr] - m.qpos0[adr], jac, m.dof_invweight0[m.jnt_dofadr[k]]

        pos, jac, weight = described(first)
        poly = np.polynomial.Polynomial(m.eq_data[i, :5])
        if second >= 0:
            other, other_jac, other_weight = described(second)
            pos, jac = pos - poly(other), jac - poly.deriv()(other) * other_jac
            weight = weight + other_weight
        else:
            pos = pos - poly.coef[0]
        solver = np.zeros(1), m.eq_solref[i : i + 1], m.eq_solimp[i : i + 1], np.array([weight])
        self.parts.append((jac[None], pos[None], *solver))
        self.equality.append(True)

    def _finish(self, least_time: float) -> None:
        """D and aref of all rows (mj_makeImpedance, mj_referenceConstraint); inactive limits have D zero."""
        if not self.equality:
            return
        self.jac, pos, margin, solref, solimp, weight = (np.concatenate(part) for part in zip(*self.parts))
        pos = pos - margin[:, None]
        impedance = _impedance(solimp, pos)
        dmax = np.clip(solimp[:, 1], MINIMP, MAXIMP)
        standard = solref[:, 0] > 0
        time, ratio = np.maximum(solref[:, 0], least_time), np.where(standard, solref[:, 1], 1.0)
        stiffness = np.where(standard, 1 / np.maximum(MINVAL, (dmax * time * ratio) ** 2), -solref[:, 0] / dmax**2)
        damping = np.where(standard, 2 / np.maximum(MINVAL, dmax * time), -solref[:, 1] / dmax)
        vel = np.einsum("rv...,v...->r...", self.jac, self.qvel)
        self.aref = -damping[:, None] * vel - stiffness[:, None] * impedance * pos
        inverse = np.maximum(MINVAL, weight[:, None] * (1 - impedance) / impedance)
        active = np.array(self.equality, bool)[:, None] | (pos < 0)
        self.stiffness = np.where(active, 1 / inverse, 0.0)


def _impedance(solimp: Array, pos: Array) -> Array:
    """d(r) [row, world] of the computation chapter, section on impedance."""
    low, high = np.clip(solimp[:, :2], MINIMP, MAXIMP).T[..., None]
    width = np.maximum(MINVAL, solimp[:, 2:3])
    middle, power = np.clip(solimp[:, 3:4], MINIMP, MAXIMP), np.maximum(1.0, solimp[:, 4:5])
    x = np.minimum(np.abs(pos) / width, 1.0)
    below = x**power / middle ** (power - 1)
    above = 1 - (1 - x) ** power / (1 - middle) ** (power - 1)
    return low + np.where(x <= middle, below, above) * (high - low)


def _constrained(inertia: Array, smooth: Array, rows: Rows) -> Array:
    """Accelerations [world, nv] that minimise the Gauss principle with quadratic penalties of active rows."""
    if not rows.equality:
        return smooth
    jac, weight, aref = np.moveaxis(rows.jac, -1, 0), rows.stiffness.T, rows.aref.T
    equality = np.array(rows.equality, bool)
    momentum = (inertia @ smooth[..., None])[..., 0]
    qacc, pushing = smooth, None
    for _ in range(50):
        now = (weight > 0) & (equality | ((jac @ qacc[..., None])[..., 0] < aref))
        if pushing is not None and np.array_equal(now, pushing):
            break
        pushing = now
        stiff = jac * (weight * pushing)[..., None]
        hessian = inertia + np.swapaxes(jac, 1, 2) @ stiff
        target = momentum + (np.swapaxes(stiff, 1, 2) @ aref[..., None])[..., 0]
        qacc = np.linalg.solve(hessian, target[..., None])[..., 0]
    return qacc


def _integrate(m: Any, qpos: Array, qvel: Array, timestep: float) -> Array:
    """qpos after moving with qvel (mj_integratePos)."""
    new = qpos.copy()
    scalar = np.isin(m.jnt_type, (JointType.SLIDE, JointType.HINGE))
    new[m.jnt_qposadr[scalar]] += timestep * qvel[m.jnt_dofadr[scalar]]
    for j in np.flatnonzero(~scalar):
        adr, dof = m.jnt_qposadr[j], m.jnt_dofadr[j]
        if m.jnt_type[j] == JointType.FREE:
            new[adr : adr + 3] += timestep * qvel[dof : dof + 3]
            adr, dof = adr + 3, dof + 3
        spin = qvel[dof : dof + 3].T * timestep
        angle = np.linalg.norm(spin, axis=1, keepdims=True)
        axis = spin / np.maximum(angle, MINVAL)
        turn = np.concatenate([np.cos(angle / 2), np.sin(angle / 2) * axis], 1)
        new[adr : adr + 4] = quat_normalize(quat_mul(qpos[adr : adr + 4].T, turn)).T
    return new
