"""Tendons and the objects along their paths."""

from jaxsim.core.enums import GeomType, JointType, WrapType
from jaxsim.mjcf.elements.limits import check_limited
from jaxsim.mjcf.language.errors import Fault
from jaxsim.mjcf.language.names import Index
from jaxsim.mjcf.language.spec import Item

_GEOM_WRAPS = {GeomType.SPHERE: WrapType.SPHERE, GeomType.CYLINDER: WrapType.CYLINDER}


def compile_tendon(tendon: Item, index: Index) -> None:
    """Resolve a tendon: `wraps` is its path as (type, object or None, parameter)."""
    if not tendon.path:
        raise Fault("its path is empty")
    index.require(*tendon.path)
    tendon.wraps = [_wrap(part, index) for part in tendon.path]
    for name in ("armature", "springyield"):
        if getattr(tendon, name) < 0:
            raise Fault(f"{name} is negative")
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
            return WrapType.JOINT, index.find("joint", part.joint), part.coef
        case "pulley":
            if part.divisor <= 0:
                raise Fault(f"pulley: divisor={part.divisor:g}; it must be positive")
            return WrapType.PULLEY, None, part.divisor
        case "site":
            return WrapType.SITE, index.find("site", part.site), 0.0
    geom = index.find("geom", part.geom)
    if geom.type not in _GEOM_WRAPS:
        raise Fault(f"geom {part.geom!r} is neither a sphere nor a cylinder, so a tendon cannot wrap around it")
    side = getattr(part, "sidesite", None)
    return _GEOM_WRAPS[geom.type], geom, index.find("site", side) if side else None


def _check_fixed(tendon: Item) -> None:
    joints = [joint for _, joint, _ in tendon.wraps]
    if any(joint.type not in (JointType.SLIDE, JointType.HINGE) for joint in joints):
        raise Fault("a fixed tendon combines slide and hinge joints only")
    if len(set(map(id, joints))) < len(joints):
        raise Fault("a joint appears twice")


def _check_spatial(tendon: Item) -> None:
    types = [kind for kind, _, _ in tendon.wraps]
    if len(types) < 2:
        raise Fault("a path needs at least two objects")
    if tendon.width <= 0:
        raise Fault("width must be positive")
    ends = [WrapType.PULLEY, *types, WrapType.PULLEY]
    for i, kind in enumerate(types):
        before, after = ends[i], ends[i + 2]
        last = i == len(types) - 1
        if kind == WrapType.PULLEY and (last or (i > 0 and before == WrapType.PULLEY)):
            raise Fault(f"object {i}: a pulley must not be last and not follow another pulley")
        if kind == WrapType.SITE:
            if before == after == WrapType.PULLEY:
                raise Fault(f"object {i}: a site needs a neighbour that is not a pulley")
            if not last and after == WrapType.SITE and tendon.wraps[i][1] is tendon.wraps[i + 1][1]:
                raise Fault(f"object {i}: the site is repeated")
        if kind in (WrapType.SPHERE, WrapType.CYLINDER):
            if before != WrapType.SITE or after != WrapType.SITE:
                raise Fault(f"object {i}: a geom must stand between two sites")
            if tendon.armature > 0:
                raise Fault("a tendon with armature cannot wrap around geoms")
