"""Engine plugins that are known, their attributes, and the parameters of those that are no shapes."""

import math

import numpy as np

from jaxsim.algebra.signed_distance import PLUGINS
from jaxsim.mjcf.assets.sdf import SDF_PREFIX
from jaxsim.mjcf.language.errors import Fault

PID_PLUGIN = "mujoco.pid"
KEYS = {SDF_PREFIX + kind: tuple(plugin.defaults) for kind, plugin in PLUGINS.items()}
KEYS[PID_PLUGIN] = ("kp", "ki", "kd", "imax", "slewmax")
GRID_PLUGIN = "mujoco.sensor.touch_grid"
KEYS[GRID_PLUGIN] = ("nchannel", "size", "fov", "gamma")


def check_config(plugin: str, key: str, text: str) -> None:
    """Raise a Fault unless `text` can be the value of an attribute of this plugin."""
    if key not in KEYS[plugin]:
        raise Fault(f"unknown key {key!r}; expected one of {', '.join(KEYS[plugin])}")
    count = 2 if plugin == GRID_PLUGIN and key in ("size", "fov") else 1
    try:
        numbers = [float(word) for word in text.split() or ["0"]]
    except ValueError:
        raise Fault(f"{key}={text[:30]!r} is not a number") from None
    if len(numbers) != count:
        raise Fault(f"{key}={text[:30]!r} is not {'two numbers' if count == 2 else 'a number'}")
    if plugin in (PID_PLUGIN, GRID_PLUGIN) and not all(map(math.isfinite, numbers)):
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


def grid_parameters(config: dict[str, str]) -> np.ndarray:
    """Channels, cells across and up, views across and up (degrees), gamma [6] of mujoco.sensor.touch_grid."""
    given = {key: [float(word) for word in text.split()] for key, text in config.items() if text.split()}
    if missing := [key for key in ("size", "fov") if key not in given]:
        raise Fault(f"the plugin {GRID_PLUGIN} needs {' and '.join(missing)}")
    channels = int(given.get("nchannel", [0])[0]) or 1
    cells, views, gamma = [int(n) for n in given["size"]], given["fov"], given.get("gamma", [0.0])[0]
    if not 1 <= channels <= 6:
        raise Fault("nchannel must be from 1 to 6")
    if min(cells) <= 0:
        raise Fault("size: the numbers of cells must be positive")
    if not (0 < views[0] <= 180 and 0 < views[1] <= 90):
        raise Fault("fov must be positive, the first at most 180 and the second at most 90 degrees")
    if not 0 <= gamma <= 1:
        raise Fault("gamma must be between 0 and 1")
    return np.array([channels, *cells, *views, gamma])
