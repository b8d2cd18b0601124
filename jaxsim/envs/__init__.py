"""Environments for reinforcement learning: pure functions of one world, batched by `jax.vmap`.

env = envs.make("cart_pole_swing_up")
worlds = envs.wrap(env)                                        # many worlds, in episodes
state = jax.jit(worlds.reset)(jax.random.split(jax.random.key(0), 1024))
state = jax.jit(worlds.step)(state, jnp.zeros((1024, env.action_size)))
"""

from jaxsim.envs.environment import Constants, Environment, scaled
from jaxsim.envs.policy import Policy, load_policy, save_policy
from jaxsim.envs.randomise import add, randomise, scale, uniform
from jaxsim.envs.state import State
from jaxsim.envs.tasks.table import make, names
from jaxsim.envs.tolerance import tolerance
from jaxsim.envs.wrap import wrap
from jaxsim.envs.wrappers.auto_reset import AutoReset
from jaxsim.envs.wrappers.episode import Episode
from jaxsim.envs.wrappers.normalised import Normalised, Statistics
from jaxsim.envs.wrappers.repeat import Repeat
from jaxsim.envs.wrappers.vector import Vector
from jaxsim.envs.wrappers.wrapper import Wrapper

__all__ = [
    "AutoReset",
    "Constants",
    "Environment",
    "Episode",
    "Normalised",
    "Policy",
    "Repeat",
    "State",
    "Statistics",
    "Vector",
    "Wrapper",
    "add",
    "load_policy",
    "make",
    "names",
    "randomise",
    "save_policy",
    "scale",
    "scaled",
    "tolerance",
    "uniform",
    "wrap",
]
