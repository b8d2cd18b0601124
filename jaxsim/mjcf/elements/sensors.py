"""Sensors: type, object, reference, dimension, stage and data type."""

import numpy as np

from jaxsim.core.enums import DataType, GeomType, JointType, SensorType
from jaxsim.mjcf.elements.history import check_history
from jaxsim.mjcf.language.enums import Stage
from jaxsim.mjcf.language.errors import Fault
from jaxsim.mjcf.language.names import Index
from jaxsim.mjcf.language.schema import ENUMS, OBJECT_TYPES
from jaxsim.mjcf.language.spec import Item

# tag: (mjtSensor, dimension, data type, stage); dimension 0 depends on the attributes
SENSORS = {
    "touch": (SensorType.TOUCH, 1, DataType.POSITIVE, Stage.ACC),
    "accelerometer": (SensorType.ACCELEROMETER, 3, DataType.REAL, Stage.ACC),
    "velocimeter": (SensorType.VELOCIMETER, 3, DataType.REAL, Stage.VEL),
    "gyro": (SensorType.GYRO, 3, DataType.REAL, Stage.VEL),
    "force": (SensorType.FORCE, 3, DataType.REAL, Stage.ACC),
    "torque": (SensorType.TORQUE, 3, DataType.REAL, Stage.ACC),
    "magnetometer": (SensorType.MAGNETOMETER, 3, DataType.REAL, Stage.POS),
    "rangefinder": (SensorType.RANGEFINDER, 0, DataType.REAL, Stage.POS),
    "camprojection": (SensorType.CAMPROJECTION, 2, DataType.REAL, Stage.POS),
    "jointpos": (SensorType.JOINTPOS, 1, DataType.REAL, Stage.POS),
    "jointvel": (SensorType.JOINTVEL, 1, DataType.REAL, Stage.VEL),
    "tendonpos": (SensorType.TENDONPOS, 1, DataType.REAL, Stage.POS),
    "tendonvel": (SensorType.TENDONVEL, 1, DataType.REAL, Stage.VEL),
    "actuatorpos": (SensorType.ACTUATORPOS, 0, DataType.REAL, Stage.POS),
    "actuatorvel": (SensorType.ACTUATORVEL, 0, DataType.REAL, Stage.VEL),
    "actuatorfrc": (SensorType.ACTUATORFRC, 0, DataType.REAL, Stage.ACC),
    "jointactuatorfrc": (SensorType.JOINTACTFRC, 1, DataType.REAL, Stage.ACC),
    "tendonactuatorfrc": (SensorType.TENDONACTFRC, 1, DataType.REAL, Stage.ACC),
    "ballquat": (SensorType.BALLQUAT, 4, DataType.QUATERNION, Stage.POS),
    "ballangvel": (SensorType.BALLANGVEL, 3, DataType.REAL, Stage.VEL),
    "jointlimitpos": (SensorType.JOINTLIMITPOS, 1, DataType.REAL, Stage.POS),
    "jointlimitvel": (SensorType.JOINTLIMITVEL, 1, DataType.REAL, Stage.VEL),
    "jointlimitfrc": (SensorType.JOINTLIMITFRC, 1, DataType.REAL, Stage.ACC),
    "tendonlimitpos": (SensorType.TENDONLIMITPOS, 1, DataType.REAL, Stage.POS),
    "tendonlimitvel": (SensorType.TENDONLIMITVEL, 1, DataType.REAL, Stage.VEL),
    "tendonlimitfrc": (SensorType.TENDONLIMITFRC, 1, DataType.REAL, Stage.ACC),
    "framepos": (SensorType.FRAMEPOS, 3, DataType.REAL, Stage.POS),
    "framequat": (SensorType.FRAMEQUAT, 4, DataType.QUATERNION, Stage.POS),
    "framexaxis": (SensorType.FRAMEXAXIS, 3, DataType.AXIS, Stage.POS),
    "frameyaxis": (SensorType.FRAMEYAXIS, 3, DataType.AXIS, Stage.POS),
    "framezaxis": (SensorType.FRAMEZAXIS, 3, DataType.AXIS, Stage.POS),
    "framelinvel": (SensorType.FRAMELINVEL, 3, DataType.REAL, Stage.VEL),
    "frameangvel": (SensorType.FRAMEANGVEL, 3, DataType.REAL, Stage.VEL),
    "framelinacc": (SensorType.FRAMELINACC, 3, DataType.REAL, Stage.ACC),
    "frameangacc": (SensorType.FRAMEANGACC, 3, DataType.REAL, Stage.ACC),
    "subtreecom": (SensorType.SUBTREECOM, 3, DataType.REAL, Stage.POS),
    "subtreelinvel": (SensorType.SUBTREELINVEL, 3, DataType.REAL, Stage.VEL),
    "subtreeangmom": (SensorType.SUBTREEANGMOM, 3, DataType.REAL, Stage.VEL),
    "insidesite": (SensorType.INSIDESITE, 1, DataType.POSITIVE, Stage.POS),
    "distance": (SensorType.GEOMDIST, 1, DataType.REAL, Stage.POS),
    "normal": (SensorType.GEOMNORMAL, 3, DataType.AXIS, Stage.POS),
    "fromto": (SensorType.GEOMFROMTO, 6, DataType.REAL, Stage.POS),
    "contact": (SensorType.CONTACT, 0, DataType.REAL, Stage.ACC),
    "e_potential": (SensorType.E_POTENTIAL, 1, DataType.REAL, Stage.POS),
    "e_kinetic": (SensorType.E_KINETIC, 1, DataType.REAL, Stage.POS),
    "clock": (SensorType.CLOCK, 1, DataType.REAL, Stage.POS),
    "tactile": (SensorType.TACTILE, 0, DataType.REAL, Stage.VEL),
    "user": (SensorType.USER, 0, DataType.REAL, Stage.ACC),
    "plugin": (SensorType.PLUGIN, 0, DataType.REAL, Stage.ACC),
}
# values per field of a contact (found force torque dist pos normal tangent linvel angvel) and of a ray
CONTACT_SIZES = (1, 3, 3, 1, 3, 3, 3, 3, 3)
FORCES, VELOCITIES, MAXFORCE, NETFORCE = 0b0_0000_0110, 0b1_1000_0000, 2, 3
RAY_SIZES = (1, 3, 3, 3, 3, 1)
COMPACT = (GeomType.SPHERE, GeomType.CAPSULE, GeomType.ELLIPSOID, GeomType.CYLINDER, GeomType.BOX, GeomType.MESH)

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
    no_cutoff = sensor.datatype == DataType.QUATERNION or (sensor.datatype == DataType.AXIS and tag != "normal")
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
        sensor.datatype = DataType.REAL
        _check_enclosed(sensor)


def _check_enclosed(sensor: Item) -> None:
    """Only what is convex and ends somewhere has a depth in something else."""
    obj = sensor.obj
    if obj.kind == "camera":
        raise Fault("enclosed: a camera has no extent")
    solids = obj.contents["geom"] if obj.kind == "body" else [obj]
    if not solids:
        raise Fault(f"enclosed: body {obj.name!r} needs at least one geom")
    for solid in (*solids, sensor.ref):
        if solid.type not in COMPACT:
            raise Fault(f"enclosed: {solid.kind} {solid.name!r} is not a convex shape of finite size")


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
    if data & VELOCITIES and sensor.reduce == NETFORCE:
        raise Fault("data: linvel and angvel are of single contacts, not of the sum of all with reduce='netforce'")
    sensor.intprm = [data, sensor.reduce, sensor.num]
    forces = data & FORCES or sensor.reduce in (MAXFORCE, NETFORCE)
    sensor.needstage = Stage.ACC if forces else Stage.VEL if data & VELOCITIES else Stage.POS


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


def _touch_grid(sensor: Item, index: Index) -> None:
    for kind, second in ((sensor.objtype, False), (sensor.reftype, True)):
        _point(sensor, index, kind or "", sensor.refname if second else sensor.objname, second)
    if sensor.objkind != "site":
        raise Fault("a touch grid must be attached to a site")


def _user(sensor: Item, index: Index) -> None:
    if sensor.objtype is not None and sensor.objtype not in OBJECT_TYPES:
        raise Fault(f"objtype={sensor.objtype!r}; expected one of: {', '.join(OBJECT_TYPES)}")
    if sensor.objname:
        _point(sensor, index, sensor.objtype, sensor.objname)
    if sensor.dim < 0:
        raise Fault("dim is negative")
    if {DataType.AXIS: 3, DataType.QUATERNION: 4}.get(sensor.datatype, sensor.dim) != sensor.dim:
        raise Fault("an axis has dim 3, a quaternion dim 4")


_OBJECT_OF = {
    "insidesite": _insidesite,
    "camprojection": _camprojection,
    "rangefinder": _rangefinder,
    "contact": _contact,
    "tactile": _tactile,
    "user": _user,
    "plugin": _touch_grid,
    **dict.fromkeys(("distance", "normal", "fromto"), _two_geoms),
    **dict.fromkeys((t for t in SENSORS if t.startswith("frame")), _frame),
}


def _check_object(tag: str, sensor: Item) -> None:
    obj = sensor.obj
    if tag in ("jointpos", "jointvel", "jointactuatorfrc") and obj.type not in (JointType.SLIDE, JointType.HINGE):
        raise Fault(f"joint {obj.name!r} is neither a slide nor a hinge")
    if tag in ("ballquat", "ballangvel") and obj.type != JointType.BALL:
        raise Fault(f"joint {obj.name!r} is not a ball joint")
    if tag.startswith(("jointlimit", "tendonlimit")) and not obj.is_limited:
        raise Fault(f"{obj.kind} {obj.name!r} has no limit")
    if tag in ("distance", "normal", "fromto"):
        if obj is sensor.ref:
            raise Fault("the two objects are the same")
        if any(o.kind == "geom" and o.type == GeomType.HFIELD for o in (obj, sensor.ref)):
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
        case "plugin":
            return int(np.prod(sensor.gridprm[:3]))
        case "tactile":
            return 3 * len(sensor.obj.data.vert)
    return sensor.dim_fixed
