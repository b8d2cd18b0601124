"""The backward pass of iLQR: the best change of each control, and how it follows the state.

With z = (x, u), F = [A B] and the value V of what follows, each step has Q_z = l_z + F'V_x and
Q_zz = l_zz + F'V_xx F, from which du = k + K dx minimises the quadratic within the limits of the controls.
Source: Tassa, Mansard, Todorov, ICRA 2014, equations (5) to (11).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim.optimize.box_qp import box_qp
from jaxsim.optimize.cost import Expansion

Array = jax.Array


class Policy(NamedTuple):
    """du = k + K dx for each step: k [T, nu], K [T, nu, nx], and what a fraction a of k promises.

    The cost is expected to change by a * linear + a^2 * quadratic; `sound` says that all of it is finite.
    """

    k: Array
    K: Array
    linear: Array
    quadratic: Array
    sound: Array


def backward(
    A: Array, B: Array, running: Expansion, final: Expansion, low: Array, high: Array, regularisation: Array
) -> Policy:
    """Solve the linear-quadratic problem about a trajectory.

    Args:
        A: [T, nx, nx].
        B: [T, nx, nu].
        running: of (x, u), [T, nx + nu] and [T, nx + nu, nx + nu].
        final: of x, [nx] and [nx, nx].
        low: least change of each control [T, nu].
        high: largest change [T, nu].
        regularisation: added to the diagonal of the controls' Hessian, [].
    """
    nx, nu = B.shape[1:]

    def stage(V: Expansion, step: tuple) -> tuple[Expansion, tuple]:
        F, cost, low, high = step
        slope, Q = cost.slope + V.slope @ F, cost.curvature + F.T @ V.curvature @ F
        Qxx, Qux, Quu = Q[:nx, :nx], Q[nx:, :nx], Q[nx:, nx:]
        solution = box_qp(Quu + regularisation * jnp.eye(nu, dtype=Q.dtype), slope[nx:], low, high)
        k, K = solution.x, solution.gain(Qux)
        followed = Qux + Quu @ K
        V_x = slope[:nx] + slope[nx:] @ K + k @ followed
        V_xx = Qxx + Qux.T @ K + K.T @ followed
        promise = jnp.vdot(slope[nx:], k), 0.5 * jnp.vdot(k, Quu @ k)
        return Expansion(V_x, 0.5 * (V_xx + V_xx.T)), (k, K, *promise)

    steps = jnp.concatenate([A, B], axis=2), running, low, high
    _, (k, K, linear, quadratic) = lax.scan(stage, final, steps, reverse=True)
    sound = jnp.all(jnp.isfinite(k)) & jnp.all(jnp.isfinite(K))
    return Policy(k, K, jnp.sum(linear), jnp.sum(quadratic), sound)
