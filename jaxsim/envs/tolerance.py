"""Rewards between 0 and 1 for a quantity that is to lie within bounds."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp

Array = jax.Array

# how a reward falls off with the distance from the bounds over the margin: 1 at 0, `value` at 1
SHAPES: dict[str, Callable[[Array, float], Array]] = {
    "gaussian": lambda x, value: jnp.exp(x**2 * math.log(value)),
    "linear": lambda x, value: jnp.maximum(1 - x * (1 - value), 0),
    "quadratic": lambda x, value: jnp.maximum(1 - x**2 * (1 - value), 0),
}


def tolerance(
    x: Array, lower: float = 0.0, upper: float = 0.0, margin: float = 0.0, value: float = 0.1, shape: str = "gaussian"
) -> Array:
    """1 where `x` [...] lies within [lower, upper], falling to `value` a `margin` away: rewards of dm_control's kind.

    Args:
        x: the quantity [...].
        lower: smallest value of full reward.
        upper: largest value of full reward.
        margin: distance from the bounds at which the reward is `value`; 0 for no reward outside of them.
        value: the reward there; 0 goes with "linear" and "quadratic" only.
        shape: one of "gaussian", "linear", "quadratic".
    """
    away = jnp.maximum(jnp.maximum(lower - x, x - upper), 0)
    if margin == 0:
        return jnp.where(away == 0, 1.0, 0.0).astype(x.dtype)
    return SHAPES[shape](away / margin, value)
