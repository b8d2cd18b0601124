"""Sensors: type, object, reference, dimension, stage and data type."""

import numpy as np

from jaxsim.mjcf.actuators import check_history
from jaxsim.mjcf.errors import Fault
from jaxsim.mjcf.index import Index
from jaxsim.mjcf.schema import ENUMS
from jaxsim.mjcf.spec import OBJECT_TYPES, Item

REAL, POSITIVE, AXIS, QUATERNION = range(4)
POS, VEL, ACC = 1, 2, 3

# tag: (mjtSensor, dimension, data type, stage); dimension 0 depends on the attributes
SENSORS = {
    "touch": (0, 1, POSITIVE, ACC),
    "accelerometer": (1, 3, REAL, ACC),
    "velocimeter": (2, 3, REAL, VEL),
    "gyro": (3, 3, REAL, VEL),
    "force": (4, 3, REAL, ACC),
    "torque": (5, 3, REAL, ACC),
    "magnetometer": (6, 3, REAL, POS),
    "rangefinder": (7, 0, REAL, POS),
    "camprojection": (8, 2, REAL, POS),
    "jointpos": (9, 1, REAL, POS),
    "jointvel": (10, 1, REAL, VEL),
    "tendonpos": (11, 1, REAL, POS),
    "tendonvel": (12, 1, REAL, VEL),
    "actuatorpos": (13, 0, REAL, POS),
    "actuatorvel": (14, 0, REAL, VEL),
    "actuatorfrc": (15, 0, REAL, ACC),
    "jointactuatorfrc": (16, 1, REAL, ACC),
    "tendonactuatorfrc": (17, 1, REAL, ACC),
    "ballquat": (18, 4, QUATERNION, POS),
    "ballangvel": (19, 3, REAL, VEL),
    "jointlimitpos": (20, 1, REAL, POS),
    "jointlimitvel": (21, 1, REAL, VEL),
    "jointlimitfrc": (22, 1, REAL, ACC),
    "tendonlimitpos": (23, 1, REAL, POS),
    "tendonlimitvel": (24, 1, REAL, VEL),
    "tendonlimitfrc": (25, 1, REAL, ACC),
    "framepos": (26, 3, REAL, POS),
    "framequat": (27, 4, QUATERNION, POS),
    "framexaxis": (28, 3, AXIS, POS),
    "frameyaxis": (29, 3, AXIS, POS),
    "framezaxis": (30, 3, AXIS, POS),
    "framelinvel": (31, 3, REAL, VEL),
    "frameangvel": (32, 3, REAL, VEL),
    "framelinacc": (33, 3, REAL, ACC),
    "frameangacc": (34, 3, REAL, ACC),
    "subtreecom": (35, 3, REAL, POS),
    "subtreelinvel": (36, 3, REAL, VEL),
    "subtreeangmom": (37, 3, REAL, VEL),
    "insidesite": (38, 1, POSITIVE, POS),
    "distance": (39, 1, REAL, POS),
    "normal": (40, 3, AXIS, POS),
    "fromto": (41, 6, REAL, POS),
    "contact": (42, 0, REAL, ACC),
    "e_potential": (43, 1, REAL, POS),
    "e_kinetic": (44, 1, REAL, POS),
    "clock": (45, 1, REAL, POS),
    "tactile": (46, 0, REAL, VEL),
    "user": (48, 0, REAL, ACC),
}
# values per field of a contact (found force torque dist pos normal tangent linvel angvel) and of a ray
CONTACT_SIZES = (1, 3, 3, 1, 3, 3, 3, 3, 3)
FORCES, VELOCITIES = 0b0_0000_0110, 0b1_1000_0000
RAY_SIZES = (1, 3, 3, 3, 3, 1)

_SLIDE, _HINGE, _BALL = (ENUMS["joint"][t] for t in ("slide", "hinge", "ball"))
_OBJECTS = ("site", "camera", "joint", "tendon", "actuator", "body", "geom")


def compile_sensor(sensor: Item, index: Index) -> None:
    """Resolve a sensor."""
    tag = sensor.key.partition("/")[2]
    sensor.type, sensor.dim_fixed, datatype, stage = SENSORS[tag]
    if tag != "user":
        sensor.datatype, sensor.needstage = datatype, stage
    _check_timing(sensor)
    sensor.intprm = [0, 0, 0]
    sensor.obj, sensor.ref = None, None
    sensor.objkind, sensor.refkind = "unknown", "unknown"
    _OBJECT_OF.get(tag, _plain_object)(sensor, index)
    sensor.objtype, sensor.reftype = OBJECT_TYPES[sensor.objkind], OBJECT_TYPES[sensor.refkind]
    _check_object(tag, sensor)
    sensor.dimension = _dimension(tag, sensor)
    no_cutoff = sensor.datatype == QUATERNION or (sensor.datatype == AXIS and tag != "normal")
    if getattr(sensor, "cutoff", 0) > 0 and no_cutoff:
        raise Fault("cutoff cannot be applied to an axis or a quaternion")


def _check_timing(sensor: Item) -> None:
    for name in ("noise", "cutoff"):
        if getattr(sensor, name, 0) < 0:
            raise Fault(f"{name} is negative")
    if not hasattr(sensor, "interval"):
        return
    period, phase = sensor.interval
    if period < 0 or phase > 0 or (period > 0 and phase <= -period):
        raise Fault("interval: the period must not be negative and the phase must be in (-period, 0]")
    check_history(sensor)


def _point(sensor: Item, index: Index, kind: str, name: str | None, second: bool = False) -> None:
    if not name:
        return
    if second:
        sensor.refkind, sensor.ref = kind, index.find(kind, name)
    else:
        sensor.objkind, sensor.obj = kind, index.find(kind, name)


def _plain_object(sensor: Item, index: Index) -> None:
    for kind in _OBJECTS:
        _point(sensor, index, kind, getattr(sensor, kind, None))


def _frame(sensor: Item, index: Index) -> None:
    kinds = {v: k for k, v in ENUMS["frameobj"].items()}
    _point(sensor, index, kinds[sensor.objtype], sensor.objname)
    if getattr(sensor, "refname", None):
        _point(sensor, index, kinds[sensor.reftype], sensor.refname, second=True)


def _insidesite(sensor: Item, index: Index) -> None:
    _frame(sensor, index)
    _point(sensor, index, "site", sensor.site, second=True)
    sensor.intprm[0] = int(sensor.enclosed)
    if sensor.enclosed:
        sensor.datatype = REAL


def _camprojection(sensor: Item, index: Index) -> None:
    _point(sensor, index, "site", sensor.site)
    _point(sensor, index, "camera", sensor.camera, second=True)


def _two_geoms(sensor: Item, index: Index) -> None:
    for kind in ("geom", "body"):
        _point(sensor, index, kind, getattr(sensor, f"{kind}1"))
        _point(sensor, index, kind, getattr(sensor, f"{kind}2"), second=True)


def _contact(sensor: Item, index: Index) -> None:
    _point(sensor, index, "site", sensor.site)
    _two_geoms(sensor, index)
    _point(sensor, index, "xbody", sensor.subtree1)
    _point(sensor, index, "xbody", sensor.subtree2, second=True)
    if sensor.num <= 0:
        raise Fault("num must be positive")
    data = _data(sensor, "condata", CONTACT_SIZES)
    sensor.intprm = [data, sensor.reduce, sensor.num]
    sensor.needstage = ACC if data & FORCES else VEL if data & VELOCITIES else POS


def _rangefinder(sensor: Item, index: Index) -> None:
    _plain_object(sensor, index)
    sensor.intprm[0] = _data(sensor, "raydata", RAY_SIZES)


def _data(sensor: Item, enum: str, sizes: tuple[int, ...]) -> int:
    """Bits of the `data` attribute; sets the size of one record."""
    fields = sensor.data if sensor.data else (0,)
    if list(fields) != sorted(fields):
        raise Fault(f"data: the fields are given in the order {', '.join(ENUMS[enum])}")
    sensor.record = sum(sizes[f] for f in fields)
    return sum(1 << f for f in fields)


def _tactile(sensor: Item, index: Index) -> None:
    _point(sensor, index, "mesh", sensor.mesh)
    _point(sensor, index, "geom", sensor.geom, second=True)


def _user(sensor: Item, index: Index) -> None:
    if sensor.objtype is not None and sensor.objtype not in OBJECT_TYPES:
        raise Fault(f"objtype={sensor.objtype!r}; expected one of: {', '.join(OBJECT_TYPES)}")
    if sensor.objname:
        _point(sensor, index, sensor.objtype, sensor.objname)
    if sensor.dim < 0:
        raise Fault("dim is negative")
    if {AXIS: 3, QUATERNION: 4}.get(sensor.datatype, sensor.dim) != sensor.dim:
        raise Fault("an axis has dim 3, a quaternion dim 4")


_OBJECT_OF = {
    "insidesite": _insidesite,
    "camprojection": _camprojection,
    "rangefinder": _rangefinder,
    "contact": _contact,
    "tactile": _tactile,
    "user": _user,
    **dict.fromkeys(("distance", "normal", "fromto"), _two_geoms),
    **dict.fromkeys((t for t in SENSORS if t.startswith("frame")), _frame),
}


def _check_object(tag: str, sensor: Item) -> None:
    obj = sensor.obj
    if tag in ("jointpos", "jointvel", "jointactuatorfrc") and obj.type not in (_SLIDE, _HINGE):
        raise Fault(f"joint {obj.name!r} is neither a slide nor a hinge")
    if tag in ("ballquat", "ballangvel") and obj.type != _BALL:
        raise Fault(f"joint {obj.name!r} is not a ball joint")
    if tag.startswith(("jointlimit", "tendonlimit")) and not obj.is_limited:
        raise Fault(f"{obj.kind} {obj.name!r} has no limit")
    if tag in ("distance", "normal", "fromto"):
        if obj is sensor.ref:
            raise Fault("the two objects are the same")
        if any(o.kind == "geom" and o.type == ENUMS["geom"]["hfield"] for o in (obj, sensor.ref)):
            raise Fault("height fields have no distance sensors")
    camera = (
        sensor.ref if tag == "camprojection" else obj if tag == "rangefinder" and sensor.objkind == "camera" else None
    )
    if camera is not None and np.any(camera.resolution <= 0):
        raise Fault(f"camera {camera.name!r} needs a positive resolution")


def _dimension(tag: str, sensor: Item) -> int:
    match tag:
        case "rangefinder":
            rays = int(np.prod(sensor.obj.resolution)) if sensor.objkind == "camera" else 1
            return sensor.record * rays
        case "contact":
            return sensor.record * sensor.num
        case "actuatorpos" | "actuatorvel" | "actuatorfrc":
            return sensor.obj.outnum
        case "user":
            return sensor.dim
        case "tactile":
            return 3 * len(sensor.obj.data.vert)
    return sensor.dim_fixed
