"""Trajectory optimisation by iLQR: exact derivatives, limited controls, goals by an augmented Lagrangian.

Each iteration linearises all steps in one batch, expands the costs, solves the linear-quadratic problem backwards
with the controls' limits, and tries all step lengths in one batch of rollouts. A goal c = 0 of the last state adds
multipliers'c + penalty/2 c'c to the cost; when the plan has converged under these, the multipliers take a step
penalty * c and the penalty grows.
Source: Tassa, Mansard, Todorov, "Control-limited differential dynamic programming", ICRA 2014; Howell, Jackson,
Manchester, "ALTRO", IROS 2019, for the goals.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jaxsim as js
from jaxsim.optimize import cost as costs
from jaxsim.optimize.cost import Cost
from jaxsim.optimize.riccati import Policy, backward
from jaxsim.optimize.trajectory import States, difference, faultless, jacobians, limits, state_of, within_limits

Array = jax.Array


class Settings(NamedTuple):
    """When iLQR stops, and how it steps.

    Attributes:
        iterations: most iterations, over all updates of the multipliers.
        tolerance: of the cost's decrease relative to 1 + |cost|, below which a plan has converged.
        step_sizes: how many step lengths are tried at once: 1, 1/2, 1/4 ...
        regularisation: of the controls' Hessian, at the start.
        factor: by how much more it falls with every success in a row, and grows with every failure.
        least: regularisation below which it is zero, and the one from which it grows again.
        most: regularisation from which on the search has failed.
        goal_tolerance: largest violation of a goal that counts as reached.
        penalty: of a goal's violation, at the start: less lets the search find the way first, more holds to the goal.
        penalty_factor: how it grows with every update of the multipliers.
        penalty_most: where it stops to grow.
        updates: most updates of the multipliers.
    """

    iterations: int = 200
    tolerance: float = 1e-7
    step_sizes: int = 10
    regularisation: float = 1e-6
    factor: float = 2.0
    least: float = 1e-8
    most: float = 1e8
    goal_tolerance: float = 1e-3
    penalty: float = 1.0
    penalty_factor: float = 10.0
    penalty_most: float = 1e5
    updates: int = 20


SETTINGS = Settings()


class Plan(NamedTuple):
    """A planned trajectory.

    Attributes:
        ctrl: controls [T, nu].
        states: before each control step, and the last: qpos [T+1, nq] (m, rad), qvel [T+1, nv] (m/s, rad/s) ...
        gains: how controls follow the state, [T, nu, nx]: u = ctrl + gains dx, dx in the tangent space at `states`.
        cost: of the plan without the terms of the goal, [].
        violation: largest component of the goal, [].
        history: the cost after each iteration, [iterations + 1]; the last value goes on after the end.
        iterations: how many were made, [].
        converged: whether the cost stopped to fall, and the goal is reached, [].
    """

    ctrl: Array
    states: States
    gains: Array
    cost: Array
    violation: Array
    history: Array
    iterations: Array
    converged: Array


class _Path(NamedTuple):
    """Controls [T, nu], the states before each step [T, substeps], the last Data's state, and what it costs."""

    ctrl: Array
    steps: States
    end: States
    cost: Array
    goal: Array
    faultless: Array


class _Search(NamedTuple):
    path: _Path
    gains: Array
    regularisation: Array
    rate: Array  # by which the regularisation changed last
    multipliers: Array
    penalty: Array
    updates: Array
    rollouts: Array  # one more than iterations
    history: Array
    settled: Array
    done: Array


def ilqr(
    model: js.Model,
    data: js.Data,
    ctrl: Array,
    cost: Cost,
    *,
    substeps: int = 1,
    settings: Settings = SETTINGS,
) -> Plan:
    """Plan controls that make a cost small, from a first guess.

    Call it under `jax.jit`, or it is traced anew each time. Problems in parallel: `jax.vmap` over whatever differs.

    Args:
        model: the model; its actuator_ctrlrange limits the controls.
        data: the initial state and inputs.
        ctrl: first guess of the controls [T, nu].
        cost: what to make small.
        substeps: steps for each control.
        settings: when to stop, and how to step.

    Returns:
        The Plan.

    Raises:
        ValueError: controls of another shape.
    """
    if ctrl.ndim != 2 or ctrl.shape[1] != model.nu:
        raise ValueError(f"ctrl has shape {ctrl.shape}, expected (T, {model.nu}) [T, nu]")
    problem = _Problem(model, data, cost, substeps, settings)
    search = lax.while_loop(lambda s: ~s.done, problem.iterate, problem.start(ctrl))
    path, violation = search.path, _largest(search.path.goal)
    states = jax.tree.map(lambda x, end: jnp.concatenate([x[:, 0], end[None]]), path.steps, path.end)
    index = jnp.minimum(jnp.arange(settings.iterations + 1), search.rollouts - 1)
    reached = search.settled & (violation <= settings.goal_tolerance) & jnp.isfinite(path.cost)
    return Plan(
        path.ctrl, states, search.gains, path.cost, violation, search.history[index], search.rollouts - 1, reached
    )


class _Problem(NamedTuple):
    """One problem, and an iteration of its search."""

    model: js.Model
    data: js.Data
    cost: Cost
    substeps: int
    settings: Settings

    def start(self, ctrl: Array) -> _Search:
        """Before the first rollout, which iteration 0 makes with no change of the controls."""
        length, dtype = len(ctrl), ctrl.dtype
        state, nx = state_of(self.data), 2 * self.model.nv + self.model.na
        steps = jax.tree.map(lambda x: jnp.broadcast_to(x, (length, self.substeps, *x.shape)), state)
        number = lambda x: jnp.asarray(x, dtype)  # noqa: E731
        goal = jax.tree.map(jnp.zeros_like, self._goal(state))
        path = _Path(within_limits(self.model, ctrl), steps, state, number(np.inf), goal, jnp.array(False))
        return _Search(
            path=path,
            gains=jnp.zeros((length, self.model.nu, nx), dtype),
            regularisation=number(self.settings.regularisation),
            rate=number(1.0),
            multipliers=goal,
            penalty=number(self.settings.penalty),
            updates=jnp.array(0),
            rollouts=jnp.array(0),
            history=jnp.zeros(self.settings.iterations + 1, dtype),
            settled=jnp.array(False),
            done=jnp.array(False),
        )

    def iterate(self, search: _Search) -> _Search:
        """One iteration: a better path, or more regularisation; then whether to go on."""
        begun, policy = search.rollouts > 0, self._policy(search)
        sizes = jnp.asarray(0.5 ** np.arange(self.settings.step_sizes), search.path.cost.dtype)
        tried = jax.vmap(lambda size: self._follow(search.path, policy, size, begun))(sizes)
        before = self._augmented(search, search.path)
        after = jax.vmap(lambda path: self._augmented(search, path))(tried)
        promised = -(sizes * policy.linear + sizes**2 * policy.quadratic)
        better = (before - after > 1e-4 * promised) & (promised > 0) & policy.sound | ~begun
        best = jnp.argmin(jnp.where(better & tried.faultless, after, jnp.inf))
        success = better[best] & tried.faultless[best]
        path = jax.tree.map(lambda new, old: jnp.where(success, new[best], old), tried, search.path)
        fallen = (before - after[best] < self.settings.tolerance * (1 + jnp.abs(after[best]))) & begun
        # where no path is known yet the cost is infinite, and promises say nothing
        little = jnp.isfinite(before) & (promised[0] <= self.settings.tolerance * (1 + jnp.abs(before)))
        nowhere = policy.sound & little & begun
        regularisation, rate = self._regularisation(search, success)
        moved = search._replace(
            path=path,
            gains=jnp.where(policy.sound & begun, policy.K, search.gains),
            regularisation=regularisation,
            rate=rate,
            rollouts=search.rollouts + 1,
            history=search.history.at[search.rollouts].set(path.cost),
            settled=success & fallen | nowhere,
        )
        return self._decide(moved)

    def _policy(self, search: _Search) -> Policy:
        """How to change the controls, by the expansion about the present path."""
        path = search.path
        A, B = jacobians(self.model, self.data, path.ctrl, path.steps)
        states = jax.tree.map(lambda x: x[:, 0], path.steps)
        running = costs.expand_running(self.model, self.cost, self.data, states, path.ctrl)
        end = self.data.replace(**path.end)
        final = costs.expand_final(self.model, self.cost.final, end)
        if self.cost.goal is not None:
            pull = self._pulled(search)
            extra = costs.expand_final(self.model, lambda data: pull(self.cost.goal(data)), end)
            final = jax.tree.map(jnp.add, final, extra)
        low, high = (limit[None] - path.ctrl for limit in limits(self.model))
        return backward(A, B, running, final, low, high, search.regularisation)

    def _pulled(self, search: _Search):
        """The goal as residuals: half of their squares is multipliers'c + penalty/2 c'c, but for a constant."""
        root = jnp.sqrt(search.penalty)
        return lambda goal: root * goal + search.multipliers / root

    def _augmented(self, search: _Search, path: _Path) -> Array:
        """What a path costs, with the terms of the goal."""
        return path.cost + (costs.value(self._pulled(search)(path.goal)) if self.cost.goal is not None else 0)

    def _follow(self, path: _Path, policy: Policy, size: Array, begun: Array) -> _Path:
        """Roll out with controls that change by a fraction of k and follow the state."""
        states = jax.tree.map(lambda x: x[:, 0], path.steps)

        def substep(data: js.Data, _: None) -> tuple[js.Data, States]:
            return js.step(self.model, data), state_of(data)

        def control(data: js.Data, step: tuple) -> tuple[js.Data, tuple[Array, States]]:
            state, u, k, K = step
            dx = difference(self.model, data.replace(**state), data)
            change = size * k + K @ dx
            u = within_limits(self.model, jnp.where(begun, u + change, u))
            data, passed = lax.scan(substep, data.replace(ctrl=u), None, length=self.substeps)
            return data, (u, passed)

        end, (ctrl, steps) = lax.scan(control, self.data, (states, path.ctrl, policy.k, policy.K))
        passed, last = jax.tree.map(lambda x: x[:, 0], steps), state_of(end)
        total = jnp.sum(costs.running_costs(self.cost, self.data, passed, ctrl))
        total += costs.final_cost(self.cost, self.data, last)
        return _Path(ctrl, steps, last, total, self._goal(last), faultless(self.data, end) & jnp.isfinite(total))

    def _goal(self, state: States) -> Array:
        if self.cost.goal is None:
            return jnp.zeros(0, self.data.qpos.dtype)
        return self.cost.goal(self.data.replace(**state))

    def _regularisation(self, search: _Search, success: Array) -> tuple[Array, Array]:
        """The regularisation to go on with, and its rate, which grows while there are only successes or failures."""
        factor, least = self.settings.factor, self.settings.least
        rate = jnp.where(success, jnp.minimum(search.rate, 1) / factor, jnp.maximum(search.rate, 1) * factor)
        now = search.regularisation * rate
        now = jnp.where(success, jnp.where(now < least, 0, now), jnp.maximum(now, least))
        return now.astype(rate.dtype), rate

    def _decide(self, search: _Search) -> _Search:
        """Whether the search is over, or goes on with other multipliers."""
        settings = self.settings
        stopped = search.settled | (search.regularisation > settings.most)
        reached = _largest(search.path.goal) <= settings.goal_tolerance
        again = stopped & ~reached & (search.updates < settings.updates)
        multipliers = search.multipliers + jnp.where(again, search.penalty, 0) * search.path.goal
        larger = jnp.minimum(search.penalty * settings.penalty_factor, settings.penalty_most)
        return search._replace(
            multipliers=multipliers,
            penalty=jnp.where(again, larger, search.penalty),
            regularisation=jnp.where(again, settings.regularisation, search.regularisation),
            updates=search.updates + again.astype(search.updates.dtype),
            done=stopped & ~again | (search.rollouts > settings.iterations),
        )


def _largest(goal: Array) -> Array:
    return jnp.max(jnp.abs(goal), initial=0)
