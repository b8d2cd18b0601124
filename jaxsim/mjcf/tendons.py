"""Tendons and the objects along their paths."""

from jaxsim.mjcf.errors import Fault
from jaxsim.mjcf.index import Index
from jaxsim.mjcf.limits import check_limited
from jaxsim.mjcf.schema import ENUMS
from jaxsim.mjcf.spec import Item

WRAP_JOINT, WRAP_PULLEY, WRAP_SITE, WRAP_SPHERE, WRAP_CYLINDER = 1, 2, 3, 4, 5
_GEOM_WRAPS = {ENUMS["geom"]["sphere"]: WRAP_SPHERE, ENUMS["geom"]["cylinder"]: WRAP_CYLINDER}
_SCALAR = (ENUMS["joint"]["slide"], ENUMS["joint"]["hinge"])


def compile_tendon(tendon: Item, index: Index) -> None:
    """Resolve a tendon: `wraps` is its path as (type, object or None, parameter)."""
    if not tendon.path:
        raise Fault("its path is empty")
    tendon.wraps = [_wrap(part, index) for part in tendon.path]
    if tendon.armature < 0:
        raise Fault("armature is negative")
    if tendon.key == "fixed":
        _check_fixed(tendon)
    else:
        _check_spatial(tendon)
    tendon.is_limited = check_limited(tendon, "limited", "range")
    tendon.is_actuatorfrclimited = check_limited(tendon, "actuatorfrclimited", "actuatorfrcrange")
    low, high = tendon.actuatorfrcrange
    if tendon.is_actuatorfrclimited and (low > 0 or high < 0):
        raise Fault("actuatorfrcrange must contain 0")
    if tendon.springlength[0] > tendon.springlength[1]:
        raise Fault("the first value of springlength is above the second")


def _wrap(part: Item, index: Index) -> tuple[int, Item | None, float | Item | None]:
    match part.key.partition("/")[2]:
        case "joint":
            return WRAP_JOINT, index.find("joint", part.joint), part.coef
        case "pulley":
            if part.divisor <= 0:
                raise Fault(f"pulley: divisor={part.divisor:g}; it must be positive")
            return WRAP_PULLEY, None, part.divisor
        case "site":
            return WRAP_SITE, index.find("site", part.site), 0.0
    geom = index.find("geom", part.geom)
    if geom.type not in _GEOM_WRAPS:
        raise Fault(f"geom {part.geom!r} is neither a sphere nor a cylinder, so a tendon cannot wrap around it")
    side = getattr(part, "sidesite", None)
    return _GEOM_WRAPS[geom.type], geom, index.find("site", side) if side else None


def _check_fixed(tendon: Item) -> None:
    joints = [joint for _, joint, _ in tendon.wraps]
    if any(joint.type not in _SCALAR for joint in joints):
        raise Fault("a fixed tendon combines slide and hinge joints only")
    if len(set(map(id, joints))) < len(joints):
        raise Fault("a joint appears twice")


def _check_spatial(tendon: Item) -> None:
    types = [kind for kind, _, _ in tendon.wraps]
    if len(types) < 2:
        raise Fault("a path needs at least two objects")
    if tendon.width <= 0:
        raise Fault("width must be positive")
    ends = [WRAP_PULLEY, *types, WRAP_PULLEY]
    for i, kind in enumerate(types):
        before, after = ends[i], ends[i + 2]
        last = i == len(types) - 1
        if kind == WRAP_PULLEY and (last or (i > 0 and before == WRAP_PULLEY)):
            raise Fault(f"object {i}: a pulley must not be last and not follow another pulley")
        if kind == WRAP_SITE and before == after == WRAP_PULLEY:
            raise Fault(f"object {i}: a site needs a neighbour that is not a pulley")
        if kind == WRAP_SITE and not last and after == WRAP_SITE and tendon.wraps[i][1] is tendon.wraps[i + 1][1]:
            raise Fault(f"object {i}: the site is repeated")
        if kind in (WRAP_SPHERE, WRAP_CYLINDER):
            if before != WRAP_SITE or after != WRAP_SITE:
                raise Fault(f"object {i}: a geom must stand between two sites")
            if tendon.armature > 0:
                raise Fault("a tendon with armature cannot wrap around geoms")
