"""Recorded trajectories cut into short windows, each simulated from its own start."""

from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

import jaxsim as js

Array = jax.Array

MEASURED = ("qpos", "qvel", "sensordata")


class Windows(NamedTuple):
    """N short trajectories of W control steps.

    Attributes:
        start: Data before the first step, batched: qpos [N, nq] ...
        ctrl: controls [N, W, nu].
        measured: what was measured after each step, any of qpos [N, W, nq] (m, rad), qvel [N, W, nv] (m/s, rad/s) and
            sensordata [N, W, nsensordata]; not a number where nothing was. As `js.step` leaves them, sensors are
            those of the state before the step.
        substeps: steps for each control.
    """

    start: js.Data
    ctrl: Array
    measured: dict[str, Array]
    substeps: int = 1


def windows(
    model: js.Model, recorded: Mapping[str, ArrayLike], length: int, *, stride: int | None = None, substeps: int = 1
) -> Windows:
    """Cut trajectories into windows that start from the recorded states.

    Args:
        model: the model.
        recorded: "qpos" [N, T+1, nq], "qvel" [N, T+1, nv] and "ctrl" [N, T, nu]; "act" [N, T+1, na] if the model has
            activations; and, to be compared as well, "sensordata" [N, T, nsensordata].
        length: control steps of a window.
        stride: control steps between the starts of two windows; by default `length`.
        substeps: steps for each control.

    Raises:
        ValueError: something is missing, has another shape, or is shorter than a window.
    """
    count, steps = _sizes(model, recorded)
    if not 1 <= length <= steps:
        raise ValueError(f"length is {length}, expected 1 to {steps}, the control steps of a trajectory")
    first = np.arange(0, steps - length + 1, stride or length)

    def cut(x: ArrayLike, shift: int) -> Array:
        """[N * windows, length, ...] of [N, T, ...]."""
        chosen = jnp.asarray(x)[:, first[:, None] + shift + np.arange(length)]
        return chosen.reshape(count * len(first), length, *chosen.shape[3:])

    def begin(x: ArrayLike) -> Array:
        chosen = jnp.asarray(x)[:, first]
        return chosen.reshape(count * len(first), *chosen.shape[2:])

    states = {name: begin(recorded[name]) for name in ("qpos", "qvel", "act") if name in recorded}
    start = jax.vmap(lambda state: js.make_data(model).replace(**state))(states)
    measured = {name: cut(recorded[name], 1) for name in ("qpos", "qvel")}
    if "sensordata" in recorded:
        measured["sensordata"] = cut(recorded["sensordata"], 0)
    return Windows(start, cut(recorded["ctrl"], 0), measured, substeps)


def _sizes(model: js.Model, recorded: Mapping[str, ArrayLike]) -> tuple[int, int]:
    """How many trajectories of how many control steps; a ValueError where they do not fit the model."""
    needed = ["qpos", "qvel", "ctrl", *(["act"] if model.na else [])]
    missing = [name for name in needed if name not in recorded]
    unknown = [name for name in recorded if name not in (*needed, "act", "sensordata")]
    if missing or unknown:
        raise ValueError(f"recorded has {', '.join(recorded)}; expected {', '.join(needed)} and perhaps sensordata")
    count, steps = np.shape(recorded["ctrl"])[:2]
    widths = {"qpos": model.nq, "qvel": model.nv, "act": model.na, "ctrl": model.nu, "sensordata": model.nsensordata}
    for name, value in recorded.items():
        expected = (count, steps + (name in ("qpos", "qvel", "act")), widths[name])
        if np.shape(value) != expected:
            raise ValueError(f"recorded {name} has shape {np.shape(value)}, expected {expected}")
    return count, steps


def seen(data: js.Data, names: tuple[str, ...]) -> dict[str, Array]:
    """What is compared of a Data: qpos [nq], qvel [nv], sensordata [nsensordata]."""
    return {name: getattr(data, name) for name in names}


def deviation(model: js.Model, measured: Mapping[str, Array], simulated: Mapping[str, Array]) -> dict[str, Array]:
    """Simulated less measured, positions in the tangent space: [W, nv], [W, nv], [W, nsensordata]; NaN if unknown."""
    unit = jnp.ones((), model.qpos0.dtype)
    difference = {name: simulated[name] - measured[name] for name in measured if name != "qpos"}
    if "qpos" in measured:
        between = jax.vmap(lambda a, b: js.differentiate_pos(model, unit, a, b))
        difference["qpos"] = between(measured["qpos"], simulated["qpos"])
    return difference
