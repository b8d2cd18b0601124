"""Controllers in actuators: PID servos of a length (mjGAIN_PID), and servos of an orientation (mjGAIN_SO3)."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.algebra import quaternion, vector
from jaxsim.algebra.select import take
from jaxsim.core.data import Data
from jaxsim.core.enums import DynType, GainType
from jaxsim.core.model import Model
from jaxsim.dynamics.controls import inputs, nearest, on_rotations, periods
from jaxsim.dynamics.dc_motor import INTEGRAL, has

Array = jax.Array

QUAT = 2  # actuator_ctrlspec of an orientation given as a quaternion (mjCHART_QUAT)


def pid_force(m: Model, d: Data, ctrl: Array, act: Array, chosen: np.ndarray) -> Array:
    """kp u + kv u' + ff + ki z [n] (N) of PID servos [n], without their bias, which has the rest of the error.

    Args:
        m: the model.
        d: with the lengths of actuators.
        ctrl: [nu], slew rates limited.
        act: [n] the last state of each, the integral z where it has one.
        chosen: the servos.
    """
    prm = take(m.actuator_biasprm, chosen)
    position, velocity, forward, _ = inputs(m, ctrl, chosen)
    turning = np.isin(chosen, on_rotations(m))
    if turning.any():
        length = take(d.actuator_length, m.actuator_outadr[chosen])
        position = jnp.where(turning, nearest(position, length, periods(m, chosen)), position)
    integral = jnp.where(has(m, chosen, INTEGRAL), take(m.actuator_gainprm, chosen)[:, 0] * act, 0)
    return forward - prm[:, 1] * position - prm[:, 2] * velocity + integral


def orientation_outputs(m: Model) -> tuple[np.ndarray, np.ndarray]:
    """Servos of an orientation [n], and their outputs [n, 3]."""
    chosen = np.flatnonzero(m.actuator_gaintype == GainType.SO3)
    return chosen, m.actuator_outadr[chosen][:, None] + np.arange(3)


def orientation_torque(m: Model, d: Data, ctrl: Array, act: Array) -> Array:
    """kp e + constant - kv velocity [n, 3] (N m), with e the rotation vector from the orientation to its target.

    `act` [na] are the activations that integrating servos follow.
    """
    chosen, outputs = orientation_outputs(m)
    length, velocity = (take(x, outputs.ravel()).reshape(-1, 3) for x in (d.actuator_length, d.actuator_velocity))
    error = quaternion.subtract(_target(m, ctrl, act, chosen), quaternion.exp(length))
    kp, bias = take(m.actuator_gainprm, chosen)[:, :1], take(m.actuator_biasprm, chosen)
    return kp * error + bias[:, :1] + bias[:, 2:3] * velocity


def _target(m: Model, ctrl: Array, act: Array, chosen: np.ndarray) -> Array:
    """Orientations [n, 4] that servos are to reach, given as quaternions or as rotation vectors."""
    as_quat = m.actuator_ctrlspec[chosen] == QUAT
    integrates = m.actuator_dyntype[chosen] == DynType.INTEGRATOR
    given = jnp.concatenate([ctrl, act])
    first = np.where(integrates, len(ctrl) + m.actuator_actadr[chosen], m.actuator_ctrladr[chosen])
    turn = take(given, (first[:, None] + np.arange(3)).ravel()).reshape(-1, 3)
    if not as_quat.any():
        return quaternion.exp(turn)
    index = np.where(as_quat[:, None], first[:, None] + np.arange(4), 0)
    quat = vector.normalize(take(given, index.ravel()).reshape(-1, 4))
    return jnp.where(as_quat[:, None], quat, quaternion.exp(turn))
