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
    rows = {name: (_seeing(f[0]), f[1]) for name in ("equality", "limit") if (f := getattr(bound, name)) is not None}
    others = {k: _seeing(f) for k, f in bound._asdict().items() if k not in ("equality", "limit") and f is not None}
    return bound._replace(**others, **rows)


def _seeing(function: Callable[[Model, Data], Any]) -> Callable[[Model, Data], Any]:
    return lambda m, d: function(m, d.replace(qM=dense(d.qM)))
