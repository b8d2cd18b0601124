"""Derivatives of the discrete dynamics and of the inverse dynamics (mjd_transitionFD, mjd_inverseFD), exact.

The state is x = (position, velocity, activation) with position in the tangent space, [2 nv + na]: a change
of position is a velocity integrated for a unit of time. MuJoCo takes finite differences of these maps; here
they are differentiated in forward mode, through the converged constraint solve.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxsim.checks.shapes import check
from jaxsim.core.data import Data
from jaxsim.core.model import Model
from jaxsim.dynamics.position import differentiate_pos, integrate_pos
from jaxsim.step import inverse, step

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
    nv, na, nu = model.nv, model.na, model.nu
    reached = jax.lax.stop_gradient(step(model, data).qpos)

    def after(change: Array) -> tuple[Array, Array]:
        dq, dv, da, du = jnp.split(change, (nv, 2 * nv, 2 * nv + na))
        moved = _displace(model, data, dq)
        moved = moved.replace(qvel=data.qvel + dv, act=data.act + da, ctrl=data.ctrl + du)
        end = step(model, moved)
        dq = differentiate_pos(model, _unit(data), reached, end.qpos)
        return jnp.concatenate([dq, end.qvel, end.act]), end.sensordata

    state, sensor = jax.jacfwd(after)(jnp.zeros(2 * nv + na + nu, data.qpos.dtype))
    nx = 2 * nv + na
    return TransitionJacobians(state[:, :nx], state[:, nx:], sensor[:, :nx], sensor[:, nx:])


@jax.jit
def inverse_jacobians(model: Model, data: Data) -> InverseJacobians:
    """Differentiate inverse dynamics about the position, velocity and acceleration of `data`.

    Args:
        model: the model.
        data: qpos, qvel, qacc and inputs.

    Source: what mjd_inverseFD approximates.
    """
    check("inverse_jacobians", model, data)
    nv = model.nv

    def after(change: Array) -> tuple[Array, Array, Array]:
        dq, dv, da = jnp.split(change, (nv, 2 * nv))
        moved = _displace(model, data, dq).replace(qvel=data.qvel + dv, qacc=data.qacc + da)
        end = inverse(model, moved)
        return end.qfrc_inverse, end.sensordata, end.qM

    force, sensor, inertia = jax.jacfwd(after)(jnp.zeros(3 * nv, data.qpos.dtype))
    blocks = [slope[:, i * nv : (i + 1) * nv] for slope in (force, sensor) for i in range(3)]
    return InverseJacobians._make([*blocks, inertia[:, :, :nv]])


def _displace(model: Model, data: Data, dq: Array) -> Data:
    """`data` with its position moved by a tangent vector [nv]."""
    return data.replace(qpos=integrate_pos(model, data.qpos, dq, _unit(data)))


def _unit(data: Data) -> Array:
    return jnp.ones((), data.qpos.dtype)
