"""Whether the collisions of a world had room: budgets by name, and what would have sufficed."""

from typing import NamedTuple

import numpy as np

from jaxsim.collision.budget import budgets_of
from jaxsim.core.data import Data
from jaxsim.core.model import Model


class Room(NamedTuple):
    """One budget of collisions: what a world has room for, and the largest demand on it so far, 0 if not known."""

    size: int
    peak: int


def budgets(model: Model, data: Data | None = None) -> dict[str, Room]:
    """The budgets of collisions of each world, by name, and the largest demand on each in any world so far.

    A demand above its size is what would have sufficed, unless an earlier stage had too little room as well: tiles come
    first, then pairs, then contacts.

    Args:
        model: the model.
        data: after steps, of one world or with any leading batch axes; without data, peaks are 0.
    """
    sizes = budgets_of(model.topology)
    peak = np.zeros((1, len(sizes)), int) if data is None else np.asarray(data.peak).reshape(-1, len(sizes))
    return {name: Room(size, int(most)) for (name, size), most in zip(sizes.items(), peak.max(axis=0))}


def shortages(model: Model, data: Data) -> list[str]:
    """A sentence for each budget that was too small in some world."""
    return [
        f"{name}: room for {room.size}, {room.peak} would have sufficed"
        for name, room in budgets(model, data).items()
        if room.peak > room.size
    ]
