"""Linear policies, and whole episodes of many of them: what searches over their weights need."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from training import normalise

Array = jax.Array


class Scores(NamedTuple):
    """Of one episode for each world [worlds], or sums over worlds."""

    total: Array  # of rewards as the search sees them
    reward: Array  # of rewards as they are
    length: Array


def act(weights: Array, moments: normalise.Moments, obs: Array) -> Array:
    """Actions [..., nu] in [-1, 1] of a linear policy; weights [..., nu, n], observations [..., n]."""
    seen = normalise.normalise(moments, obs)
    product = jnp.broadcast_to(weights, (*seen.shape[:-1], *weights.shape[-2:])) * seen[..., None, :]
    return jnp.clip(product.sum(-1), -1, 1)


def episodes(
    env: Any,
    weights: Array,
    moments: normalise.Moments,
    state: Any,
    length: int,
    reward_limit: float,
    *,
    remat: bool = False,
) -> tuple[Scores, Array]:
    """One episode of each world under weights of its own; differentiable with respect to them.

    Args:
        env: a batched environment whose episodes end.
        weights: [worlds, nu, n].
        moments: of observations.
        state: at the start.
        length: steps of an episode at most.
        reward_limit: rewards of a step beyond it are cut off for the search; 0 means none.
        remat: whether reverse mode keeps of a step what it read only.

    Returns:
        The scores, and the observations [T, worlds, n].
    """

    def step(carry, _):
        state, alive, scores = carry
        after = env.step(state, act(weights, moments, state.obs))
        reward = after.reward
        limited = jnp.clip(reward, -reward_limit, reward_limit) if reward_limit else reward
        gained = jax.tree.map(lambda x: alive * x, Scores(limited, reward, jnp.ones_like(reward)))
        scores = jax.tree.map(jnp.add, scores, gained)
        return (after, alive * (1 - after.done), scores), state.obs

    zero = jnp.zeros_like(state.reward)
    start = state, zero + 1, Scores(zero, zero, zero)
    (_, _, scores), obs = lax.scan(jax.checkpoint(step) if remat else step, start, length=length)
    return scores, obs
