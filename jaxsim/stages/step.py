"""One step: check the state, evaluate forward dynamics, integrate, and reset a world that went wrong (mj_step)."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.algebra.select import take
from jaxsim.core.data import Data, counted, make_data
from jaxsim.core.enums import DisableBit, EnableBit, WarningType
from jaxsim.core.fields import DATA_STATE
from jaxsim.core.model import Model
from jaxsim.dynamics.controls import is_bad
from jaxsim.dynamics.history import recorded
from jaxsim.stages.forward import forward
from jaxsim.stages.fwdinv import compared
from jaxsim.stages.integrate import integrate
from jaxsim.stages.intermediate import Intermediate, found_in
from jaxsim.stages.sleep import fallen_asleep

Array = jax.Array


def step(model: Model, data: Data, known: Any = None) -> tuple[Data, Any]:
    """The Data one time step later, and what was solved for on the way.

    Given that as `known`, a repetition of the same step solves for nothing, and has the derivatives of the step.
    """
    found, advance = known or (None, None)
    data = _check_state(model, data, "qpos", WarningType.BADQPOS)
    data = _check_state(model, data, "qvel", WarningType.BADQVEL)
    data, mid = forward(model, data, known=found)
    bad = jnp.any(is_bad(data.qacc))
    if model.opt.enables(EnableBit.FWDINV):
        data = compared(model, data, mid)
    data = _last_readings(model, data, mid)
    stepped, advance = integrate(model, data, mid, advance)
    if model.nhistory:
        stepped = stepped.replace(history=recorded(model, data, mid.sensed))
    return _recover(model, stepped, bad), (found_in(data, mid), advance)


def _last_readings(m: Model, d: Data, mid: Intermediate) -> Data:
    """sensordata [nsensordata]; where trees fall asleep, as of their rest, since that is what stays."""
    if not m.nsleep or not m.nsensordata:
        return d
    falling = (d.tree_asleep < 0) & (fallen_asleep(m, d, mid) >= 0)
    calm = d.replace(qvel=jnp.where(take(falling, m.dof_treeid), 0, d.qvel))
    return d.replace(
        sensordata=lax.cond(jnp.any(falling), lambda: forward(m, calm)[0].sensordata, lambda: d.sensordata)
    )


def _check_state(model: Model, data: Data, field: str, warning: WarningType) -> Data:
    """Reset the world if a field of its state is invalid (mj_checkPos, mj_checkVel)."""
    bad = jnp.any(is_bad(getattr(data, field))) if getattr(data, field).shape[0] else jnp.zeros((), bool)
    count = counted(data.warning, warning, bad)
    if not model.opt.disables(DisableBit.AUTORESET):
        data = _select(bad, _initial(model, data), data)
    return data.replace(warning=count)


def _recover(model: Model, data: Data, bad: Array) -> Data:
    """Reset a world whose acceleration was invalid (mj_checkAcc).

    MuJoCo then steps from the reset state at once; here that world stands at qpos0 for the rest of this step.
    """
    count = counted(data.warning, WarningType.BADQACC, bad)
    if not model.opt.disables(DisableBit.AUTORESET):
        fresh = _initial(model, data, derived=True).replace(qM=jax.tree.map(jnp.zeros_like, data.qM))
        data = _select(bad, fresh, data).replace(peak=data.peak)
    return data.replace(warning=count)


def _initial(model: Model, data: Data, derived: bool = False) -> Data:
    """The state and inputs of `make_data`; derived fields too if asked for, else as they are."""
    fresh = make_data(model)
    return data.replace(**{name: getattr(fresh, name) for name in (data.children if derived else DATA_STATE)})


def _select(condition: Array, a: Data, b: Data) -> Data:
    return jax.tree.map(lambda x, y: x if x is y or not x.size else jnp.where(condition, x, y), a, b)
