"""Keyframes: states of the model, completed from the reference configuration."""

from typing import Any

import numpy as np

from jaxsim.core.enums import JointType
from jaxsim.mjcf.algebra.conventions import EPS, IDENTITY, unit
from jaxsim.mjcf.language.errors import Fault
from jaxsim.mjcf.language.spec import Item


def compile_key(key: Item, m: Any) -> None:
    """Fill or check the vectors of a keyframe, given the arrays of the model so far."""
    mocap = np.flatnonzero(m.body_mocapid >= 0)
    reference = {
        "qpos": m.qpos0,
        "qvel": np.zeros(m.nv),
        "act": np.zeros(m.na),
        "mpos": m.body_pos[mocap].ravel(),
        "mquat": m.body_quat[mocap].ravel(),
        "ctrl": np.zeros(m.nu),
        "plastic": _plastic(m),
    }
    for name, default in reference.items():
        value = getattr(key, name)
        if value is None or value.size == 0:
            value = default.copy()
        elif hasattr(key, "owners"):
            value = _placed(key, name, value, default.copy(), m)
        elif value.size > default.size:
            raise Fault(f"{name} has {value.size} values, expected {default.size}")
        else:  # a shorter vector is completed
            value = np.concatenate([value, default[value.size :]])
        setattr(key, name, value)
    for joint in np.flatnonzero(m.jnt_type <= JointType.BALL):
        adr = m.jnt_qposadr[joint] + (3 if m.jnt_type[joint] == JointType.FREE else 0)
        quat = key.qpos[adr : adr + 4]
        key.qpos[adr : adr + 4] = unit(quat) if np.linalg.norm(quat) > EPS else IDENTITY
    key.mquat = np.array([unit(q) for q in key.mquat.reshape(-1, 4)]).ravel()


def _placed(key: Item, name: str, value: np.ndarray, whole: np.ndarray, m: Any) -> np.ndarray:
    """A vector of an attached model's keyframe, moved to where the attached parts are in this model."""
    width, address = {
        "qpos": (lambda j: JointType(j.type).nq, lambda j: m.jnt_qposadr[j.id]),
        "qvel": (lambda j: JointType(j.type).nv, lambda j: m.jnt_dofadr[j.id]),
        "act": (lambda a: getattr(a, "actnum", int(a.dyntype != 0)), lambda a: m.actuator_actadr[a.id]),
        "ctrl": (lambda a: getattr(a, "ctrlnum", 1), lambda a: m.actuator_ctrladr[a.id]),
        "mpos": (lambda b: 3, lambda b: 3 * m.body_mocapid[b.id]),
        "mquat": (lambda b: 4, lambda b: 4 * m.body_mocapid[b.id]),
        "plastic": (lambda j: 0, lambda j: 0),
    }[name]
    kind = {"q": "joint", "p": "joint", "a": "actuator", "c": "actuator", "m": "mocap"}[name[0]]
    start = 0
    for original, copy in key.owners[kind]:
        size = width(copy or original)
        part = value[start : start + size]
        if copy is not None and part.size == size:
            whole[address(copy) : address(copy) + size] = part
        start += size
    if value.size > start:
        raise Fault(f"{name} has {value.size} values, expected {start}")
    return whole


def _plastic(m: Any) -> np.ndarray:
    """Plastic state at rest: references of plastic joint springs, lengths of plastic tendon springs."""
    state = np.zeros(m.nplastic)
    for joint in np.flatnonzero(m.jnt_plasticadr >= 0):
        adr, start, size = m.jnt_plasticadr[joint], m.jnt_qposadr[joint], JointType(m.jnt_type[joint]).nq
        state[adr : adr + size] = m.qpos_spring[start : start + size]
    for tendon in np.flatnonzero(m.tendon_plasticadr >= 0):
        adr = m.tendon_plasticadr[tendon]
        state[adr : adr + 2] = m.tendon_lengthspring[tendon]
    return state
