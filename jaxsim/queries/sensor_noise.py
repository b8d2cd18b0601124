"""Noise of sensors, for users who want it: no stage adds any, and neither does MuJoCo."""

import jax
import numpy as np

from jaxsim.algebra.select import take
from jaxsim.core.data import Data
from jaxsim.core.model import Model


def sensor_noise(model: Model, data: Data, key: jax.Array) -> jax.Array:
    """sensordata [nsensordata] with Gaussian noise of the standard deviations model.sensor_noise [nsensor].

    Each value gets noise of its own, after cutoffs: a positive reading may become negative, and a quaternion is no
    longer of length 1. Differentiable by the readings and by the deviations.

    Args:
        model: the model.
        data: after `step` or `forward`.
        key: of `jax.random`; the same key gives the same noise. A batch takes a key for each world.
    """
    owner = np.repeat(np.arange(model.nsensor), model.sensor_dim)
    noise = jax.random.normal(key, data.sensordata.shape, data.sensordata.dtype)
    return data.sensordata + take(model.sensor_noise, owner) * noise
