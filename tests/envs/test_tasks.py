"""Every task: that a step gives what it took, and that its docstrings name its observation and all its constants."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim import envs
from jaxsim.envs.frame import seen_from, up
from jaxsim.envs.tasks.table import TASKS

FIRST = {cls.source: name for name, cls in reversed(TASKS.items())}  # one task of each model


@pytest.mark.parametrize("name", envs.names())
def test_every_task_keeps_to_the_protocol(name):
    """Traced, not run: sizes, types and structure are those of the first State."""
    env = envs.make(name)
    state = jax.eval_shape(env.reset, jax.random.key(0))
    if name in FIRST.values():
        after = jax.eval_shape(env.step, state, jnp.zeros(env.action_size))
        assert jax.tree.structure(after) == jax.tree.structure(state)
        assert jax.tree.all(jax.tree.map(lambda x, y: (x.shape, x.dtype) == (y.shape, y.dtype), state, after))
        assert all(x.shape == () for x in (after.reward, after.done, *jax.tree.leaves(after.metrics)))
    written = next(cls.__doc__ for cls in TASKS[name].__mro__ if "Observation [" in (cls.__doc__ or ""))
    assert re.search(r"Observation \[(\d+)\]", written).group(1) == str(env.observation_size) == str(state.obs.shape[0])
    documented = "".join(cls.__doc__ for cls in type(env.constants).__mro__ if cls.__doc__)
    assert all(re.search(rf"\b{field}\b", documented) for field in vars(env.constants))


def test_frames(rng):
    """Seen from a body, against the rotation matrix of its quaternion; of any length."""
    w, x, y, z = quat = (q := rng.normal(size=4)) / np.linalg.norm(q)
    matrix = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    vector = rng.normal(size=3)
    np.testing.assert_allclose(seen_from(jnp.array(2 * quat), jnp.array(vector)), matrix.T @ vector, rtol=1e-12)
    np.testing.assert_allclose(up(jnp.array(quat)), matrix[2], rtol=1e-12)


def test_tolerance():
    x = jnp.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(envs.tolerance(x, 0, 1), [0, 1, 1, 1, 0, 0])
    for shape, value, far in (("gaussian", 0.1, 1e-4), ("linear", 0.1, 0), ("quadratic", 0.0, 0)):
        found = envs.tolerance(x, 0, 1, margin=1, value=value, shape=shape)
        np.testing.assert_allclose(found, [value, 1, 1, 1, value, far], atol=1e-15)
