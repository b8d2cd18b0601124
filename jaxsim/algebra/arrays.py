"""Arrays of numpy or of JAX: what comes in decides what comes out.

The engine computes with JAX's arrays, which are traced, compiled and differentiated; the compiler of models wants
the same formulas once, in float64 on the host, without compiling or dispatching anything. So they are written once,
on `namespace(x)` and on the few operations of `select` and `vector` in which the two differ.

Arrays of the host may have axes of worlds behind their first one, [n, world, 3] for [n, 3]: rows are counted along
the first axis and components along the last, and matrices of rows by rows have the worlds in front, [world, n, n].
"""

from types import ModuleType
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np

Array: TypeAlias = Any  # of numpy, or of JAX
HOST = {np.ndarray, np.float64, np.float32, np.int64, np.int32, np.bool_, float, int, bool}


def on_host(*arrays: Array) -> bool:
    """Whether all of these are arrays, of any shape [...], or numbers of numpy or Python."""
    return HOST.issuperset(map(type, arrays))


def namespace(*arrays: Array) -> ModuleType:
    """The functions that fit arrays of any shape [...]: those of numpy if all are of the host, else JAX's."""
    return np if on_host(*arrays) else jnp


def rows_of(mask: np.ndarray, like: Array) -> np.ndarray:
    """A mask [n] of the rows of an array [n, ...], shaped to be combined with it: [n, 1, ...]."""
    return mask.reshape(-1, *(1,) * (like.ndim - 1))
