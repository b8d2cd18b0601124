"""Keyframes: states of the model, completed from the reference configuration."""

from typing import Any

import numpy as np

from jaxsim.mjcf.bodies import BALL, FREE, NQ
from jaxsim.mjcf.errors import Fault
from jaxsim.mjcf.frames import unit
from jaxsim.mjcf.spec import Item


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
        elif value.size > default.size or (value.size < default.size and not key.incomplete):
            raise Fault(f"{name} has {value.size} values, expected {default.size}")
        elif value.size < default.size:
            value = np.concatenate([value, default[value.size :]])
        setattr(key, name, value)
    for joint in np.flatnonzero(m.jnt_type <= BALL):
        adr = m.jnt_qposadr[joint] + (3 if m.jnt_type[joint] == FREE else 0)
        key.qpos[adr : adr + 4] = unit(key.qpos[adr : adr + 4])
    key.mquat = np.array([unit(q) for q in key.mquat.reshape(-1, 4)]).ravel()


def _plastic(m: Any) -> np.ndarray:
    """Plastic state at rest: the reference of each plastic joint spring, the lengths of each plastic tendon spring."""
    state = np.zeros(m.nplastic)
    for joint in np.flatnonzero(m.jnt_plasticadr >= 0):
        adr, start, size = m.jnt_plasticadr[joint], m.jnt_qposadr[joint], NQ[int(m.jnt_type[joint])]
        state[adr : adr + size] = m.qpos_spring[start : start + size]
    for tendon in np.flatnonzero(m.tendon_plasticadr >= 0):
        adr = m.tendon_plasticadr[tendon]
        state[adr : adr + 2] = m.tendon_lengthspring[tendon]
    return state
