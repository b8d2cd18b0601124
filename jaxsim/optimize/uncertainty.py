"""How well the parameters of a fit are known.

With weights w, J'J of one window, its own unknowns eliminated, H_w, and A = sum_w w H_w, independent noise of variance
s^2 leaves parameters with the covariance

    s^2 A^-1 (sum_w w^2 H_w) A^-1.

That is of one sequence of contacts and of a model that is right. Where windows meet other contacts than in the
simulation, or residuals of a window are wrong together, the windows disagree by more than noise makes them, as their
scores s_w = w J'r show, which add up to nothing at a solution:

    B^-1 (sum_w q_w q_w') B^-1,    q_w = (1 - w H_w A^-1)^(-1/2) s_w,
    B = A - sum_w 4 u (u - 1) / |r_w|^2 s_w s_w',    u = 1/sqrt(w),

the sandwich of windows as clusters (Liang and Zeger 1986), with the correction for what a window takes of its own
residuals (Bell and McCaffrey 2002), exact for noise alone and equal weights. B is A with the derivatives of Geman and
McClure's weights: a window that is drawn away loses weight, and so holds less than it seems to. The scores say little
if there are few windows: the larger deviation of each parameter is stated. Windows that overlap count as if each had
records of its own; and no scatter shows what is wrong alike in all windows.
"""

from typing import NamedTuple

import numpy as np

from jaxsim.optimize.gauss_newton import Fit

WITHOUT_EFFECT = 1e-7  # sensitivity to a parameter relative to the largest, below which it is called without effect
CONFOUNDED = 1e-9  # eigenvalue of the correlation of sensitivities below which their parameters cannot be told apart
OWN = 1e-6  # least part of the information that others than one window must have for its score to say something
CURVED = 0.1  # least part of the information that the weights' derivatives leave


class Certainty(NamedTuple):
    """What residuals say about theta.

    Attributes:
        active: of which of theta they depend [n].
        unclear: directions of those that they do not show, each [active].
        noise: root of the mean square of the residuals.
        model: covariance of those if the residuals are independent noise [active, active].
        between: the same from how far the windows disagree.
    """

    active: np.ndarray
    unclear: np.ndarray
    noise: float
    model: np.ndarray
    between: np.ndarray


def certainty(fitted: Fit) -> Certainty:
    """The covariances of theta, in the directions that the residuals show."""
    parts, weights = np.asarray(fitted.information), np.asarray(fitted.system.weights)
    information = parts.sum(0)
    effect = np.sqrt(np.maximum(np.diag(information), 0))
    active = effect > WITHOUT_EFFECT * effect.max(initial=0)
    size = effect[active]
    eigenvalues, vectors = np.linalg.eigh(information[np.ix_(active, active)] / np.outer(size, size))
    clear = eigenvalues > CONFOUNDED
    white = vectors[:, clear] / np.sqrt(eigenvalues[clear]) / size[:, None]  # white white' is the inverse
    shares = white.T @ parts[:, active][:, :, active] @ white  # of each window; they add up to 1
    scores = np.asarray(fitted.scores)[:, active] @ white
    variance = _variance(fitted, active.sum())
    model = variance * np.einsum("w,wab->ab", weights, shares)
    sound = weights > 0
    curvature = _curvature(scores[sound], weights[sound], np.asarray(fitted.system.residuals)[sound])
    between = curvature @ _between(shares[sound], scores[sound]) @ curvature
    return Certainty(
        active, vectors[:, ~clear].T, float(np.sqrt(variance)), white @ model @ white.T, white @ between @ white.T
    )


def wider(model: np.ndarray, between: np.ndarray) -> np.ndarray:
    """The first covariance [n, n] with the larger of both deviations for each parameter, correlations as they are."""
    diagonal = np.maximum(np.diag(model), 0)
    ratio = np.divide(np.diag(between), diagonal, out=np.ones_like(diagonal), where=diagonal > 0)
    factor = np.sqrt(np.maximum(ratio, 1))
    return model * np.outer(factor, factor)


def _variance(fitted: Fit, count: int) -> float:
    """Of the residuals, weighted, for `count` parameters."""
    weights, r = np.asarray(fitted.system.weights), np.asarray(fitted.system.residuals)
    square = np.where(weights[:, None] > 0, r, 0) ** 2
    freedom = max(weights.sum() * (r.shape[1] - fitted.own.shape[1]) - count, 1)
    return float((weights[:, None] * square).sum() / freedom)


def _curvature(scores: np.ndarray, weights: np.ndarray, residuals: np.ndarray) -> np.ndarray:
    """B^-1 [r, r] where A is 1."""
    u, square = 1 / np.sqrt(weights), np.sum(residuals**2, 1)
    factor = np.divide(4 * u * (u - 1), square, out=np.zeros_like(u), where=square > 0)
    lost, vectors = np.linalg.eigh(np.einsum("w,wa,wb->ab", factor, scores, scores))
    return (vectors / np.maximum(1 - lost, CURVED)) @ vectors.T


def _between(shares: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Sum of q q' [r, r] of windows' scores [N, r], where they have shares [N, r, r] of an information that is 1."""
    taken, vectors = np.linalg.eigh(shares)
    apart = scores - scores.sum(0) / max(len(scores), 1)  # at a bound, or before the end, they add up to something
    along = np.einsum("wab,wa->wb", vectors, apart) / np.sqrt(np.maximum(1 - taken, OWN))
    corrected = np.einsum("wab,wb->wa", vectors, along)
    return corrected.T @ corrected
