"""Trajectories as planners need them: states in the tangent space, and the derivatives of every step at once.

The state of a step is x = (position, velocity, activation), [nx] with nx = 2 nv + na, its position in the tangent
space: a change of position is a velocity integrated for a unit of time, as in `js.transition_jacobians`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

import jaxsim as js

Array = jax.Array
States = dict[str, Array]  # what changes from step to step, by Data's names, over any leading axes

STATE = ("time", "qpos", "qvel", "act", "plastic", "history", "qacc_warmstart")
FIRST_FAULT = 3  # columns of `data.warning` from BADQPOS on: what a world that was reset has counted


def state_of(data: js.Data) -> States:
    """What changes from step to step of a Data: qpos [nq] (m, rad), qvel [nv] (m/s, rad/s), act [na] ..."""
    return {name: getattr(data, name) for name in STATE}


def difference(model: js.Model, origin: js.Data, data: js.Data) -> Array:
    """The state of `data` relative to that of `origin`, in the tangent space at it: [nx]."""
    unit = jnp.ones((), data.qpos.dtype)
    dq = js.differentiate_pos(model, unit, origin.qpos, data.qpos)
    return jnp.concatenate([dq, data.qvel - origin.qvel, data.act - origin.act])


def displaced(model: js.Model, data: js.Data, dx: Array) -> js.Data:
    """`data` with its state moved by a tangent vector [nx]: the inverse of `difference`."""
    dq, dv, da = jnp.split(dx, [model.nv, 2 * model.nv])
    unit = jnp.ones((), data.qpos.dtype)
    return data.replace(qpos=js.integrate_pos(model, data.qpos, dq, unit), qvel=data.qvel + dv, act=data.act + da)


def faultless(before: js.Data, after: js.Data) -> Array:
    """Whether a world was not reset between two Data, and no control was replaced: []."""
    return jnp.all(before.warning[FIRST_FAULT:] == after.warning[FIRST_FAULT:])


class Linearisation(NamedTuple):
    """x' = A dx + B du about each step of a trajectory: A [T, nx, nx], B [T, nx, nu].

    `states` are those before each step, and then the last one: qpos [T+1, nq] ...
    """

    A: Array
    B: Array
    states: States


def linearise_trajectory(model: js.Model, data: js.Data, ctrl: Array, *, substeps: int = 1) -> Linearisation:
    """Exact Jacobians of every step of a rollout, all of them in one batch.

    Args:
        model: the model.
        data: the initial state and inputs.
        ctrl: controls [T, nu].
        substeps: steps for each control, whose Jacobians are multiplied.

    Returns:
        A [T, nx, nx] and B [T, nx, nu] in the tangent space at the states on the way, and those states. Under `vmap`
        over `data` and `ctrl` the steps of all problems are one batch.
    """
    _, passed = js.rollout(model, data, jnp.repeat(ctrl, substeps, axis=0), outputs=state_of)
    every = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), state_of(data), passed)
    steps = jax.tree.map(lambda x: x[:-1].reshape(len(ctrl), substeps, *x.shape[1:]), every)
    A, B = jacobians(model, data, ctrl, steps)
    return Linearisation(A, B, jax.tree.map(lambda x: x[::substeps], every))


def jacobians(model: js.Model, data: js.Data, ctrl: Array, steps: States) -> tuple[Array, Array]:
    """A [T, nx, nx] and B [T, nx, nu] of control steps, about the states before each of their steps, [T, substeps].

    Args:
        model: the model.
        data: the other inputs.
        ctrl: controls [T, nu].
        steps: qpos [T, substeps, nq] ...
    """

    def one(state: States, u: Array) -> tuple[Array, Array]:
        slopes = js.transition_jacobians(model, data.replace(**state, ctrl=u))
        return slopes.A, slopes.B

    substeps = steps["time"].shape[1]
    flat = jax.tree.map(lambda x: x.reshape(len(ctrl) * substeps, *x.shape[2:]), steps)
    A, B = jax.vmap(one)(flat, jnp.repeat(ctrl, substeps, axis=0))
    if substeps == 1:
        return A, B
    A, B = (x.reshape(len(ctrl), substeps, *x.shape[1:]) for x in (A, B))

    def chained(so_far: tuple[Array, Array], latest: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
        return (latest[0] @ so_far[0], latest[0] @ so_far[1] + latest[1]), None

    first, rest = jax.tree.map(lambda x: x[:, 0], (A, B)), jax.tree.map(lambda x: x.swapaxes(0, 1)[1:], (A, B))
    return lax.scan(chained, first, rest)[0]


def limits(model: js.Model) -> tuple[Array, Array]:
    """Least and largest controls, both [nu]; infinite where the model sets no limits."""
    limited = jnp.asarray(model.actuator_ctrllimited, bool)
    low, high = model.actuator_ctrlrange.T
    return jnp.where(limited, low, -jnp.inf), jnp.where(limited, high, jnp.inf)


def within_limits(model: js.Model, ctrl: Array) -> Array:
    """Controls [..., nu] clipped to their limits."""
    low, high = (jnp.broadcast_to(limit, ctrl.shape) for limit in limits(model))
    return jnp.clip(ctrl, low, high)
