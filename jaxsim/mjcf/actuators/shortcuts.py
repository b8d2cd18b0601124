"""Actuator shortcuts (`position`, `muscle` ...) lowered to the parameters of MuJoCo's one general actuator.

Every lowering takes the values so far (which it completes), the attributes of the element, and the values from
which the shortcut inherits its parameters.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxsim.core.enums import DynType, GainType
from jaxsim.mjcf.actuators.dcmotor import dcmotor
from jaxsim.mjcf.actuators.inputs import INPUTS, read_input
from jaxsim.mjcf.language.enums import Tristate
from jaxsim.mjcf.language.errors import Fault
from jaxsim.mjcf.language.schema import ENUMS

Values = dict[str, Any]

# the gain type that each shortcut stands for
GAIN_OF = {
    "position": GainType.FIXED,
    "velocity": GainType.FIXED,
    "intvelocity": GainType.FIXED,
    "motor": GainType.FIXED,
    "cylinder": GainType.FIXED,
    "adhesion": GainType.FIXED,
    "damper": GainType.AFFINE,
    "muscle": GainType.MUSCLE,
    "dcmotor": GainType.DCMOTOR,
    "orientation": GainType.SO3,
    "pid": GainType.PID,
}


def _lower(
    values: Values,
    types: tuple[str, str, str],
    gain: Sequence[float],
    bias: Sequence[float] = (),
    dyn: Sequence[float] = (1.0,),
    inputs: int = 0,
) -> None:
    """Set all parameters: types of dynamics, gain and bias, the first of their parameters, control signature."""
    dyntype, gaintype, biastype = types
    values |= {
        "dyntype": ENUMS["dyn"][dyntype],
        "gaintype": ENUMS["gain"][gaintype],
        "biastype": ENUMS["bias"][biastype],
        "dynprm": _pad(dyn),
        "gainprm": _pad(gain),
        "biasprm": _pad(bias),
        "actdim": -1,
        "actearly": False,
        "ctrlspec": inputs,
        "inheritrange": 0.0,
    }


def _pad(first: Sequence[float]) -> np.ndarray:
    return np.concatenate([first, np.zeros(10 - len(first))])


def _not_negative(given: Values, *names: str) -> None:
    for name in names:
        if given.get(name, 0.0) < 0:
            raise Fault(f"{name} is negative")


def _only_pulls(v: Values, kind: str) -> None:
    if np.any(v["ctrlrange"] < 0):
        raise Fault(f"ctrlrange of {kind} must not be negative")
    v["ctrllimited"] = Tristate.TRUE


def _damping(given: Values, base: Values) -> float:
    """biasprm[2]: minus kv, or a positive damping ratio that the compiler turns into kv."""
    if "kv" in given and "dampratio" in given:
        raise Fault("kv and dampratio are both given; one of them is enough")
    _not_negative(given, "kv", "dampratio")
    if "kv" in given:
        return -given["kv"]
    return given.get("dampratio", float(base["biasprm"][2]))


def _inherit_range(v: Values, given: Values, base: Values, ranged: str) -> None:
    """`inheritrange` and an explicit range exclude each other; what the element says beats its class."""
    v["inheritrange"] = given.get("inheritrange", base["inheritrange"])
    if v["inheritrange"] > 0 and np.any(v[ranged]):
        if "inheritrange" in given and ranged in given:
            raise Fault(f"{ranged} and inheritrange are both given; one of them is enough")
        if ranged in given:
            v["inheritrange"] = 0.0
        else:
            v[ranged] = np.zeros(2)


def _motor(v: Values, given: Values, base: Values) -> None:
    _lower(v, ("none", "fixed", "none"), gain=[1])


def _position(v: Values, given: Values, base: Values) -> None:
    kp = given.get("kp", float(base["gainprm"][0]))
    damping = _damping(given, base)
    _not_negative(given, "timeconst")
    filtered = base["dyntype"] == DynType.FILTEREXACT
    tau = given.get("timeconst", float(base["dynprm"][0]) if filtered else 1.0)
    filtered = tau > 0 if "timeconst" in given else filtered
    types = ("filterexact" if filtered else "none", "fixed", "affine")
    _lower(v, types, gain=[kp], bias=[0, -kp, damping], dyn=[tau], inputs=INPUTS["pos"])
    _inherit_range(v, given, base, "ctrlrange")


def _intvelocity(v: Values, given: Values, base: Values) -> None:
    kp = given.get("kp", float(base["gainprm"][0]))
    damping = _damping(given, base)
    _lower(v, ("integrator", "fixed", "affine"), gain=[kp], bias=[0, -kp, damping], inputs=INPUTS["vel"])
    _inherit_range(v, given, base, "actrange")


def _velocity(v: Values, given: Values, base: Values) -> None:
    kv = given.get("kv", float(base["gainprm"][0]))
    _lower(v, ("none", "fixed", "affine"), gain=[kv], bias=[0, 0, -kv], inputs=INPUTS["vel"])


def _damper(v: Values, given: Values, base: Values) -> None:
    inherits = base["gaintype"] == GainType.AFFINE
    kv = given.get("kv", -float(base["gainprm"][2]) if inherits else 0.0)
    if kv < 0:
        raise Fault("kv is negative")
    _only_pulls(v, "a damper")
    _lower(v, ("none", "affine", "none"), gain=[0, 0, -kv])


def _cylinder(v: Values, given: Values, base: Values) -> None:
    tau = given.get("timeconst", float(base["dynprm"][0]))
    area = given.get("area", float(base["gainprm"][0]))
    if given.get("diameter", -1.0) >= 0:
        area = math.pi / 4 * given["diameter"] ** 2
    bias = given.get("bias", base["biasprm"][:3])
    _lower(v, ("filter", "fixed", "affine"), gain=[area], bias=bias, dyn=[tau], inputs=INPUTS["pressure"])


_MUSCLE = {"force": -1.0, "scale": 200.0, "lmin": 0.5, "lmax": 1.6, "vmax": 1.5, "fpmax": 1.3, "fvmax": 1.2}


def _muscle(v: Values, given: Values, base: Values) -> None:
    # a parameter that has the general actuator's default value counts as unset
    dyn, gain = base["dynprm"].copy(), base["gainprm"].copy()
    dyn[0], dyn[1] = (0.01 if dyn[0] == 1 else dyn[0]), (0.04 if dyn[1] == 0 else dyn[1])
    gain[0], gain[1] = (0.75 if gain[0] == 1 else gain[0]), (1.05 if gain[1] == 0 else gain[1])
    _not_negative(given, "tausmooth")
    dyn[2] = given.get("tausmooth", dyn[2])
    for target, name in ((dyn, "timeconst"), (gain, "range")):
        for i, value in enumerate(given.get(name, ())):
            target[i] = value if value >= 0 else target[i]
    for i, (name, default) in enumerate(_MUSCLE.items(), start=2):
        gain[i] = default if gain[i] == 0 else gain[i]
        gain[i] = given[name] if given.get(name, -1.0) >= 0 else gain[i]
    _lower(v, ("muscle", "muscle", "muscle"), gain=gain, bias=gain[:9], dyn=dyn)


def _adhesion(v: Values, given: Values, base: Values) -> None:
    gain = given.get("gain", float(base["gainprm"][0]))
    if gain < 0:
        raise Fault("gain is negative")
    _only_pulls(v, "an adhesion actuator")
    _lower(v, ("none", "fixed", "none"), gain=[gain])


def _orientation(v: Values, given: Values, base: Values) -> None:
    kp = given.get("kp", float(base["gainprm"][0]))
    damping = _damping(given, base)
    inputs = read_input(given["input"]) if "input" in given else base["ctrlspec"]
    if inputs not in (0, *ENUMS["chart"].values()):
        raise Fault(f"input={given.get('input')!r}: expected 'expmap' or 'quat'")
    _lower(v, ("none", "so3", "so3"), gain=[kp], bias=[0, -kp, damping], inputs=inputs)


def _pid(v: Values, given: Values, base: Values) -> None:
    inherits = base["gaintype"] == GainType.PID
    kp = given.get("kp", -float(base["biasprm"][1]) if inherits else 1.0)
    damping = _damping(given, base)
    ki = given.get("ki", float(base["gainprm"][0]) if inherits else 0.0)
    imax = given.get("imax", float(base["dynprm"][0]) if inherits else 0.0)
    slewmax = given.get("slewmax", float(base["dynprm"][1]) if inherits else 0.0)
    if slewmax < 0:
        raise Fault("slewmax is negative")
    inputs = read_input(given["input"]) if "input" in given else base["ctrlspec"] if inherits else 0
    types = ("pid" if ki or slewmax else "none", "pid", "affine")
    limits = [imax if ki else 0.0, slewmax]
    _lower(v, types, gain=[ki], bias=[0, -kp, damping], dyn=limits, inputs=inputs)
    _inherit_range(v, given, base, "ctrlrange")


def _dcmotor(v: Values, given: Values, base: Values) -> None:
    inputs = read_input(given["input"]) if "input" in given else base["ctrlspec"]
    v |= dcmotor(v, given, base if base["gaintype"] == GainType.DCMOTOR else None, inputs)


SHORTCUTS: dict[str, Callable[[Values, Values, Values], None]] = {
    "motor": _motor,
    "position": _position,
    "velocity": _velocity,
    "intvelocity": _intvelocity,
    "damper": _damper,
    "cylinder": _cylinder,
    "muscle": _muscle,
    "adhesion": _adhesion,
    "orientation": _orientation,
    "pid": _pid,
    "dcmotor": _dcmotor,
}
