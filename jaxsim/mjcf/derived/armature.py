"""Armature of joints and tendons, their own and that of the actuators that act on them."""

from typing import Any

import numpy as np

from jaxsim.core.enums import JointType, TrnType

Array = np.ndarray


def on_joint(m: Any) -> Array:
    """Which actuators [nactuator] act on a joint."""
    return np.isin(m.actuator_trntype, (TrnType.JOINT, TrnType.JOINTINPARENT))


def on_tendon(m: Any) -> Array:
    """Which actuators [nactuator] act on a tendon."""
    return m.actuator_trntype == TrnType.TENDON


def joint_armature(m: Any) -> Array:
    """Armature of dofs [nv], their own and that of the actuators on their joints."""
    total = m.dof_armature.copy()
    for j in np.flatnonzero(m.jnt_actuatorid != -1):
        dofs = slice(m.jnt_dofadr[j], m.jnt_dofadr[j] + JointType(m.jnt_type[j]).nv)
        total[dofs] += _reflected(m, on_joint(m), int(j))
    return total


def tendon_armature(m: Any) -> Array:
    """Armature of tendons [ntendon], their own and that of the actuators on them."""
    total = m.tendon_armature.copy()
    for i in np.flatnonzero(m.tendon_actuatorid != -1):
        total[i] += _reflected(m, on_tendon(m), int(i))
    return total


def _reflected(m: Any, among: Array, target: int) -> float:
    """Sum of armature gear^2 over the actuators among a kind that act on a joint or tendon."""
    acting = np.flatnonzero(among & (m.actuator_trnid[:, 0] == target))
    gear = m.actuator_gear[m.actuator_outadr[acting], 0]
    return float(np.sum(m.actuator_armature[acting] * gear**2))
