"""CompiledModel: numpy arrays under mjModel's names."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from jaxsim.core.fields.model import ModelReals
from jaxsim.core.fields.static import Sizes, Static
from jaxsim.mjcf.assembly.fields import FIELDS, CompilerFields
from jaxsim.mjcf.language.errors import Place


class CompiledModel(ModelReals[np.ndarray], Sizes, Static, CompilerFields):
    """The result of compiling an MJCF file.

    Attributes are named, shaped and ordered as in MuJoCo 4.0's mjModel: sizes (`nq` ...), arrays
    (`body_mass` ...), `opt` and `stat`. Besides:

    Attributes:
        names: the name of every item by kind (`names["body"]`), '' where it has none.
        places: where every item was written, by kind; "option" and "model" have one place.
        sdf: [ngeom] which plugin, of `signed_distance.NAMES`, gives a geom its signed distance; -1 for none.
        sdf_constants: [ngeom, k] its constants.
        touch_grids: [nsensor, 6] parameters of the plugin mujoco.sensor.touch_grid, zero for other sensors.
    """

    opt: SimpleNamespace
    stat: SimpleNamespace
    names: dict[str, list[str]]
    places: dict[str, list[Place]]
    sdf: np.ndarray
    sdf_constants: np.ndarray
    touch_grids: np.ndarray

    def __init__(self) -> None:
        self.names = {}
        self.places = {}
        self.nflex = 0  # refused by the compiler
        self.nplugin = 0  # of what the compiler admits

    def _read(self, name: str) -> Any:  # the declaration asks where there is no value
        raise AttributeError(f"{name} of the compiled model is not yet set")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in DECLARED:
            raise AttributeError(f"{name!r} is not a declared field of a compiled model")
        super().__setattr__(name, value)

    def set(self, prefix: str = "", **values: Any) -> None:
        """Set fields, converting arrays to the types mjModel has."""
        for name, value in values.items():
            if isinstance(value, np.ndarray) and value.dtype == np.int64:
                value = value.astype(np.int32)
            setattr(self, prefix + name, value)


DECLARED = frozenset(FIELDS) | frozenset(CompiledModel.__annotations__)
