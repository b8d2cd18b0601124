"""Topology: what is compiled in, and what is computed from it once."""

import difflib
import functools
import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from jaxsim.core.enums import AWAKE, DynType, WrapType
from jaxsim.core.fields.static import Deduced, Sizes, Static
from jaxsim.core.frames import snaps

P = ParamSpec("P")
T = TypeVar("T")


class Topology(Sizes, Static, Deduced):
    """What is compiled in: sizes, integer arrays, names, and visual data. Hashable, compared by content.

    Holds ints and numpy arrays under MuJoCo's names (`nbody`, `body_parentid`, `geom_type` ...; `fields.static` says
    what each is), and `names[kind]`, the list of names of each kind ('' where unnamed).
    """

    names: dict[str, list[str]]

    def __init__(self, values: dict[str, Any], names: dict[str, list[str]]):
        self._values = values
        self._computed: dict[Any, Any] = {}
        self.names = names
        self.__dict__.update(values)

    @functools.cached_property
    def _digest(self) -> bytes:
        digest = hashlib.sha1(repr(sorted(self.names.items())).encode())
        for key, value in sorted(self._values.items()):
            digest.update(key.encode())
            digest.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
        return digest.digest()

    @functools.cached_property
    def _hash(self) -> int:
        return hash(self._digest)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other) -> bool:
        return self is other or (isinstance(other, Topology) and self._digest == other._digest)

    def __getstate__(self) -> tuple[dict[str, Any], dict[str, list[str]]]:
        return self._values, self.names

    def __setstate__(self, state: tuple[dict[str, Any], dict[str, list[str]]]) -> None:
        Topology.__init__(self, *state)

    def _read(self, name: str) -> Any:
        raise AttributeError(f"this Topology was made without {name}")

    if not TYPE_CHECKING:  # mypy is to see the declared attributes only

        def __getattr__(self, name: str) -> Any:  # only for what is not declared
            raise AttributeError(name)

    def replace(self, **changes: Any) -> "Topology":
        """A copy with some values changed."""
        return Topology(self._values | changes, self.names)

    def id_of(self, kind: str, name: str) -> int:
        """Index of a named element; KeyError names the closest ones."""
        names = self.names.get(kind, [])
        if name in names:
            return names.index(name)
        close = difflib.get_close_matches(name, [n for n in names if n], 3)
        hint = f"; closest: {', '.join(close)}" if close else ""
        raise KeyError(f"no {kind} is called {name!r}{hint}")


def deduced(source: Any) -> dict[str, Any]:
    """The fields of `Deduced`, decided from the arrays of any object with mjModel's attributes."""
    around = np.isin(source.wrap_type, (WrapType.SPHERE, WrapType.CYLINDER))
    friction = {f"{kind}_hasfriction": getattr(source, f"{kind}_frictionloss") > 0 for kind in ("dof", "tendon")}
    fluid = {
        "hasfluid": np.bool_(source.opt.density > 0 or source.opt.viscosity > 0),
        "hassurfacevel": np.bool_(np.any(source.geom_surfacevel)),
        "hasadhesion": np.bool_(np.any(source.geom_adhesion) or np.any(source.pair_adhesion)),
        "haspivots": _has_pivots(source),
        "geom_hasfluid": np.asarray(source.geom_fluid)[:, 0] > 0,
    }
    plugin = {
        "sdf_functions": (),
        "colliders": (),
        "extension": (None,) * 8,
        "geom_sdf": np.asarray(getattr(source, "sdf", np.full(source.ngeom, -1)), np.int32),
        "geom_sdfconst": np.asarray(getattr(source, "sdf_constants", np.zeros((source.ngeom, 10)))),
        "sensor_gridprm": np.asarray(getattr(source, "touch_grids", np.zeros((source.nsensor, 6)))),
    }
    side = np.where(around, np.rint(source.wrap_prm), -1).astype(np.int32)
    room = {"nbudget": 0, "budget": np.zeros(0, np.int32), "geom_block": np.full(source.ngeom, -1, np.int32)}
    frames = snaps(source)
    room |= {"tree_asleep0": np.full(source.ntree, AWAKE, np.int32)}
    room |= {"nframe": len(frames), "frame_snap": frames}
    return friction | fluid | plugin | room | {"wrap_sideid": side, "actuator_slots": _slots(source)}


def _has_pivots(source: Any) -> np.bool_:
    """Whether some geom's body turns, but moves its centre of mass by less than 3 % of the geom's size as it does."""
    move, turn = np.asarray(source.body_invweight0).reshape(-1, 2)[np.asarray(source.geom_bodyid)].T
    return np.any((turn > 0) & (move < 1e-3 * turn * np.square(source.geom_rbound)))


def _slots(source: Any) -> np.ndarray:
    """[nactuator, 5] where the states of controllers and motors are; in act they come in the order of the columns."""
    n, kind = int(source.nactuator), np.asarray(source.actuator_dyntype).reshape(-1)
    dyn, gain = (np.asarray(getattr(source, f"actuator_{name}prm")).reshape(n, 10) for name in ("dyn", "gain"))
    present = np.zeros((n, 5), bool)
    pid = np.asarray(getattr(source, "actuator_pidprm", np.zeros((n, 5))))
    plugged = np.asarray(source.actuator_plugin).reshape(-1) >= 0
    for type_, columns in {
        DynType.PID: (dyn[:, 1:2], gain[:, :1]),
        DynType.DCMOTOR: (dyn[:, 7:8], gain[:, 5:6], dyn[:, 2:3], dyn[:, 5:6], dyn[:, :1]),
    }.items():
        states = np.concatenate(columns, axis=1) > 0
        present[:, : states.shape[1]] |= states & (kind == type_)[:, None]
    slots = np.where(present, np.cumsum(present, axis=1) - 1, -1)
    integral, slew = plugged & (pid[:, 1] != 0), plugged & (pid[:, 4] >= 0)
    slots[integral, 1] = 0  # the plugin mujoco.pid has its integral first
    slots[:, 0] = np.where(slew, integral, slots[:, 0])
    return slots.astype(np.int32)


def per_topology(function: Callable[Concatenate[Topology, P], T]) -> Callable[Concatenate[Topology, P], T]:
    """Decorator: compute once per Topology and further arguments (positional), and keep the result there.

    The results live as long as the Topology does, and no longer.
    """

    @functools.wraps(function)
    def once(topology: Topology, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (function, *args, *sorted(kwargs.items()))
        computed = topology._computed
        if key not in computed:
            computed[key] = function(topology, *args, **kwargs)
        return computed[key]

    return once
