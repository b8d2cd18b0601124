"""Global attributes of a model and of one attached to it: the `conflict` setting of the compiler."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from jaxsim.mjcf.language.enums import Conflict
from jaxsim.mjcf.language.errors import Fault
from jaxsim.mjcf.language.schema import DISABLE_BITS, ENABLE_BITS
from jaxsim.mjcf.language.spec import Spec

_LEAST = ("timestep", "tolerance", "ls_tolerance", "noslip_tolerance", "ccd_tolerance", "sleep_tolerance")
_GREATEST = (
    "iterations",
    "ls_iterations",
    "noslip_iterations",
    "ccd_iterations",
    "sdf_iterations",
    "sdf_initpoints",
)
_FLAGS = {"disableflags": DISABLE_BITS, "enableflags": ENABLE_BITS}


def resolve_conflicts(parent: Spec, child: Spec) -> None:
    """Decide between the options and sizes of two models where they differ.

    With "warning" the parent's stay. With "merge" what only the child sets is adopted, and what both set
    becomes the least (tolerances), the greatest (iterations, sizes) or the union (flags). With "error"
    nothing changes, and what both set must agree.

    Raises:
        Fault: both set an attribute differently, with "error", or with "merge" where nothing merges it.
    """
    policy = parent.settings.conflict
    if policy == Conflict.WARNING:
        return
    clashes: list[str] = []
    for ours, theirs, merge_sizes in ((parent.option, child.option, False), (parent.size, child.size, True)):
        for name in vars(theirs):
            if name not in _FLAGS and name != "disableactuator" and name in child.authored:
                clash = _one(name, ours, theirs, name in parent.authored, policy, merge_sizes)
                clashes += [clash] if clash else []
    clashes += _flags(parent, child, policy)
    if clashes:
        raise Fault(f"attached model {child.model_name!r} conflicts with this one: {'; '.join(clashes)}")


def _one(name: str, ours: SimpleNamespace, theirs: Any, both: bool, policy: int, size: bool) -> str | None:
    mine, other = getattr(ours, name), getattr(theirs, name)
    if np.array_equal(mine, other):
        return None
    if policy == Conflict.MERGE and not both:
        setattr(ours, name, other)
    elif policy == Conflict.MERGE and name in _LEAST:
        setattr(ours, name, min(mine, other))
    elif policy == Conflict.MERGE and (name in _GREATEST or (size and name != "memory")):
        setattr(ours, name, max(mine, other))
    elif both:
        return f"{name} is {mine} here and {other} there"
    return None


def _flags(parent: Spec, child: Spec, policy: int) -> list[str]:
    clashes = []
    for field, bits in _FLAGS.items():
        for name, bit in bits.items():
            ours, theirs = getattr(parent.option, field), getattr(child.option, field)
            if name not in child.authored:
                continue
            if policy == Conflict.MERGE:
                setattr(parent.option, field, ours | (theirs & bit))
            elif name in parent.authored and (ours ^ theirs) & bit:
                clashes.append(f"flag {name} differs")
    if policy == Conflict.MERGE:
        parent.option.disableactuator |= child.option.disableactuator
    return clashes
