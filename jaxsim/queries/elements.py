"""Elements that queries are about, given by name or by index."""

import jax
import numpy as np

from jaxsim.core.data import Data
from jaxsim.core.model import Model

Array = jax.Array
Element = str | int | np.integer


def element_id(model: Model, kind: str, which: Element) -> int:
    """Index of an element given by name or index; KeyError if there is none."""
    if isinstance(which, str):
        return model.topology.id_of(kind, which)
    index, size = int(which), len(getattr(model, f"{kind}_bodyid")) if kind != "body" else model.nbody
    if not 0 <= index < size:
        raise KeyError(f"no {kind} {index}: the model has {size}")
    return index


def tree_center(model: Model, data: Data, body: int) -> Array:
    """The point [3] about which cdof and cvel of a body are expressed: the com of its tree."""
    return data.subtree_com[model.body_rootid[body]]
