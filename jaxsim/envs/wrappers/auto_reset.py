"""Worlds whose episode has ended begin the next one by themselves."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import jaxsim as js
from jaxsim.envs.state import State
from jaxsim.envs.wrappers.wrapper import Wrapper

Array = jax.Array


class AutoReset(Wrapper):
    """Where a step ends an episode, the State that it returns is the start of the next one.

    Its `reward`, `done`, `metrics` and what wrappers inside wrote to `info` are still those of the step that ended
    the episode, and `info["final_obs"]` is the observation that this step led to (in every world, whether it ended
    or not), from which a value is to be bootstrapped after a truncation.

    `reset` draws `starts` initial States of each world, with its own key and model, and keeps them whole in
    `info["starts"]`; the n-th episode of a world begins with the n-th of them, round and round. So a step draws
    nothing and evaluates no physics to begin an episode: it copies, and that only when a world of the batch has
    ended. With many worlds a few starts each are plenty; their memory is `starts` times that of the State. A key
    that a task keeps in `info["rng"]` is another one in every episode.

    Warnings are counted on: `js.report(state.data)` tells of all episodes. `info["episodes"]` counts those that ended.

    Args:
        env: of one world or of a batch, an `Episode` for example.
        starts: initial States of each world.
    """

    def __init__(self, env: Any, starts: int = 2):
        super().__init__(env)
        if starts < 1:
            raise ValueError(f"starts is {starts}, expected at least 1")
        self.starts = starts

    def reset(self, key: Array, model: js.Model | None = None) -> State:
        """The State at the start, for a key [], or keys [B]."""
        begin = jax.vmap(self.env.reset, (0, None))(_split(key, self.starts), model)
        first = jax.tree.map(lambda x: x[0], begin)
        axis = first.done.ndim  # after those of the batch, which stay the first ones
        starts = jax.tree.map(lambda x: jnp.moveaxis(x, 0, axis), self._renewable(begin))
        episodes = jnp.zeros(first.done.shape, jnp.int32)
        return first.replace(info={**first.info, "final_obs": first.obs, "episodes": episodes, "starts": starts})

    def step(self, state: State, action: Array, model: js.Model | None = None) -> State:
        """The State after an action [action_size], or actions [B, action_size], or the start of the next episode."""
        starts = state.info["starts"]
        state = self.env.step(state, action, model)
        ended = state.done > 0
        episodes = state.info["episodes"] + ended.astype(jnp.int32)
        reached = self._renewable(state)

        def renewed() -> dict[str, Any]:
            start = _each(_nth, starts, episodes % self.starts)
            return js.where(ended, _with_own_key(start, episodes), reached)

        now = jax.lax.cond(ended.any(), renewed, lambda: reached)
        info = {**state.info, **now["info"], "final_obs": state.obs, "episodes": episodes}
        return state.replace(data=now["data"], obs=now["obs"], info=info)

    def _renewable(self, state: State) -> dict[str, Any]:
        """What begins anew with an episode: of `info` what is the environment's own."""
        return {"data": state.data, "obs": state.obs, "info": {name: state.info[name] for name in self._own}}

    @functools.cached_property
    def _own(self) -> list[str]:
        return list(jax.eval_shape(self.env.unwrapped.reset, jax.random.key(0)).info)


def _each(function: Callable, *batches: Any) -> Any:
    """`function` of each world, of pytrees whose arrays all begin with the axes of the last one, an array."""
    for _ in range(batches[-1].ndim):
        function = jax.vmap(function)
    return function(*batches)


def _nth(starts: Any, n: Array) -> Any:
    return jax.tree.map(lambda x: x[n], starts)


def _with_own_key(start: dict[str, Any], episodes: Array) -> dict[str, Any]:
    """The start, with another random key for each episode [B] of a task that has one."""
    if "rng" not in start["info"]:
        return start
    return {**start, "info": {**start["info"], "rng": _each(jax.random.fold_in, start["info"]["rng"], episodes)}}


def _split(key: Array, count: int) -> Array:
    """[count, ...] keys from a key, or from each of a batch; old keys are two integers each."""
    batch = key.ndim if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else key.ndim - 1
    split = functools.partial(jax.random.split, num=count)
    for _ in range(batch):
        split = jax.vmap(split, out_axes=1)
    return split(key)
