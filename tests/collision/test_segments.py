"""Where two segments are nearest, against a grid of places, and where one or both are points or parallel."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.collision.segments import nearest


def _apart(u, v, offset):
    s, t = nearest(u, v, offset)
    return jnp.linalg.norm(offset + t[:, None] * v - s[:, None] * u, axis=1), jnp.stack([s, t])


def test_nearest_places(rng):
    u, v, offset = rng.standard_normal((3, 60, 3))
    u[:5], v[3:8] = 0, 0  # points
    v[8:20] = rng.uniform(-2, 2, (12, 1)) * u[8:20]  # parallel
    v[14:20] += 1e-5 * rng.standard_normal((6, 3))  # nearly so
    found, places = jax.jit(_apart)(*map(jnp.asarray, (u, v, offset)))
    s = np.linspace(-1, 1, 401)
    middle = offset[:, None] - s[:, None] * u[:, None]
    # of each place on one segment, the nearest place on the other
    t = np.clip(-np.sum(middle * v[:, None], axis=2) / np.maximum(np.sum(v * v, axis=1), 1e-30)[:, None], -1, 1)
    least = np.linalg.norm(middle + t[:, :, None] * v[:, None], axis=2).min(axis=1)
    assert np.abs(places).max() <= 1 and ((np.abs(places) < 1).sum(axis=1) > 20).all()
    least[14:20] += 3e-5  # those count as parallel: an angle of 1e-5, over some metres
    assert (found <= least + 1e-12).all() and (found >= least - 0.02).all()
    slopes = jax.jit(jax.jacfwd(_apart, argnums=(0, 1, 2)))(*map(jnp.asarray, (u, v, offset)))
    assert all(np.isfinite(slope).all() for slope in jax.tree.leaves(slopes))
