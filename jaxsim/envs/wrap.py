"""The usual wrappers of an environment for training."""

from collections.abc import Callable
from typing import Any

import jaxsim as js
from jaxsim.envs.wrappers.auto_reset import AutoReset
from jaxsim.envs.wrappers.episode import Episode
from jaxsim.envs.wrappers.repeat import Repeat
from jaxsim.envs.wrappers.vector import Vector
from jaxsim.envs.wrappers.wrapper import Wrapper


def wrap(
    env: Any,
    episode_length: int | None = None,
    action_repeat: int = 1,
    randomization_fn: Callable[[js.Model], tuple[js.Model, Any]] | None = None,
    *,
    starts: int = 2,
) -> Wrapper:
    """Many worlds of an environment, in episodes that begin by themselves: Vector, Repeat, Episode, AutoReset.

    `reset` takes keys [B], `step` actions [B, action_size]. The first four arguments are those by which Brax's PPO
    wraps an environment: `ppo.train(env, wrap_env_fn=envs.wrap)`.

    Args:
        env: of one world.
        episode_length: steps of the environment after which an episode is cut off; by default its own number.
        action_repeat: steps of the environment for each action; as in Brax, all of them count for the length.
        randomization_fn: gives for the model one for each world, and the axes along which they are batched
            (`envs.randomise` with its keys).
        starts: initial States that each world has; see `AutoReset`.
    """
    models, axes = (None, None) if randomization_fn is None else randomization_fn(env.model)
    worlds: Wrapper = Vector(env, models, axes)
    if action_repeat > 1:
        worlds = Repeat(worlds, action_repeat)
    return AutoReset(Episode(worlds, episode_length or env.episode_length, action_repeat), starts)
