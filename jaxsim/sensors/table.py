"""Sensors (mj_sensorPos, mj_sensorVel, mj_sensorAcc).

Sensors are computed family by family; which sensors a family has and where their values go is static.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import vector
from jaxsim.algebra.select import gather_groups, product, take
from jaxsim.constraint.rows import mul_scalar
from jaxsim.core.data import Data
from jaxsim.core.enums import DisableBit, JointType, TrnType
from jaxsim.core.enums import SensorType as S
from jaxsim.core.model import Model
from jaxsim.dynamics.energy import kinetic, potential
from jaxsim.sensors import frame
from jaxsim.sensors.rne_post import body_acceleration, internal_force
from jaxsim.sensors.touch import touches

if TYPE_CHECKING:
    from jaxsim.stages.forward import Intermediate

Array = jax.Array

REAL, POSITIVE = 0, 1  # mjtDataType


def sensors(m: Model, d: Data, mid: "Intermediate") -> Data:
    """data.sensordata [nsensordata]; left as it is if sensors are disabled."""
    if not m.nsensor or m.opt.disables(DisableBit.SENSOR):
        return d
    groups = []
    for index, rows in _families(m, d, mid):
        adr, dim = m.sensor_adr[index], m.sensor_dim[index]
        where = np.concatenate([np.arange(a, a + n) for a, n in zip(adr, dim)])
        groups.append((where, rows.reshape(-1)))
    if not groups:
        return d
    return d.replace(sensordata=_cut_off(m, gather_groups(groups, m.nsensordata)))


def _cut_off(m: Model, values: Array) -> Array:
    """Clip real values to +-cutoff and positive ones to cutoff, where it is positive."""
    owner = np.repeat(np.arange(m.nsensor), m.sensor_dim)
    kind = m.sensor_datatype[owner]
    if not np.isin(kind, (REAL, POSITIVE)).any():
        return values
    cutoff = take(m.sensor_cutoff, owner)
    bound = jnp.where((cutoff > 0) & (kind <= POSITIVE), cutoff, jnp.inf)
    return jnp.clip(values, jnp.where(kind == REAL, -bound, -jnp.inf), bound)


def _families(m: Model, d: Data, mid: "Intermediate") -> Iterator[tuple[np.ndarray, Array]]:
    """(sensors, their values) of every family that the model has."""

    def of(*types: S) -> np.ndarray:
        return np.flatnonzero(np.isin(m.sensor_type, types))

    for types, read in _FROM_DATA.items():
        index = of(*types)
        if len(index):
            yield index, read(m, d, index)
    if len(index := of(S.TOUCH)):
        yield index, touches(m, d, mid, index)
    for types, joint in ((_JOINT_LIMITS, True), (_TENDON_LIMITS, False)):
        if len(index := of(*types)):
            yield index, _limits(m, d, mid, index, joint)
    yield from _from_accelerations(m, d, mid, of)


def _from_accelerations(m: Model, d: Data, mid: "Intermediate", of: Callable) -> Iterator[tuple[np.ndarray, Array]]:
    meters, accelerations = of(S.ACCELEROMETER), of(S.FRAMELINACC, S.FRAMEANGACC)
    loads = of(S.FORCE, S.TORQUE)
    if not len(meters) + len(accelerations) + len(loads):
        return
    cacc = body_acceleration(m, d, mid)
    if len(meters):
        yield meters, frame.accelerometers(m, d, meters, cacc)
    if len(accelerations):
        yield accelerations, frame.frame_accelerations(m, d, accelerations, cacc)
    if len(loads):
        bodies, which = np.unique(m.site_bodyid[m.sensor_objid[loads]], return_inverse=True)
        cfrc_int = internal_force(m, d, mid, cacc, bodies)
        yield loads, frame.forces_torques(m, d, loads, take(cfrc_int, which))


def _joint(m: Model, index: np.ndarray) -> np.ndarray:
    return m.sensor_objid[index]


def _outputs(m: Model, index: np.ndarray) -> np.ndarray:
    """Outputs of the actuators of sensors."""
    adr = m.actuator_outadr[m.sensor_objid[index]]
    return np.concatenate([np.arange(a, a + n) for a, n in zip(adr, m.sensor_dim[index])])


def _ball_quats(m: Model, d: Data, index: np.ndarray) -> Array:
    adr = m.jnt_qposadr[_joint(m, index)][:, None] + np.arange(4)
    return vector.normalize(take(d.qpos, adr.ravel()).reshape(-1, 4))


def _ball_velocities(m: Model, d: Data, index: np.ndarray) -> Array:
    return take(d.qvel, (m.jnt_dofadr[_joint(m, index)][:, None] + np.arange(3)).ravel())


def _tendon_actuator_forces(m: Model, d: Data, index: np.ndarray) -> Array:
    pulls = m.actuator_trntype == TrnType.TENDON
    owner = (m.actuator_trnid[None, :, 0] == m.sensor_objid[index][:, None]) & pulls[None]
    belongs = np.zeros((len(index), m.nout))
    belongs[:, m.actuator_outadr] = owner
    return product(belongs, d.actuator_force)


def _spread(value: Callable[[Model, Data], Array]) -> Callable:
    """A quantity of the world, for each of its sensors."""
    return lambda m, d, index: jnp.broadcast_to(value(m, d)[None], (len(index),))


# families of sensors that read data alone
_FROM_DATA: dict[tuple[S, ...], Callable[[Model, Data, np.ndarray], Array]] = {
    (S.JOINTPOS,): lambda m, d, i: take(d.qpos, m.jnt_qposadr[_joint(m, i)]),
    (S.JOINTVEL,): lambda m, d, i: take(d.qvel, m.jnt_dofadr[_joint(m, i)]),
    (S.JOINTACTFRC,): lambda m, d, i: take(d.qfrc_actuator, m.jnt_dofadr[_joint(m, i)]),
    (S.BALLQUAT,): _ball_quats,
    (S.BALLANGVEL,): _ball_velocities,
    (S.TENDONPOS,): lambda m, d, i: take(d.ten_length, m.sensor_objid[i]),
    (S.TENDONVEL,): lambda m, d, i: take(d.ten_velocity, m.sensor_objid[i]),
    (S.TENDONACTFRC,): _tendon_actuator_forces,
    (S.ACTUATORPOS,): lambda m, d, i: take(d.actuator_length, _outputs(m, i)),
    (S.ACTUATORVEL,): lambda m, d, i: take(d.actuator_velocity, _outputs(m, i)),
    (S.ACTUATORFRC,): lambda m, d, i: take(d.actuator_force, _outputs(m, i)),
    (S.FRAMEPOS, S.FRAMEXAXIS, S.FRAMEYAXIS, S.FRAMEZAXIS): frame.poses,
    (S.FRAMEQUAT,): frame.quats,
    (S.FRAMELINVEL, S.FRAMEANGVEL): frame.frame_velocities,
    (S.VELOCIMETER, S.GYRO): frame.site_velocities,
    (S.MAGNETOMETER,): frame.magnetometers,
    (S.SUBTREECOM,): lambda m, d, i: take(d.subtree_com, m.sensor_objid[i]),
    (S.SUBTREELINVEL, S.SUBTREEANGMOM): frame.subtree_velocities,
    (S.CLOCK,): _spread(lambda m, d: d.time),
    (S.E_POTENTIAL,): _spread(potential),
    (S.E_KINETIC,): _spread(kinetic),
}
_JOINT_LIMITS = (S.JOINTLIMITPOS, S.JOINTLIMITVEL, S.JOINTLIMITFRC)
_TENDON_LIMITS = (S.TENDONLIMITPOS, S.TENDONLIMITVEL, S.TENDONLIMITFRC)

SUPPORTED_SENSORS: tuple[S, ...] = tuple(
    sorted(
        {
            *(t for types in _FROM_DATA for t in types), *_JOINT_LIMITS, *_TENDON_LIMITS,
            S.TOUCH, S.ACCELEROMETER, S.FRAMELINACC, S.FRAMEANGACC, S.FORCE, S.TORQUE,
        }
    )
)  # fmt: skip


def _limits(m: Model, d: Data, mid: "Intermediate", index: np.ndarray, joint: bool) -> Array:
    """Distance less margin, velocity or force of the first active limit row of a joint or tendon; else 0."""
    rows = mid.rows
    if mid.force is None:
        return jnp.zeros(len(index), d.qpos.dtype)
    velocity = mul_scalar(rows.kind, rows.J, d.qvel)
    values = jnp.stack([rows.pos - rows.margin, velocity, mid.force.scalar]).reshape(-1)
    count = rows.pos.shape[0]
    quantity = (m.sensor_type[index] - (S.JOINTLIMITPOS if joint else S.TENDONLIMITPOS)) * count
    owner = _limit_owners(m, rows.kind, joint)
    first, second = np.full(len(index), -1), np.full(len(index), -1)
    for k, obj in enumerate(m.sensor_objid[index]):
        found = np.flatnonzero(owner == obj)
        first[k], second[k] = (*found, -1, -1)[:2]
    result = jnp.zeros(len(index), d.qpos.dtype)
    for row in (second, first):
        exists = row >= 0
        if exists.any():
            active = take(rows.D, np.maximum(row, 0)) > 0
            result = jnp.where(active & exists, take(values, quantity + np.maximum(row, 0)), result)
    return result


def _limit_owners(m: Model, kind, joint: bool) -> np.ndarray:
    """Joint (or tendon) of each scalar row that is one of its limits, else -1."""
    nd = len(kind.dof.dof)
    owner = np.full(nd + len(kind.source), -1)
    if joint:
        owner[:nd] = kind.dof.joint
        balls = np.flatnonzero(np.asarray(m.jnt_limited, bool) & (m.jnt_type == JointType.BALL))
        owner[nd + np.flatnonzero(kind.source == 3)] = balls[: np.sum(kind.source == 3)]
    else:
        tendons = np.repeat(np.flatnonzero(np.asarray(m.tendon_limited, bool)), 2)
        owner[nd + np.flatnonzero(kind.source == 4)] = tendons[: np.sum(kind.source == 4)]
    return owner
