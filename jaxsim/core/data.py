"""Data: the state of one world, its inputs, and the derived quantities people read."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.core.enums import JointType, WarningType
from jaxsim.core.fields import CONTACT, DATA_DERIVED, DATA_STATE
from jaxsim.core.fields.data import ContactFields, DataDerived, DataState
from jaxsim.core.fields.field import Child, Field
from jaxsim.core.history import initial_history
from jaxsim.core.model import Model, known
from jaxsim.core.named import DataByName, labels
from jaxsim.core.record import Record, register
from jaxsim.core.topology import Topology, per_topology

ASLEEP = ("tree_asleep", "qpos_asleep")
INTEGRATION_STATE = ("time", "qpos", "qvel", "act", "plastic", "history", "qacc_warmstart", *ASLEEP)
INPUTS = ("ctrl", "qfrc_applied", "xfrc_applied", "eq_active", "mocap_pos", "mocap_quat", "userdata")


@register
class Contact(Record, ContactFields):
    """The fixed buffer of `model.nconmax` contact slots; the first `data.ncon` are active.

    `frame` rows are normal and two tangents, the normal pointing from `geom[:, 0]` to `geom[:, 1]`.
    An idle slot has dist = 1e10 and geom = (-1, -1).
    """

    children = tuple(CONTACT)


@register
class Data(Record, DataState, DataDerived):
    """State, inputs and derived quantities of one world under mjData's names.

    `Data.xpos` is the field's declaration: its dimensions, unit and meaning. What belongs to one element is there by
    its name, in batches and under jit: `data.joint("knee").qpos`, `data.site("tip").xpos`, `data.sensor("gyro")`.
    """

    children = (*DATA_STATE, *DATA_DERIVED, "contact")

    contact: Contact = Child("the buffer of contacts")  # type: ignore[assignment]  # what is read is a Contact

    body = DataByName("body")
    joint = DataByName("joint")
    geom = DataByName("geom")
    site = DataByName("site")
    tendon = DataByName("tendon")
    equality = DataByName("equality")
    actuator = DataByName("actuator")
    sensor = DataByName("sensor")


def _zeros(model: Model, field: Field) -> np.ndarray:
    return np.zeros(field.shape(model), field.dtype or jax.dtypes.canonicalize_dtype(np.float64))


def empty_contact(model: Model) -> Contact:
    """A contact buffer of `model.nconmax` slots, every one idle."""
    values = {k: _zeros(model, f) for k, f in CONTACT.items()}
    values["dist"] += 1e10
    values["geom"] -= 1
    values["frame"][:, [0, 4, 8]] = 1
    return Contact(values)


def make_data(model: Model, keyframe: str | int | None = None) -> Data:
    """The Data of one world at rest at qpos0 [nq], or at a keyframe.

    Args:
        model: the model.
        keyframe: name or index of a keyframe whose time, qpos, qvel, act, ctrl and mocap poses to take.

    Returns:
        Data with state and inputs set and derived fields zero; `forward` or `step` fills them.

    Raises:
        KeyError: no keyframe has this name or index.
    """
    values: dict[str, Any] = {k: _zeros(model, f) for k, f in (DATA_STATE | DATA_DERIVED).items()}
    values["contact"] = empty_contact(model)
    values["qpos"] = model.qpos0
    if model.nplastic:
        springs = jnp.concatenate([model.qpos_spring, model.tendon_lengthspring.reshape(-1)])
        values["plastic"] = springs[plastic_source(model.topology)]
    values["eq_active"] = np.asarray(model.eq_active0, np.bool_)
    if model.nsleep:
        values["tree_asleep"], values["qpos_asleep"] = model.tree_asleep0, model.qpos0
    if model.nhistory:
        values["history"] = initial_history(model)
    mocap = np.flatnonzero(np.asarray(model.body_mocapid) >= 0)
    if mocap.size:
        order = mocap[np.argsort(np.asarray(model.body_mocapid)[mocap])]
        values["mocap_pos"], values["mocap_quat"] = model.body_pos[order], model.body_quat[order]
    if keyframe is not None:
        values |= {k: v.reshape(values[k].shape) for k, v in _keyframe(model, keyframe).items()}
    return jax.tree.map(
        jnp.array, Data(values, labels(model.topology))
    )  # copies, so that Data may be donated and the Model kept


@per_topology
def plastic_source(t: Topology) -> np.ndarray:
    """[nplastic] where the rest positions of springs that yield lie in qpos_spring and then tendon_lengthspring."""
    source = np.zeros(t.nplastic, int)
    for adr, start, size in (
        *((t.jnt_plasticadr[j], t.jnt_qposadr[j], JointType(t.jnt_type[j]).nq) for j in range(t.njnt)),
        *((t.tendon_plasticadr[i], t.nq + 2 * i, 2) for i in range(t.ntendon)),
    ):
        if adr >= 0:
            source[adr : adr + size] = np.arange(start, start + size)
    return source


def _keyframe(model: Model, keyframe: str | int) -> dict[str, jax.Array]:
    names = model.topology.names.get("key", [])
    if not model.nkey:
        raise KeyError(f"keyframe {keyframe!r}: the model has none")
    if keyframe not in names and not (isinstance(keyframe, int) and 0 <= keyframe < model.nkey):
        known = ", ".join(name or str(i) for i, name in enumerate(names))
        raise KeyError(f"keyframe {keyframe!r}: the model has {known}")
    index = names.index(keyframe) if isinstance(keyframe, str) else keyframe
    source = {
        "time": "time", "qpos": "qpos", "qvel": "qvel", "act": "act", "ctrl": "ctrl",
        "mocap_pos": "mpos", "mocap_quat": "mquat", "plastic": "plastic",
    }  # fmt: skip
    return {name: getattr(model, f"key_{key}")[index] for name, key in source.items()}


def counted(warning: jax.Array, kind: WarningType, happened: jax.Array) -> jax.Array:
    """The counts of warnings [7] with one more of a kind, if it happened."""
    return warning + np.where(np.arange(len(WarningType)) == kind, 1, 0).astype(np.int32) * happened.astype(jnp.int32)


_MEANING = {
    WarningType.CONTACTFULL: "contacts were dropped for lack of room: js.budgets(model, data) says of what",
    WarningType.BADQPOS: "the position became invalid and the world was reset",
    WarningType.BADQVEL: "the velocity became invalid and the world was reset",
    WarningType.BADQACC: "the acceleration became invalid and the world was reset",
    WarningType.BADCTRL: "a control was not finite and was replaced by zero",
}


def _counts(caller: str, data: Data) -> np.ndarray:
    """[worlds, 7] counts of warnings, which must be there to be read."""
    if not known(data.warning):
        raise TypeError(
            f"js.{caller} reads numbers, which inside of jax.jit, vmap or grad are not there yet: return the Data from "
            f"the compiled function and call js.{caller} on it, or read data.warning [7] inside"
        )
    return np.asarray(data.warning).reshape(-1, len(WarningType))


def warnings_of(data: Data) -> dict[str, int]:
    """Warnings that occurred, by name, with their counts summed over all worlds; `data.warning` is [..., 7]."""
    counts = _counts("warnings_of", data).sum(0)
    return {w.name: int(counts[w]) for w in WarningType if counts[w]}


def report(data: Data) -> None:
    """Raise a Python warning for each kind of simulation warning that occurred in a world, or in a batch [B]."""
    counts = _counts("report", data)
    for w in WarningType:
        worlds = int((counts[:, w] > 0).sum())
        if worlds:
            what = _MEANING.get(w, "see mjtWarning")
            warnings.warn(f"{w.name}: {what} ({counts[:, w].sum()} times in {worlds} worlds)", stacklevel=2)
