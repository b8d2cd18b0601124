"""Functions of the user's that a model calls, in place of MuJoCo's callbacks.

They are bound to a model once, and traced with it: they run in batches, on every platform, and are differentiated.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from jaxsim.core.data import Data, make_data
from jaxsim.core.enums import BiasType, DynType, GainType, SensorType
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology

Array = jax.Array
Function = Callable[[Model, Data], Array]
RowFunction = Callable[[Model, Data], dict[str, Array]]


class Extension(NamedTuple):
    """What a model calls: functions of (model, data), or None (see `extend`)."""

    control: Function | None = None
    passive: Function | None = None
    act_dyn: Function | None = None
    act_gain: Function | None = None
    act_bias: Function | None = None
    sensor: Function | None = None
    equality: tuple[RowFunction, int] | None = None  # and how many rows it gives
    limit: tuple[RowFunction, int] | None = None


def user_actuators(t: Topology, field: str) -> np.ndarray:
    """The actuators [n] whose dynamics, gain or bias is the user's: "dyn", "gain" or "bias"."""
    user = {"dyn": DynType.USER, "gain": GainType.USER, "bias": BiasType.USER}[field]
    return np.flatnonzero(getattr(t, f"actuator_{field}type") == user)


def extend(
    model: Model,
    *,
    control: Function | None = None,
    passive: Function | None = None,
    act_dyn: Function | None = None,
    act_gain: Function | None = None,
    act_bias: Function | None = None,
    sensor: Function | None = None,
    equality: RowFunction | None = None,
    limit: RowFunction | None = None,
) -> Model:
    """The model with functions of yours in its steps, where MuJoCo has callbacks (mjcb_control ...).

    Each is called as `function(model, data)` for one world, with all of `data` that is computed before it, and is
    traced: of JAX operations only. Numbers that change belong in `data.userdata` or in the model's user fields, or
    in the controls; what a function closes over is compiled in. Functions bound before are kept where no other is
    given. Derivatives of velocity that implicit integrators take do not see them, as in MuJoCo.

    Args:
        model: the model.
        control: controls [nu], in place of `data.ctrl`, given positions and velocities.
        passive: forces [nv] (N, N m) that are added to qfrc_passive; not where flags disable springs and dampers
            both, as in MuJoCo.
        act_dyn: rates (1/s) of the activations of all actuators with `dyntype="user"`, one after the other.
        act_gain: gains of the actuators with `gaintype="user"`, in order; 1 without this function.
        act_bias: biases (N) of the actuators with `biastype="user"`, in order; 0 without this function.
        sensor: readings of all user sensors, one after the other; 0 without this function.
        equality: constraint rows [n] of your own that push and pull, as a dict: "pos" [n] (m or rad), which is held at
            zero, and its derivative "J" [n, nv] by qvel. Optional are "solref" [2] or [n, 2] and "solimp" [5] or [n, 5]
            as in MJCF, "weight" [n], the inverse inertia (1/kg, 1/(kg m^2)) that the regularisation is relative to (by
            default the sum of J^2 dof_invweight0, MuJoCo's for joints), and "bias" [n] = dJ/dt qvel (m/s^2).
        limit: the same for rows that only push, and keep "pos" above zero; "margin" [] or [n] is where they begin to.

    Raises:
        ValueError: a function gives another shape or type, or the model has nothing that it is for.
    """
    t = model.topology
    given = Extension(control, passive, act_dyn, act_gain, act_bias, sensor)
    rows = {name: _rows(model, name, f) for name, f in (("equality", equality), ("limit", limit)) if f is not None}
    states = np.repeat(t.actuator_dyntype, t.actuator_actnum) == DynType.USER
    sizes = {
        "control": t.nu,
        "passive": t.nv,
        "act_dyn": int(states.sum()),
        "act_gain": len(user_actuators(t, "gain")),
        "act_bias": len(user_actuators(t, "bias")),
        "sensor": int(t.sensor_dim[t.sensor_type == SensorType.USER].sum()),
    }
    for name, function in given._asdict().items():
        if function is not None:
            _check(model, name, function, sizes[name])
    given = given._replace(equality=rows.get("equality"), limit=rows.get("limit"))
    merged = [new if new is not None else old for new, old in zip(given, t.extension)]
    return Model(model._values, Topology(t._values | {"extension": tuple(merged)}, t.names))


_ROW_SHAPES = {"pos": (), "J": (-1,), "weight": (), "bias": (), "margin": (), "solref": (2,), "solimp": (5,)}


def _rows(m: Model, name: str, function: RowFunction) -> tuple[RowFunction, int]:
    """The function, and how many rows [n] it gives; raises unless they have the right names and shapes."""
    if not callable(function):
        raise TypeError(f"extend: {name} is a {type(function).__name__}, expected a function of (model, data)")
    found = jax.eval_shape(function, m, make_data(m))
    if not isinstance(found, dict) or not {"pos", "J"} <= found.keys() <= _ROW_SHAPES.keys():
        what = sorted(found) if isinstance(found, dict) else f"a {type(found).__name__}"
        raise ValueError(f'extend: {name} gives {what}, expected a dict with "pos", "J" and none but {[*_ROW_SHAPES]}')
    shapes = {key: getattr(value, "shape", None) for key, value in found.items()}
    n = shapes["pos"][0] if shapes["pos"] is not None and len(shapes["pos"]) == 1 else None
    for key, value in found.items():
        axes = (m.nv,) if key == "J" else _ROW_SHAPES[key]
        once = key in ("solref", "solimp", "margin") and shapes[key] == axes
        if not once and (n is None or shapes[key] != (n, *axes)):
            expected = ["n" if n is None else n, *axes]
            raise ValueError(f"extend: {key} of {name} has the shape {shapes[key]}, expected {expected}")
        if value.dtype != m.qpos0.dtype:
            raise ValueError(f"extend: {key} of {name} is {value.dtype}, expected {m.qpos0.dtype}")
    return function, n


def _check(m: Model, name: str, function: Function, size: int) -> None:
    """Raise unless a function gives a vector of the right size and type."""
    if not size:
        raise ValueError(f"extend: the model has nothing that {name} is for (its size would be 0)")
    if not callable(function):
        raise TypeError(f"extend: {name} is a {type(function).__name__}, expected a function of (model, data)")
    result = jax.eval_shape(function, m, make_data(m))
    shape, dtype = getattr(result, "shape", None), getattr(result, "dtype", None)
    if shape != (size,) or dtype != m.qpos0.dtype:
        found = f"{dtype}{list(shape)}" if shape is not None else f"a {type(result).__name__}"
        raise ValueError(f"extend: {name} gives {found}, expected {m.qpos0.dtype}[{size}]")
