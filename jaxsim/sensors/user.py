"""User sensors: what they read is not part of the model, unless `js.extend` gave a function for it."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.dynamics.extension import extension_of

Array = jax.Array


def given(m: Model, d: Data, s: np.ndarray) -> Array:
    """USER [sum of sensor_dim]: what the user's function gives, else zeros, as in MuJoCo without a callback."""
    function = extension_of(m).sensor
    return function(m, d) if function is not None else jnp.zeros(int(m.sensor_dim[s].sum()), d.qpos.dtype)
