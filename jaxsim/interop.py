"""Exchange with the `mujoco` package, where it is installed: put_model, put_data, get_data."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.checks.support import admit
from jaxsim.core.data import ASLEEP, INPUTS, INTEGRATION_STATE, Data, make_data
from jaxsim.core.fields import DATA_DERIVED
from jaxsim.core.kinds import KINDS
from jaxsim.core.model import Model, from_fields
from jaxsim.core.shapes import check_one_world

# what mjData holds in another form, or not at all
SOLVER_ENDED = ("solver_niter", "solver_converged", "solver_residual")
NOT_THEIRS = ("qpos_asleep", "qM", "warning", "ncon", "nefc", "peak", *SOLVER_ENDED)


def put_model(
    mj_model: Any,
    max_contacts: int | None = None,
    compile_only: bool = False,
    budgets: Mapping[str, int] | None = None,
) -> Model:
    """The Model of a compiled `mujoco.MjModel`; the same as `load` of the file it came from.

    Args:
        mj_model: the compiled model.
        max_contacts: slots of the contact buffer; by default chosen from the geoms.
        compile_only: return the Model even if some of its features cannot be simulated.
        budgets: other room for the collisions of one world, by the names that `js.budgets` gives.

    Raises:
        MjcfError: the model uses features that cannot be simulated; all are listed.
        ImportError: mujoco is not installed.
    """
    import mujoco

    names = {
        kind: [
            mujoco.mj_id2name(mj_model, getattr(mujoco.mjtObj, f"mjOBJ_{obj}"), i) or ""
            for i in range(getattr(mj_model, size))
        ]
        for kind, (_, size, obj) in KINDS.items()
    }
    return admit(from_fields(mj_model, names), max_contacts, compile_only, budgets=budgets)


def put_data(model: Model, mj_data: Any) -> Data:
    """The Data of a `mujoco.MjData`: state, inputs and derived fields.

    Args:
        model: the model that `put_model` made of the same mjModel.
        mj_data: MuJoCo's data.

    Returns:
        Data with a copy of all that mjData holds under the same names; M, contacts and counts come with `forward`.
    """
    data = make_data(model)
    values = {}
    for name in (*INTEGRATION_STATE, *INPUTS, *DATA_DERIVED):
        like = getattr(data, name)
        if name in NOT_THEIRS:
            continue
        # a copy: JAX may keep a reference to the memory of an array, which MuJoCo writes to
        source = np.array(getattr(mj_data, name), like.dtype)
        if name != "tree_asleep" or model.nsleep:
            values[name] = jnp.asarray(source.reshape(like.shape))
    return data.replace(**values, **({"qpos_asleep": values["qpos"]} if model.nsleep else {}))


def get_data(model: Model, mj_model: Any, data: Data) -> Any:
    """A `mujoco.MjData` in the state of `data`, with MuJoCo's own derived quantities (mj_forward).

    All trees are awake in it, as MuJoCo lets nobody say which sleep.

    Args:
        model: the model.
        mj_model: the mjModel that it was made of.
        data: of one world, without batch axes.
    """
    import mujoco

    check_one_world("get_data", data)
    mj_data = mujoco.MjData(mj_model)
    host = jax.device_get(data)
    for name in (n for n in (*INTEGRATION_STATE, *INPUTS) if n not in ASLEEP):
        target = getattr(mj_data, name)
        if isinstance(target, np.ndarray):
            target[...] = np.asarray(getattr(host, name)).reshape(target.shape)
        else:
            setattr(mj_data, name, getattr(host, name).item())
    mujoco.mj_forward(mj_model, mj_data)
    return mj_data
