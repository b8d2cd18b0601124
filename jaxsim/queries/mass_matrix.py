"""Products and solutions with the joint-space inertia matrix (mj_fullM, mj_mulM, mj_solveM)."""

import jax
from jax import lax

from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.core.shapes import check_one_world
from jaxsim.solvers.linear.solve import solve

Array = jax.Array


def full_m(model: Model, data: Data) -> Array:
    """Joint-space inertia matrix [nv, nv] (mj_fullM)."""
    return data.qM


def mul_m(model: Model, data: Data, x: Array) -> Array:
    """M x, for x [nv] or [..., nv] (mj_mulM).

    Raises:
        ValueError: the last axis of x is another.
    """
    check_one_world("mul_m", data)
    _check_rows("mul_m", model, x)
    return lax.dot_general(x, data.qM, (((x.ndim - 1,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)


def solve_m(model: Model, data: Data, x: Array) -> Array:
    """M^-1 x, for x [nv] or [..., nv] (mj_solveM).

    Raises:
        ValueError: the last axis of x is another.
    """
    check_one_world("solve_m", data)
    _check_rows("solve_m", model, x)
    if not model.nv:
        return x
    rows = x.reshape(-1, model.nv)
    return jax.vmap(solve, (None, 0))(data.qM, rows).reshape(x.shape)


def _check_rows(name: str, model: Model, x: Array) -> None:
    if x.shape[-1:] != (model.nv,):
        raise ValueError(
            f"{name}: x has shape {x.shape}, expected (..., {model.nv}) [nv]: vectors are rows, as J of jac is"
        )
