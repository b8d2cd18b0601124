"""Check elements against the schema and turn attribute text into typed values."""

import math
import re
from typing import Any

import numpy as np

from jaxsim.mjcf.language.element import Element
from jaxsim.mjcf.language.errors import Fault, Problems, nearest
from jaxsim.mjcf.language.schema import ENUMS, REFUSED, RULES, Attribute, attributes, children

_REAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|[+-]?inf(inity)?$", re.IGNORECASE | re.ASCII)
_HEXADECIMAL = re.compile(r"[+-]?0x([\da-f]+\.?[\da-f]*|\.[\da-f]+)(p[+-]?\d+)?$", re.IGNORECASE | re.ASCII)
_INT = re.compile(r"[+-]?\d{1,10}$", re.ASCII)

_UNCHECKED = ("frame", "replicate")  # MuJoCo does not look for unknown attributes in and below these
_OUTSIDE = ("body", "frame")  # MuJoCo accepts these outside <worldbody>, and ignores them there


def validate(root: Element, problems: Problems) -> None:
    """Check a whole document, set the `values` of its elements, and drop elements that are unknown."""
    if root.tag == "mujoco":
        _element(root, "mujoco", False, False, problems)
    else:
        problems.add(root.place, f"the root element is <{root.tag}>; expected <mujoco>")


def _element(element: Element, key: str, in_default: bool, lenient: bool, problems: Problems) -> None:
    in_default = in_default or key == "default"
    lenient = lenient or key in _UNCHECKED
    element.values = _values(element, key, in_default and key != "default", lenient, problems)
    allowed = children(key)
    seen: set[str] = set()
    known = []
    for child in element.children:
        if key == "mujoco" and child.tag in _OUTSIDE:
            _element(child, child.tag, False, False, problems)
            problems.remark(child.place, "ignored, as MuJoCo does: it is not inside <worldbody>")
            continue
        if child.tag not in allowed:
            problems.add(child.place, _unknown_child(child.tag, key, allowed))
            problems.leave_out(child.names())
            continue
        known.append(child)
        child_key, repeated = allowed[child.tag]
        if not repeated and child.tag in seen:
            problems.add(child.place, f"it appears more than once in <{element.tag}>; at most one is allowed")
        seen.add(child.tag)
        _element(child, child_key, in_default, lenient, problems)
    element.children = known


def _unknown_child(tag: str, key: str, allowed: dict[str, Any]) -> str:
    reason = REFUSED.get(f"{key}/{tag}", REFUSED.get(tag))
    if reason:
        return f"refused: {reason}"
    known = f"; expected one of: {', '.join(allowed)}" if 0 < len(allowed) <= 12 else ""
    return f"unknown element in <{key.rpartition('/')[2]}>{nearest(tag, allowed) or known}"


def _values(element: Element, key: str, in_default: bool, lenient: bool, problems: Problems) -> dict[str, Any]:
    known = attributes(key)
    values: dict[str, Any] = {}
    for name, text in element.attributes.items():
        attribute = known.get(name)
        if attribute is None and lenient:
            message = f"unknown attribute {name!r}{nearest(name, known)}; ignored, as MuJoCo does inside frames"
            problems.remark(element.place, message)
            continue
        if attribute is None or (
            in_default and (not attribute.in_defaults or attribute.type == "name" or name == "class")
        ):
            unknown = f"unknown attribute {name!r}{nearest(name, known)}"
            message = f"attribute {name!r} cannot be given in a default class" if attribute else unknown
            problems.add(element.place, message)
            continue
        try:
            value = parse_value(attribute, text)
        except Fault as fault:
            problems.add(element.place, f"attribute {name}={text[:60]!r}: {fault}")
            continue
        if value is not None:
            values[name] = value
    _aliases(values)
    if not in_default:
        for attribute in known.values():
            given = element.attributes.get(attribute.name)
            if attribute.required and (given is None or (not given.strip() and attribute.type != "text")):
                problems.add(element.place, f"attribute {attribute.name!r} is missing")
        _together(element, key, problems)
    return values


def _aliases(values: dict[str, Any]) -> None:
    """Attributes that are another way of writing one: afterwards only that one is left to read."""
    if "directional" in values:
        values["type"] = ENUMS["light"]["directional" if values.pop("directional") else "spot"]
    if "posrange" in values:
        values["ctrlrange"] = values.pop("posrange")
    if "springlength" in values and values["springlength"].size == 1:
        values["springlength"] = np.repeat(values["springlength"], 2)


def _together(element: Element, key: str, problems: Problems) -> None:
    """Which attributes exclude or need each other."""
    has = element.attributes
    for rule, groups in RULES.get(key, ()):
        bundles = [group.split("+") for group in groups]
        names = ", ".join(" with ".join(bundle) for bundle in bundles)
        if rule == "one" and sum(any(a in has for a in bundle) for bundle in bundles) > 1:
            problems.add(element.place, f"at most one of these may be given: {names}")
        elif rule == "some" and not any(all(a in has for a in bundle) for bundle in bundles):
            problems.add(element.place, f"one of these must be given: {names}")
        elif rule == "all" and 0 < sum(bundle[0] in has for bundle in bundles) < len(bundles):
            problems.add(element.place, f"these must be given together: {names}")


def parse_value(attribute: Attribute, text: str) -> Any:
    """The typed value of an attribute's text; None if the text is empty and so says nothing.

    Raises:
        Fault: the text is not of the attribute's type.
    """
    match attribute.type:
        case "real" | "float" | "int":
            return _numbers(attribute, text.split())
        case "bool":
            return bool(_keyword(text, {"false": 0, "true": 1}))
        case "enum":
            return _keyword(text, ENUMS[attribute.of])
        case "flags":
            return _flags(text, ENUMS[attribute.of])
        case _:
            return text


def _numbers(attribute: Attribute, words: list[str]) -> Any:
    if not words:
        return None
    least, most = attribute.least, attribute.most
    if len(words) < least or (most is not None and len(words) > most):
        expected = f"{least}" if least == most else f"{least} to {most}"
        raise Fault(f"{len(words)} values found, {expected} expected")
    if attribute.type == "int":
        integers = [_integer(word) for word in words]
        return integers[0] if most == 1 else np.array(integers, np.int64)
    reals = [_real(word) for word in words]
    return reals[0] if most == 1 else np.array(reals)


def _real(word: str) -> float:
    if not _REAL.match(word) and not _HEXADECIMAL.match(word):
        raise Fault(f"{word[:30]!r} is not a number")
    try:
        value = float(word) if _REAL.match(word) else float.fromhex(word)
    except OverflowError:  # only fromhex raises it
        value = math.inf
    if math.isinf(value) and "inf" not in word.lower():
        raise Fault(f"{word[:30]!r} is too large")
    return value


def _integer(word: str) -> int:
    if not _INT.match(word) or not -(2**31) <= int(word) < 2**31:
        raise Fault(f"{word[:30]!r} is not an integer")
    return int(word)


def _keyword(text: str, keywords: dict[str, int]) -> int:
    if text not in keywords:
        raise Fault(f"not a keyword; expected one of: {', '.join(keywords)}")
    return keywords[text]


def _flags(text: str, keywords: dict[str, int]) -> tuple[int, ...]:
    words = text.split()
    if len(set(words)) < len(words):
        raise Fault("a keyword is repeated")
    return tuple(_keyword(word, keywords) for word in words)
