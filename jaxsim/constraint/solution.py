"""The constraints of a state with the forces that solve them: what sensors and queries read."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxsim.collision.slots import ContactSlots
from jaxsim.constraint.rows import Rows, RowValues

Array = jax.Array


class Solution(NamedTuple):
    """Contacts, rows and forces of one world; which row is whose, `row_table(m)` knows."""

    slots: ContactSlots | None  # None for models without candidate pairs
    rows: Rows
    force: RowValues  # N, N m; of contacts along the axes of the slots' frames
    found: Any  # what the solver found, from which all else follows: qacc [nv], and of PGS also the forces
    edges: Array | None = None  # [n, 2 (dim - 1)] N, along the edges of pyramids, where they do not follow from qacc

    mean: Array | None = None  # [nv] of the velocity over the step, where that is not the one at its end

    def between_surfaces(self) -> Array:
        """What acts between the surfaces of contacts [n, dim]: the constraint's force, less the adhesion."""
        force, contact = self.force.contact, self.rows.contact
        if contact is None or contact.adhesion is None:
            return force
        return jnp.concatenate([(force[:, 0] - contact.adhesion)[:, None], force[:, 1:]], axis=1)
