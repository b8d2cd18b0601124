"""Environments as Gymnasium's vector environments; needs the package gymnasium, which nothing else here imports."""

from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

import jaxsim as js
from jaxsim.envs.wrappers.episode import Episode
from jaxsim.envs.wrappers.vector import Vector

Array = jax.Array
ARRAYS = ("numpy", "torch", "jax")


class VectorEnv(gymnasium.vector.VectorEnv):
    """Worlds of one environment for libraries that expect `gymnasium.vector.VectorEnv`.

        worlds = VectorEnv(envs.make("half_cheetah_run"), 64)
        obs, info = worlds.reset(seed=0)
        obs, reward, terminated, truncated, info = worlds.step(worlds.action_space.sample())

    An episode that ends is followed at once by the next one, drawn anew (`AutoresetMode.SAME_STEP`): `obs` is then its
    first observation, and `info["final_obs"]` [B, n] has the last ones of those where `info["_final_obs"]` is true.
    `info` has the metrics of the environment too. `reset(options={"reset_mask": mask})` resets some worlds.

    With arrays="torch" observations, rewards and flags are torch tensors that share the memory of JAX's arrays, by
    DLPack, on a GPU as well; actions may be tensors, which are not copied either. With arrays="jax" they stay where
    they are.

    Args:
        env: of one world.
        num_envs: number of worlds.
        episode_length: steps after which an episode is cut off; by default the environment's own number.
        arrays: one of "numpy", "torch", "jax".
        models: one model for each world, and in_axes, as `envs.randomise` gives them.
        in_axes: see `envs.Vector`.
    """

    def __init__(
        self,
        env: Any,
        num_envs: int,
        episode_length: int | None = None,
        arrays: str = "numpy",
        models: js.Model | None = None,
        in_axes: Any = None,
    ):
        if arrays not in ARRAYS:
            raise ValueError(f"arrays is {arrays!r}, expected one of {', '.join(map(repr, ARRAYS))}")
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_fps": round(1 / env.dt)}
        dtype = np.dtype(env.model.qpos0.dtype)
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (env.observation_size,), dtype)
        self.single_action_space = gymnasium.spaces.Box(-1, 1, (env.action_size,), dtype)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        worlds = Episode(Vector(env, models, in_axes), episode_length or env.episode_length)
        self._dtype, self._given = dtype, _given(arrays)
        self._step = jax.jit(worlds.step)
        self._reset = jax.jit(worlds.reset)
        self._renew = jax.jit(lambda mask, keys, state: js.where(mask, worlds.reset(keys), state))
        self._state: Any = None

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Observations [B, n] at the start of an episode of each world, or of those in options["reset_mask"] [B]."""
        super().reset(seed=seed, options=options)
        mask = (options or {}).get("reset_mask")
        if mask is None or self._state is None:
            self._state = self._reset(self._keys())
        else:
            self._state = self._renew(np.asarray(mask, bool), self._keys(), self._state)
        return self._given(self._state.obs), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Observations [B, n], rewards [B], terminated [B], truncated [B] and info, for actions [B, m] in [-1, 1]."""
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        state = self._step(self._state, self._taken(actions))
        ended, late = state.done > 0, state.info["truncation"] > 0
        info = {name: self._given(value) for name, value in state.metrics.items()}
        info |= {f"_{name}": np.ones(self.num_envs, bool) for name in state.metrics}
        final = state.obs
        if ended.any():
            info |= {"final_obs": self._given(final), "_final_obs": self._given(ended)}
            self._state = self._renew(ended, self._keys(), state)
        else:
            self._state = state
        obs, reward = self._given(self._state.obs), self._given(state.reward)
        return obs, reward, self._given(ended & ~late), self._given(late), info

    def _keys(self) -> Array:
        return jax.random.split(jax.random.key(int(self.np_random.integers(2**31))), self.num_envs)

    def _taken(self, actions: Any) -> Array:
        """Actions as an array of JAX: numpy's, a list's, or by DLPack those of torch."""
        if not isinstance(actions, np.ndarray | jax.Array) and hasattr(actions, "__dlpack__"):
            actions = jax.dlpack.from_dlpack(actions)
        actions = jnp.asarray(actions, self._dtype)
        if actions.shape != self.action_space.shape:
            raise ValueError(f"actions have shape {actions.shape}, expected {self.action_space.shape}")
        return actions


def _given(arrays: str) -> Callable[[Array], Any]:
    """How arrays are handed out: as numpy arrays of their own, that may be written to, or without a copy."""
    if arrays == "torch":
        import torch

        return torch.from_dlpack
    return np.array if arrays == "numpy" else lambda x: x
