"""Model: the compiled robot. Real parameters are traced arrays; everything else is one static Topology."""

from collections.abc import Container
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np

from jaxsim.core.enums import Cone, Integrator, Solver
from jaxsim.core.fields import MODEL_REAL, OPTION_INT, OPTION_REAL, STAT_REAL
from jaxsim.core.record import Record, register
from jaxsim.core.topology import Topology

# prefix of the array fields of each kind of named element, and the size that counts them
KINDS = {
    "body": ("body_", "nbody"),
    "joint": ("jnt_", "njnt"),
    "geom": ("geom_", "ngeom"),
    "site": ("site_", "nsite"),
    "camera": ("cam_", "ncam"),
    "light": ("light_", "nlight"),
    "mesh": ("mesh_", "nmesh"),
    "hfield": ("hfield_", "nhfield"),
    "pair": ("pair_", "npair"),
    "equality": ("eq_", "neq"),
    "tendon": ("tendon_", "ntendon"),
    "actuator": ("actuator_", "nactuator"),
    "sensor": ("sensor_", "nsensor"),
    "numeric": ("numeric_", "nnumeric"),
    "key": ("key_", "nkey"),
}

_ENUMS = {"integrator": Integrator, "cone": Cone, "solver": Solver}


@register
class Option(Record):
    """Physics options under mjOption's names. Reals are traced; enums, flags and iteration counts static."""

    children = tuple(OPTION_REAL)

    def _other(self, name):
        static = dict(self._static)
        return static[name] if name in static else super()._other(name)

    def replace(self, **changes):
        """A copy with options changed; changing an integer option compiles anew."""
        static = dict(self._static)
        for name in [n for n in changes if n in static]:
            value = int(changes.pop(name))
            static[name] = _ENUMS[name](value) if name in _ENUMS else value
        traced = super().replace(**changes)
        return type(self)(traced._values, tuple(static.items()))

    def __dir__(self):
        return [*super().__dir__(), *dict(self._static)]

    def disables(self, bit: int) -> bool:
        """Whether a DisableBit is set."""
        return bool(self.disableflags & bit)

    def enables(self, bit: int) -> bool:
        """Whether an EnableBit is set."""
        return bool(self.enableflags & bit)


@register
class Statistic(Record):
    """mjStatistic: sizes and masses typical of the model."""

    children = tuple(STAT_REAL)


@register
class Model(Record):
    """A compiled model under mjModel's names.

    Real parameters (`body_mass`, `geom_friction`, `opt.timestep` ...) are jax arrays: differentiate, batch
    or randomise them; then `js.set_const` recomputes what derives from them. Integers, names and visual
    data belong to the static `topology` and are read the same way (`model.nq`, `model.body_parentid`).
    Which rows exist is decided at load: a dof or tendon gets a friction row if its frictionloss was not
    zero then, and a joint a limit row if it was limited.
    """

    children = (*MODEL_REAL, "opt", "stat")

    @property
    def topology(self) -> Topology:
        """The static part."""
        return self._static

    def _other(self, name):
        if hasattr(self._static, name):
            return getattr(self._static, name)
        return super()._other(name)

    def replace(self, **changes):
        """A copy with fields changed; a frictionloss that has no row is refused."""
        for prefix in ("dof", "tendon"):
            value = changes.get(f"{prefix}_frictionloss")
            if value is not None and not isinstance(value, jax.core.Tracer):
                self._check_friction(prefix, np.asarray(value))
        return super().replace(**changes)

    def _check_friction(self, prefix: str, value: np.ndarray):
        has_row = getattr(self.topology, f"{prefix}_hasfriction")
        if np.any((value > 0) & ~has_row):
            raise ValueError(
                f"{prefix}_frictionloss: some {prefix}s had no frictionloss when the model was loaded and so have no "
                "friction row; give them a tiny frictionloss in the MJCF"
            )

    def __dir__(self):
        return [*super().__dir__(), *(k for k in self._static.__dict__ if not k.startswith("_")), *KINDS]


def _named_access(kind: str, prefix: str):
    def access(self: Model, name: str | int):
        index = name if isinstance(name, int) else self.topology.id_of(kind, name)
        names = self.topology.names.get(kind, [])
        fields = {"id": index, "name": names[index] if index < len(names) else ""}
        every = {**self.topology.__dict__, **self._values}
        for key, value in every.items():
            if key.startswith(prefix) and getattr(value, "ndim", 0) > 0 and index < value.shape[0]:
                fields[key.removeprefix(prefix)] = value[index]
        return SimpleNamespace(**fields)

    access.__name__ = kind
    access.__doc__ = f"The {kind} of this name: its `id`, `name`, and fields without the prefix `{prefix}`."
    return access


for _kind, (_prefix, _) in KINDS.items():
    setattr(Model, _kind, _named_access(_kind, _prefix))


def from_fields(source: Any, names: dict[str, list[str]], known: Container[str] | None = None) -> Model:
    """Build a Model from any object with mjModel's attributes: an mjModel or the compiler's result.

    Args:
        source: has every field of `MODEL_REAL`, `opt`, `stat`, the sizes and the integer arrays.
        names: names of each kind of element.
        known: the attributes to look at; by default all.

    Returns:
        The Model, reals in the default float type, on the default device.
    """
    dtype = jax.dtypes.canonicalize_dtype(np.float64)
    names = {kind: names.get(kind, []) for kind in KINDS}
    static: dict[str, Any] = {}
    reals: dict[str, Any] = {}
    for name in dir(source):
        if name.startswith("_") or name in ("opt", "stat", "vis", "names") or (known and name not in known):
            continue
        value = getattr(source, name)
        if isinstance(value, (bool, int, np.integer)):
            static[name] = int(value)
        elif isinstance(value, np.ndarray) and value.dtype.kind in "iufb" and name not in MODEL_REAL:
            static[name] = np.array(value)
    sizes = SimpleNamespace(**static)
    for name, field in MODEL_REAL.items():
        reals[name] = np.array(getattr(source, name), dtype).reshape(field.shape(sizes))  # its own memory
    static["dof_hasfriction"] = np.asarray(source.dof_frictionloss) > 0
    static["tendon_hasfriction"] = np.asarray(source.tendon_frictionloss) > 0
    opt = {k: np.array(getattr(source.opt, k), dtype) for k in OPTION_REAL}
    ints = {k: int(getattr(source.opt, k)) for k in OPTION_INT}
    for key, enum in _ENUMS.items():
        ints[key] = enum(ints[key])
    stat = {k: np.array(getattr(source.stat, k), dtype) for k in STAT_REAL}
    reals, opt, stat = jax.device_put((reals, opt, stat))
    return Model({**reals, "opt": Option(opt, tuple(ints.items())), "stat": Statistic(stat)}, Topology(static, names))
