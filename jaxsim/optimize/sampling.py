"""Planning by sampling: MPPI and the cross-entropy method (CEM).

Both perturb a plan at a few knots in time, between which the change is linear, and run all samples in one batch of
rollouts. MPPI moves the plan by the mean of the changes, weighted by exp(-cost / temperature); CEM keeps a mean and a
deviation for each knot, those of the cheapest samples.
Sources: Williams et al., "Information theoretic MPC for model-based reinforcement learning", ICRA 2017; Rubinstein,
"The cross-entropy method for combinatorial and continuous optimization", 1999.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jaxsim as js
from jaxsim.optimize.cost import Cost, total_cost
from jaxsim.optimize.trajectory import limits, within_limits

Array = jax.Array


class Sampled(NamedTuple):
    """What sampling found.

    Attributes:
        ctrl: the plan in the middle of the last samples [T, nu].
        best: the cheapest controls that were met [T, nu].
        cost: that of `best` [].
        history: the least cost of each iteration [iterations].
    """

    ctrl: Array
    best: Array
    cost: Array
    history: Array


class _Spread(NamedTuple):
    """Where samples are drawn: the middle [K, nu] and the deviation [K, nu] of changes at knots."""

    middle: Array
    deviation: Array


def mppi(
    model: js.Model,
    data: js.Data,
    ctrl: Array,
    cost: Cost,
    key: Array,
    *,
    samples: int = 64,
    temperature: float = 0.1,
    noise: float = 0.3,
    knots: int | None = None,
    iterations: int = 1,
    substeps: int = 1,
) -> Sampled:
    """Move a plan by the weighted mean of random changes (model predictive path integral).

    Args:
        model: the model; its actuator_ctrlrange limits the controls.
        data: the initial state and inputs.
        ctrl: the plan to start from [T, nu].
        cost: what to make small; a goal is not looked at.
        key: random key.
        samples: how many rollouts an iteration makes; the first is that of the unchanged plan.
        temperature: of the weights, relative to the spread between the least and the mean cost.
        noise: deviation of the changes, relative to half of each control's range, or to 1 where it has no limits.
        knots: how many points in time the changes have; by default every step is one.
        iterations: how many times to draw.
        substeps: steps for each control.
    """

    def update(spread: _Spread, changes: Array, prices: Array) -> _Spread:
        least, usable = jnp.min(prices), jnp.isfinite(prices)
        above = jnp.where(usable, prices - least, 0)
        scale = temperature * jnp.sum(above) / jnp.maximum(jnp.sum(usable.astype(above.dtype)), 1)
        weights = jnp.where(usable, jnp.exp(-above / jnp.maximum(scale, jnp.finfo(scale.dtype).tiny)), 0)
        weights = weights / jnp.maximum(jnp.sum(weights), 1e-30)
        return spread._replace(middle=jnp.einsum("s,skn->kn", weights, changes))

    drawn = _Drawn(model, data, ctrl, cost, substeps, samples)
    return drawn.search(key, noise, knots, iterations, update)


def cem(
    model: js.Model,
    data: js.Data,
    ctrl: Array,
    cost: Cost,
    key: Array,
    *,
    samples: int = 64,
    elites: int = 8,
    noise: float = 0.5,
    least_noise: float = 0.01,
    knots: int | None = None,
    iterations: int = 10,
    substeps: int = 1,
) -> Sampled:
    """Fit mean and deviation of a plan's changes to the cheapest of its samples, again and again.

    Args:
        model: the model; its actuator_ctrlrange limits the controls.
        data: the initial state and inputs.
        ctrl: the plan to start from [T, nu].
        cost: what to make small; a goal is not looked at.
        key: random key.
        samples: how many rollouts an iteration makes; the first is that of the mean.
        elites: how many of them are kept.
        noise: deviation of the changes at first, relative to half of each control's range, or to 1 without limits.
        least_noise: deviation that is left at least, likewise.
        knots: how many points in time the changes have; by default every step is one.
        iterations: how many times to draw.
        substeps: steps for each control.
    """
    unit = _unit(model)

    def update(spread: _Spread, changes: Array, prices: Array) -> _Spread:
        cheapest, which = lax.top_k(-prices, elites)
        counts, chosen = jnp.isfinite(cheapest)[:, None, None], changes[which]
        number = jnp.maximum(jnp.sum(counts, axis=0), 1).astype(changes.dtype)
        mean = jnp.sum(jnp.where(counts, chosen, 0), axis=0) / number
        deviation = jnp.sqrt(jnp.sum(jnp.where(counts, (chosen - mean[None]) ** 2, 0), axis=0) / number)
        found = _Spread(mean, jnp.maximum(deviation, least_noise * unit[None]))
        return jax.tree.map(lambda new, old: jnp.where(counts.any(), new, old), found, spread)

    drawn = _Drawn(model, data, ctrl, cost, substeps, samples)
    return drawn.search(key, noise, knots, iterations, update)


class _Drawn(NamedTuple):
    """A problem, and how its samples are drawn and run."""

    model: js.Model
    data: js.Data
    ctrl: Array
    cost: Cost
    substeps: int
    samples: int

    def search(
        self,
        key: Array,
        noise: float,
        knots: int | None,
        iterations: int,
        update: Callable[[_Spread, Array, Array], _Spread],
    ) -> Sampled:
        """Draw, run and update `iterations` times."""
        (length, nu), dtype = self.ctrl.shape, self.ctrl.dtype
        between = jnp.asarray(_interpolation(length, knots or length), dtype)

        def plan(change: Array) -> Array:
            return within_limits(self.model, self.ctrl + between @ change)

        def iterate(now: tuple, key: Array) -> tuple[tuple, Array]:
            spread, best, least = now
            random = jax.random.normal(key, (self.samples, *spread.middle.shape), dtype)
            changes = spread.middle[None] + spread.deviation[None] * random.at[0].set(0)
            plans = jax.vmap(plan)(changes)
            prices = jax.vmap(lambda u: total_cost(self.cost, self.model, self.data, u, self.substeps))(plans)
            prices = jnp.where(jnp.isfinite(prices), prices, jnp.inf)
            first = jnp.argmin(prices)
            best = jnp.where(prices[first] < least, plans[first], best)
            return (update(spread, changes, prices), best, jnp.minimum(least, prices[first])), prices[first]

        none = jnp.zeros((between.shape[1], nu), dtype)
        spread = _Spread(none, jnp.broadcast_to(noise * _unit(self.model), none.shape))
        start = spread, self.ctrl, jnp.asarray(jnp.inf, dtype)
        (spread, best, least), history = lax.scan(iterate, start, jax.random.split(key, iterations))
        return Sampled(plan(spread.middle), best, least, history)


def _unit(model: js.Model) -> Array:
    """Half of each control's range, 1 where it has none: [nu]."""
    low, high = limits(model)
    bounded = jnp.isfinite(low) & jnp.isfinite(high)
    return jnp.where(bounded, 0.5 * (jnp.where(bounded, high, 0) - jnp.where(bounded, low, 0)), 1)


def _interpolation(length: int, knots: int) -> np.ndarray:
    """[length, knots] the linear interpolation between points that are evenly spaced over the steps."""
    at = np.linspace(0, knots - 1, length)
    return np.maximum(0, 1 - np.abs(at[:, None] - np.arange(knots)))
