"""Robust least squares over many windows that share parameters, each with unknowns of its own.

min over theta, d_w of sum_w rho(|r_w(theta, d_w)|^2). Each iteration linearises all windows at once, eliminates the
unknowns of each window (a Schur complement), and tries several dampings (Levenberg-Marquardt) in one batch; bounds of
theta are kept by `box_qp`. The loss of a window is Geman and McClure's, as weights 1/(1 + e^2/c^2)^2 of its mean
square e^2, with c three times the median over the windows: a window in which something else happens than in the
simulation, such as another contact, soon counts for nothing, and counts again if it comes to fit.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.optimize.box_qp import box_qp
from jaxsim.optimize.elimination import inverse

Array = jax.Array

DAMPINGS = np.array([0.0, 0.1, 10.0, 1e3])  # times the damping, tried at once
LITTLE = 1e-3  # of a standard deviation of theta: a smaller change says nothing
LEAST_DAMPING, MOST_DAMPING = 1e-9, 1e9


class Fit(NamedTuple):
    """A solution of n parameters and N windows.

    Attributes:
        theta: parameters [n].
        own: unknowns of the windows [N, k].
        residuals: [N, m] before the last step, as the next two.
        weights: of the windows [N], 1 where they count in full.
        information: of theta, the windows' own unknowns eliminated: weighted J'J [n, n].
        history: weighted mean square of the residuals before each iteration [iterations]; zero after the last.
        steps: how many iterations were made [].
        converged: whether the steps became small [].
    """

    theta: Array
    own: Array
    residuals: Array
    weights: Array
    information: Array
    history: Array
    steps: Array
    converged: Array


class _System(NamedTuple):
    """The normal equations: of theta, of each window's own unknowns, and between them; and the windows' weights."""

    H: Array
    g: Array
    own_H: Array
    own_g: Array
    mixed: Array
    weights: Array
    residuals: Array


class _Search(NamedTuple):
    theta: Array
    own: Array
    damping: Array
    steps: Array
    history: Array
    small: Array
    over: Array
    latest: _System


def fit(
    residuals: Callable[[Array, Array], Array],
    theta: Array,
    own: Array,
    low: Array,
    high: Array,
    iterations: int,
    tolerance: float,
    robust: bool,
) -> Fit:
    """Minimise the robust sum of squares.

    Args:
        residuals: of theta [n] and all windows' own unknowns [N, k], gives [N, m]; not finite where a window failed.
        theta: to start from [n].
        own: to start from [N, k].
        low: bounds of theta [n].
        high: bounds of theta [n].
        iterations: most of them.
        tolerance: largest change of theta, relative to 1 + |theta|, that ends the search; so does one that is little
            beside the uncertainty of theta.
        robust: whether windows that do not fit lose weight.
    """

    def iterate(search: _Search) -> _Search:
        system = _linearised(residuals, search.theta, search.own, robust)
        before = _mean_square(system.residuals, system.weights)
        dampings = search.damping * jnp.asarray(DAMPINGS, theta.dtype)
        steps = jax.vmap(lambda damping: _step(system, damping, low - search.theta, high - search.theta))(dampings)
        tried = jax.vmap(lambda dt, do: residuals(search.theta + dt, search.own + do))(*steps)
        after = jax.vmap(lambda r: _mean_square(r, system.weights))(tried)
        after = jnp.where(jnp.isfinite(after), after, jnp.inf)
        best = jnp.argmin(after)
        success = after[best] < before
        change, own_change = (jnp.where(success, step[best], 0) for step in steps)
        grown = jnp.where(success, jnp.maximum(dampings[best], search.damping * 0.01), search.damping * 1e4)
        newton = steps[0][0]  # without damping, which makes any step small
        uncertain = newton @ _reduced(system)[0] @ newton  # in standard deviations, squared, times their scale
        small = jnp.max(jnp.abs(newton) / (1 + jnp.abs(search.theta))) < tolerance
        small |= uncertain < LITTLE**2 * before
        return _Search(
            search.theta + change,
            search.own + own_change,
            jnp.clip(grown, LEAST_DAMPING, MOST_DAMPING * 10),
            search.steps + 1,
            search.history.at[search.steps].set(before),
            small,
            small | (~success & (search.damping >= MOST_DAMPING)),
            system,
        )

    none = jax.tree.map(
        lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(lambda: _linearised(residuals, theta, own, robust))
    )
    start = _Search(
        theta=theta,
        own=own,
        damping=jnp.asarray(1e-3, theta.dtype),
        steps=jnp.array(0),
        history=jnp.zeros(iterations, theta.dtype),
        small=jnp.array(False),
        over=jnp.array(False),
        latest=none,
    )
    end = lax.while_loop(lambda s: ~s.over & (s.steps < iterations), iterate, start)
    last = end.latest
    return Fit(end.theta, end.own, last.residuals, last.weights, _reduced(last)[0], end.history, end.steps, end.small)


def _linearised(residuals: Callable, theta: Array, own: Array, robust: bool) -> _System:
    """Residuals, their exact derivatives in forward mode, and what the windows weigh."""
    n = len(theta)

    def moved(z: Array) -> tuple[Array, Array]:
        r = residuals(theta + z[:n], own + z[None, n:])
        return r, r

    none = jnp.zeros(n + own.shape[1], theta.dtype)
    J, r = jax.jacfwd(moved, has_aux=True)(none)
    sound = jnp.all(jnp.isfinite(r), axis=1) & jnp.all(jnp.isfinite(J), axis=(1, 2))
    clean, slopes = jnp.where(sound[:, None], r, 0), jnp.where(sound[:, None, None], J, 0)
    weights = jnp.where(sound, _weights(clean, sound) if robust else 1.0, 0)
    H = jnp.einsum("w,wma,wmb->wab", weights, slopes, slopes)
    g = jnp.einsum("w,wma,wm->wa", weights, slopes, clean)
    return _System(H[:, :n, :n].sum(0), g[:, :n].sum(0), H[:, n:, n:], g[:, n:], H[:, n:, :n], weights, r)


def _weights(r: Array, sound: Array) -> Array:
    """Geman and McClure's weights of the windows [N]."""
    square = jnp.mean(r * r, axis=1)
    typical = jnp.nanmedian(jnp.where(sound, square, jnp.nan))
    return 1 / (1 + square / (9 * typical + jnp.finfo(r.dtype).tiny)) ** 2


def _mean_square(r: Array, weights: Array) -> Array:
    """Weighted mean square; windows without weight may be anything."""
    square = jnp.where(weights[:, None] > 0, r * r, 0)
    return weights @ jnp.mean(square, axis=1) / jnp.maximum(jnp.sum(weights), jnp.finfo(r.dtype).tiny)


def _reduced(system: _System, damping: Array | float = 0.0) -> tuple[Array, Array, Array, Array]:
    """The system of theta alone, and how the windows' own unknowns follow: own = first + slope theta."""
    k = system.own_H.shape[1]
    if not k:
        return system.H, system.g, system.own_g, system.mixed
    scale = jnp.eye(k, dtype=system.H.dtype)[None]
    blocks = system.own_H + (damping * system.own_H + jnp.finfo(system.H.dtype).tiny) * scale
    dead = jnp.where(system.weights[:, None, None] > 0, blocks, scale)
    rights = -jnp.concatenate([system.own_g[:, :, None], system.mixed], axis=2)
    follow = jax.vmap(inverse)(dead) @ rights
    first, slope = follow[:, :, 0], follow[:, :, 1:]
    H = system.H + jnp.einsum("wka,wkb->ab", system.mixed, slope)
    return 0.5 * (H + H.T), system.g + jnp.einsum("wka,wk->a", system.mixed, first), first, slope


def _step(system: _System, damping: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Changes of theta [n] within bounds and of the windows' own unknowns [N, k]."""
    H, g, first, slope = _reduced(system, damping)
    diagonal = jnp.diagonal(system.H)
    floor = jnp.maximum(1e-12 * jnp.max(diagonal), jnp.finfo(H.dtype).tiny)
    scale = jnp.sqrt(jnp.maximum(diagonal, floor))  # so that units of theta do not matter
    scaled = H / scale[:, None] / scale[None] + (damping + 1e-14) * jnp.eye(len(g), dtype=H.dtype)
    change = box_qp(scaled, g / scale, low * scale, high * scale).x / scale
    return change, first + slope @ change
