"""A point that is pushed along a line and is to stay in the middle: an environment whose physics is two sums."""

import dataclasses

import jax
import jax.numpy as jnp

import jaxsim as js
from jaxsim import envs

LENGTH = 20  # steps of an episode
XML = '<mujoco><worldbody><body name="point"><geom size="0.1" mass="1"/></body></worldbody></mujoco>'


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Point:
    """Position and velocity [], and the poses of bodies that a player shows."""

    position: jax.Array
    velocity: jax.Array

    @property
    def xpos(self):
        """Of the world and of the point."""
        zero = jnp.zeros_like(self.position)
        rows = [jnp.stack([x, zero, zero], -1) for x in (zero, self.position)]
        return jnp.stack(rows, -2)

    @property
    def xquat(self):
        """The same for both: no rotation."""
        return jnp.broadcast_to(jnp.array([1.0, 0, 0, 0]), (*self.position.shape, 2, 4))


@dataclasses.dataclass(frozen=True)
class PointMass:
    """reward = -position^2 - 0.01 action^2; it ends where the point is 4 m away. `fault` is a position of NaN reward.

    The action is a force of 5 N, the mass that of the model.
    """

    fault: float = 1e9
    episode_length: int = LENGTH
    observation_size: int = 2
    action_size: int = 1
    dt: float = 0.1
    model: js.Model = dataclasses.field(default_factory=lambda: js.load(XML))  # in the precision of its test

    @property
    def unwrapped(self):
        return self

    def reset(self, key, model=None):
        place = jax.random.uniform(key, (2,), jnp.float32, -1, 1)
        empty = {"nothing": jnp.zeros(0, jnp.float32)}  # as models without activations have
        return self._state(Point(place[0], place[1]), jnp.float32(0), empty)

    def step(self, state, action, model=None):
        mass = (model or self.model).body_mass[1]
        velocity = state.data.velocity + self.dt * 5 / mass * jnp.clip(action[0], -1, 1)
        point = Point(state.data.position + self.dt * velocity, velocity)
        reward = -jnp.square(point.position) - 0.01 * jnp.square(action[0])
        reward = jnp.where(point.position > self.fault, jnp.nan, reward)
        return self._state(point, reward, state.info)

    def _state(self, point, reward, info):
        done = (jnp.abs(point.position) > 4).astype(jnp.float32)
        return envs.State(point, jnp.stack([point.position, point.velocity]), reward, done, {}, info)
