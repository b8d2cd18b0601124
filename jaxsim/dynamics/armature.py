"""Rotor inertia of joints and tendons, with what actuators reflect onto them (mj_actuatorArmature)."""

import numpy as np

from jaxsim.algebra.arrays import Array
from jaxsim.algebra.select import scatter_add, take
from jaxsim.core.enums import TrnType
from jaxsim.core.model import Model


def on_joint(m: Model) -> np.ndarray:
    """Which actuators [nactuator] act on a joint."""
    return (m.actuator_trntype == TrnType.JOINT) | (m.actuator_trntype == TrnType.JOINTINPARENT)


def on_tendon(m: Model) -> np.ndarray:
    """Which actuators [nactuator] act on a tendon."""
    return m.actuator_trntype == TrnType.TENDON


def joint_armature(m: Model) -> Array:
    """Armature of the dofs [nv]: their own, and armature gear^2 of the actuators on their joints."""
    drives = np.flatnonzero(on_joint(m))
    if not len(drives):
        return m.dof_armature
    return m.dof_armature + take(_reflected(m, drives, m.njnt), m.dof_jntid)


def armature_of_tendons(m: Model) -> Array:
    """Armature of the tendons [ntendon]: their own, and armature gear^2 of the actuators on them."""
    pulls = np.flatnonzero(on_tendon(m))
    return m.tendon_armature + _reflected(m, pulls, m.ntendon) if len(pulls) else m.tendon_armature


def _reflected(m: Model, actuators: np.ndarray, size: int) -> Array:
    gear = take(m.actuator_gear[:, 0], m.actuator_outadr[actuators])
    target = m.actuator_trnid[actuators, 0]
    return scatter_add(target, take(m.actuator_armature, actuators) * gear * gear, size)
