"""Sensors of the whole world: time and energy."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.dynamics.energy import kinetic, potential

Array = jax.Array


def clocks(m: Model, d: Data, s: np.ndarray) -> Array:
    """CLOCK [n], s."""
    return jnp.broadcast_to(d.time[None], (len(s),))


def potential_energies(m: Model, d: Data, s: np.ndarray) -> Array:
    """E_POTENTIAL [n], J."""
    return jnp.broadcast_to(potential(m, d)[None], (len(s),))


def kinetic_energies(m: Model, d: Data, s: np.ndarray) -> Array:
    """E_KINETIC [n], J."""
    return jnp.broadcast_to(kinetic(m, d)[None], (len(s),))
