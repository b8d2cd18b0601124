"""Actuator lengths and moments at one configuration (MuJoCo: mj_transmission), one row per force output."""

from typing import Any

import numpy as np

from jaxsim.core.enums import JointType, TrnType
from jaxsim.mjcf.algebra.quaternion import cross, quat_conj, quat_mul, quat_normalize, quat_to_rotvec, rotate
from jaxsim.mjcf.derived.kinematics import (
    State,
    Tree,
    wrench_rows,
)

Array = np.ndarray


def transmission(m: Any, t: Tree, s: State, ten_length: Array, ten_J: Array) -> tuple[Array, Array]:
    """actuator_length [nout] and its moments [nout, nv]; there are no contacts, so adhesion has none."""
    length, moment = np.zeros(m.nout), np.zeros((m.nout, m.nv))
    for i in range(m.nactuator):
        out, gear = int(m.actuator_outadr[i]), m.actuator_gear[m.actuator_outadr[i]]
        first, second = (int(k) for k in m.actuator_trnid[i])
        match TrnType(m.actuator_trntype[i]):
            case TrnType.JOINT:
                length[out] = _joint(m, s, first, gear, moment[out], in_parent=False)
            case TrnType.JOINTINPARENT:
                length[out] = _joint(m, s, first, gear, moment[out], in_parent=True)
            case TrnType.TENDON:
                length[out] = ten_length[first] * gear[0]
                moment[out] = ten_J[first] * gear[0]
            case TrnType.SITE if second < 0:
                moment[out] = _site(m, t, s, first, gear)
            case TrnType.SITE:
                length[out], moment[out] = _site_to_site(m, t, s, first, second, gear)
            case TrnType.SLIDERCRANK:
                rod = m.actuator_cranklength[i]
                length[out], moment[out] = _slider_crank(m, t, s, first, second, rod, gear[0])
            case TrnType.SO3 if second < 0:
                length[out : out + 3] = _ball_angles(m, s, first)
                moment[out : out + 3, m.jnt_dofadr[first] :][:, :3] = np.eye(3)
            case TrnType.SO3:
                length[out : out + 3], moment[out : out + 3] = _site_rotation(m, t, s, first, second)
    return length, moment


def _ball_angles(m: Any, s: State, joint: int) -> Array:
    adr = m.jnt_qposadr[joint]
    return quat_to_rotvec(quat_normalize(s.qpos[adr : adr + 4]))


def _joint(m: Any, s: State, joint: int, gear: Array, moment: Array, in_parent: bool) -> float:
    """Length of a joint transmission; fills its row of moments."""
    kind, adr, dof = m.jnt_type[joint], m.jnt_qposadr[joint], m.jnt_dofadr[joint]
    if kind in (JointType.SLIDE, JointType.HINGE):
        moment[dof] = gear[0]
        return s.qpos[adr] * gear[0]
    if kind == JointType.BALL:
        axis = gear[:3]
        if in_parent:
            axis = rotate(quat_conj(quat_normalize(s.qpos[adr : adr + 4])), axis)
        moment[dof : dof + 3] = axis
        return float(_ball_angles(m, s, joint) @ axis)
    axis = gear[3:]
    if in_parent:
        axis = rotate(quat_conj(quat_normalize(s.qpos[adr + 3 : adr + 7])), axis)
    moment[dof : dof + 3], moment[dof + 3 : dof + 6] = gear[:3], axis
    return 0.0


def _row(m: Any, t: Tree, s: State, site: int, force: Array, torque: Array) -> Array:
    """Generalised force [nv] of a force and torque in the world frame at a site."""
    body = m.site_bodyid[site : site + 1]
    return wrench_rows(m, t, s, body, s.site_xpos[site : site + 1], force[None], torque[None])[0]


def _site(m: Any, t: Tree, s: State, site: int, gear: Array) -> Array:
    mat = s.site_xmat[site]
    return _row(m, t, s, site, mat @ gear[:3], mat @ gear[3:])


def _relative_row(m: Any, t: Tree, s: State, site: int, ref: int, force: Array, torque: Array) -> Array:
    """Generalised force of a wrench on site and its opposite on ref; dofs that move both do not count."""
    row = _row(m, t, s, site, force, torque) - _row(m, t, s, ref, force, torque)
    common = t.moves[m.site_bodyid[site]] & t.moves[m.site_bodyid[ref]]
    return np.where(common, 0.0, row)


def _relative_rotation(s: State, site: int, ref: int) -> Array:
    return quat_to_rotvec(quat_mul(quat_conj(s.site_xquat[ref]), s.site_xquat[site]))


def _site_to_site(m: Any, t: Tree, s: State, site: int, ref: int, gear: Array) -> tuple[float, Array]:
    mat = s.site_xmat[ref]
    offset = mat.T @ (s.site_xpos[site] - s.site_xpos[ref])
    length = offset @ gear[:3] + _relative_rotation(s, site, ref) @ gear[3:]
    return length, _relative_row(m, t, s, site, ref, mat @ gear[:3], mat @ gear[3:])


def _site_rotation(m: Any, t: Tree, s: State, site: int, ref: int) -> tuple[Array, Array]:
    zero = np.zeros(3)
    rows = [_relative_row(m, t, s, site, ref, zero, axis) for axis in s.site_xmat[site].T]
    return _relative_rotation(s, site, ref), np.stack(rows)


def _slider_crank(m: Any, t: Tree, s: State, crank: int, slider: int, rod: float, gear: float) -> tuple[float, Array]:
    """Slider position a'v - sqrt((a'v)^2 + rod^2 - v'v) on its axis a; v points from slider to crank."""
    axis = s.site_xmat[slider][:, 2]
    vec = s.site_xpos[crank] - s.site_xpos[slider]
    along = axis @ vec
    square = along**2 + rod**2 - vec @ vec
    if square > 0:
        root = np.sqrt(square)
        length = along - root
        by_vec, by_axis = axis * (1 - along / root) + vec / root, vec * (1 - along / root)
    else:
        length, by_vec, by_axis = along, axis, vec
    zero = np.zeros(3)
    row = (
        _row(m, t, s, crank, by_vec, zero)
        - _row(m, t, s, slider, by_vec, zero)
        + _row(m, t, s, slider, zero, cross(axis, by_axis))
    )
    return length * gear, row * gear
