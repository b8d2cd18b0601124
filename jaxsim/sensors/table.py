"""Sensors (mj_sensorPos, mj_sensorVel, mj_sensorAcc): one line of SENSORS for each type.

Sensors that are read by the same function are computed together; which they are and where their values go is
static.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra.select import gather_groups, take
from jaxsim.constraint.solution import Solution
from jaxsim.core.data import Data
from jaxsim.core.enums import DataType, DisableBit
from jaxsim.core.enums import SensorType as S
from jaxsim.core.model import Model
from jaxsim.sensors import (
    actuator,
    camera,
    contact,
    distance,
    frame,
    imu,
    joint,
    limits,
    load,
    rangefinder,
    subtree,
    tactile,
    tendon,
    touch,
    touch_grid,
    user,
    world,
    zone,
)
from jaxsim.sensors.rne_post import body_acceleration

Array = jax.Array


class Sensor(NamedTuple):
    """How sensors of a type are read: `read(m, d, s, ...)` gives the values of the sensors s, one after the other.

    It takes the constraint solution, and the bodies' accelerations cacc [nbody, 6], where it asks for them.
    """

    read: Callable[..., Array]
    solution: bool = False
    cacc: bool = False


SENSORS: dict[S, Sensor] = {
    S.TOUCH: Sensor(touch.touches, solution=True),
    S.ACCELEROMETER: Sensor(imu.accelerometers, cacc=True),
    S.VELOCIMETER: Sensor(imu.site_velocities),
    S.GYRO: Sensor(imu.site_velocities),
    S.FORCE: Sensor(load.forces_torques, solution=True, cacc=True),
    S.TORQUE: Sensor(load.forces_torques, solution=True, cacc=True),
    S.MAGNETOMETER: Sensor(imu.magnetometers),
    S.RANGEFINDER: Sensor(rangefinder.ranges),
    S.CAMPROJECTION: Sensor(camera.projections),
    S.JOINTPOS: Sensor(joint.positions),
    S.JOINTVEL: Sensor(joint.velocities),
    S.TENDONPOS: Sensor(tendon.lengths),
    S.TENDONVEL: Sensor(tendon.velocities),
    S.ACTUATORPOS: Sensor(actuator.lengths),
    S.ACTUATORVEL: Sensor(actuator.velocities),
    S.ACTUATORFRC: Sensor(actuator.forces),
    S.JOINTACTFRC: Sensor(joint.actuator_forces),
    S.TENDONACTFRC: Sensor(tendon.actuator_forces),
    S.BALLQUAT: Sensor(joint.ball_quats),
    S.BALLANGVEL: Sensor(joint.ball_velocities),
    S.JOINTLIMITPOS: Sensor(limits.joint_limits, solution=True),
    S.JOINTLIMITVEL: Sensor(limits.joint_limits, solution=True),
    S.JOINTLIMITFRC: Sensor(limits.joint_limits, solution=True),
    S.TENDONLIMITPOS: Sensor(limits.tendon_limits, solution=True),
    S.TENDONLIMITVEL: Sensor(limits.tendon_limits, solution=True),
    S.TENDONLIMITFRC: Sensor(limits.tendon_limits, solution=True),
    S.FRAMEPOS: Sensor(frame.poses),
    S.FRAMEQUAT: Sensor(frame.quats),
    S.FRAMEXAXIS: Sensor(frame.poses),
    S.FRAMEYAXIS: Sensor(frame.poses),
    S.FRAMEZAXIS: Sensor(frame.poses),
    S.FRAMELINVEL: Sensor(frame.frame_velocities),
    S.FRAMEANGVEL: Sensor(frame.frame_velocities),
    S.FRAMELINACC: Sensor(frame.frame_accelerations, cacc=True),
    S.FRAMEANGACC: Sensor(frame.frame_accelerations, cacc=True),
    S.SUBTREECOM: Sensor(subtree.subtree_coms),
    S.SUBTREELINVEL: Sensor(subtree.subtree_velocities),
    S.SUBTREEANGMOM: Sensor(subtree.subtree_velocities),
    S.INSIDESITE: Sensor(zone.inside_sites),
    **dict.fromkeys((S.GEOMDIST, S.GEOMNORMAL, S.GEOMFROMTO), Sensor(distance.readings)),
    S.CONTACT: Sensor(contact.contacts, solution=True),
    S.E_POTENTIAL: Sensor(world.potential_energies),
    S.E_KINETIC: Sensor(world.kinetic_energies),
    S.CLOCK: Sensor(world.clocks),
    S.TACTILE: Sensor(tactile.pads, solution=True),
    S.USER: Sensor(user.given),
    S.PLUGIN: Sensor(touch_grid.images, solution=True),
}
SUPPORTED_SENSORS: tuple[S, ...] = tuple(SENSORS)


def sensors(m: Model, d: Data, solution: Solution, cdof_dot: Array) -> Data:
    """data.sensordata [nsensordata]; left as it is if sensors are disabled.

    Args:
        m: the model.
        d: with accelerations and forces.
        solution: the constraints and their forces.
        cdof_dot: [nv, 6] rate of the dofs' axes.
    """
    families = _families(m)
    if not families or m.opt.disables(DisableBit.SENSOR):
        return d
    cacc = body_acceleration(m, d, cdof_dot) if any(sensor.cacc for sensor in families) else None
    groups = []
    for sensor, s in families.items():
        beside = [*([solution] if sensor.solution else []), *([cacc] if sensor.cacc else [])]
        where = np.concatenate([np.arange(a, a + n) for a, n in zip(m.sensor_adr[s], m.sensor_dim[s])])
        groups.append((where, sensor.read(m, d, s, *beside).reshape(-1)))
    return d.replace(sensordata=_cut_off(m, gather_groups(groups, m.nsensordata)))


def _families(m: Model) -> dict[Sensor, np.ndarray]:
    """The sensors of the model by the function that reads them."""
    families: dict[Sensor, list[int]] = {}
    for i, kind in enumerate(m.sensor_type):
        if kind in SENSORS:  # others are refused by `load` for simulation
            families.setdefault(SENSORS[S(int(kind))], []).append(i)
    return {sensor: np.array(s) for sensor, s in families.items()}


def _cut_off(m: Model, values: Array) -> Array:
    """Clip real values [nsensordata] to +-cutoff and positive ones to cutoff, where it is positive.

    To segments it is the largest length, and not that of coordinates; to contacts it is nothing.
    """
    owner = np.repeat(np.arange(m.nsensor), m.sensor_dim)
    kind = m.sensor_datatype[owner]
    clipped = np.isin(kind, (DataType.REAL, DataType.POSITIVE)) & ~np.isin(
        m.sensor_type[owner], (S.CONTACT, S.GEOMFROMTO)
    )
    if not clipped.any():
        return values
    cutoff = take(m.sensor_cutoff, owner)
    bound = jnp.where((cutoff > 0) & clipped, cutoff, jnp.inf)
    return jnp.clip(values, jnp.where(kind == DataType.REAL, -bound, -jnp.inf), bound)
