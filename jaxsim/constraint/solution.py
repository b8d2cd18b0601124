"""The constraints of a state with the forces that solve them: what sensors and queries read."""

from typing import NamedTuple

from jaxsim.collision.slots import ContactSlots
from jaxsim.constraint.rows import Rows, RowValues


class Solution(NamedTuple):
    """Contacts, rows and forces of one world; which row is whose, `row_table(m)` knows."""

    slots: ContactSlots | None  # None for models without candidate pairs
    rows: Rows
    force: RowValues  # N, N m; of contacts along the axes of the slots' frames
