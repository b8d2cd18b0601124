"""Equality constraints: objects and data, in MuJoCo's layout of eq_data."""

import numpy as np

from jaxsim.core.enums import EqType, JointType
from jaxsim.mjcf.language.errors import Fault
from jaxsim.mjcf.language.names import Index
from jaxsim.mjcf.language.schema import OBJECT_TYPES
from jaxsim.mjcf.language.spec import Item

_SCALAR = (JointType.SLIDE, JointType.HINGE)


def compile_equality(equality: Item, index: Index) -> None:
    """Resolve the constrained objects of an equality and its `data` [12].

    `relpose_free` marks a weld of bodies whose relative pose is to be taken from qpos0.
    """
    tag = equality.key.partition("/")[2]
    equality.data = np.zeros(12)
    equality.data[1] = equality.data[10] = 1.0
    match tag:
        case "connect" | "weld":
            equality.type = EqType.CONNECT if tag == "connect" else EqType.WELD
            by_sites = equality.site1 is not None
            kind, one, two = (
                ("site", equality.site1, equality.site2) if by_sites else ("body", equality.body1, equality.body2)
            )
            if tag == "weld":
                if "anchor" in equality.given or not by_sites:
                    equality.data[:3] = equality.anchor
                if "relpose" in equality.given:
                    equality.data[3:10] = equality.relpose
                equality.data[10] = equality.torquescale
            elif not by_sites:
                equality.data[:3] = equality.anchor
        case _:
            equality.type = EqType.JOINT if tag == "joint" else EqType.TENDON
            kind, one, two = tag, getattr(equality, f"{tag}1"), getattr(equality, f"{tag}2")
            equality.data[:5] = equality.polycoef
    equality.objtype = OBJECT_TYPES[kind] if tag in ("connect", "weld") else 0
    first = index.find(kind, one)
    second = index.find(kind, two) if two else None
    equality.objects = (first, second)
    if first is (second or (index.find("body", "world") if kind == "body" else None)):
        raise Fault(f"it constrains {one!r} to itself")
    if tag == "joint" and any(j is not None and j.type not in _SCALAR for j in (first, second)):
        raise Fault("only slide and hinge joints can be constrained")
