"""Muscles: active and passive force, and activation (mju_muscleGain, mju_muscleBias, mju_muscleDynamics).

Parameters [n, 10] are, by column: range (2), force, scale, lmin, lmax, vmax, fpmax, fvmax. Lengths are in units of
the optimum length L0, velocities in vmax L0 per second: the actuator's lengthrange is mapped onto `range`, and

    force = -peak (FL(L) FV(V) act + FP(L)).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.algebra import vector
from jaxsim.core.enums import MINVAL

Array = jax.Array


class Muscle(NamedTuple):
    """State and parameters of muscles [n]."""

    L: Array  # length over the optimum length
    V: Array  # velocity over the largest
    peak: Array  # N, largest active force at rest
    fastest: Array  # m/s, what V is in units of
    prm: Array  # [n, 10]


def muscles(length: Array, velocity: Array, lengthrange: Array, acc0: Array, prm: Array) -> Muscle:
    """Normalised state of muscles from lengths [n] (m), velocities [n] (m/s) and their ranges [n, 2] (m)."""
    peak = jnp.where(prm[:, 2] < 0, prm[:, 3] / jnp.maximum(acc0, MINVAL), prm[:, 2])
    optimum = (lengthrange[:, 1] - lengthrange[:, 0]) / jnp.maximum(prm[:, 1] - prm[:, 0], MINVAL)
    fastest = jnp.maximum(optimum * prm[:, 6], MINVAL)
    L = prm[:, 0] + (length - lengthrange[:, 0]) / jnp.maximum(optimum, MINVAL)
    return Muscle(L, velocity / fastest, peak, fastest, prm)


def gain(x: Muscle) -> Array:
    """Active force [n] (N) of full activation, negative since it pulls."""
    fvmax = x.prm[:, 8]
    lengthening = fvmax - _below_top(x) ** 2 / jnp.maximum(fvmax - 1, MINVAL)
    speed = jnp.where(x.V <= 0, jnp.maximum(x.V + 1, 0) ** 2, lengthening)
    return -x.peak * _length_curve(x) * speed


def gain_slope(x: Muscle) -> Array:
    """Derivative [n] (N s/m) of `gain` with respect to velocity."""
    lengthening = 2 * _below_top(x) / jnp.maximum(x.prm[:, 8] - 1, MINVAL)
    slope = jnp.where(x.V <= 0, 2 * jnp.maximum(x.V + 1, 0), lengthening)
    return -x.peak * _length_curve(x) * slope / x.fastest


def _below_top(x: Muscle) -> Array:
    """How far the velocity [n] is below that from which on the force stays at fvmax."""
    return jnp.maximum(x.prm[:, 8] - 1 - x.V, 0)


def _length_curve(x: Muscle) -> Array:
    """FL [n]: 0 at lmin and lmax, 1 at 1, of four half parabolas that meet halfway."""
    shorter, lmin, lmax = x.L <= 1, x.prm[:, 4], x.prm[:, 5]
    half = 0.5 * jnp.where(shorter, 1 - lmin, lmax - 1)
    inwards = jnp.maximum(jnp.where(shorter, x.L - lmin, lmax - x.L) / jnp.maximum(half, MINVAL), 0)
    return jnp.where(inwards <= 1, 0.5 * inwards**2, 1 - 0.5 * (2 - inwards) ** 2)


def bias(x: Muscle) -> Array:
    """Passive force [n] (N): a half parabola from L = 1 to halfway to lmax, straight beyond."""
    stretch = jnp.maximum((x.L - 1) / jnp.maximum(0.5 * (x.prm[:, 5] - 1), MINVAL), 0)
    return -x.peak * x.prm[:, 7] * jnp.where(stretch <= 1, 0.5 * stretch**2, stretch - 0.5)


def activation_rate(ctrl: Array, act: Array, prm: Array) -> Array:
    """Rate [n] (1/s) of activations [n] for controls [n] and prm [n, 10]: tau_act, tau_deact, smoothing width.

    Without smoothing the rate has a kink where control and activation are equal, as in every muscle at rest. There its
    derivative is the mean of both sides, as central differences have it; but that by a control at the end of its range
    (0 to 1, whatever ctrlrange says) is that of the only side on which it acts.
    """
    ctrl = vector.within(ctrl, 0, 1)
    excess = ctrl - act
    stretch = 0.5 + 1.5 * jnp.clip(act, 0, 1)
    rising, falling, width = prm[:, 0] * stretch, prm[:, 1] / stretch, prm[:, 2]
    smooth = width >= MINVAL
    x = jnp.clip(excess / jnp.where(smooth, width, 1) + 0.5, 0, 1)
    blend = jnp.where(smooth, x**3 * (x * (6 * x - 15) + 10), jnp.where(excess > 0, 1.0, 0.0))
    time = jnp.maximum(falling + (rising - falling) * blend, MINVAL)
    rising, falling = jnp.maximum(rising, MINVAL), jnp.maximum(falling, MINVAL)
    kink = ~smooth & (excess == 0)
    time = jnp.where(kink, 2 / (1 / rising + 1 / falling), time)
    of_ctrl = jnp.where(kink & (ctrl <= 0), rising, jnp.where(kink & (ctrl >= 1), falling, time))
    change = lax.stop_gradient(1 / of_ctrl - 1 / time)
    return excess / time + change * (ctrl - lax.stop_gradient(ctrl))
