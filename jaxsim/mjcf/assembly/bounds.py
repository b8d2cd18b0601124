"""Refuse a model that is read, but whose arrays no machine could hold."""

from jaxsim.core.enums import JointType
from jaxsim.mjcf.language.bounds import MAX_DOFS, require_items, require_numbers
from jaxsim.mjcf.language.errors import Fault, Problems
from jaxsim.mjcf.language.spec import IN_BODY, LISTS, Item, Spec

_NUSER = {"jnt": "joint", "cam": "camera"}
_DOFS = {JointType.FREE: 6, JointType.BALL: 3}


def check_items(spec: Spec, problems: Problems) -> None:
    """The number of elements, and of the values that <size> asks for.

    Raises:
        MjcfError: too many.
    """
    before = len(problems.found)
    tree = sum(len(spec.items(kind)) for kind in ("body", *IN_BODY))
    problems.attempt(spec.world.place, require_items, tree)
    for kind in LISTS:
        if items := spec.lists[kind]:
            problems.attempt(items[-1].place, require_items, len(items), f"the list of kind '{kind}'")
    for short in ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor"):
        name = f"nuser_{short}"
        count = getattr(spec.size, name) * len(spec.items(_NUSER.get(short, short)))
        problems.attempt(spec.size_place, require_numbers, count, f"user data of {name}={getattr(spec.size, name)}")
    nv, rows = _dofs(spec), max(len(spec.bodies()), len(spec.lists["tendon"]), len(spec.lists["actuator"]))
    problems.attempt(spec.world.place, _require_dofs, nv, rows)
    problems.attempt(spec.size_place, require_numbers, spec.size.nuserdata, "userdata")
    if spec.size.nuserdata < 0:
        problems.add(spec.size_place, f"nuserdata={spec.size.nuserdata}; it must not be negative")
    if len(problems.found) > before:  # others are reported together with those of later stages
        problems.check()


def check_arrays(spec: Spec, problems: Problems) -> None:
    """What resolved items take in state and sensor data.

    Raises:
        MjcfError: too much.
    """
    actuators, sensors, keys = spec.lists["actuator"], spec.lists["sensor"], spec.lists["key"]
    _require_sum(actuators, [a.actnum for a in actuators], "act", problems)
    _require_sum(sensors, [s.dimension for s in sensors], "sensordata", problems)
    _require_sum(actuators, [a.nsample * max(a.ctrlnum, 1) for a in actuators], "history of actuators", problems)
    _require_sum(sensors, [getattr(s, "nsample", 0) * s.dimension for s in sensors], "history of sensors", problems)
    width = 2 * _dofs(spec) + sum(a.actnum + a.ctrlnum for a in actuators)
    problems.attempt(spec.size_place, require_numbers, len(keys) * width, f"the state of {len(keys)} keyframes")
    problems.check()


def _dofs(spec: Spec) -> int:
    return sum(_DOFS.get(joint.type, 1) for joint in spec.items("joint"))


def _require_sum(items: list[Item], counts: list[int], what: str, problems: Problems) -> None:
    """Blame the first of the items that ask for most."""
    if items:
        place = items[counts.index(max(counts))].place
        problems.attempt(place, require_numbers, sum(counts), what)


def _require_dofs(nv: int, rows: int) -> None:
    if max(nv, rows) * nv > MAX_DOFS**2:
        raise Fault(
            f"the model has {nv} degrees of freedom, and {rows} bodies, tendons or actuators; "
            f"at most {MAX_DOFS} squared is possible for the product of the two"
        )
