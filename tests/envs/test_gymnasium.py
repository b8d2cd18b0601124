"""The adapter to Gymnasium, by Gymnasium's own checks."""

import sys
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim import envs

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils import env_checker  # noqa: E402

from jaxsim.envs.gymnasium import VectorEnv  # noqa: E402


class First(gymnasium.Env):
    """The only world of an adapter, for checks that are written for one."""

    def __init__(self, worlds: VectorEnv):
        self.worlds, self.metadata = worlds, worlds.metadata | {"render_modes": []}
        self.observation_space, self.action_space = worlds.single_observation_space, worlds.single_action_space

    def reset(self, *, seed=None, options=None):
        obs, info = self.worlds.reset(seed=seed, options=options)
        self._np_random, self._np_random_seed = self.worlds.np_random, seed
        return obs[0], info

    def step(self, action):
        obs, reward, terminated, truncated, info = self.worlds.step(action[None])
        return obs[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), info


@pytest.mark.filterwarnings("ignore:.*A Box observation space (minimum|maximum)")
def test_gymnasium_checks():
    """Its checks of one world, and the wrapper around several that most use."""
    one = VectorEnv(envs.make("cart_pole_balance"), 1, episode_length=3)
    env_checker.check_env(First(one), skip_render_check=True)
    first, _ = one.reset(seed=3)
    later, _ = one.reset()
    again, _ = one.reset(seed=3)
    np.testing.assert_array_equal(first, again)
    assert (first != later).any() and one.observation_space.contains(first)
    kept = gymnasium.wrappers.vector.RecordEpisodeStatistics(one)
    kept.reset(seed=4)
    rewards = []
    for n in range(7):
        obs, reward, terminated, truncated, info = kept.step(kept.action_space.sample())
        rewards.append(reward[0])
        assert (truncated[0], terminated[0]) == (n % 3 == 2, False)
        assert ("final_obs" in info) == truncated[0]
        if truncated[0]:
            assert info["episode"]["l"][0] == 3
            np.testing.assert_allclose(info["episode"]["r"][0], sum(rewards[-3:]), rtol=1e-12)
            assert (info["final_obs"] != obs).any()
    with pytest.raises(ValueError, match=r"actions have shape \(1, 2\), expected \(1, 1\)"):
        one.step(np.zeros((1, 2)))
    held = one.reset(options={"reset_mask": np.array([False])})[0]
    np.testing.assert_array_equal(held, obs)


def test_tensors_share_memory(monkeypatch):
    """numpy stands in for torch: what is handed out and taken lies where JAX has it."""
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(from_dlpack=np.from_dlpack))
    worlds = VectorEnv(envs.make("cart_pole_balance"), 1, episode_length=3, arrays="torch")
    with pytest.raises(gymnasium.error.ResetNeeded):
        worlds.step(np.zeros((1, 1)))
    obs, _ = worlds.reset(seed=0)
    assert obs.__array_interface__["data"][0] == worlds._state.obs.unsafe_buffer_pointer()
    source = jnp.full((1, 1), 0.5)
    tensor = SimpleNamespace(__dlpack__=source.__dlpack__, __dlpack_device__=source.__dlpack_device__)
    taken = worlds._taken(tensor)
    assert isinstance(taken, jax.Array) and taken.unsafe_buffer_pointer() == source.unsafe_buffer_pointer()
    with pytest.raises(ValueError, match="arrays is 'tensor', expected one of 'numpy'"):
        VectorEnv(envs.make("cart_pole_balance"), 1, arrays="tensor")
