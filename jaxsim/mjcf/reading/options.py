"""The global sections: compiler, option, size, statistic, and what physics needs of visual."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from jaxsim.mjcf.language.bounds import MAX_ITEMS, require_items
from jaxsim.mjcf.language.defaults import overlay
from jaxsim.mjcf.language.element import Element
from jaxsim.mjcf.language.errors import Fault, Problems
from jaxsim.mjcf.language.schema import DISABLE_BITS, ENABLE_BITS, ENUMS, defaults
from jaxsim.mjcf.language.spec import Spec


def read_options(root: Element, spec: Spec, problems: Problems) -> None:
    """Read the global sections of a document; where a section is repeated, later attributes win."""
    merged: dict[str, dict[str, Any]] = {}
    for key in ("compiler", "compiler/lengthrange", "option", "size", "statistic"):
        merged[key] = dict(defaults(key))
    merged["option"] |= {"disableflags": 0, "enableflags": 0, "disableactuator": 0}
    for tag in ("compiler", "option", "size", "statistic", "visual"):
        for section in root.find(tag):
            try:  # also of a section with a problem: the rest of it holds for the whole model
                _READERS[tag](section, merged)
            except Fault as fault:
                problems.add(section.place, str(fault))
    spec.settings = _settings(merged["compiler"])
    spec.settings.files = spec.files
    spec.length_range = SimpleNamespace(**merged["compiler/lengthrange"])
    del merged["option"]["actuatorgroupdisable"]
    spec.option = SimpleNamespace(**merged["option"])
    spec.size = SimpleNamespace(**merged["size"])
    spec.statistic = SimpleNamespace(**merged["statistic"])
    for section in root.find("option", "size"):
        spec.authored |= set(section.values)
        for flag in section.find("flag"):
            spec.authored |= set(flag.values)
    spec.option_place = next((section.place for section in root.find("option")), root.place)
    spec.size_place = next((section.place for section in root.find("size") if section.values), root.place)
    spec.znear = merged.get("visual", {}).get("znear", 0.01)


def _settings(values: dict[str, Any]) -> SimpleNamespace:
    values["degree"] = values["angle"] == ENUMS["angle"]["degree"]
    for name in ("meshdir", "texturedir"):
        values[name] = values["assetdir"] if values[name] is None else values[name]
        values[name] = values[name] or ""
    values["assetdir"] = values["assetdir"] or ""
    return SimpleNamespace(**values)


def _compiler(section: Element, merged: dict[str, dict[str, Any]]) -> None:
    values = section.values
    for nested in section.find("lengthrange"):
        merged["compiler/lengthrange"] |= nested.values
    sequence = values.get("eulerseq", "xyz")
    merged["compiler"] |= values | {"eulerseq": sequence if _is_sequence(sequence) else "xyz"}
    if values.get("coordinate") == ENUMS["coordinate"]["global"]:
        raise Fault("coordinate='global' was removed from MuJoCo; only 'local' is left")
    if not _is_sequence(sequence):
        raise Fault(f"eulerseq={sequence!r}: expected three of the letters x y z X Y Z, as in 'xyz'")


def _is_sequence(text: str) -> bool:
    return len(text) == 3 and set(text) <= set("xyzXYZ")


def _option(section: Element, merged: dict[str, dict[str, Any]]) -> None:
    option = merged["option"]
    merged["option"] = option = overlay(option, section.values)
    for flag in section.find("flag"):
        for name, enabled in flag.values.items():
            field, bit = (
                ("disableflags", DISABLE_BITS[name]) if name in DISABLE_BITS else ("enableflags", ENABLE_BITS[name])
            )
            on = bool(enabled) == (field == "enableflags")
            option[field] = option[field] | bit if on else option[field] & ~bit
    groups = section.values.get("actuatorgroupdisable", np.zeros(0, int))
    if np.any((groups < 0) | (groups > 30)):
        raise Fault("actuatorgroupdisable: a group is a number from 0 to 30")
    for group in groups:
        option["disableactuator"] |= 1 << int(group)


def _size(section: Element, merged: dict[str, dict[str, Any]]) -> None:
    merged["size"] |= section.values
    for name, value in section.values.items():
        if isinstance(value, int) and value < -1:
            raise Fault(f"{name}={value}: the least value is -1")
    nkey = merged["size"]["nkey"]
    if nkey > MAX_ITEMS:
        merged["size"]["nkey"] = -1  # nobody is to make them
        require_items(nkey, "the list of keyframes")
    memory = section.values.get("memory", "-1").strip()
    if memory != "-1" and not memory.rstrip("KMGTPEkmgtpe").isdecimal():
        raise Fault(f"memory={memory!r}: expected a whole number with an optional suffix K, M, G, T, P or E")


def _statistic(section: Element, merged: dict[str, dict[str, Any]]) -> None:
    merged["statistic"] |= section.values
    if section.values.get("extent", 1.0) <= 0:
        raise Fault("extent must be positive")


def _visual(section: Element, merged: dict[str, dict[str, Any]]) -> None:
    for nested in section.find("map"):
        merged["visual"] = merged.get("visual", {}) | nested.values
        if np.float32(nested.values.get("znear", 1.0)) <= 0:
            raise Fault("map: znear must be positive")
    for nested in section.find("global"):
        if np.float32(nested.values.get("realtime", 1.0)) <= 0:
            raise Fault("global: realtime must be positive")


_READERS = {
    "compiler": _compiler,
    "option": _option,
    "size": _size,
    "statistic": _statistic,
    "visual": _visual,
}
