"""System identification: the parameters of a model from recorded trajectories, and what the records say about them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js
from jaxsim.optimize.gauss_newton import Fit, System, fit, linearised
from jaxsim.optimize.parameters import Parameters, Transform, parameters
from jaxsim.optimize.trajectory import displaced, faultless
from jaxsim.optimize.uncertainty import certainty, wider
from jaxsim.optimize.windows import MEASURED, Windows, deviation, seen

Array = jax.Array


class Identified(NamedTuple):
    """What was found.

    Attributes:
        values: name -> number, in its own unit.
        deviations: name -> standard deviation of that, from the residuals and from how far windows disagree, whichever
            says more (see `uncertainty`); infinite where the records say nothing.
        covariance: of all values in the order of their names [n, n].
        without_effect: names of parameters that no residual depends on; they keep the values they had.
        confounded: groups of names of which the records only say something together.
        theta: the flat vector [n].
        model: the model with the values found.
        weights: of the windows [N]; near zero where one does not fit.
        noise: root of the mean square of the residuals, in units of `scale`.
        history: weighted mean square of the residuals before each iteration, of all searches.
        iterations: how many there were.
        converged: whether the search ended because the steps became small.
    """

    values: dict[str, float]
    deviations: dict[str, float]
    covariance: np.ndarray
    without_effect: tuple[str, ...]
    confounded: tuple[tuple[str, ...], ...]
    theta: np.ndarray
    model: js.Model
    weights: np.ndarray
    noise: float
    history: np.ndarray
    iterations: int
    converged: bool


class _Settings(NamedTuple):
    wanted: Parameters
    substeps: int
    fit_start: bool
    robust: bool


def identify(
    model: js.Model,
    wanted: Mapping[str, Transform] | Parameters,
    windows: Windows | Sequence[Windows],
    *,
    scale: Mapping[str, jax.typing.ArrayLike] | None = None,
    fit_start: bool = False,
    robust: bool = True,
    iterations: int = 50,
    tolerance: float = 1e-10,
) -> Identified:
    """Find parameters with which the model does what was recorded.

    Another model, or other records of the same shapes, compile nothing anew.

    Args:
        model: the model, whose parameters are the first guess.
        wanted: {"mass:torso": log(), "friction:floor": log(0.1, 2), "damping:*": log(), ...}; see `parameters`.
        windows: what was recorded, in short windows; see `windows`. Short enough that the first guess follows. Or the
            same several times, in shorter windows first: each search begins where the last one ended, so that the
            long windows, which say most, begin near what they say, and not where contacts are those of the first guess.
            All but history and iterations is then of the last ones.
        scale: standard deviations of the measurements by name, qpos [nv], qvel [nv], sensordata [nsensordata]; of
            what is not given, those of all that was recorded, so that noise of a hundredth of each counts alike.
        fit_start: whether the start of each window was measured with that noise too, and is to be found as well.
        robust: whether windows that do not fit the others lose their weight.
        iterations: most iterations, with each of the windows.
        tolerance: largest change of theta that ends the search.

    Returns:
        The Identified.

    Raises:
        ValueError: windows is empty, scale has an unknown name, the deviations of starts that are to be found are not
            known, or with the first guess the simulation fails in all windows.
    """
    found = wanted if isinstance(wanted, Parameters) else parameters(model, wanted)
    in_turn = [windows] if isinstance(windows, Windows) else list(windows)
    if not in_turn:
        raise ValueError("windows is empty, expected Windows or some of them")
    unknown = set(scale or {}) - set(MEASURED)
    if unknown:
        raise ValueError(f"scale has {', '.join(sorted(unknown))}; expected some of {', '.join(MEASURED)}")
    if fit_start and not all({"qpos", "qvel"} <= {*(scale or {}), *x.measured} for x in in_turn):
        raise ValueError("fit_start needs the deviations of the starts: give scale with qpos [nv] and qvel [nv]")
    theta, bounds = jnp.zeros(len(found.entries), model.qpos0.dtype), found.bounds(model)
    free, history = 2 * model.nv + model.na if fit_start else 0, []
    for cut in in_turn:
        settings = _Settings(found, cut.substeps, fit_start, robust)
        scales = {k: jnp.asarray(v, theta.dtype) for k, v in {**_spread(model, cut), **(scale or {})}.items()}
        linearise = partial(_linearised, settings, model, cut._replace(substeps=0), scales)
        own = jnp.zeros((cut.ctrl.shape[0], free), theta.dtype)
        fitted = fit(linearise, theta, own, *bounds, iterations, tolerance, robust)
        theta = fitted.theta
        history.append(fitted.history)
    fitted = fitted._replace(history=np.concatenate(history))
    values, slopes = _values(found, model, theta)
    return _summary(found, fitted, found.apply(model, theta), np.asarray(values), np.asarray(slopes))


@partial(jax.jit, static_argnums=0)
def _linearised(
    settings: _Settings, model: js.Model, windows: Windows, scale: dict[str, Array], theta: Array, own: Array
) -> System:
    """The normal equations of all windows; see `linearised`."""
    return linearised(partial(_residuals, settings, model, windows, scale), theta, own, settings.robust)


@partial(jax.jit, static_argnums=0)
def _values(wanted: Parameters, model: js.Model, theta: Array) -> tuple[Array, Array]:
    """The values [n] and their derivatives with respect to theta [n, n]."""
    values = partial(wanted.values, model)
    return values(theta), jax.jacfwd(values)(theta)


def _residuals(
    settings: _Settings, model: js.Model, windows: Windows, scale: dict[str, Array], theta: Array, own: Array
) -> Array:
    """All residuals of all windows [N, m], whose starts are moved by tangent vectors `own` [N, nx], or [N, 0]."""
    changed, names = settings.wanted.apply(model, theta), tuple(windows.measured)
    shown = _SHOWN[names]

    def one(start: js.Data, ctrl: Array, measured: dict[str, Array], dx: Array) -> Array:
        begin = displaced(model, start, dx) if settings.fit_start else start
        end, simulated = js.rollout(changed, begin, ctrl, outputs=shown, substeps=settings.substeps)
        apart = deviation(model, measured, simulated)
        parts = [(jnp.where(jnp.isnan(apart[x]), 0, apart[x]) / scale[x][None]).reshape(-1) for x in names]
        if settings.fit_start:
            sizes = [scale["qpos"], scale["qvel"], jnp.ones(model.na, dx.dtype)]
            parts.append(dx / jnp.concatenate(sizes))
        return jnp.where(faultless(begin, end), jnp.concatenate(parts), jnp.inf)

    return jax.vmap(one)(windows.start, windows.ctrl, windows.measured, own)


class _Shown(dict):
    """A function of Data for each choice of names, always the same one, since rollouts are compiled for each."""

    def __missing__(self, names: tuple[str, ...]):
        self[names] = partial(seen, names=names)
        return self[names]


_SHOWN = _Shown()


def _spread(model: js.Model, windows: Windows) -> dict[str, np.ndarray]:
    """Standard deviations of what was recorded, and of no part less than a thousandth of the largest of its kind.

    Of what was never measured it is 1, and nothing depends on it.
    """
    one = {name: jnp.broadcast_to(_first(np.asarray(x))[None, None], x.shape) for name, x in windows.measured.items()}
    apart = jax.vmap(partial(deviation, model))(one, windows.measured)
    return {name: _deviations(np.asarray(x)) for name, x in apart.items()}


def _first(x: np.ndarray) -> Array:
    """The first of the known numbers of each column of x [N, W, n]: [n]; NaN where there is none."""
    rows = x.reshape(-1, x.shape[2])
    return jnp.asarray(rows[np.isfinite(rows).argmax(axis=0), np.arange(x.shape[2])])


def _deviations(x: np.ndarray) -> np.ndarray:
    known = np.isfinite(x)
    count = np.maximum(known.sum(axis=(0, 1)), 1)
    mean = np.where(known, x, 0).sum(axis=(0, 1)) / count
    deviation = np.sqrt((np.where(known, x - mean, 0) ** 2).sum(axis=(0, 1)) / count)
    deviation = np.maximum(deviation, 1e-3 * deviation.max(initial=1e-12))
    return np.where(known.any(axis=(0, 1)), deviation, 1)


def _summary(wanted: Parameters, fitted: Fit, model: js.Model, values: np.ndarray, slopes: np.ndarray) -> Identified:
    """Numbers by name, how well they are known, and which are not."""
    names, known = wanted.names, certainty(fitted)
    active, own = known.active, slopes[:, known.active]
    groups = [_group(names, active, vector) for vector in known.unclear]
    covariance = wider(own @ known.model @ own.T, own @ known.between @ own.T)
    unknown = ~active
    unknown[[names.index(name) for group in groups for name in group]] = True
    deviations = np.where(unknown, np.inf, np.sqrt(np.maximum(np.diag(covariance), 0)))
    return Identified(
        values=dict(zip(names, values.tolist())),
        deviations=dict(zip(names, deviations.tolist())),
        covariance=covariance,
        without_effect=tuple(name for name, on in zip(names, active) if not on),
        confounded=tuple(groups),
        theta=np.asarray(fitted.theta),
        model=model,
        weights=np.asarray(fitted.system.weights),
        noise=known.noise,
        history=fitted.history,
        iterations=len(fitted.history),
        converged=fitted.converged,
    )


def _group(names: tuple[str, ...], active: np.ndarray, vector: np.ndarray) -> tuple[str, ...]:
    """The parameters that take part in a direction that the records do not show."""
    return tuple(name for name, part in zip(np.array(names)[active].tolist(), vector) if abs(part) > 0.1)
