"""What actuators inherit from their default classes.

A shortcut (`position`, `muscle` ...) inherits mechanical attributes (gear, ranges ...) from any actuator
default of its class, but its parameters (kp, kv, area ...) only from one written with the same shortcut,
or with `general` and the shortcut's gain type. The nearest ancestor class that has one counts (MuJoCo 4.0,
modelling chapter, Shortcuts).
"""

from collections.abc import Iterable

import numpy as np

from jaxsim.core.enums import BiasType, DynType, GainType
from jaxsim.mjcf.actuators.inputs import read_input
from jaxsim.mjcf.actuators.shortcuts import GAIN_OF, SHORTCUTS, Values
from jaxsim.mjcf.language.defaults import DefaultClass, overlay
from jaxsim.mjcf.language.element import Element
from jaxsim.mjcf.language.enums import Tristate
from jaxsim.mjcf.language.errors import Problems
from jaxsim.mjcf.language.schema import attributes, defaults


def _parameters() -> Values:
    """Gain, bias, dynamics and activation layout of a plain motor."""
    first = np.zeros(10)
    first[0] = 1.0
    return {
        "dyntype": DynType.NONE,
        "gaintype": GainType.FIXED,
        "biastype": BiasType.NONE,
        "dynprm": first,
        "gainprm": first.copy(),
        "biasprm": np.zeros(10),
        "actdim": -1,
        "actearly": False,
        "ctrlspec": 0,
        "inheritrange": 0.0,
        "unlimited": False,  # activations, whatever actlimited says: those of a dcmotor
    }


# what a shortcut sets itself, and does not take from any actuator default
PARAMETERS = frozenset(_parameters())


def builtin() -> Values:
    """An actuator that nothing has set."""
    values = dict(defaults("general")) | _parameters()
    del values["input"]
    return values | {"type": "general"}


def class_default(cls: DefaultClass) -> Values:
    """The actuator default of a class, with its parent's where it sets nothing."""
    values = class_default(cls.parent) if cls.parent else builtin()
    for element in cls.actuators:
        values = _apply(values, element, cls)
    return values


def check_defaults(classes: Iterable[DefaultClass], problems: Problems) -> None:
    """Report actuator defaults whose parameters contradict each other."""
    for cls in classes:
        for i, element in enumerate(cls.actuators):
            so_far = DefaultClass(cls.name, cls.parent, actuators=cls.actuators[:i])
            problems.attempt(element.place, resolve, element, so_far)


def resolve(element: Element, cls: DefaultClass) -> Values:
    """All values of an actuator element of a class.

    Raises:
        Fault: the parameters contradict each other.
    """
    values = _apply(class_default(cls), element, cls)
    return values | ({"actlimited": Tristate.FALSE} if values["unlimited"] else {})


def _apply(values: Values, element: Element, cls: DefaultClass) -> Values:
    tag, given = element.tag, element.values
    mechanical = {k: v for k, v in given.items() if k in attributes("general") and k not in PARAMETERS and k != "input"}
    result = overlay(values, mechanical) | {"type": tag}
    if "actlimited" in given:
        result["unlimited"] = False
    if tag == "general":
        return _general(result, given)
    inherited = _inheritable(values, tag, cls)
    result |= {k: inherited[k] for k in PARAMETERS}
    SHORTCUTS[tag](result, given, inherited)
    return result


def _inheritable(values: Values, tag: str, cls: DefaultClass) -> Values:
    """Where a shortcut's parameters come from: these values, or the default of an ancestor of their class."""
    candidates = [values, *(class_default(ancestor) for ancestor in cls.lineage()[1:])]
    for candidate in candidates:
        same_gain = candidate["type"] == "general" and candidate["gaintype"] == GAIN_OF[tag]
        if candidate["type"] == tag or same_gain:
            return candidate
    return builtin() | {"type": None}


def _general(values: Values, given: Values) -> Values:
    old = values["gaintype"]
    values = overlay(values, {k: v for k, v in given.items() if k in PARAMETERS})
    if values["gaintype"] != old and "input" not in given:
        values["ctrlspec"] = 0
    if "input" in given:
        values["ctrlspec"] = read_input(given["input"])
    return values
