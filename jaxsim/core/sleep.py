"""Trees that sleep: what `tree_asleep` says of them, and whom waking reaches (mj_wakeIsland).

`tree_asleep[i]` of a tree that is awake is negative, from AWAKE to -1, the higher the longer the tree has been slow. Of
one that sleeps it is the next tree of the cycle of those that fell asleep together, and wake together: itself, where
it fell asleep alone.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Array = jax.Array


def linked(links: Array) -> Array:
    """Which of n things hang together [n, n], by links between any two [n, n] bool, of which one side is enough."""
    n = links.shape[0]
    near = links | links.T

    def least(state: tuple[Array, Array]) -> tuple[Array, Array]:
        label, _ = state
        new = jnp.minimum(label, jnp.min(jnp.where(near, label[None], n), axis=1))
        return new, jnp.any(new != label)

    start = jnp.arange(n, dtype=jnp.int32)
    label, _ = lax.while_loop(lambda state: state[1], least, (start, jnp.ones((), bool)))
    return label[:, None] == label[None]


def cycles(asleep: Array) -> Array:
    """[ntree, ntree] bool: which trees sleep in one cycle, by tree_asleep [ntree]; each tree with itself."""
    return linked(asleep[:, None] == np.arange(asleep.shape[0], dtype=np.int32)[None])


def woken(asleep: Array, together: Array, value: Array) -> Array:
    """tree_asleep [ntree] after waking trees, and all that sleep in a cycle with them.

    Args:
        asleep: before.
        together: [ntree, ntree] from `cycles`.
        value: [ntree] what trees are woken to, negative; 0 where they are left alone.
    """
    reached = jnp.min(jnp.where(together, value[None], 0), axis=1)
    awake = jnp.minimum(asleep, value)
    return jnp.where(asleep < 0, awake, jnp.where(reached < 0, reached, asleep))
