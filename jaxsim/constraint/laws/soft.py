"""MuJoCo's soft contact law: convex penalties on pyramidal and elliptic friction cones.

A contact law maps the residual w = J x - aref of a contact, along its axes [n, dim], to a force and its
symmetric derivative; the solver knows nothing else about contacts. A law provides

    cost(c, w) -> []                  force(c, w) -> [n, dim], minus the gradient of the cost
    hessian(c, w) -> [n, dim, dim]    along(c, w, dw) -> (alpha -> slope, curvature at w + alpha dw)

Source: MuJoCo's Computation chapter, "Constraint model"; engine_core_constraint.c, mj_constraintUpdate.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.constraint.contact import ContactRows
from jaxsim.core.enums import Cone

Array = jax.Array
Line = Callable[[Array], tuple[Array, Array]]  # step length -> slope and curvature


class Law(NamedTuple):
    """A contact law: the four functions above. Static and hashable."""

    cost: Callable[[ContactRows, Array], Array]
    force: Callable[[ContactRows, Array], Array]
    hessian: Callable[[ContactRows, Array], Array]
    along: Callable[[ContactRows, Array, Array], Line]


def law_of(cone: Cone) -> Law:
    """The contact law of a friction cone type."""
    return elliptic if cone == Cone.ELLIPTIC else pyramidal


# ---- pyramidal: penalties on the edges normal +- friction_i axis_i


def _edges(c: ContactRows, w: Array) -> Array:
    """Edge values [n, 2 (dim - 1)], or the normal alone for frictionless contacts."""
    normal = w[:, :1]
    if w.shape[1] == 1:
        return normal
    slip = c.friction * w[:, 1:]
    return jnp.concatenate([normal + slip, normal - slip], axis=1)


def _edge_D(c: ContactRows) -> Array:
    """D per edge; a frictionless contact keeps one edge, on which friction then has no part."""
    dim = c.D.shape[1]
    if dim == 1:
        return c.D
    axis = np.tile(np.arange(1, dim, dtype=np.int32), 2)[None]
    live = (axis < c.condim[:, None]) | ((np.arange(2 * (dim - 1))[None] == 0) & (c.condim[:, None] == 1))
    return jnp.where(live, c.D[:, :1], 0)


def frictionless_masked(c: ContactRows) -> ContactRows:
    """Friction zero beyond the axes that a contact has."""
    dim = c.D.shape[1]
    return c._replace(friction=jnp.where(np.arange(1, dim, dtype=np.int32)[None] < c.condim[:, None], c.friction, 0))


def _pushing_edges(c: ContactRows, w: Array) -> tuple[ContactRows, Array, Array]:
    """The contacts with idle friction zeroed, the edges' residuals, and D of the edges that push."""
    c = frictionless_masked(c)
    jar = _edges(c, w)
    return c, jar, jnp.where(jar < 0, _edge_D(c), 0)


def edge_forces(c: ContactRows, w: Array) -> Array:
    """The forces [n, 2 (dim - 1)] along the edges of pyramids: those of normal + friction_i axis_i, then of minus."""
    _, jar, D = _pushing_edges(c, w)
    return -D * jar


def _pyramidal_cost(c: ContactRows, w: Array) -> Array:
    _, jar, D = _pushing_edges(c, w)
    return 0.5 * jnp.sum(D * jar * jar)


def _pyramidal_force(c: ContactRows, w: Array) -> Array:
    c, jar, D = _pushing_edges(c, w)
    push = -D * jar
    normal = jnp.sum(push, axis=1, keepdims=True)
    if w.shape[1] == 1:
        return normal
    k = w.shape[1] - 1
    difference = jnp.where(_both_push(D), -2 * D[:, :k] * c.friction * w[:, 1:], push[:, :k] - push[:, k:])
    return jnp.concatenate([normal, c.friction * difference], axis=1)


def _both_push(D: Array) -> Array:
    """[n, dim - 1] where both edges of a pair push, for D of those that do [n, 2 (dim - 1)].

    As they do so with all but equal forces, what concerns their difference is computed from the slip alone.
    """
    k = D.shape[1] // 2
    return (D[:, :k] > 0) & (D[:, k:] > 0)


def _pyramidal_hessian(c: ContactRows, w: Array) -> Array:
    c, _, D = _pushing_edges(c, w)
    corner = jnp.sum(D, axis=1)[:, None, None]
    if w.shape[1] == 1:
        return corner
    k = w.shape[1] - 1
    plus, minus = D[:, :k], D[:, k:]
    mixed = c.friction * (plus - minus)
    tangent = (c.friction * c.friction * (plus + minus))[:, :, None] * jnp.eye(k, dtype=w.dtype)[None]
    top = jnp.concatenate([corner, mixed[:, None]], axis=2)
    return jnp.concatenate([top, jnp.concatenate([mixed[:, :, None], tangent], axis=2)], axis=1)


def _pyramidal_along(c: ContactRows, w: Array, dw: Array) -> Line:
    c = frictionless_masked(c)
    jar, rate, D = _edges(c, w), _edges(c, dw), _edge_D(c)
    stiffness, k = D * rate, c.D.shape[1] - 1

    def at(alpha: Array) -> tuple[Array, Array]:
        here = jar + alpha * rate
        pushing = jnp.where(here < 0, stiffness, 0)
        slopes = pushing * here
        if k:
            x = w + alpha * dw
            pair = x[:, :1] * dw[:, :1] + c.friction * c.friction * (x[:, 1:] * dw[:, 1:])
            both = _both_push(jnp.where(here < 0, D, 0))
            slopes = jnp.where(both, 2 * D[:, :k] * pair, slopes[:, :k] + slopes[:, k:])
        return jnp.sum(slopes), jnp.sum(pushing * rate)

    return at


pyramidal = Law(_pyramidal_cost, _pyramidal_force, _pyramidal_hessian, _pyramidal_along)


# ---- elliptic: distance to the dual cone in scaled coordinates N = mu w_0, U_i = friction_i w_i


def _slip(c: ContactRows, w: Array) -> Array:
    """U [n, dim - 1], of the axes that a contact has."""
    return frictionless_masked(c).friction * w[:, 1:]


def _elliptic_zones(c: ContactRows, w: Array):
    """N, U, T = |U|, and whether each contact lies in the bottom or the middle zone."""
    mu = c.mu
    N = mu * w[:, 0]
    U = _slip(c, w)
    square = jnp.sum(U * U, axis=1)
    sliding = square > 0
    T = jnp.where(sliding, jnp.sqrt(jnp.where(sliding, square, 1)), 0)
    live = c.condim > 0
    top = (mu * T <= N) & (sliding | (N >= 0))
    bottom = ~top & ((mu * N + T <= 0) | (~sliding & (N < 0)))
    return N, U, T, live & bottom, live & ~top & ~bottom


def _middle_scale(c: ContactRows) -> Array:
    """D_0 / (mu^2 (1 + mu^2)), the stiffness of the cone's surface."""
    mu2 = c.mu * c.mu
    return c.D[:, 0] / (mu2 * (1 + mu2))


def _elliptic_cost(c: ContactRows, w: Array) -> Array:
    N, _, T, bottom, middle = _elliptic_zones(c, w)
    gap = N - c.mu * T
    inside = jnp.sum(c.D * w * w, axis=1)
    return 0.5 * jnp.sum(jnp.where(bottom, inside, jnp.where(middle, _middle_scale(c) * gap * gap, 0)))


def _elliptic_force(c: ContactRows, w: Array) -> Array:
    N, U, T, bottom, middle = _elliptic_zones(c, w)
    push = -jnp.where(middle, _middle_scale(c) * (N - c.mu * T) * c.mu, 0)
    direction = U / jnp.where(T > 0, T, 1)[:, None]
    on_cone = jnp.concatenate([push[:, None], -push[:, None] * direction * c.friction], axis=1)
    return jnp.where(bottom[:, None], -c.D * w, on_cone)


def _elliptic_hessian(c: ContactRows, w: Array) -> Array:
    N, U, T, bottom, middle = _elliptic_zones(c, w)
    dim = w.shape[1]
    diagonal = jnp.where(bottom[:, None], c.D, 0)[:, :, None] * jnp.eye(dim, dtype=w.dtype)[None]
    if dim == 1:
        return diagonal
    T_safe = jnp.where(middle, T, 1)
    direction = U / T_safe[:, None]
    curl = (c.mu * N / T_safe)[:, None, None]  # non-positive part of the tangential curvature
    outer = direction[:, :, None] * direction[:, None]
    mu2 = (c.mu * c.mu)[:, None, None]
    tangent = curl * outer + (mu2 - curl) * jnp.eye(dim - 1, dtype=w.dtype)[None]
    mixed = -c.mu[:, None] * direction
    one = jnp.ones((w.shape[0], 1, 1), w.dtype)
    top = jnp.concatenate([one, mixed[:, None]], axis=2)
    cone = jnp.concatenate([top, jnp.concatenate([mixed[:, :, None], tangent], axis=2)], axis=1)
    live = np.arange(1, dim, dtype=np.int32)[None] < c.condim[:, None]
    scale = jnp.concatenate([c.mu[:, None], jnp.where(live, c.friction, 0)], axis=1)
    scale = jnp.where(middle, _middle_scale(c), 0)[:, None, None] * scale[:, :, None] * scale[:, None]
    return diagonal + cone * scale


def _elliptic_along(c: ContactRows, w: Array, dw: Array) -> Line:
    """From the rates of N, U and T alone: the line search asks for it several times for each Hessian."""
    ahead, across = c.mu * dw[:, 0], _slip(c, dw)
    square, inside = jnp.sum(across * across, axis=1), jnp.sum(c.D * dw * dw, axis=1)
    stiffness = _middle_scale(c)

    def at(alpha: Array) -> tuple[Array, Array]:
        here = w + alpha * dw
        N, U, T, bottom, middle = _elliptic_zones(c, here)
        T_safe = jnp.where(middle, T, 1)
        growth = jnp.sum(U * across, axis=1) / T_safe
        gap, rate = N - c.mu * T, ahead - c.mu * growth
        turning = jnp.maximum(square - growth * growth, 0) / T_safe
        scale = jnp.where(middle, stiffness, 0)
        slope = jnp.where(bottom, jnp.sum(c.D * here * dw, axis=1), scale * gap * rate)
        curvature = jnp.where(bottom, inside, scale * (rate * rate - c.mu * gap * turning))
        return jnp.sum(slope), jnp.sum(curvature)

    return at


elliptic = Law(_elliptic_cost, _elliptic_force, _elliptic_hessian, _elliptic_along)
