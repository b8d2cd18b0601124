"""Actuator elements and their default classes, lowered to the parameters of MuJoCo's one general actuator.

A shortcut (`position`, `muscle` ...) inherits mechanical attributes (gear, ranges ...) from any actuator
default of its class, but its parameters (kp, kv, area ...) only from one written with the same shortcut,
or with `general` and the shortcut's gain type. The nearest ancestor class that has one counts (MuJoCo 4.0,
modelling chapter, Shortcuts).
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from jaxsim.mjcf.defaults import DefaultClass, overlay
from jaxsim.mjcf.errors import Fault, Problems
from jaxsim.mjcf.reader import Element
from jaxsim.mjcf.schema import ENUMS, attributes, defaults

GAIN, BIAS, DYN = ENUMS["gain"], ENUMS["bias"], ENUMS["dyn"]
FALSE, TRUE, AUTO = 0, 1, 2
INPUTS = {"pos": 1, "vel": 2, "ff": 4, "voltage": 8, "pressure": 32}
INPUT_NONE = 16
Values = dict[str, Any]

# the gain type that each shortcut stands for
_GAIN_OF = {
    "position": "fixed",
    "velocity": "fixed",
    "intvelocity": "fixed",
    "motor": "fixed",
    "cylinder": "fixed",
    "adhesion": "fixed",
    "damper": "affine",
    "muscle": "muscle",
    "dcmotor": "dcmotor",
    "orientation": "so3",
    "pid": "pid",
}


def _parameters() -> Values:
    """Gain, bias, dynamics and activation layout of a plain motor."""
    first = np.zeros(10)
    first[0] = 1.0
    return {
        "dyntype": DYN["none"],
        "gaintype": GAIN["fixed"],
        "biastype": BIAS["none"],
        "dynprm": first,
        "gainprm": first.copy(),
        "biasprm": np.zeros(10),
        "actdim": -1,
        "actearly": False,
        "ctrlspec": 0,
        "inheritrange": 0.0,
    }


def _builtin() -> Values:
    """An actuator that nothing has set."""
    values = dict(defaults("general")) | _parameters()
    del values["input"]
    return values | {"type": "general"}


def class_default(cls: DefaultClass) -> Values:
    """The actuator default of a class, with its parent's where it sets nothing."""
    values = class_default(cls.parent) if cls.parent else _builtin()
    for element in cls.actuators:
        values = _apply(values, element, cls)
    return values


def check_defaults(classes: Iterable[DefaultClass], problems: Problems) -> None:
    """Report actuator defaults whose parameters contradict each other."""
    for cls in classes:
        for i, element in enumerate(cls.actuators):
            so_far = DefaultClass(cls.name, cls.parent, actuators=cls.actuators[:i])
            with problems.of(element.place):
                resolve(element, so_far)


def resolve(element: Element, cls: DefaultClass) -> Values:
    """All values of an actuator element of a class.

    Raises:
        Fault: the parameters contradict each other.
    """
    return _apply(class_default(cls), element, cls)


def _apply(values: Values, element: Element, cls: DefaultClass) -> Values:
    tag, given = element.tag, element.values
    mechanical = {
        k: v
        for k, v in given.items()
        if k in attributes("general") and k not in _parameters() and k != "input"
    }
    result = overlay(values, mechanical) | {"type": tag}
    if tag == "general":
        return _general(result, given)
    inherited = _inheritable(values, tag, cls)
    result |= {k: inherited[k] for k in _parameters()}
    _SHORTCUTS[tag](result, given, inherited)
    return result


def _inheritable(values: Values, tag: str, cls: DefaultClass) -> Values:
    """Where a shortcut's parameters come from: these values, or the default of an ancestor of their class."""
    candidates = [values, *(class_default(ancestor) for ancestor in cls.lineage()[1:])]
    for candidate in candidates:
        same_gain = candidate["type"] == "general" and candidate["gaintype"] == GAIN[_GAIN_OF[tag]]
        if candidate["type"] == tag or same_gain:
            return candidate
    return _builtin() | {"type": None}


def _general(values: Values, given: Values) -> Values:
    old = values["gaintype"]
    values = overlay(values, {k: v for k, v in given.items() if k in _parameters()})
    if values["gaintype"] != old and "input" not in given:
        values["ctrlspec"] = 0
    if "input" in given:
        values["ctrlspec"] = _input(given["input"])
    return values


def _input(text: str) -> int:
    """The control signature that an `input` attribute stands for."""
    if text in ENUMS["chart"]:
        return ENUMS["chart"][text]
    if text == "none":
        return INPUT_NONE
    bits = []
    for word in text.split():
        if word not in INPUTS:
            raise Fault(f"input={text!r}: expected 'none', 'expmap', 'quat', or some of {', '.join(INPUTS)}")
        bits.append(INPUTS[word])
    if bits != sorted(set(bits)):
        raise Fault(f"input={text!r}: inputs are given once each, in the order {', '.join(INPUTS)}")
    return sum(bits)


def _set(values: Values, dyn: str, gain: str, bias: str) -> None:
    values |= {
        "dyntype": DYN[dyn],
        "gaintype": GAIN[gain],
        "biastype": BIAS[bias],
        "actdim": -1,
        "actearly": False,
    }


def _prm(*first: float) -> np.ndarray:
    return np.concatenate([first, np.zeros(10 - len(first))])


def _not_negative(given: Values, *names: str) -> None:
    for name in names:
        if given.get(name, 0.0) < 0:
            raise Fault(f"{name} is negative")


def _motor(v: Values, given: Values, base: Values) -> None:
    _set(v, "none", "fixed", "none")
    v |= {"dynprm": _prm(1), "gainprm": _prm(1), "biasprm": _prm(), "ctrlspec": 0, "inheritrange": 0.0}


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


def _position(v: Values, given: Values, base: Values) -> None:
    kp = given.get("kp", float(base["gainprm"][0]))
    damping = _damping(given, base)
    _not_negative(given, "timeconst")
    filtered = base["dyntype"] == DYN["filterexact"]
    tau = given.get("timeconst", float(base["dynprm"][0]) if filtered else 1.0)
    filtered = tau > 0 if "timeconst" in given else filtered
    _set(v, "filterexact" if filtered else "none", "fixed", "affine")
    v |= {
        "gainprm": _prm(kp),
        "biasprm": _prm(0, -kp, damping),
        "dynprm": _prm(tau),
        "ctrlspec": INPUTS["pos"],
    }
    _inherit_range(v, given, base, "ctrlrange")


def _intvelocity(v: Values, given: Values, base: Values) -> None:
    kp = given.get("kp", float(base["gainprm"][0]))
    damping = _damping(given, base)
    _set(v, "integrator", "fixed", "affine")
    v |= {"gainprm": _prm(kp), "biasprm": _prm(0, -kp, damping), "dynprm": _prm(1), "ctrlspec": INPUTS["vel"]}
    _inherit_range(v, given, base, "actrange")


def _velocity(v: Values, given: Values, base: Values) -> None:
    kv = given.get("kv", float(base["gainprm"][0]))
    _set(v, "none", "fixed", "affine")
    v |= {"gainprm": _prm(kv), "biasprm": _prm(0, 0, -kv), "dynprm": _prm(1), "ctrlspec": INPUTS["vel"]}
    v["inheritrange"] = 0.0


def _damper(v: Values, given: Values, base: Values) -> None:
    inherits = base["gaintype"] == GAIN["affine"]
    kv = given.get("kv", -float(base["gainprm"][2]) if inherits else 0.0)
    if kv < 0:
        raise Fault("kv is negative")
    if np.any(v["ctrlrange"] < 0):
        raise Fault("ctrlrange of a damper must not be negative")
    _set(v, "none", "affine", "none")
    v |= {
        "gainprm": _prm(0, 0, -kv),
        "biasprm": _prm(),
        "dynprm": _prm(1),
        "ctrlspec": 0,
        "ctrllimited": TRUE,
    }
    v["inheritrange"] = 0.0


def _cylinder(v: Values, given: Values, base: Values) -> None:
    tau = given.get("timeconst", float(base["dynprm"][0]))
    area = given.get("area", float(base["gainprm"][0]))
    if given.get("diameter", -1.0) >= 0:
        area = math.pi / 4 * given["diameter"] ** 2
    bias = given.get("bias", base["biasprm"][:3])
    _set(v, "filter", "fixed", "affine")
    v |= {"gainprm": _prm(area), "biasprm": _prm(*bias), "dynprm": _prm(tau), "ctrlspec": INPUTS["pressure"]}
    v["inheritrange"] = 0.0


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
    _set(v, "muscle", "muscle", "muscle")
    bias = np.concatenate([gain[:9], np.zeros(1)])
    v |= {"dynprm": dyn, "gainprm": gain, "biasprm": bias, "ctrlspec": 0, "inheritrange": 0.0}


def _adhesion(v: Values, given: Values, base: Values) -> None:
    gain = given.get("gain", float(base["gainprm"][0]))
    if gain < 0:
        raise Fault("gain is negative")
    if np.any(v["ctrlrange"] < 0):
        raise Fault("ctrlrange of an adhesion actuator must not be negative")
    _set(v, "none", "fixed", "none")
    v |= {"gainprm": _prm(gain), "biasprm": _prm(), "dynprm": _prm(1), "ctrlspec": 0, "ctrllimited": TRUE}
    v["inheritrange"] = 0.0


def _orientation(v: Values, given: Values, base: Values) -> None:
    kp = given.get("kp", float(base["gainprm"][0]))
    damping = _damping(given, base)
    spec = _input(given["input"]) if "input" in given else base["ctrlspec"]
    if spec not in (0, *ENUMS["chart"].values()):
        raise Fault(f"input={given.get('input')!r}: expected 'expmap' or 'quat'")
    _set(v, "none", "so3", "so3")
    v |= {
        "gainprm": _prm(kp),
        "biasprm": _prm(0, -kp, damping),
        "dynprm": _prm(1),
        "ctrlspec": spec,
        "inheritrange": 0.0,
    }


def _pid(v: Values, given: Values, base: Values) -> None:
    inherits = base["gaintype"] == GAIN["pid"]
    kp = given.get("kp", -float(base["biasprm"][1]) if inherits else 1.0)
    damping = _damping(given, base)
    ki = given.get("ki", float(base["gainprm"][0]) if inherits else 0.0)
    imax = given.get("imax", float(base["dynprm"][0]) if inherits else 0.0)
    slewmax = given.get("slewmax", float(base["dynprm"][1]) if inherits else 0.0)
    if slewmax < 0:
        raise Fault("slewmax is negative")
    _set(v, "pid" if ki or slewmax else "none", "pid", "affine")
    spec = _input(given["input"]) if "input" in given else base["ctrlspec"] if inherits else 0
    dynprm = _prm(imax if ki else 0.0, slewmax)
    v |= {"gainprm": _prm(ki), "biasprm": _prm(0, -kp, damping), "dynprm": dynprm, "ctrlspec": spec}
    _inherit_range(v, given, base, "ctrlrange")


def _dcmotor(v: Values, given: Values, base: Values) -> None:
    from jaxsim.mjcf.dcmotor import dcmotor

    spec = _input(given["input"]) if "input" in given else base["ctrlspec"]
    v |= dcmotor(v, given, base if base["gaintype"] == GAIN["dcmotor"] else None, spec)


_SHORTCUTS: dict[str, Callable[[Values, Values, Values], None]] = {
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
