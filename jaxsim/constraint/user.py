"""Constraint rows of the user's, with explicit Jacobians (see `js.extend`): equalities, and limits that only push."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.constraint.scalar import ScalarRows
from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.core.topology import Topology
from jaxsim.dynamics.extension import extension_of

Array = jax.Array


def user_equalities(t: Topology) -> np.ndarray:
    """Ids [n] of the rows of the user's equalities; they count on from the model's own."""
    return t.neq + np.arange(t.extension[6][1] if t.extension[6] else 0)


def user_limits(t: Topology) -> np.ndarray:
    """Ids [n] of the rows of the user's limits; they count on from the joints."""
    return t.njnt + np.arange(t.extension[7][1] if t.extension[7] else 0)


def equality_rows(m: Model, d: Data, ten_J: Array, rows: np.ndarray) -> ScalarRows:
    """Rows [n] whose pos is held at zero."""
    given = _given(m, d, extension_of(m).equality[0])
    return given._replace(active=jnp.ones(len(rows), bool))


def limit_rows(m: Model, d: Data, ten_J: Array, rows: np.ndarray) -> ScalarRows:
    """Rows [n] whose pos is kept above zero."""
    given = _given(m, d, extension_of(m).limit[0])
    return given._replace(active=given.pos < (0 if given.margin is None else given.margin))


def _given(m: Model, d: Data, function) -> ScalarRows:
    """The rows that a function describes; weights are those of the dofs that they move, at qpos0."""
    row, dtype = function(m, d), d.qpos.dtype
    pos, J = row["pos"], row["J"]
    n = len(pos)

    def per_row(name: str, default: tuple[float, ...]) -> Array:
        value = jnp.asarray(row.get(name, default), dtype)
        return jnp.broadcast_to(value.reshape(-1, len(default)), (n, len(default)))

    return ScalarRows(
        pos=pos,
        margin=jnp.broadcast_to(jnp.asarray(row["margin"], dtype), (n,)) if "margin" in row else None,
        active=None,  # type: ignore[arg-type]
        solref=per_row("solref", (0.02, 1.0)),
        solimp=per_row("solimp", (0.9, 0.95, 0.001, 0.5, 2.0)),
        diag=row.get("weight", jnp.sum(J * J * m.dof_invweight0[None], axis=1)),
        J=J,
        bias=row.get("bias"),
    )
