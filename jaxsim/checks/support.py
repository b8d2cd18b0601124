"""What the engine simulates: every feature of a compiled model that it does not is named."""

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum

import numpy as np

from jaxsim.checks.resting import resting
from jaxsim.collision.budget import with_budgets
from jaxsim.collision.pairs import without_use
from jaxsim.collision.sdf.user import SignedDistance, with_distances
from jaxsim.collision.table import Collider
from jaxsim.collision.user import with_colliders
from jaxsim.core.enums import (
    BiasType,
    DisableBit,
    DynType,
    EnableBit,
    EqType,
    GainType,
    Integrator,
    SensorType,
    SleepPolicy,
    Solver,
    TendonType,
    TrnType,
)  # fmt: skip
from jaxsim.core.model import Model
from jaxsim.dynamics.armature import on_tendon
from jaxsim.dynamics.tendon_bias import wrapping
from jaxsim.mjcf.language.errors import MjcfError, Place, Problem
from jaxsim.sensors.distance import unmeasured
from jaxsim.sensors.table import SUPPORTED_SENSORS
from jaxsim.sensors.tactile import unfelt
from jaxsim.sensors.zone import boundless
from jaxsim.step import asleep_at_start

Where = Callable[[str, int], Place]


# enumerated features: field of the topology -> enumeration, the members that are simulated, what it is called
SIMULATED: dict[str, tuple[type[IntEnum], tuple[IntEnum, ...], str]] = {
    "actuator_trntype": (TrnType, tuple(TrnType), "transmission"),
    "actuator_dyntype": (DynType, tuple(DynType), "dynamics"),
    "actuator_gaintype": (GainType, tuple(GainType), "gain"),
    "actuator_biastype": (BiasType, tuple(BiasType), "bias"),
    "eq_type": (EqType, (EqType.CONNECT, EqType.WELD, EqType.JOINT, EqType.TENDON), "equality"),
    "tendon_type": (TendonType, tuple(TendonType), "tendon"),
    "sensor_type": (SensorType, SUPPORTED_SENSORS, "sensor"),
}  # fmt: skip
REFUSED_FLAGS = (
    EnableBit.IPC,
    EnableBit.SPECULATIVE,
)


def unsupported(model: Model) -> list[tuple[str, int, str]]:
    """Every feature of the model that cannot be simulated yet: (kind, index, sentence)."""
    return [*_options(model), *_elements(model)]


def admit(
    model: Model,
    max_contacts: int | None,
    compile_only: bool,
    where: Where | None = None,
    budgets: Mapping[str, int] | None = None,
    sdf: Mapping[str, SignedDistance] | None = None,
    colliders: Mapping[tuple[str, str], Collider] | None = None,
) -> Model:
    """A compiled model made ready for simulation: its contact buffer sized, its features checked.

    Args:
        model: the compiled model.
        max_contacts: slots of the contact buffer of one world; None to choose from the geoms.
        compile_only: admit also what cannot be simulated.
        where: (kind, index) -> Place of an element, if the model came from a file.
        budgets: other room for collisions than what is chosen from the geoms, by the names of `js.budgets`.
        sdf: signed distances of geoms by name, as of `js.load`.
        colliders: of types or geoms by name, as of `js.load`.

    Raises:
        MjcfError: lists everything that the engine cannot simulate.
        KeyError: there is no geom of a name.
        ValueError: there is no budget of a name, or a function of the user's is not one of its kind.
    """
    model = with_distances(model, sdf) if sdf else model
    model = _with_colliders(model, colliders) if colliders else model
    expected = resting(model)
    model = with_budgets(model, max_contacts, budgets, expected.contacts, expected.near)
    if not compile_only:
        require_supported(model, where)
        model = with_sleepers(model, where)
    return model


def _with_colliders(model: Model, colliders: Mapping[tuple[str, str], Collider]) -> Model:
    """The model with colliders of the user's, each of which is of use."""
    model = with_colliders(model, colliders)
    if model.opt.disables(DisableBit.CONTACT) or model.opt.disables(DisableBit.CONSTRAINT):
        return model
    for geoms in without_use(model.topology, int(model.opt.disableflags)):
        one, other = (model.topology.names["geom"][i] for i in geoms)
        raise ValueError(
            f"colliders: geoms {one!r} and {other!r} are never tested with each other, by contype and conaffinity, as "
            f'parts of one body or as excluded; a <pair geom1="{one}" geom2="{other}"/> has them tested'
        )
    return model


def with_sleepers(model: Model, where: Where | None = None) -> Model:
    """The model with the trees asleep that are to sleep from the start (`sleep="init"`).

    Raises:
        MjcfError: names those that cannot, as they touch something that is not to sleep.
    """
    early = model.tree_sleep_policy == SleepPolicy.INIT
    if not model.nsleep or not early.any():
        return model
    asleep = np.asarray(asleep_at_start(model))
    awake = [int(body) for body in model.tree_bodyadr[early & (asleep < 0)]]
    text = 'sleep="init": it touches, or is held by, what is not to sleep from the start; let that sleep too'
    if awake:
        raise MjcfError([Problem(_place(where, "body", i), _label(model, "body", i) + text) for i in awake])
    return Model(model._values, model.topology.replace(tree_asleep0=asleep))


def _options(m: Model) -> Iterator[tuple[str, int, str]]:
    o = m.opt
    if o.integrator == Integrator.DISCRETE and (o.solver not in (Solver.NEWTON, Solver.CG) or o.noslip_iterations):
        sentence = (
            "integrator discrete is simulated with the solvers Newton and CG and without noslip; use implicitfast"
        )
        yield "option", 0, sentence
    for bit in REFUSED_FLAGS:
        if o.enables(bit):
            flag = bit.name.lower()
            yield "option", 0, f'enable flag {flag} is not simulated; write <flag {flag}="disable"/>'
    if o.enables(EnableBit.SLEEP) and np.any(m.eq_type == EqType.TENDON):
        sentence = "enable flag sleep is not simulated with equalities of tendons, nor by MuJoCo"
        yield "option", 0, f'{sentence}; write <flag sleep="disable"/>'
    if m.nflex:
        yield "model", 0, "flexes are not simulated; remove every <flex>"
    if m.nplugin:  # of an mjModel only: the compiler turns those that it knows into fields of their own
        yield "model", 0, "plugins are not read from an mjModel; load the file that it was made of"


def _elements(m: Model) -> Iterator[tuple[str, int, str]]:
    t = m.topology
    kinds = {"actuator": "actuator", "eq": "equality", "tendon": "tendon", "sensor": "sensor"}
    for field, (enum, allowed, what) in SIMULATED.items():
        kind = kinds[field.split("_")[0]]
        for i in np.flatnonzero(~np.isin(getattr(t, field), allowed)):
            name = enum(int(getattr(t, field)[i])).name.lower()
            yield kind, int(i), f"{what} type {name} is not simulated; remove it, or use {_types(allowed)}"
    yield from _wrapping_armature(m)
    for sensor, geom in unmeasured(m):
        yield (
            "sensor",
            sensor,
            f"the distance of a geom of type {geom.name.lower()} is not simulated; remove the sensor",
        )
    for sensor, geom in unfelt(m):
        yield "sensor", sensor, f"the touch of a geom of type {geom.name.lower()} is not simulated; remove the sensor"
    for sensor, site in boundless(m):
        yield "sensor", sensor, f"the inside of a site of type {site.name.lower()} is not simulated; use a box"
    for i in np.flatnonzero((np.asarray(m.sensor_delay) > 0) & (m.opt.integrator == Integrator.RK4)):
        yield (
            "sensor",
            int(i),
            "delay with RK4 (MuJoCo keeps the reading of the last stage) is not simulated; use Euler",
        )


def _wrapping_armature(m: Model) -> Iterator[tuple[str, int, str]]:
    """Inertia of tendons that touch geoms: the rate of their Jacobians is not known, to MuJoCo neither."""
    heavy = np.asarray(m.tendon_armature) > 0
    pulls = np.flatnonzero(on_tendon(m) & (np.asarray(m.actuator_armature) > 0))
    heavy[m.actuator_trnid[pulls, 0]] = True
    for i in np.flatnonzero(wrapping(m.topology) & heavy):
        yield (
            "tendon",
            int(i),
            "armature (of an actuator) on a tendon that wraps around a geom is not simulated; remove it",
        )


def _types(allowed: tuple[IntEnum, ...]) -> str:
    """The members of an enumeration in words."""
    return ", ".join(member.name.lower() for member in allowed)


def _name(m: Model, kind: str, index: int) -> str:
    names = m.topology.names.get(kind, [])
    return names[index] if index < len(names) else ""


def require_supported(model: Model, where: Where | None = None) -> None:
    """Raise an MjcfError that lists everything the engine cannot simulate.

    Args:
        model: the compiled model.
        where: (kind, index) -> Place of the element, if the model came from a file.
    """
    problems = [Problem(_place(where, kind, i), _label(model, kind, i) + text) for kind, i, text in unsupported(model)]
    if problems:
        raise MjcfError(problems)


def _place(where: Where | None, kind: str, index: int) -> Place:
    return where(kind, index) if where else Place("model", 0, kind)


def _label(model: Model, kind: str, index: int) -> str:
    name = _name(model, kind, index)
    return f"{name!r}: " if name else ""
