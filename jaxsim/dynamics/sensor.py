"""Sensors (mj_sensorPos, mj_sensorVel, mj_sensorAcc)."""

from jaxsim.types import SensorType

SUPPORTED_SENSORS: tuple[SensorType, ...] = ()


def sensors(m, d, mid):
    """data.sensordata [nsensordata]."""
    return d
