"""Steps of many worlds under a policy, and how their episodes went."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array
Act = Callable[[Array, Array], tuple[Array, Array]]


class Steps(NamedTuple):
    """What happened, each [T, worlds, ...]."""

    obs: Array  # before the step [n]
    raw: Array  # actions before they are squashed [nu]
    reward: Array
    done: Array  # 1 where an episode ended, by itself or by its limit of time
    terminated: Array  # 1 where it ended by itself
    following: Array  # the observation after the step, before any reset [n]
    slopes: Array | None = None  # of the reward and `following` with respect to the squashed actions [1 + n, nu]


class Episodes(NamedTuple):
    """Return and length so far of the episode that each world is in [worlds]."""

    score: Array
    length: Array


class Worlds(NamedTuple):
    """Batched states of an environment, their episodes, and in what their models differ."""

    state: Any
    episodes: Episodes
    models: Any = None  # of `variants.wrapped`


def begin(env: Any, keys: Array, models: Any = None, staggered: int = 0) -> Worlds:
    """Worlds at the start of their episodes, one for each key [worlds].

    With `staggered`, the length of an episode, first ones are cut off at random times: later on the worlds are in all
    phases of an episode at once, and not all in the same.
    """
    state = env.reset(keys, models)
    zero = jnp.zeros_like(state.reward)
    if staggered:
        part = jax.random.uniform(jax.random.fold_in(keys[0], 0), zero.shape, zero.dtype)
        state = state.replace(info={**state.info, "steps": jnp.floor(part * staggered)})
    return Worlds(state, Episodes(zero, zero), models)


def collect(
    env: Any,
    act: Callable[[Array, Array], tuple[Array, Array]],
    worlds: Worlds,
    key: Array,
    length: int,
    *,
    remat: bool = False,
    slopes: bool = False,
) -> tuple[Worlds, Steps, dict[str, Array]]:
    """Step all worlds `length` times.

    Args:
        env: a batched environment that resets worlds when their episodes end.
        act: raw and squashed actions [worlds, nu] from observations [worlds, n] and a key.
        worlds: where they are.
        key: of the actions.
        length: number of steps.
        remat: whether reverse mode keeps of a step what it read only, and computes the rest again.
        slopes: whether the derivatives of each step with respect to its actions are wanted.

    Returns:
        The worlds, the steps, and the sums over ended episodes: return, length, count.
    """

    def one(carry, key):
        (state, episodes, models), sums = carry
        raw, action = act(state.obs, key)
        after, slope = _stepped(env, state, action, models) if slopes else (env.step(state, action, models), None)
        done, truncated = after.done, after.info["truncation"]
        episodes = Episodes(episodes.score + after.reward, episodes.length + 1)
        ended = jnp.stack([(x * done).sum() for x in (*episodes, jnp.ones_like(done))])
        fresh = jax.tree.map(lambda x: x * (1 - done), episodes)
        steps = Steps(state.obs, raw, after.reward, done, done * (1 - truncated), after.info["final_obs"], slope)
        return (Worlds(after, fresh, models), sums + ended), steps

    start = worlds, jnp.zeros(3, worlds.state.reward.dtype)
    (worlds, sums), steps = lax.scan(jax.checkpoint(one) if remat else one, start, jax.random.split(key, length))
    return worlds, steps, dict(zip(("return", "length", "episodes"), sums))


def _stepped(env: Any, state: Any, action: Array, models: Any) -> tuple[Any, Array]:
    """The State after a step, and its `Steps.slopes` [worlds, 1 + n, nu]: all worlds along one action at a time."""

    def step(action: Array) -> tuple[Array, Any]:
        after = env.step(state, action, models)
        return jnp.concatenate([after.reward[:, None], after.info["final_obs"]], 1), after

    def along(direction: Array) -> tuple[Array, Any]:
        _, slope, after = jax.jvp(step, (action,), (jnp.broadcast_to(direction, action.shape),), has_aux=True)
        return slope, after

    directions = jnp.eye(action.shape[-1], dtype=action.dtype)[:, None]
    slopes, after = jax.vmap(along, out_axes=(-1, None))(directions)
    return after, slopes
