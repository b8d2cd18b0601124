"""One step of the dynamics in which only inertia, limits and equalities act, for several worlds at once.

This serves the search for actuator length ranges; the simulator proper is elsewhere. Vectors are [n, world], and
what belongs to rows or dofs by dofs is [world, n, nv].
"""

from typing import Any

import numpy as np

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.select import product
from jaxsim.algebra.tree import ancestor
from jaxsim.core.enums import MAXIMP, MINIMP, MINVAL, EqType, JointType
from jaxsim.dynamics.armature import armature_of_tendons
from jaxsim.dynamics.com import com_vel, crb, inertial_forces
from jaxsim.dynamics.coordinates import SCALAR, quats_of, read
from jaxsim.dynamics.position import integrate_pos
from jaxsim.dynamics.tendon import tendon_armature
from jaxsim.mjcf.derived.host import HostData, HostModel

Array = np.ndarray


class Pusher:
    """What stays the same during the search: timestep, strength of the push, sources of constraint rows."""

    def __init__(self, m: HostModel, settings: Any):
        self.timestep = settings.timestep if settings.timestep > 0 else m.opt.timestep
        self.accel, self.maxforce = settings.accel, settings.maxforce
        self.heavy_tendons = armature_of_tendons(m).any()
        self.rows = Rows(m, 2 * self.timestep)

    def step(
        self, m: HostModel, d: HostData, qvel: Array, ten_J: Array, moment: Array, sign: Array
    ) -> tuple[Array, Array]:
        """Next qpos [nq, world] and qvel [nv, world] with a force along, or against, moment [world, nv].

        Args:
            m: the model, with worlds.
            d: the stages up to tendons.
            qvel: [nv, world].
            ten_J: [world, ntendon, nv].
            moment: of one actuator in each world.
            sign: [world] of the force.
        """
        d = crb(m, d.replace(qvel=qvel))
        d = tendon_armature(m, d, ten_J) if self.heavy_tendons else d
        inertia = np.asarray(d.qM)
        force = self._force(inertia, moment, sign)
        smooth = _solve(inertia, force - _bias(m, d).T)
        qacc = _constrained(inertia, smooth, self.rows, m, d, ten_J)
        qvel = qvel + self.timestep * qacc.T
        return integrate_pos(m, d.qpos, qvel, self.timestep), qvel

    def _force(self, inertia: Array, moment: Array, sign: Array) -> Array:
        """Generalised force [world, nv] that gives the wanted acceleration, within the maximal force."""
        response = vector.norm(_solve(inertia, moment))
        force = moment * (sign * self.accel / np.maximum(MINVAL, response))[:, None]
        if self.maxforce > 0:
            force = force * np.minimum(1, self.maxforce / np.maximum(vector.norm(force), MINVAL))[:, None]
        return force


def _solve(matrix: Array, rhs: Array) -> Array:
    return np.linalg.solve(matrix, rhs[..., None])[..., 0]


def _bias(m: HostModel, d: HostData) -> Array:
    """Coriolis and centrifugal forces [nv, world]."""
    d, cdof_dot = com_vel(m, d)
    return inertial_forces(m, d, product(ancestor(m.topology), cdof_dot * d.qvel[..., None]))


class Rows:
    """Constraint rows: equalities of joints and tendons, then limits of joints, of balls and of tendons.

    A limit has a row for either end; those of a kind have all lower ends first.
    """

    def __init__(self, m: HostModel, least_time: float):
        self.equalities = np.flatnonzero(m.eq_active0)
        limited = m.jnt_limited.astype(bool)
        self.joints = np.flatnonzero(limited & np.isin(m.jnt_type, SCALAR))
        self.balls = np.flatnonzero(limited & (m.jnt_type == JointType.BALL))
        self.tendons = np.flatnonzero(m.tendon_limited)
        joints, tendons = np.tile(self.joints, 2), np.tile(self.tendons, 2)
        joints = np.concatenate([joints, self.balls])
        self.always = np.arange(len(self.equalities) + len(joints) + len(tendons)) < len(self.equalities)
        self.margin = np.concatenate([0 * self.equalities, m.jnt_margin[joints], m.tendon_margin[tendons]])[:, None]
        solref = np.concatenate([m.eq_solref[self.equalities], m.jnt_solref[joints], m.tendon_solref_lim[tendons]])
        solimp = [m.eq_solimp[self.equalities], m.jnt_solimp[joints], m.tendon_solimp_lim[tendons]]
        self.solimp = np.concatenate(solimp)
        of_equalities = np.array([_equality_weight(m, int(i)) for i in self.equalities])
        weight = [of_equalities, m.dof_invweight0[m.jnt_dofadr[joints]], m.tendon_invweight0[tendons]]
        self.weight = np.concatenate(weight)[:, None]
        self.stiffness, self.damping = _spring(solref, self.solimp, least_time)
        columns = np.arange(m.nv) == m.jnt_dofadr[self.joints][:, None]
        self.of_joints = np.concatenate([columns, -columns.astype(float)])

    def at(self, m: HostModel, d: HostData, ten_J: Array) -> tuple[Array, Array, Array]:
        """Jacobian [world, row, nv], D and aref [row, world]; a limit that is not reached has D zero."""
        described = [_equality(m, d, int(i), ten_J) for i in self.equalities]
        balls = [_ball_limit(m, d, int(j)) for j in self.balls]
        joint_pos, tendon_pos = d.qpos[m.jnt_qposadr[self.joints]], d.ten_length[self.tendons]
        tendon_jac = ten_J[:, self.tendons]
        pos = [*(p for p, _ in described), _gaps(joint_pos, m.jnt_range[self.joints]), *(p for p, _ in balls)]
        pos.append(_gaps(tendon_pos, m.tendon_range[self.tendons]))
        of_joints = np.broadcast_to(self.of_joints, (len(ten_J), *self.of_joints.shape))
        jacs = [*(j for _, j in described), of_joints, *(j for _, j in balls), tendon_jac, -tendon_jac]
        jac, distance = np.concatenate(jacs, 1), np.concatenate(pos) - self.margin
        impedance = _impedance(self.solimp, distance)
        vel = (jac @ d.qvel.T[..., None])[..., 0].T
        aref = -self.damping * vel - self.stiffness * impedance * distance
        inverse = np.maximum(MINVAL, self.weight * (1 - impedance) / impedance)
        return jac, np.where(self.always[:, None] | (distance < 0), 1 / inverse, 0.0), aref


def _spring(solref: Array, solimp: Array, least_time: float) -> tuple[Array, Array]:
    """Stiffness and damping [row, 1] (mj_makeImpedance)."""
    dmax = np.clip(solimp[:, 1], MINIMP, MAXIMP)
    standard = solref[:, 0] > 0
    time, ratio = np.maximum(solref[:, 0], least_time), np.where(standard, solref[:, 1], 1.0)
    stiffness = np.where(standard, 1 / np.maximum(MINVAL, (dmax * time * ratio) ** 2), -solref[:, 0] / dmax**2)
    damping = np.where(standard, 2 / np.maximum(MINVAL, dmax * time), -solref[:, 1] / dmax)
    return stiffness[:, None], damping[:, None]


def _gaps(pos: Array, ends: Array) -> Array:
    """Distances [2 n, world] of each pos [n, world] from its ends [n, 2]."""
    return np.concatenate([pos - ends[:, :1], ends[:, 1:] - pos])


def _ball_limit(m: HostModel, d: HostData, j: int) -> tuple[Array, Array]:
    """Distance [1, world] of a ball's angle from its limit, and Jacobian [world, 1, nv]."""
    turn = quaternion.log(vector.normalize(read(d.qpos, quats_of(m, np.array([j])))[0]))
    axis, angle = vector.normalize_with_norm(turn)
    dof, jac = m.jnt_dofadr[j], np.zeros((len(turn), 1, m.nv))
    jac[:, 0, dof : dof + 3] = -np.where(angle[:, None] > MINVAL, axis, 0)
    return (m.jnt_range[j].max() - angle)[None], jac


def _equality_weight(m: HostModel, i: int) -> float:
    """Inverse weight of an equality: the sum of those of its joints or tendons."""
    ends = np.array([k for k in (m.eq_obj1id[i], m.eq_obj2id[i]) if k >= 0])
    of_tendons = m.eq_type[i] == EqType.TENDON
    return float((m.tendon_invweight0[ends] if of_tendons else m.dof_invweight0[m.jnt_dofadr[ends]]).sum())


def _equality(m: HostModel, d: HostData, i: int, ten_J: Array) -> tuple[Array, Array]:
    """Residual [1, world] and Jacobian [world, 1, nv] of a polynomial relation between two joints or two tendons."""

    def described(k: int) -> tuple[Array, Array]:
        if m.eq_type[i] == EqType.TENDON:
            return d.ten_length[k] - m.tendon_length0[k], ten_J[:, k]
        adr, jac = m.jnt_qposadr[k], np.zeros((len(ten_J), m.nv))
        jac[:, m.jnt_dofadr[k]] = 1
        return d.qpos[adr] - m.qpos0[adr], jac

    pos, jac = described(m.eq_obj1id[i])
    poly, second = np.polynomial.Polynomial(m.eq_data[i, :5]), m.eq_obj2id[i]
    if second < 0:
        return (pos - poly.coef[0])[None], jac[:, None]
    other, other_jac = described(second)
    return (pos - poly(other))[None], (jac - poly.deriv()(other)[:, None] * other_jac)[:, None]


def _impedance(solimp: Array, pos: Array) -> Array:
    """d(r) [row, world] of the computation chapter, section on impedance."""
    low, high = np.clip(solimp[:, :2], MINIMP, MAXIMP).T[..., None]
    width = np.maximum(MINVAL, solimp[:, 2:3])
    middle, power = np.clip(solimp[:, 3:4], MINIMP, MAXIMP), np.maximum(1.0, solimp[:, 4:5])
    x = np.minimum(np.abs(pos) / width, 1.0)
    below = x**power / middle ** (power - 1)
    above = 1 - (1 - x) ** power / (1 - middle) ** (power - 1)
    return low + np.where(x <= middle, below, above) * (high - low)


def _constrained(inertia: Array, smooth: Array, rows: Rows, m: HostModel, d: HostData, ten_J: Array) -> Array:
    """Accelerations [world, nv] that minimise the Gauss principle with quadratic penalties of active rows."""
    if not len(rows.always):
        return smooth
    jac, weight, aref = rows.at(m, d, ten_J)
    weight, aref = weight.T, aref.T
    momentum = (inertia @ smooth[..., None])[..., 0]
    qacc, pushing = smooth, None
    for _ in range(50):
        now = (weight > 0) & (rows.always | ((jac @ qacc[..., None])[..., 0] < aref))
        if pushing is not None and np.array_equal(now, pushing):
            break
        pushing = now
        stiff = jac * (weight * pushing)[..., None]
        hessian = inertia + np.swapaxes(jac, 1, 2) @ stiff
        target = momentum + (np.swapaxes(stiff, 1, 2) @ aref[..., None])[..., 0]
        qacc = _solve(hessian, target)
    return qacc
