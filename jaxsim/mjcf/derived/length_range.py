"""Ranges of actuator lengths, which muscles need: push each actuator both ways and see how far it goes.

MuJoCo: mj_setLengthRange. All actuators and both directions are simulated at once, without gravity, springs,
dampers and contacts, until velocities, which are damped, have died out.
"""

from typing import Any

import numpy as np

from jaxsim.core.enums import BiasType, EqType, GainType, TrnType
from jaxsim.dynamics.com import com_pos
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.dynamics.tendon import tendon
from jaxsim.dynamics.transmission import transmission
from jaxsim.mjcf.derived.host import Host, HostData, HostModel, host_data, host_model, with_worlds
from jaxsim.mjcf.derived.push import Pusher
from jaxsim.mjcf.language.enums import LRMode

Array = np.ndarray
WORLDS = 64  # simulated at once
SETTLED = 1e-10  # velocity below which nothing will happen any more, in m/s or rad/s


class LengthRangeError(ValueError):
    """The range of an actuator's length was not found."""

    def __init__(self, actuator: int, message: str):
        super().__init__(message)
        self.actuator = actuator


def length_range(m: Any, settings: Any) -> None:
    """Complete actuator_lengthrange [nout, 2] (after `derived.compute`).

    Args:
        settings: attributes of MJCF's compiler/lengthrange: mode, useexisting, uselimit, accel, maxforce,
            timeconst, timestep, inttotal, interval, tolrange.

    Raises:
        LengthRangeError: a range cannot be found.
    """
    todo = [i for i in range(m.nactuator) if _wanted(m, i, settings) and not _limited(m, i, settings)]
    if not todo:
        return
    if not np.isin(m.eq_type[m.eq_active0.astype(bool)], (EqType.JOINT, EqType.TENDON)).all():
        why = "the search for its lengthrange knows no equalities but those of joints and tendons; give lengthrange"
        raise LengthRangeError(todo[0], why)
    worlds = [(i, side) for i in todo for side in (0, 1)]
    host = host_model(m)
    ends = np.concatenate([_extremes(host, worlds[k : k + WORLDS], settings) for k in range(0, len(worlds), WORLDS)])
    for i, (low, high) in zip(todo, ends.reshape(-1, 2, 2)):
        _assign(m, i, low, high, settings.tolrange)


def _wanted(m: Any, i: int, settings: Any) -> bool:
    """Whether the mode asks for the range of an actuator, and it has none yet."""
    kinds = {m.actuator_gaintype[i] == GainType.MUSCLE, m.actuator_biastype[i] == BiasType.MUSCLE}
    if settings.mode == LRMode.MUSCLEUSER:
        kinds |= {m.actuator_gaintype[i] == GainType.USER, m.actuator_biastype[i] == BiasType.USER}
    low, high = m.actuator_lengthrange[m.actuator_outadr[i]]
    given = settings.useexisting and low < high
    return settings.mode != LRMode.NONE and (settings.mode == LRMode.ALL or any(kinds)) and not given


def _limited(m: Any, i: int, settings: Any) -> bool:
    """Take the range from a limited joint or tendon, if that is allowed and there is one."""
    kind = m.actuator_trntype[i]
    joint = kind in (TrnType.JOINT, TrnType.JOINTINPARENT)
    if not settings.uselimit or not (joint or kind == TrnType.TENDON):
        return False
    of, target = ("jnt" if joint else "tendon"), m.actuator_trnid[i, 0]
    if not getattr(m, f"{of}_limited")[target]:
        return False
    m.actuator_lengthrange[m.actuator_outadr[i]] = getattr(m, f"{of}_range")[target]
    return True


def _extremes(m: HostModel, worlds: list[tuple[int, int]], settings: Any) -> Array:
    """Least and greatest length [world, 2] in the last interval, for each actuator and direction."""
    actuators = np.array([i for i, _ in worlds])
    directions = np.array([2.0 * side - 1 for _, side in worlds])
    count = len(worlds)
    moving, push = with_worlds(m, count), Pusher(m, settings)
    qpos, qvel = np.tile(m.qpos0[:, None], count), np.zeros((m.nv, count))
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    damping = np.exp(-push.timestep / max(0.01, settings.timeconst))
    time = 0.0
    while time < settings.inttotal:
        d = com_pos(moving, kinematics(moving, host_data(moving, qpos)))
        d, ten_J = tendon(moving, d)
        ten_J = np.broadcast_to(ten_J, (count, m.ntendon, m.nv))
        length, moment = _lengths(m, d, ten_J, actuators)
        qpos, qvel = push.step(moving, d, qvel * damping, ten_J, moment, directions)
        time += push.timestep
        if not np.all(np.abs(qvel) < 1e10):
            bad = np.flatnonzero(~np.all(np.abs(qvel) < 1e10, axis=0))[0]
            raise LengthRangeError(worlds[bad][0], "the search for its lengthrange is unstable")
        settled = np.max(np.abs(qvel), initial=0) < SETTLED
        if settled or time > settings.inttotal - settings.interval:
            low, high = np.minimum(low, length), np.maximum(high, length)
        if settled:
            break
    return np.stack([low, high], axis=1)


def _lengths(m: HostModel, d: HostData, ten_J: Array, actuators: Array) -> tuple[Array, Array]:
    """Length [world] and moment [world, nv] of the actuator that each world is about."""
    length, moment = np.zeros(len(actuators)), np.zeros((len(actuators), m.nv))
    on_tendon = np.flatnonzero(m.actuator_trntype[actuators] == TrnType.TENDON)
    which = actuators[on_tendon]
    target, gear = m.actuator_trnid[which, 0], m.actuator_gear[m.actuator_outadr[which], 0]
    length[on_tendon] = d.ten_length[target, on_tendon] * gear
    moment[on_tendon] = ten_J[on_tendon, target] * gear[:, None]
    for w in np.flatnonzero(m.actuator_trntype[actuators] != TrnType.TENDON):
        world: HostData = Host(**{k: v[:, w] for k, v in vars(d).items()})
        one, every_moment = transmission(m, world, ten_J[w])
        out = m.actuator_outadr[actuators[w]]
        length[w], moment[w] = one.actuator_length[out], every_moment[out]
    return length, moment


def _assign(m: Any, i: int, low: Array, high: Array, tolrange: float) -> None:
    """Set the range of actuator i from the lengths [2] reached at its low and its high end."""
    span = high[1] - low[0]
    if span <= 0:
        raise LengthRangeError(i, f"invalid lengthrange ({low[0]:g}, {high[1]:g}); give it explicitly")
    if max(np.ptp(low), np.ptp(high)) > tolrange * span:
        raise LengthRangeError(
            i,
            f"the search for its lengthrange did not converge, at ({low[0]:g}, {low[1]:g}) and "
            f"({high[0]:g}, {high[1]:g}); are its joints limited? Otherwise give lengthrange explicitly",
        )
    m.actuator_lengthrange[m.actuator_outadr[i]] = low[0], high[1]
