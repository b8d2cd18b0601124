"""The state of an environment."""

import dataclasses
from typing import Any, Self

import jax

import jaxsim as js

Array = jax.Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """What `reset` and `step` return, under the names of MuJoCo Playground; a pytree.

    Every step returns the same structure, shapes and types. `metrics` and `info` are dictionaries whose keys never
    change; who steps on from a State keeps the entries of `info` that are not his own, as wrappers store theirs there.

    Attributes:
        data: the physics, of which derived fields (xpos, sensordata ...) are those before the last substep.
        obs: observation [observation_size].
        reward: [] of the step.
        done: [] 1.0 where the episode has ended, 0.0 elsewhere.
        metrics: numbers [] by name, such as the terms of the reward, that are worth plotting.
        info: whatever else goes on to the next step.
    """

    data: js.Data
    obs: Array
    reward: Array
    done: Array
    metrics: dict[str, Array]
    info: dict[str, Any]

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)
