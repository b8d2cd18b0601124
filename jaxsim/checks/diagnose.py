"""Where a simulation went wrong: the first stage whose result is not finite, by world and element."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxsim.checks.room import shortages
from jaxsim.core.data import Data, warnings_of
from jaxsim.core.enums import MAXVAL
from jaxsim.core.fields import MODEL_REAL, OPTION_REAL, field_of
from jaxsim.core.kinds import KINDS
from jaxsim.core.model import Model

# fields in the order in which a step reads and computes them, and what to do about each stage
STAGES = {
    "parameters": (
        (*MODEL_REAL, *(f"opt.{k}" for k in OPTION_REAL)),
        "the model itself holds this value: look at what was written into it, or which gradient step did",
    ),
    "state": (
        ("time", "qpos", "qvel", "act", "plastic", "history", "qpos_asleep"),
        "the state was already invalid before this step: look at the step before, at what set it, or use a "
        "smaller timestep",
    ),
    "inputs": (
        ("ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat"),
        "the inputs come from outside: look at the policy or controller that made them",
    ),
    "kinematics": (
        [
            "xpos",
            "xquat",
            "xmat",
            "xipos",
            "ximat",
            "xanchor",
            "xaxis",
            "geom_xpos",
            "geom_xmat",
            "site_xpos",
            "site_xmat",
        ],
        "the state is finite but its poses are not: positions may be huge, or a pose in the model is wrong",
    ),
    "inertia": (
        ["subtree_com", "cinert", "cdof", "qM"],
        "masses or inertias may be negative, huge or not finite",
    ),
    "transmission": (["ten_length", "actuator_length"], "look at gears and tendon coefficients"),
    "collision": (
        [
            "contact.dist",
            "contact.pos",
            "contact.frame",
            "contact.includemargin",
            "contact.friction",
            "contact.solref",
        ],
        "look at geom sizes and friction of the two geoms",
    ),
    "velocity": (
        ["cvel", "ten_velocity", "actuator_velocity", "qfrc_bias"],
        "velocities may be huge: a smaller timestep, more damping or armature helps",
    ),
    "forces": (
        ["qfrc_passive", "act_dot", "actuator_force", "qfrc_actuator", "qfrc_smooth"],
        "look at stiffness, damping and gains, and give actuators a forcerange",
    ),
    "acceleration": (
        ("qacc_smooth",),
        "the inertia matrix may be singular: give light bodies mass or their joints armature",
    ),
    "constraint": (
        ["qacc", "qfrc_constraint", "solver_residual", "solver_fwdinv"],
        "look at solref, solimp and invweight0 (after changing masses call set_const), and at penetrations",
    ),
    "sensors": (["sensordata", "energy", "qfrc_inverse"], "the dynamics are finite; look at the sensor"),
    "integration": (
        ("qacc_warmstart",),
        "the step diverged: use a smaller timestep or an implicit integrator",
    ),
}

# what the first axis of a field counts, where elements have names
_AXES = {kind.size: name for name, kind in KINDS.items()} | {"nout": "actuator", "nu": "actuator"}
_SHOWN = 6  # most worlds and elements listed


@dataclass(frozen=True)
class Diagnosis:
    """The first fault found; `str` of it is the report.

    Attributes:
        stage: name of the stage, '' if all is finite.
        field: name of the first field that is not finite (or beyond mjMAXVAL, for state and inputs).
        worlds: indices of the worlds concerned; empty for data of a single world.
        elements: names of the elements concerned, in any world.
        later: further fields that are not finite, usually in consequence.
        warnings: simulation warnings by name, with counts.
        advice: what to look at.
        nworld: number of worlds.
        shortages: budgets of collisions that were too small in some world, with what would have sufficed.
    """

    stage: str = ""
    field: str = ""
    worlds: tuple[int, ...] = ()
    elements: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    warnings: tuple[tuple[str, int], ...] = ()
    advice: str = ""
    nworld: int = 1
    shortages: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether something is wrong."""
        return bool(self.stage)

    def __str__(self) -> str:
        lines = [self._headline()]
        if self.elements:
            lines.append(f"  elements: {_listed(self.elements)}")
        if self.later:
            lines.append(f"  then also: {_listed(self.later)}")
        if self.advice:
            lines.append(f"  advice: {self.advice}")
        lines += [f"  warning {name}: {count} times" for name, count in self.warnings]
        lines += [f"  budget of {text}" for text in self.shortages]
        return "\n".join(lines)

    def _headline(self) -> str:
        if not self.stage:
            return "every field is finite"
        where = f" in {len(self.worlds)} of {self.nworld} worlds ({_listed(self.worlds)})" if self.worlds else ""
        return f"stage {self.stage}: {self.field} is not finite{where}"


def diagnose(model: Model, data: Data) -> Diagnosis:
    """Name the first field that is not finite, in the order in which a step computes them.

    With `opt.disableflags` as it comes, a world with an invalid state is reset by the step, and only the
    warnings remain; set DisableBit.AUTORESET to keep the evidence.

    Args:
        model: the model; real fields may be batched.
        data: of one world, or with any leading batch axes.

    Returns:
        A Diagnosis: false if all is well, and readable with `print`.
    """
    host_model, host = jax.device_get((model, data))
    faults = []
    for stage, (names, advice) in STAGES.items():
        for name in names:
            found = _look(host_model, host, stage, name)
            if found is not None:
                faults.append((stage, name, advice, *found))
    counts = tuple(warnings_of(host).items())
    size = int(np.prod(np.shape(host.time), dtype=int))
    short = tuple(shortages(host_model, host))
    if not faults:
        return Diagnosis(warnings=counts, nworld=size, shortages=short)
    stage, name, advice, worlds, elements = faults[0]
    later = tuple(f[1] for f in faults[1:])
    return Diagnosis(stage, name, worlds, elements, later, counts, advice, size, short)


def _look(model: Model, data: Data, stage: str, name: str) -> tuple[tuple[int, ...], tuple[str, ...]] | None:
    """Worlds and elements whose value of a field is not finite; None if there are none."""
    owner = model if stage == "parameters" else data
    value: Any = owner
    for part in name.split("."):
        value = getattr(value, part)
    value = np.asarray(value)
    bad = ~np.isfinite(value)
    if stage == "parameters":
        bad = np.isnan(value)  # infinite ranges and forces are allowed
    elif stage in ("state", "inputs"):
        bad = ~(np.abs(value) <= MAXVAL)
    if not bad.any():
        return None
    dims = field_of(name).dims
    batch = value.ndim - len(dims)
    bad = bad.reshape(int(np.prod(value.shape[:batch], dtype=int)), *value.shape[batch:])
    worlds = np.flatnonzero(bad.reshape(bad.shape[0], -1).any(axis=1))
    if not dims:
        return (tuple(worlds.tolist()) if batch else ()), ()
    rows = np.flatnonzero(bad.any(axis=(0, *range(2, bad.ndim))))
    elements = tuple(_name(model, data, name, str(dims[0]), int(i)) for i in rows)
    return (tuple(worlds.tolist()) if batch else ()), elements


def _name(model: Model, data: Data, field: str, axis: str, index: int) -> str:
    """How people call an element of an axis of a field."""
    if axis in ("nq", "nv"):
        adr = np.asarray(model.jnt_qposadr if axis == "nq" else model.jnt_dofadr)
        joint = int(np.searchsorted(adr, index, side="right")) - 1
        first = "qpos" if axis == "nq" else "dof"
        return f"joint {_called(model, 'joint', joint)} ({first} {index})"
    if axis == "nsensordata":
        sensor = int(np.searchsorted(np.asarray(model.sensor_adr), index, side="right")) - 1
        return f"sensor {_called(model, 'sensor', sensor)}"
    if axis == "nmocap":
        return f"body {_called(model, 'body', int(np.flatnonzero(model.body_mocapid == index)[0]))}"
    if axis in ("nu", "nout"):
        adr = np.asarray(model.actuator_ctrladr if axis == "nu" else model.actuator_outadr)
        index = int(np.flatnonzero(adr <= index)[-1]) if adr.size else index
    if axis == "nconmax":
        return _contact_name(model, data, index)
    kind = _AXES.get(axis)
    return f"{kind} {_called(model, kind, index)}" if kind else f"{field}[{index}]"


def _contact_name(model: Model, data: Data, slot: int) -> str:
    geoms = np.asarray(data.contact.geom)
    if geoms.ndim > 2:
        return f"contact slot {slot}"
    return f"contact of {' and '.join(_called(model, 'geom', int(g)) for g in geoms[slot] if g >= 0)}"


def _called(model: Model, kind: str, index: int) -> str:
    names = model.topology.names.get(kind, [])
    return repr(names[index]) if index < len(names) and names[index] else f"#{index}"


def _listed(items: tuple) -> str:
    more = f", ... {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return ", ".join(map(str, items[:_SHOWN])) + more
