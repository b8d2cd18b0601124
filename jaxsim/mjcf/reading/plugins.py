"""Engine plugins that are known, their attributes, and the parameters of the controller mujoco.pid."""

import math

import numpy as np

from jaxsim.algebra.signed_distance import PLUGINS
from jaxsim.mjcf.assets.sdf import SDF_PREFIX
from jaxsim.mjcf.language.errors import Fault

PID_PLUGIN = "mujoco.pid"
KEYS = {SDF_PREFIX + kind: tuple(plugin.defaults) for kind, plugin in PLUGINS.items()}
KEYS[PID_PLUGIN] = ("kp", "ki", "kd", "imax", "slewmax")


def check_config(plugin: str, key: str, text: str) -> None:
    """Raise a Fault unless `text` can be the value of an attribute of this plugin."""
    if key not in KEYS[plugin]:
        raise Fault(f"unknown key {key!r}; expected one of {', '.join(KEYS[plugin])}")
    try:
        number = float(text or 0)
    except ValueError:
        raise Fault(f"{key}={text[:30]!r} is not a number") from None
    if plugin == PID_PLUGIN and not math.isfinite(number):
        raise Fault(f"{key}={text[:30]!r} is not finite")


def pid_parameters(config: dict[str, str]) -> np.ndarray:
    """kp, ki, kd, imax, slewmax [5] from the attributes of mujoco.pid as written and checked; -1 for no bound."""
    given = {key: float(text) for key, text in config.items() if text}
    for key in ("imax", "slewmax"):
        if given.get(key, 0.0) < 0:
            raise Fault(f"{key} is negative")
    if given.get("ki", 0.0) < 0 and "imax" in given:
        raise Fault("imax bounds the force of an integral, for which ki must not be negative")
    gains = [given.get(key, 0.0) for key in ("kp", "ki", "kd")]
    return np.array([*gains, *(given.get(key, -1.0) for key in ("imax", "slewmax"))])
