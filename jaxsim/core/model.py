"""Model: the compiled robot. Real parameters are traced arrays; everything else is one static Topology."""

from typing import Any, Self

import jax
import numpy as np

from jaxsim.core.enums import ContactGradient, EnableBit
from jaxsim.core.fields import (
    MODEL_OWN,
    MODEL_REAL,
    OPTION_INT,
    OPTION_OWN,
    OPTION_REAL,
    SIZES,
    STAT_REAL,
    STATIC,
    Field,
)
from jaxsim.core.fields.field import Child
from jaxsim.core.fields.model import ModelReals
from jaxsim.core.fields.option import KAPPA_FLOAT32, OptionInts, OptionReals, OwnInts, OwnReals, Statistics
from jaxsim.core.fields.static import Deduced, Sizes, Static
from jaxsim.core.kinds import KINDS, ByName
from jaxsim.core.named import ids, model_rows, with_rows
from jaxsim.core.record import Record, register
from jaxsim.core.topology import Topology, deduced

# what surfaces may only do if one of them did at load: field, the flag that says so, in words
SURFACES = (
    ("geom_surfacevel", "hassurfacevel", "surface moved"),
    ("geom_adhesion", "hasadhesion", "surface was sticky"),
    ("pair_adhesion", "hasadhesion", "surface was sticky"),
)


@register
class Option(Record, OptionReals, OptionInts, OwnReals, OwnInts):
    """Physics options under mjOption's names. Reals are traced; enums, flags and iteration counts static.

    Our own are the contact law, `contact` ("soft", "hard", "exact" or "distant"), `kappa`, `kappa_gradient` and
    `restitution` of the hard one, `bounces`, which follows from the latter, `equality` ("hard" or "compliant") of its
    models, and `contact_gradient` ("own" or "distant") with `contact_reach`: what derivatives of the soft one are of.
    """

    children = tuple(OPTION_REAL)

    def _read(self, name: str) -> Any:
        return self._values[name] if name in self._values else dict(self._static)[name]

    def replace(self, **changes):
        """A copy with options changed; changing an integer option compiles anew, and its enumeration's names serve.

        Raises:
            ValueError: there is no member of that name, a kappa or reach is not positive, restitution not from 0 to 1,
                or hard contacts are to have derivatives of distant ones.
        """
        for name in ("kappa", "kappa_gradient", "contact_reach"):
            value = changes.get(name)
            if numeric(value) and not np.all(np.asarray(value) > 0):
                raise ValueError(
                    f"opt.{name} is {np.asarray(value)}: it has to be positive, such as {OPTION_OWN[name]}"
                )
        static = dict(self._static)
        if (value := changes.get("restitution")) is not None:
            if numeric(value) and not np.all((np.asarray(value) >= 0) & (np.asarray(value) <= 1)):
                raise ValueError(f"opt.restitution is {np.asarray(value)}: it has to be from 0 to 1")
            static["bounces"] = int(not numeric(value) or bool(np.any(np.asarray(value))))
        for name in [n for n in changes if n in static]:
            static[name] = _option(name, changes.pop(name))
        if static["contact"].rigid and static["contact_gradient"] != ContactGradient.OWN:
            raise ValueError(
                f'opt.contact_gradient is "distant" and opt.contact "{static["contact"].name.lower()}", whose '
                "derivatives see contacts ahead by opt.kappa_gradient already; leave contact_gradient at 'own', or "
                'take contact="soft"'
            )
        traced = super().replace(**changes)
        return type(self)(traced._values, tuple(static.items()))

    def disables(self, bit: int) -> bool:
        """Whether a DisableBit is set."""
        return bool(self.disableflags & bit)

    def enables(self, bit: int) -> bool:
        """Whether an EnableBit is set."""
        return bool(self.enableflags & bit)


@register
class Statistic(Record, Statistics):
    """mjStatistic: sizes and masses typical of the model."""

    children = tuple(STAT_REAL)


@register
class Model(Record, ModelReals[jax.Array], Sizes, Static, Deduced):
    """A compiled model under mjModel's names.

    Real parameters (`body_mass`, `geom_friction`, `opt.timestep` ...) are jax arrays: differentiate, batch
    or randomise them; then `js.set_const` recomputes what derives from them. Integers, names and visual
    data belong to the static `topology` and are read the same way (`model.nq`, `model.body_parentid`).
    `Model.body_mass` is the field's declaration: its dimensions, unit and meaning.
    Which rows exist is decided at load: a dof or tendon gets a friction row if its frictionloss was not
    zero then, and a joint a limit row if it was limited. Forces of a fluid exist if density or viscosity was not zero,
    springs yield if they could, and surfaces move or stick if one of them did.
    """

    children = (*MODEL_REAL, "opt", "stat")

    opt: Option = Child("physics options")  # type: ignore[assignment]  # what is read is an Option
    stat: Statistic = Child("statistics")  # type: ignore[assignment]

    body = ByName("body")
    joint = ByName("joint")
    geom = ByName("geom")
    site = ByName("site")
    camera = ByName("camera")
    light = ByName("light")
    mesh = ByName("mesh")
    hfield = ByName("hfield")
    material = ByName("material")
    pair = ByName("pair")
    exclude = ByName("exclude")
    equality = ByName("equality")
    tendon = ByName("tendon")
    actuator = ByName("actuator")
    sensor = ByName("sensor")
    numeric = ByName("numeric")
    text = ByName("text")
    tuple = ByName("tuple")
    key = ByName("key")

    @property
    def topology(self) -> Topology:
        """The static part."""
        return self._static

    @property
    def nsleep(self) -> int:
        """Trees whose sleep Data keeps: none, or where the flag `sleep` is enabled, all."""
        return int(self.ntree) if self.opt.enables(EnableBit.SLEEP) else 0

    @property
    def nsleepq(self) -> int:
        """Coordinates that Data keeps of sleeping trees, likewise."""
        return int(self.nq) if self.nsleep else 0

    def _read(self, name: str) -> Any:
        return self._values[name] if name in self._values else getattr(self._static, name)

    def ids(self, kind: str, pattern: str) -> np.ndarray:
        """[n] ids of the elements of a kind ("body", "geom" ...) with a name, or with names like "leg_*".

        Raises:
            KeyError: there is none; the message names the closest ones.
        """
        return ids(self.topology, kind, pattern)

    def set(self, field: str, pattern: str, value: Any) -> Self:
        """A copy with the rows of a field changed that belong to named elements; then `js.set_const`, as for `replace`.

        Args:
            field: a real field, such as "geom_friction"; fields of dofs and qpos go by the names of joints.
            pattern: a name, or a pattern such as "leg_*".
            value: a row of the field, for all of them; or one for each, [n, ...] in their order. For an element by its
                name, or with [B, n, ...], axes of a batch may come in front, and the field becomes a batch.

        Raises:
            KeyError: there is no such field or element; the message names the closest ones.
            ValueError: `value` has another shape.
        """
        places, several = model_rows(self.topology, field, pattern), any(x in pattern for x in "*?[")
        return self.replace(**{field: with_rows(MODEL_REAL[field], getattr(self, field), places, value, several)})

    def replace(self, **changes):
        """A copy with fields changed; what needs rows, forces or state that were not there at load is refused."""
        for prefix in ("dof", "tendon"):
            value = changes.get(f"{prefix}_frictionloss")
            if known(value):
                self._check_friction(prefix, np.asarray(value))
        if isinstance(changes.get("opt"), Option):
            self._check_fluid(changes["opt"])
        if known(shapes := changes.get("geom_fluid")):
            self._check_shapes(np.asarray(shapes))
        for name, flag, what in SURFACES:
            if known(value := changes.get(name)) and np.any(value) and not getattr(self.topology, flag):
                raise ValueError(f"{name}: no {what} when the model was loaded; give a geom a tiny one in the MJCF")
        for kind, prefix in (("joint", "jnt"), ("tendon", "tendon")):
            value = changes.get(f"{prefix}_springyield")
            if known(value):
                self._check_yield(kind, prefix, np.asarray(value))
        changed = super().replace(**changes)
        if isinstance(changed.opt, Option) and changed.opt.contact.rigid:
            changed._check_cones()
        return changed

    def _check_cones(self):
        for name in ("geom_friction", "pair_friction"):
            if numeric(value := self._values[name]) and np.any(np.asarray(value) < 0):
                raise ValueError(f"{name} has negative numbers, of which the hard contact law makes no friction cones")

    def _check_friction(self, prefix: str, value: np.ndarray):
        has_row = getattr(self.topology, f"{prefix}_hasfriction")
        if np.any((value > 0) & ~has_row):
            raise ValueError(
                f"{prefix}_frictionloss: some {prefix}s had no frictionloss when the model was loaded and so have no "
                "friction row; give them a tiny frictionloss in the MJCF"
            )

    def _check_yield(self, kind: str, prefix: str, value: np.ndarray):
        if np.any((value > 0) & (getattr(self.topology, f"{prefix}_plasticadr") < 0)):
            raise ValueError(
                f"{prefix}_springyield: the springs of some {kind}s could not yield when the model was loaded and so "
                "have no plastic state; give them a large springyield in the MJCF"
            )

    def _check_fluid(self, opt: Option):
        for name in ("density", "viscosity"):
            value = opt._values[name]
            if not self.topology.hasfluid and known(value) and np.any(np.asarray(value) > 0):
                raise ValueError(
                    f"opt.{name}: there was no fluid when the model was loaded (density and viscosity were 0), so that "
                    f"it exerts no forces; give the option a tiny {name} in the MJCF"
                )

    def _check_shapes(self, value: np.ndarray):
        if np.any((value[..., 0] > 0) != self.topology.geom_hasfluid):
            raise ValueError(
                "geom_fluid: whether a geom feels the fluid as an ellipsoid (its first number) was decided when the "
                "model was loaded; give the geom its fluidshape in the MJCF"
            )


def numeric(value: Any) -> bool:
    """Whether something is numbers that are there: not a tracer, nor a leaf of a tree of axes or shardings."""
    return known(value) and isinstance(value, (int, float, np.ndarray, np.generic, jax.Array))


def known(value: Any) -> bool:
    """Whether something is an array whose numbers are there, unlike those of arrays that are traced."""
    return value is not None and not isinstance(value, jax.core.Tracer)


def from_fields(source: Any, names: dict[str, list[str]]) -> Model:
    """Build a Model from any object with mjModel's attributes: an mjModel or the compiler's result.

    Args:
        source: has every field of the tables `SIZES`, `STATIC`, `MODEL_REAL`, and of `opt` and `stat`; nothing else is
            looked at.
        names: names of each kind of element.

    Returns:
        The Model, reals in the default float type, on the default device.

    Raises:
        AttributeError: the source lacks a field; the message names it.
        ValueError: a field has another shape than its declaration says.
    """
    dtype = jax.dtypes.canonicalize_dtype(np.float64)
    static: dict[str, Any] = {name: int(_get(source, name)) for name in SIZES}
    sizes = Topology(static, {})
    static |= {name: _static_array(source, field, sizes) for name, field in STATIC.items()}
    static |= deduced(source)
    reals = {name: _shaped(_real(source, field, sizes), field, sizes, dtype) for name, field in MODEL_REAL.items()}
    options = {k: OPTION_OWN[k] if k in OPTION_OWN else _get(source.opt, k) for k in OPTION_REAL | OPTION_INT}
    if dtype == np.float32:
        options["kappa"] = KAPPA_FLOAT32
    opt = {k: _shaped(options[k], f, sizes, dtype) for k, f in OPTION_REAL.items()}
    ints = {k: _option(k, options[k]) for k in OPTION_INT}
    stat = {k: _shaped(_get(source.stat, k), f, sizes, dtype) for k, f in STAT_REAL.items()}
    reals, opt, stat = jax.device_put((reals, opt, stat))
    topology = Topology(static, {kind: names.get(kind, []) for kind in KINDS})
    return Model({**reals, "opt": Option(opt, tuple(ints.items())), "stat": Statistic(stat)}, topology)


def _get(source: Any, name: str) -> Any:
    try:
        return getattr(source, name)
    except AttributeError:
        raise AttributeError(f"{type(source).__name__} has no field {name!r}, which every model has") from None


def _real(source: Any, field: Field, sizes: Topology) -> Any:
    own = field.name in MODEL_OWN and not hasattr(source, field.name)
    return np.zeros(field.shape(sizes)) if own else _get(source, field.name)


def _static_array(source: Any, field: Field, sizes: Topology) -> Any:
    value = _get(source, field.name)
    return bytes(value) if field.dtype is bytes else _shaped(value, field, sizes, field.dtype)


def _shaped(value: Any, field: Field, sizes: Topology, dtype: Any) -> np.ndarray:
    """A copy, in memory of its own, of the declared shape."""
    array, shape = np.array(value, dtype), field.shape(sizes)
    if array.shape == shape:
        return array
    if array.size != int(np.prod(shape)):
        raise ValueError(f"{field.name} has shape {array.shape}, expected {shape}")
    return array.reshape(shape)


def _option(name: str, value: Any) -> int:
    """An integer option, in its enumeration if it has one."""
    enum = OPTION_INT[name].enum
    if enum and isinstance(value, str):
        if value.upper() not in enum.__members__:
            choices = ", ".join(repr(member.name.lower()) for member in enum)
            raise ValueError(f"opt.{name} is {value!r}: expected one of {choices}")
        return enum[value.upper()]
    return enum(int(value)) if enum else int(value)
