"""Robust least squares over many windows that share parameters, each with unknowns of its own.

min over theta, d_w of sum_w rho(|r_w(theta, d_w)|^2), by Levenberg and Marquardt's steps. All windows are linearised at
once, in one program that is compiled once and gives the residuals as well, and the unknowns of each window are
eliminated (a Schur complement); bounds of theta are kept by `box_qp`. The loop is the host's: a step that fails costs
one linearisation, and compiling the residuals a second time, for trials alone, costs more than it ever saved.

The loss of a window is Geman and McClure's, e^2/(1 + e^2/c^2) of its mean square e^2, with c three times the median
over the windows: a window in which something else happens than in the simulation, such as another contact, soon
counts for nothing, and counts again if it comes to fit. Whether a step is taken is decided by this loss, which no
window can raise by more than c^2; and each window's own unknowns are damped by how they fared, so that none holds the
rest. At first all own unknowns are held: what was measured is closer than what the first theta makes of it.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.optimize.box_qp import box_qp
from jaxsim.optimize.elimination import inverse

Array = jax.Array

LITTLE = 1e-3  # of a standard deviation of theta: a smaller change says nothing
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e-9, 1e9
RATE = 10.0  # by which dampings fall after a success; they rise by more with every failure in a row
HELD = 0.9  # own unknowns are let go once a step leaves more of the loss than this


class System(NamedTuple):
    """The normal equations of n parameters and N windows with k unknowns each, and what they were made from.

    Attributes:
        H: J'J of theta, of each window [N, n, n], weighted, as all that follow.
        g: J'r of theta, of each window [N, n].
        own_H: J'J of each window's own unknowns [N, k, k].
        own_g: J'r of those [N, k].
        mixed: J'J between those and theta [N, k, n].
        weights: of the windows [N], 1 where they count in full.
        residuals: [N, m], not finite where a window failed.
    """

    H: Array
    g: Array
    own_H: Array
    own_g: Array
    mixed: Array
    weights: Array
    residuals: Array


class Fit(NamedTuple):
    """A solution.

    Attributes:
        theta: parameters [n].
        own: unknowns of the windows [N, k].
        system: the normal equations there.
        information: of theta, by window, its own unknowns eliminated: weighted J'J [N, n, n].
        scores: J'r of the same [N, n]; they add up to nothing where no bound holds.
        history: weighted mean square of the residuals before each iteration [iterations].
        converged: whether the steps became small.
    """

    theta: Array
    own: Array
    system: System
    information: Array
    scores: Array
    history: np.ndarray
    converged: bool


class _Step(NamedTuple):
    theta: Array
    own: Array
    size: Array  # of an undamped step, relative to 1 + |theta|
    known: Array  # the same in standard deviations of theta, squared
    information: Array  # of each window
    scores: Array


def fit(
    linearise: Callable[[Array, Array], System],
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
        linearise: of theta [n] and all windows' own unknowns [N, k], a compiled `linearised`.
        theta: to start from [n].
        own: to start from [N, k].
        low: bounds of theta [n].
        high: bounds of theta [n].
        iterations: most of them.
        tolerance: largest change of theta, relative to 1 + |theta|, that ends the search; so does one that is little
            beside the uncertainty of theta.
        robust: whether windows that do not fit lose weight, as in `linearise`.
    """
    system, damping, failures = linearise(theta, own), FIRST_DAMPING, 0
    if not bool(jnp.any(jnp.all(jnp.isfinite(system.residuals), axis=1))):
        raise ValueError(
            "in none of the windows the first guess gives finite residuals and derivatives: where windows begin the "
            "records must be numbers, and the simulation must not blow up (shorter windows, or a nearer guess)"
        )
    own_damping, held = jnp.full(len(own), FIRST_DAMPING, theta.dtype), own.shape[1] > 0
    history: list[float] = []
    while True:
        step = _step(_held(system) if held else system, damping, own_damping, theta, low, high)
        converged = bool(step.size < tolerance) or bool(step.known < LITTLE**2)
        if held and converged:
            held = False
            continue
        if converged or len(history) == iterations or damping > MOST_DAMPING:
            return Fit(theta, own, system, step.information, step.scores, np.array(history), converged)
        history.append(float(_mean_square(system.residuals, system.weights)))
        moved = own if held else own + step.own
        tried = linearise(theta + step.theta, moved)
        before, after, fell = _compared(system.residuals, tried.residuals, robust)
        if not held:
            own_damping = _followed(own_damping, fell)
        held &= bool(after < HELD * before)
        if after < before:
            theta, own, system = theta + step.theta, moved, tried
            damping, failures = max(damping / RATE, LEAST_DAMPING), 0
        else:
            failures += 1
            damping = max(damping, FIRST_DAMPING / RATE) * RATE**failures


def linearised(residuals: Callable[[Array, Array], Array], theta: Array, own: Array, robust: bool) -> System:
    """The normal equations, with exact derivatives in forward mode.

    Args:
        residuals: of theta [n] and all windows' own unknowns [N, k], gives [N, m]; not finite where a window failed.
        theta: where [n].
        own: where [N, k].
        robust: whether windows that do not fit lose weight.
    """
    n = len(theta)

    def moved(z: Array) -> tuple[Array, Array]:
        r = residuals(theta + z[:n], own + z[None, n:])
        return r, r

    none = jnp.zeros(n + own.shape[1], theta.dtype)
    J, r = jax.jacfwd(moved, has_aux=True)(none)
    sound = jnp.all(jnp.isfinite(r), axis=1) & jnp.all(jnp.isfinite(J), axis=(1, 2))
    clean, slopes = jnp.where(sound[:, None], r, 0), jnp.where(sound[:, None, None], J, 0)
    r = jnp.where(sound[:, None], r, jnp.inf)  # a window without derivatives does not count in the loss either
    weights = jnp.where(sound, _weights(r) if robust else 1.0, 0)
    H = jnp.einsum("w,wma,wmb->wab", weights, slopes, slopes)
    g = jnp.einsum("w,wma,wm->wa", weights, slopes, clean)
    return System(H[:, :n, :n], g[:, :n], H[:, n:, n:], g[:, n:], H[:, n:, :n], weights, r)


def _held(system: System) -> System:
    """The equations of theta alone, all own unknowns as they are."""
    return system._replace(own_H=system.own_H[:, :0, :0], own_g=system.own_g[:, :0], mixed=system.mixed[:, :0])


def _square(r: Array) -> tuple[Array, Array, Array]:
    """Mean squares of the windows [N], zero where one failed; which did not; and c^2 of the loss."""
    sound = jnp.all(jnp.isfinite(r), axis=1)
    square = jnp.mean(jnp.where(sound[:, None], r, 0) ** 2, axis=1)
    typical = jnp.nanmedian(jnp.where(sound, square, jnp.nan))
    return square, sound, 9 * typical + jnp.finfo(r.dtype).tiny


@partial(jax.jit, static_argnums=2)
def _compared(old: Array, new: Array, robust: bool) -> tuple[Array, Array, Array]:
    """The loss with residuals [N, m] before and after a step, c as before; and which windows do no worse [N].

    Windows that had failed before count in neither.
    """
    (before, sound, c2), (after, still, _) = _square(old), _square(new)
    c2 = c2 if robust else jnp.full_like(c2, jnp.inf)
    loss = [jnp.where(ok, e2 / (1 + e2 / c2), c2) for e2, ok in ((before, sound), (after, still))]
    total = [jnp.sum(jnp.where(sound, x, 0)) for x in loss]
    return total[0], total[1], loss[1] <= loss[0] + 1e-3 * c2


@jax.jit
def _followed(damping: Array, fell: Array) -> Array:
    """The dampings [N] of the windows' own unknowns after a step."""
    more = jnp.maximum(damping, FIRST_DAMPING) * RATE
    return jnp.clip(jnp.where(fell, damping / RATE, more), LEAST_DAMPING, MOST_DAMPING)


def _weights(r: Array) -> Array:
    """Geman and McClure's weights of the windows [N]."""
    square, sound, c2 = _square(r)
    return jnp.where(sound, 1 / (1 + square / c2) ** 2, 0)


@jax.jit
def _mean_square(r: Array, weights: Array) -> Array:
    """Weighted mean square; windows without weight may be anything."""
    square = jnp.where(weights[:, None] > 0, r * r, 0)
    return weights @ jnp.mean(square, axis=1) / jnp.maximum(jnp.sum(weights), jnp.finfo(r.dtype).tiny)


def _reduced(system: System, damping: Array) -> tuple[Array, Array, Array, Array]:
    """The systems of theta alone, by window, and how own unknowns, with dampings [N], follow: first + slope theta."""
    k = system.own_H.shape[1]
    if not k:
        return system.H, system.g, system.own_g, system.mixed
    scale = jnp.eye(k, dtype=system.H.dtype)[None]
    blocks = system.own_H + (damping[:, None, None] * system.own_H + jnp.finfo(system.H.dtype).tiny) * scale
    dead = jnp.where(system.weights[:, None, None] > 0, blocks, scale)
    rights = -jnp.concatenate([system.own_g[:, :, None], system.mixed], axis=2)
    follow = jax.vmap(inverse)(dead) @ rights
    first, slope = follow[:, :, 0], follow[:, :, 1:]
    H = system.H + jnp.einsum("wka,wkb->wab", system.mixed, slope)
    return 0.5 * (H + H.mT), system.g + jnp.einsum("wka,wk->wa", system.mixed, first), first, slope


@jax.jit
def _step(system: System, damping: Array, own_damping: Array, theta: Array, low: Array, high: Array) -> _Step:
    """A damped step within bounds, and how large one without damping would be, which makes any step small."""
    change, own, *_ = _damped(system, damping, jnp.maximum(own_damping, damping), low - theta, high - theta)
    newton, _, information, scores = _damped(system, 0.0, 0 * own_damping, low - theta, high - theta)
    size = jnp.max(jnp.abs(newton) / (1 + jnp.abs(theta)))
    variance = jnp.maximum(_mean_square(system.residuals, system.weights), jnp.finfo(theta.dtype).tiny)
    known = newton @ information.sum(0) @ newton / variance
    return _Step(change, own, size, known, information, scores)


def _damped(
    system: System, damping: Array | float, own_damping: Array, low: Array, high: Array
) -> tuple[Array, Array, Array, Array]:
    """Changes of theta [n] within bounds and of own unknowns [N, k]; the systems of theta alone [N, n, n], [N, n]."""
    parts, scores, first, slope = _reduced(system, own_damping)
    H, g, diagonal = parts.sum(0), scores.sum(0), jnp.diagonal(system.H.sum(0))
    floor = jnp.maximum(1e-12 * jnp.max(diagonal), jnp.finfo(H.dtype).tiny)
    scale = jnp.sqrt(jnp.maximum(diagonal, floor))  # so that units of theta do not matter
    scaled = H / scale[:, None] / scale[None] + (damping + 1e-14) * jnp.eye(len(g), dtype=H.dtype)
    change = box_qp(scaled, g / scale, low * scale, high * scale).x / scale
    return change, first + slope @ change, parts, scores
