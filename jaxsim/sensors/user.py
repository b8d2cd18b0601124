"""User sensors: what they read is not part of the model."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.core.data import Data
from jaxsim.core.model import Model

Array = jax.Array


def unbound(m: Model, d: Data, s: np.ndarray) -> Array:
    """USER [sum of sensor_dim]: zeros, as in MuJoCo without a callback."""
    return jnp.zeros(int(m.sensor_dim[s].sum()), d.qpos.dtype)
