"""Dojo's hard contact law: complementarity on the central path, condensed to velocities.

Impulses gamma along normals and beta along the friction axes, in units of the axes' friction, the gap s at the end of
the step, and a slip eta_1: = friction (J v) with its bound eta_0:

    gamma s = kappa,    xi = (gamma, beta), eta = (eta_0, slip):  xi o eta = kappa e,    xi and eta in Q

so that on the central path  beta = -gamma u / (eps + sqrt(eps^2 + u^2)),  eps = kappa / (2 gamma),  u = slip.
Scaled so, the cone is MuJoCo's elliptic one for 3, 4 and 6 dimensions, and a friction of zero needs no case of its own.
A Newton step eliminates xi and eta from the bilinear equations, not from the closed form: primal-dual, which converges
in few steps from far away.

Source: Dojo (Howell, Le Cleac'h et al. 2022), section IV; the elimination is ours.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

Array = jax.Array


class Friction(NamedTuple):
    """The step of friction impulses that follows from those of the normal impulse and of the slip:

    dbeta = offset + normal dxi_0 + slip deta_1:, for n cones with k friction axes.
    """

    offset: Array  # [n, k]
    normal: Array  # [n, k]
    slip: Array  # [n, k, k]


def friction_step(xi: Array, eta: Array, s: Array, give: Array | None = None) -> Friction:
    """What is left of eta o dxi + xi o deta = s [n, 1 + k] when eta_0 is eliminated.

    Where friction yields, by `give` [n, k] times beta in eta_1:, the step's slip is that without what dbeta adds to it.
    """
    (x, beta), (y, u), (first, rest) = ((z[:, :1], z[:, 1:]) for z in (xi, eta, s))
    # with deta_0 = (head - k1 dxi_0 + k2 . deta_1:) / room, where room > 0 inside the cones
    room = x - jnp.sum(u * beta, axis=1, keepdims=True) / y
    head = first - jnp.sum(u * rest, axis=1, keepdims=True) / y
    k1 = y - jnp.sum(u * u, axis=1, keepdims=True) / y
    k2 = x * u / y - beta
    along = beta / room
    eye = jnp.eye(beta.shape[1], dtype=beta.dtype)
    offset, normal, slip = rest - along * head, along * k1 - u, -(x[:, :, None] * eye[None] + _outer(along, k2))
    if give is None:
        return Friction(offset / y, normal / y, slip / y[:, :, None])
    # (y + x give + along (k2 give)) dbeta = offset + normal dxi_0 + slip deta_1:, a diagonal and a product of vectors
    own = y + x * give
    ahead = along / own
    back = eye[None] - _outer(ahead / (1 + jnp.sum(k2 * give * ahead, axis=1, keepdims=True)), k2 * give)
    times = lambda z: jnp.sum(back * (z / own)[:, None], axis=2)  # noqa: E731
    return Friction(times(offset), times(normal), jax.vmap(times, 2, 2)(slip))


def _outer(x: Array, y: Array) -> Array:
    """[n, k, k] of x and y [n, k]."""
    return x[:, :, None] * y[:, None]


def bound_step(xi: Array, eta: Array, s: Array, dxi: Array, slip: Array) -> Array:
    """deta_0 [n, 1], for the steps dxi [n, 1 + k] and deta_1: [n, k] that go with it."""
    known = jnp.sum(eta * dxi, axis=1, keepdims=True) + jnp.sum(xi[:, 1:] * slip, axis=1, keepdims=True)
    return (s[:, :1] - known) / xi[:, :1]
