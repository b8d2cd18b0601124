"""The public functions of one evaluation: forward, step, inverse.

Each is a stage of one world, made a single equation by `layout.batched`, which knows how its batches and its
derivatives run. For derivatives a stage is repeated with what it solved for, so that nothing is searched for twice.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.core.data import Data, make_data
from jaxsim.core.enums import AWAKE, ContactGradient, SleepPolicy
from jaxsim.core.model import Model
from jaxsim.core.shapes import check
from jaxsim.layout import batched
from jaxsim.stages import forward as forward_stage
from jaxsim.stages import step as step_stage
from jaxsim.stages.intermediate import Found, found_in, whole
from jaxsim.stages.inverse import inverse as inverse_stage
from jaxsim.stages.sleep import fallen_asleep


def _forward(model: Model, data: Data, known: Found | None = None) -> tuple[Data, Found]:
    data, mid = forward_stage.forward(model, data, known=known)
    return data, found_in(data, mid)


def _repeated_forward(known: Found, model: Model, data: Data) -> Data:
    if model.opt.contact_gradient == ContactGradient.DISTANT:
        model, known = distant(model), known._replace(constrained=None)
    return _forward(model, data, known)[0]


def _step(model: Model, data: Data) -> tuple[tuple[Data, Any], Any]:
    stepped, solved = step_stage.step(model, data)
    return (stepped, solved), solved


def repeated_step(known: Any, model: Model, data: Data) -> Data:
    """A step that was taken before by `solved_step`, in one world: the same values, and their derivatives.

    Under `opt.contact_gradient = "distant"` they are another step's, that has to be solved for.
    """
    return whole(_repeated(known, model, data))


@functools.partial(jax.jit, inline=True)  # traced once for all that take its derivatives
def _repeated(known: Any, model: Model, data: Data) -> Data:
    if model.opt.contact_gradient == ContactGradient.DISTANT:
        model, known = distant(model), (known[0]._replace(constrained=None), None)
    return step_stage.step(model, data, known)[0]


def distant(model: Model) -> Model:
    """The model under the distant contact law."""
    return model.replace(opt=model.opt.replace(contact="distant", contact_gradient="own"))


def _repeated_step(known: Any, model: Model, data: Data) -> tuple[Data, Any]:
    return _repeated(known, model, data), known


_forward_batched = batched(_forward, _repeated_forward)
_step_batched = batched(_step, _repeated_step)
_inverse_batched = batched(inverse_stage)


def solved_step(model: Model, data: Data) -> tuple[Data, Any]:
    """The Data of a step, and what was solved for, which counts as constant."""
    stepped, solved = _step_batched(model, data)
    return whole(stepped), solved


@jax.jit
def asleep_at_start(model: Model) -> jax.Array:
    """tree_asleep [ntree] at qpos0 of a model in which trees are to sleep from the start (mj_resetData)."""
    ready = (model.tree_sleep_policy == SleepPolicy.INIT).astype(np.int32)
    data = make_data(model).replace(tree_asleep=jnp.asarray(AWAKE + (-1 - AWAKE) * ready, jnp.int32))
    return fallen_asleep(model, *forward_stage.position_velocity(model, data))


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
    return whole(_forward_batched(model, data))


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
    return whole(_inverse_batched(model, data))
