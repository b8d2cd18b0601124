"""Enumerations of MuJoCo 4.0 that only the compiler needs; those of the engine are in jaxsim.core.enums."""

from enum import IntEnum


class Tristate(IntEnum):
    """`limited` and its like: said, or left to the compiler."""

    FALSE = 0
    TRUE = 1
    AUTO = 2


class LRMode(IntEnum):
    """mjtLRMode: the actuators whose length range is searched for."""

    NONE = 0
    MUSCLE = 1
    MUSCLEUSER = 2
    ALL = 3


class Stage(IntEnum):
    """mjtStage: the stage after which a sensor can be computed."""

    NONE = 0
    POS = 1
    VEL = 2
    ACC = 3


class Conflict(IntEnum):
    """Attribute `conflict` of the compiler: what happens where an attached model differs."""

    WARNING = 0
    MERGE = 1
    ERROR = 2
