"""The public functions of one evaluation: forward, step, inverse."""

from typing import Any

import jax
import jax.numpy as jnp

from jaxsim.core.data import Data, counted, make_data
from jaxsim.core.enums import DisableBit, WarningType
from jaxsim.core.fields import DATA_STATE
from jaxsim.core.model import Model
from jaxsim.core.shapes import check
from jaxsim.dynamics.actuation import is_bad
from jaxsim.layout import batched
from jaxsim.stages import forward as stages
from jaxsim.stages.forward import Accelerations
from jaxsim.stages.integrate import integrate
from jaxsim.stages.inverse import inverse as inverse_stage

Array = jax.Array


def _forward(model: Model, data: Data, known: Accelerations | None = None) -> tuple[Data, Accelerations]:
    data, _ = stages.forward(model, data, known=known)
    return data, Accelerations(data.qacc_smooth, data.qacc)


def _step(model: Model, data: Data, known: Any = None) -> tuple[Data, Any]:
    """The step, and what it solved for; given that, a repetition of the same step solves for nothing."""
    accelerations, advance = known or (None, None)
    data = _check(model, data, "qpos", WarningType.BADQPOS)
    data = _check(model, data, "qvel", WarningType.BADQVEL)
    data, mid = stages.forward(model, data, known=accelerations)
    bad = jnp.any(is_bad(data.qacc))
    stepped, advance = integrate(model, data, mid, advance)
    return _recover(model, stepped, bad), (Accelerations(data.qacc_smooth, data.qacc), advance)


def _repeated_forward(known: Accelerations, model: Model, data: Data) -> Data:
    return _forward(model, data, known)[0]


def repeated_step(known: Any, model: Model, data: Data) -> Data:
    """A step that was taken before by `solved_step`, in one world: the same values, and their derivatives."""
    return _step(model, data, known)[0]


def _keep_solution(model: Model, data: Data) -> tuple[tuple[Data, Any], Any]:
    stepped, solved = _step(model, data)
    return (stepped, solved), solved


def _repeat_with_solution(known: Any, model: Model, data: Data) -> tuple[Data, Any]:
    return repeated_step(known, model, data), known


def _check(model: Model, data: Data, field: str, warning: WarningType) -> Data:
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
        data = _select(bad, _initial(model, data, derived=True), data)
    return data.replace(warning=count)


def _initial(model: Model, data: Data, derived: bool = False) -> Data:
    """The state and inputs of `make_data`; derived fields too if asked for, else as they are."""
    fresh = make_data(model)
    if derived:
        return fresh
    return data.replace(**{name: getattr(fresh, name) for name in DATA_STATE})


def _select(condition: Array, a: Data, b: Data) -> Data:
    return jax.tree.map(lambda x, y: x if x is y else jnp.where(condition, x, y), a, b)


_forward_batched = batched(_forward, _repeated_forward)
solved_step = batched(_keep_solution, _repeat_with_solution)  # Data, and what was solved for, which counts as constant
_inverse_batched = batched(inverse_stage)


@jax.jit
def forward(model: Model, data: Data) -> Data:
    """Compute everything that follows from the state and the inputs, without advancing (mj_forward).

    Args:
        model: the model.
        data: state (qpos, qvel, act ...) and inputs (ctrl, qfrc_applied, xfrc_applied ...).

    Returns:
        `data` with every derived field up to date, from xpos to qacc and sensordata.
    """
    check("forward", model, data)
    return _forward_batched(model, data)


@jax.jit
def step(model: Model, data: Data) -> Data:
    """Advance one world by one time step (mj_step).

    `jax.vmap(step, in_axes=(None, 0))` advances many worlds and is the fast way to do so. A world whose
    position, velocity or acceleration is invalid is reset and counted in `data.warning`; others never
    notice. The result has the same structure, shapes and dtypes as `data`.

    Args:
        model: the model; any real-valued field may be batched or differentiated.
        data: state and inputs.

    Returns:
        The Data one `model.opt.timestep` later; derived fields are those of the state before the step.
    """
    check("step", model, data)
    return solved_step(model, data)[0]


@jax.jit
def inverse(model: Model, data: Data) -> Data:
    """Inverse dynamics: the applied force that gives `data.qacc` (mj_inverse).

    Returns:
        `data` with `qfrc_inverse` [nv] (N, N m) and qfrc_constraint, and the stages before them.
    """
    check("inverse", model, data)
    return _inverse_batched(model, data)
