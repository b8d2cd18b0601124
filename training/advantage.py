"""Advantages and returns of a batch of trajectories."""

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array


def advantages(
    reward: Array, value: Array, following: Array, done: Array, terminated: Array, discount: float, trace: float
) -> Array:
    """Generalised advantage estimates (Schulman et al. 2016, eq. 16), each [T, worlds].

    A_t = delta_t + discount * trace * A_{t+1}, delta_t = r_t + discount * V(s_{t+1}) - V(s_t); nothing follows a step
    that terminated, and where an episode is cut off the value of its last observation stands for what would have come.

    Args:
        reward: r_t.
        value: V(s_t).
        following: V(s_{t+1}), of the state before any reset.
        done: whether the episode ended at this step.
        terminated: whether it ended by itself, not by a limit of time.
        discount: of the next step.
        trace: lambda, 0 for one-step errors and 1 for whole returns.
    """
    one = jnp.ones((), reward.dtype)
    delta = reward + discount * following * (one - terminated) - value

    def back(later, now):
        delta, done = now
        advantage = delta + discount * trace * (one - done) * later
        return advantage, advantage

    return lax.scan(back, jnp.zeros_like(delta[0]), (delta, done), reverse=True)[1]
