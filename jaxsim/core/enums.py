"""Enumerations with MuJoCo 4.0's values, in MuJoCo's words."""

from enum import IntEnum, IntFlag


class JointType(IntEnum):
    """mjtJoint."""

    FREE = 0
    BALL = 1
    SLIDE = 2
    HINGE = 3

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return (7, 4, 1, 1)[self]

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return (6, 3, 1, 1)[self]


class GeomType(IntEnum):
    """mjtGeom, the types that collide."""

    PLANE = 0
    HFIELD = 1
    SPHERE = 2
    CAPSULE = 3
    ELLIPSOID = 4
    CYLINDER = 5
    BOX = 6
    MESH = 7
    SDF = 8


class SameFrame(IntEnum):
    """mjtSameFrame: which frame of its body the frame of an element coincides with."""

    NONE = 0
    BODY = 1
    INERTIA = 2
    BODYROT = 3
    INERTIAROT = 4


class Integrator(IntEnum):
    """mjtIntegrator."""

    EULER = 0
    RK4 = 1
    IMPLICIT = 2
    IMPLICITFAST = 3
    DISCRETE = 4


class Cone(IntEnum):
    """mjtCone."""

    PYRAMIDAL = 0
    ELLIPTIC = 1


class Solver(IntEnum):
    """mjtSolver; DIAGONAL is our own, cheap and approximate, and not in MJCF: `opt.replace(solver=3)`."""

    PGS = 0
    CG = 1
    NEWTON = 2
    DIAGONAL = 3


class ContactLaw(IntEnum):
    """Our own, not in MJCF: MuJoCo's convex penalties, or Dojo's complementarity; `opt.replace(contact="hard")`.

    The distant law is the soft one, under which surfaces also push each other weakly before they touch. The exact law
    is the hard one at kappa = 0, found in another way (solvers/complementarity.py), with the hard one's derivatives.
    """

    SOFT = 0
    HARD = 1
    DISTANT = 2
    EXACT = 3

    @property
    def rigid(self) -> bool:
        """Whether surfaces do not give way: what is solved for then are the velocities at the end of a step."""
        return self in (ContactLaw.HARD, ContactLaw.EXACT)


class ContactGradient(IntEnum):
    """Our own: whose derivatives those of a step are, its own or those of the distant law."""

    OWN = 0
    DISTANT = 1


class EqualityLaw(IntEnum):
    """Our own: whether equalities are hard under the hard contact law, or give way by their solref and solimp."""

    HARD = 0
    COMPLIANT = 1


class EqType(IntEnum):
    """mjtEq."""

    CONNECT = 0
    WELD = 1
    JOINT = 2
    TENDON = 3
    FLEX = 4
    FLEXVERT = 5
    FLEXSTRAIN = 6
    DISTANCE = 7


class TendonType(IntEnum):
    """mjtTendon."""

    FIXED = 0
    SPATIAL = 1


class WrapType(IntEnum):
    """mjtWrap."""

    NONE = 0
    JOINT = 1
    PULLEY = 2
    SITE = 3
    SPHERE = 4
    CYLINDER = 5


class TrnType(IntEnum):
    """mjtTrn."""

    JOINT = 0
    JOINTINPARENT = 1
    SLIDERCRANK = 2
    TENDON = 3
    SITE = 4
    BODY = 5
    SO3 = 6


class DynType(IntEnum):
    """mjtDyn."""

    NONE = 0
    INTEGRATOR = 1
    FILTER = 2
    FILTEREXACT = 3
    MUSCLE = 4
    DCMOTOR = 5
    PID = 6
    USER = 7


class GainType(IntEnum):
    """mjtGain."""

    FIXED = 0
    AFFINE = 1
    MUSCLE = 2
    DCMOTOR = 3
    SO3 = 4
    PID = 5
    USER = 6


class BiasType(IntEnum):
    """mjtBias."""

    NONE = 0
    AFFINE = 1
    MUSCLE = 2
    DCMOTOR = 3
    SO3 = 4
    USER = 5


class ConstraintType(IntEnum):
    """mjtConstraint: the families of constraint rows, in the order in which MuJoCo lists their rows."""

    EQUALITY = 0
    FRICTION_DOF = 1
    FRICTION_TENDON = 2
    LIMIT_JOINT = 3
    LIMIT_TENDON = 4
    CONTACT_FRICTIONLESS = 5
    CONTACT_PYRAMIDAL = 6
    CONTACT_ELLIPTIC = 7


class CamLight(IntEnum):
    """mjtCamLight: how a camera or light follows its body."""

    FIXED = 0
    TRACK = 1
    TRACKCOM = 2
    TARGETBODY = 3
    TARGETBODYCOM = 4


class ObjType(IntEnum):
    """mjtObj, the kinds that sensors and equalities refer to."""

    UNKNOWN = 0
    BODY = 1
    XBODY = 2
    JOINT = 3
    DOF = 4
    GEOM = 5
    SITE = 6
    CAMERA = 7
    LIGHT = 8
    TENDON = 18
    ACTUATOR = 19


class SensorType(IntEnum):
    """mjtSensor."""

    TOUCH = 0
    ACCELEROMETER = 1
    VELOCIMETER = 2
    GYRO = 3
    FORCE = 4
    TORQUE = 5
    MAGNETOMETER = 6
    RANGEFINDER = 7
    CAMPROJECTION = 8
    JOINTPOS = 9
    JOINTVEL = 10
    TENDONPOS = 11
    TENDONVEL = 12
    ACTUATORPOS = 13
    ACTUATORVEL = 14
    ACTUATORFRC = 15
    JOINTACTFRC = 16
    TENDONACTFRC = 17
    BALLQUAT = 18
    BALLANGVEL = 19
    JOINTLIMITPOS = 20
    JOINTLIMITVEL = 21
    JOINTLIMITFRC = 22
    TENDONLIMITPOS = 23
    TENDONLIMITVEL = 24
    TENDONLIMITFRC = 25
    FRAMEPOS = 26
    FRAMEQUAT = 27
    FRAMEXAXIS = 28
    FRAMEYAXIS = 29
    FRAMEZAXIS = 30
    FRAMELINVEL = 31
    FRAMEANGVEL = 32
    FRAMELINACC = 33
    FRAMEANGACC = 34
    SUBTREECOM = 35
    SUBTREELINVEL = 36
    SUBTREEANGMOM = 37
    INSIDESITE = 38
    GEOMDIST = 39
    GEOMNORMAL = 40
    GEOMFROMTO = 41
    CONTACT = 42
    E_POTENTIAL = 43
    E_KINETIC = 44
    CLOCK = 45
    TACTILE = 46
    PLUGIN = 47
    USER = 48


class DataType(IntEnum):
    """mjtDataType: the kind of numbers a sensor gives, which decides how its cutoff clips them."""

    REAL = 0
    POSITIVE = 1
    AXIS = 2
    QUATERNION = 3


AWAKE = -11  # tree_asleep of a tree that has just moved; ten slow steps later (mjMINAWAKE) it may sleep


class SleepPolicy(IntEnum):
    """mjtSleepPolicy: whether a kinematic tree may sleep; the first three are the compiler's own choices."""

    AUTO = 0
    AUTO_NEVER = 1
    AUTO_ALLOWED = 2
    NEVER = 3
    ALLOWED = 4
    INIT = 5


class State(IntFlag):
    """mjtState: parts of the state, in the order in which `get_state` joins them."""

    TIME = 1 << 0
    QPOS = 1 << 1
    QVEL = 1 << 2
    ACT = 1 << 3
    HISTORY = 1 << 4
    WARMSTART = 1 << 5
    CTRL = 1 << 6
    QFRC_APPLIED = 1 << 7
    XFRC_APPLIED = 1 << 8
    EQ_ACTIVE = 1 << 9
    MOCAP_POS = 1 << 10
    MOCAP_QUAT = 1 << 11
    USERDATA = 1 << 12
    PLUGIN = 1 << 13
    PLASTIC = 1 << 14
    PHYSICS = QPOS | QVEL | ACT | HISTORY | PLASTIC
    FULLPHYSICS = TIME | PHYSICS | PLUGIN
    USER = CTRL | QFRC_APPLIED | XFRC_APPLIED | EQ_ACTIVE | MOCAP_POS | MOCAP_QUAT | USERDATA
    INTEGRATION = FULLPHYSICS | USER | WARMSTART


class DisableBit(IntFlag):
    """mjtDisableBit."""

    CONSTRAINT = 1 << 0
    EQUALITY = 1 << 1
    FRICTIONLOSS = 1 << 2
    LIMIT = 1 << 3
    CONTACT = 1 << 4
    SPRING = 1 << 5
    DAMPER = 1 << 6
    GRAVITY = 1 << 7
    CLAMPCTRL = 1 << 8
    WARMSTART = 1 << 9
    FILTERPARENT = 1 << 10
    ACTUATION = 1 << 11
    REFSAFE = 1 << 12
    SENSOR = 1 << 13
    MIDPHASE = 1 << 14
    EULERDAMP = 1 << 15
    AUTORESET = 1 << 16
    NATIVECCD = 1 << 17
    ISLAND = 1 << 18
    MULTICCD = 1 << 19


class EnableBit(IntFlag):
    """mjtEnableBit."""

    OVERRIDE = 1 << 0
    ENERGY = 1 << 1
    FWDINV = 1 << 2
    INVDISCRETE = 1 << 3
    SLEEP = 1 << 4
    DIAGEXACT = 1 << 5
    IPC = 1 << 6
    SPECULATIVE = 1 << 7


class WarningType(IntEnum):
    """mjtWarning: the columns of `data.warning`."""

    INERTIA = 0
    CONTACTFULL = 1
    CNSTRFULL = 2
    BADQPOS = 3
    BADQVEL = 4
    BADQACC = 5
    BADCTRL = 6


MINVAL = 1e-15  # mjMINVAL: below this a denominator counts as zero
MINIMP, MAXIMP = 1e-4, 0.9999  # mjMINIMP, mjMAXIMP: bounds of an impedance
MAXVAL = 1e10  # mjMAXVAL: a state beyond this is invalid
MINMU = 1e-5  # mjMINMU: least contact friction
