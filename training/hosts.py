"""Several hosts: each runs the same command, and all devices of all hosts share the worlds.

The first host writes the run's folder. Checkpoints are written by all, so that the folder must be one that all see.
Where a host is lost the others end with an error, and the same commands continue the run.
"""

import jax
from jax.experimental import multihost_utils


def join(coordinator: str, count: int, index: int) -> None:
    """Meet the other hosts; this must come before JAX's first computation.

    Args:
        coordinator: "address:port" of the first host.
        count: how many hosts there are.
        index: which of them this one is, from 0.
    """
    jax.distributed.initialize(coordinator, count, index)


def first() -> bool:
    """Whether this is the host that writes and speaks."""
    return jax.process_index() == 0


def agreed(said: bool) -> bool:
    """What the first host says; all must ask at once."""
    return said if jax.process_count() == 1 else bool(multihost_utils.broadcast_one_to_all(said))
