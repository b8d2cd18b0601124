"""The functions that a user bound to a model, as stages call them."""

from collections.abc import Callable
from typing import Any

from jaxsim.algebra.blocks import dense
from jaxsim.core.data import Data
from jaxsim.core.extension import Extension
from jaxsim.core.model import Model


def extension_of(m: Model) -> Extension:
    """What was bound to a model; its functions see all of qM [nv, nv], of which stages may have blocks only."""
    bound = Extension(*m.topology.extension)
    seeing: dict[str, Any] = {}
    for name, f in bound._asdict().items():
        if f is not None:
            seeing[name] = (_seeing(f[0]), f[1]) if name in ("equality", "limit") else _seeing(f)
    return bound._replace(**seeing)


def _seeing(function: Callable[[Model, Data], Any]) -> Callable[[Model, Data], Any]:
    return lambda m, d: function(m, d.replace(qM=dense(d.qM)))
