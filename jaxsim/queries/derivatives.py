"""Derivatives of the discrete dynamics and of the inverse dynamics (mjd_transitionFD, mjd_inverseFD), exact.

The state is x = (position, velocity, activation) with position in the tangent space, [2 nv + na]: a change
of position is a velocity integrated for a unit of time. MuJoCo takes finite differences of these maps; here
they are differentiated in forward mode, through the converged constraint solve.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.core.shapes import check
from jaxsim.dynamics.position import differentiate_pos, integrate_pos
from jaxsim.layout import batched
from jaxsim.stages.inverse import inverse
from jaxsim.step import repeated_step, solved_step

Array = jax.Array


class TransitionJacobians(NamedTuple):
    """dx' = A dx + B du and ds = C dx + D du, with x' the next state and s the sensors.

    With nx = 2 nv + na: A [nx, nx], B [nx, nu], C [nsensordata, nx], D [nsensordata, nu].
    """

    A: Array
    B: Array
    C: Array
    D: Array


class InverseJacobians(NamedTuple):
    """Derivatives of force, sensors and inertia with respect to position (q), velocity (v), acceleration (a).

    The first axes are those of what is differentiated: DfDq, DfDv, DfDa [nv, nv];
    DsDq, DsDv, DsDa [nsensordata, nv]; DmDq [nv, nv, nv]. (mjd_inverseFD returns their transposes.)
    """

    DfDq: Array
    DfDv: Array
    DfDa: Array
    DsDq: Array
    DsDv: Array
    DsDa: Array
    DmDq: Array


@jax.jit
def transition_jacobians(model: Model, data: Data) -> TransitionJacobians:
    """Linearise one step about the state and controls of `data`.

    Args:
        model: the model.
        data: state and inputs; nothing else is read.

    Returns:
        (A, B, C, D). The differences of the next state are taken in the tangent space at the next state, and
        the sensors are those that `step` leaves, which belong to the state before the step.

    Source: what mjd_transitionFD approximates.
    """
    check("transition_jacobians", model, data)
    end, solved = solved_step(*lax.stop_gradient((model, data)))
    *of_state, (B, D) = _transition_slopes(solved, end.qpos, model, data)
    A, C = (jnp.concatenate(parts, axis=1) for parts in zip(*of_state))
    return TransitionJacobians(A, B, C, D)


@batched
def _transition_slopes(solved: Any, reached: Array, model: Model, data: Data) -> list:
    """Of the state after a step, relative to the one that is reached, and of the sensors."""

    def moved(dq: Array, dv: Array, da: Array, du: Array) -> tuple[Array, Array]:
        displaced = _displace(model, data, dq)
        end = repeated_step(
            solved, model, displaced.replace(qvel=data.qvel + dv, act=data.act + da, ctrl=data.ctrl + du)
        )
        change = differentiate_pos(model, _unit(data), reached, end.qpos)
        return jnp.concatenate([change, end.qvel, end.act]), end.sensordata

    return _slopes(moved, [jnp.zeros(n, data.qpos.dtype) for n in (model.nv, model.nv, model.na, model.nu)])


@jax.jit
def inverse_jacobians(model: Model, data: Data) -> InverseJacobians:
    """Differentiate inverse dynamics about the position, velocity and acceleration of `data`.

    Args:
        model: the model.
        data: qpos, qvel, qacc and inputs.

    Source: what mjd_inverseFD approximates.
    """
    check("inverse_jacobians", model, data)
    force, sensor, inertia = zip(*_inverse_slopes(model, data))
    return InverseJacobians._make([*force, *sensor, inertia[0]])


@batched
def _inverse_slopes(model: Model, data: Data) -> list:
    """Of force, sensors and inertia."""

    def moved(dq: Array, dv: Array, da: Array) -> tuple[Array, Array, Array]:
        end = inverse(model, _displace(model, data, dq).replace(qvel=data.qvel + dv, qacc=data.qacc + da))
        return end.qfrc_inverse, end.sensordata, end.qM

    return _slopes(moved, [jnp.zeros(model.nv, data.qpos.dtype)] * 3)


def _slopes(fun: Callable, changes: list[Array]) -> list:
    """The Jacobians of a function of several vectors with respect to each, at zero.

    All share what does not change. Each has operations for its own tangents only: velocities and controls do not pass
    through kinematics. They are found in a derivative of the linear function, whose values nothing reads.
    """
    out, linear = jax.linearize(fun, *changes)

    def column(i: int, unit: Array) -> Any:
        return jax.jvp(lambda d: linear(*changes[:i], d, *changes[i + 1 :]), (changes[i],), (unit,))[1]

    slopes = []
    for i, change in enumerate(changes):
        if change.size:
            units = jnp.eye(change.size, dtype=change.dtype)
            slopes.append(jax.vmap(functools.partial(column, i), out_axes=-1)(units))
        else:
            slopes.append(jax.tree.map(lambda x: jnp.zeros((*x.shape, 0), x.dtype), out))
    return slopes


def _displace(model: Model, data: Data, dq: Array) -> Data:
    """`data` with its position moved by a tangent vector [nv]."""
    return data.replace(qpos=integrate_pos(model, data.qpos, dq, _unit(data)))


def _unit(data: Data) -> Array:
    return jnp.ones((), data.qpos.dtype)
