"""Trees that sleep: what `tree_asleep` says of them, and whom waking reaches (mj_wakeIsland).

`tree_asleep[i]` of a tree that is awake is negative, from AWAKE to -1, the higher the longer the tree has been slow. Of
one that sleeps it is the next tree of the cycle of those that fell asleep together, and wake together: itself, where
it fell asleep alone.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.core.topology import Topology, per_topology

Array = jax.Array


@per_topology
def body_trees(t: Topology) -> np.ndarray:
    """[nbody] the tree of each body: ntree where people move it (mocap), and it never sleeps; -1 if it never moves."""
    moved = np.asarray(t.body_mocapid)[t.body_rootid] >= 0
    return np.where(t.body_treeid >= 0, t.body_treeid, np.where(moved, t.ntree, -1)).astype(np.int32)


def only_if(needed: Array, change: Callable[[Array], Array], x: Array) -> Array:
    """`change(x)` where it is needed [], else x: a loop of one round, of none where no world of a batch needs it."""
    return lax.while_loop(lambda state: state[1], lambda state: (change(state[0]), jnp.zeros((), bool)), (x, needed))[0]


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


def woken(asleep: Array, value: Array) -> Array:
    """tree_asleep [ntree] after waking trees, and all that sleep in a cycle with them.

    Args:
        asleep: before.
        value: [ntree] what trees that sleep are woken to, negative; 0 where they are left alone.
    """

    def wake(asleep: Array) -> Array:
        reached = jnp.min(jnp.where(cycles(asleep), value[None], 0), axis=1)
        return jnp.where(reached < 0, reached, asleep)

    return only_if(jnp.any(value < 0), wake, asleep)
