"""Derivatives through the states of many worlds, none of which is to decide on the sum.

Contacts stretch derivatives, those of some worlds by orders of magnitude in a few steps. The gradient of what worlds
share, such as a policy's parameters, is a sum over them: one such world would give its direction, and one whose
derivative is not finite would spoil it.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim import envs

Array = jax.Array


class Bounded(envs.Wrapper):
    """Bounds what comes back through the state of each world before every step.

    Args:
        env: of many worlds.
        limit: largest norm of the derivative of what is summed over worlds with respect to a world's state.
        of_mean: whether it is their mean that is differentiated, and not their sum.
    """

    def __init__(self, env: Any, limit: float, *, of_mean: bool = False):
        super().__init__(env)
        self.limit, self.of_mean = limit, of_mean

    def step(self, state: envs.State, action: Array, model: Any = None) -> envs.State:
        """The State [B] after actions [B, action_size]."""
        limit = self.limit / (state.done.size if self.of_mean else 1)
        data, obs = bounded((state.data, state.obs), limit)
        return self.env.step(state.replace(data=data, obs=obs), action, model)


def bounded(tree: Any, limit: float) -> Any:
    """A pytree of arrays [B, ...] as it is; each world's part of its derivative is shortened to a norm of `limit`.

    A part that is not finite becomes zero.
    """
    leaves, structure = jax.tree.flatten(tree)
    real = [i for i, x in enumerate(leaves) if jnp.issubdtype(x.dtype, jnp.inexact)]
    for i, x in zip(real, _passed([leaves[i] for i in real], limit), strict=True):
        leaves[i] = x
    return jax.tree.unflatten(structure, leaves)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _passed(leaves: list[Array], limit: float) -> list[Array]:
    return leaves


def _back(limit: float, _: None, found: list[Array]) -> tuple[list[Array]]:
    """The largest element is taken out first: squares do not overflow."""
    row = jnp.concatenate([x.reshape(x.shape[0], -1) for x in found], 1)  # one norm compiles faster than many
    largest = jnp.abs(row).max(1)
    good = jnp.isfinite(largest)  # [B]
    unit = jnp.where(good & (largest > 0), largest, 1)
    row = jnp.where(good[:, None], row / unit[:, None], 0)
    length = jnp.sqrt(jnp.square(row).sum(1))
    row = row * (unit * limit / jnp.maximum(unit * length, limit))[:, None]
    ends = np.cumsum([x.size // x.shape[0] for x in found])[:-1]
    return ([x.reshape(y.shape) for x, y in zip(jnp.split(row, ends, 1), found, strict=True)],)


_passed.defvjp(lambda leaves, limit: (leaves, None), _back)
