"""Where episodes start."""

import jax

import jaxsim as js

Array = jax.Array


def noisy(data: js.Data, key: Array, noise: float) -> js.Data:
    """Data with uniform noise in [-noise, noise] on qpos [nq] and normal noise of that deviation on qvel [nv].

    The quaternions of free and ball joints lose their unit length, to which a step brings them back.
    """
    positions, velocities = jax.random.split(key)
    qpos = data.qpos + noise * jax.random.uniform(positions, data.qpos.shape, data.qpos.dtype, -1, 1)
    return data.replace(qpos=qpos, qvel=noise * jax.random.normal(velocities, data.qvel.shape, data.qvel.dtype))
