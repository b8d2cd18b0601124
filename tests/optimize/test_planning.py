"""Planners on a linear system, whose best controls are known, and the derivatives that they are made of."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import oracle
import pytest
from scipy.optimize import lsq_linear

import jaxsim as js
from jaxsim.optimize import Cost, Settings, cem, difference, displaced, ilqr, linearise_trajectory, mpc, mppi, shoot
from jaxsim.optimize.box_qp import box_qp
from jaxsim.optimize.elimination import inverse
from jaxsim.optimize.trajectory import state_of

# two carts on one rail, coupled by the upper one's spring: linear
CARTS = """
<mujoco>
  <option timestep="0.05" gravity="0 0 0"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <body><joint name="a" type="slide" axis="1 0 0" damping="0.2"/><geom size=".1" mass="1"/>
      <body><joint name="b" type="slide" axis="1 0 0" stiffness="3"/><geom size=".1" mass=".5"/></body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="a" ctrllimited="true" ctrlrange="-9 9"/>
    <motor joint="b" ctrllimited="true" ctrlrange="-9 9"/>
  </actuator>
</mujoco>
"""
LENGTH, EFFORT, FINAL = 12, 0.1, 3.0
TARGET = np.array([1.0, -0.2])


@functools.cache
def carts():
    return js.load(CARTS)


def running(data, t):
    return jnp.concatenate([data.qpos - TARGET, EFFORT * data.ctrl])


def final(data):
    return FINAL * jnp.concatenate([data.qpos - TARGET, data.qvel])


@functools.cache
def response(substeps):
    """The states after each control from rest, as a matrix [T + 1, nx, T * nu] times all controls; in closed form."""
    h, M, D, K = 0.05, np.array([[1.5, 0.5], [0.5, 0.5]]), np.diag([0.2, 0]), np.diag([0, 3.0])
    speed = h * np.linalg.solve(M + h * D, np.block([-K, -D, np.eye(2)]))  # Euler's step, damping implicit
    speed[:, 2:4] += np.eye(2)
    step = np.block([[np.block([np.eye(2), np.zeros((2, 4))]) + h * speed], [speed], [np.zeros((2, 4)), np.eye(2)]])
    step = np.linalg.matrix_power(step, substeps)[:4]
    rows = [np.zeros((4, 2 * LENGTH))]
    for t in range(LENGTH):
        after = step[:, :4] @ rows[-1]
        after[:, 2 * t : 2 * t + 2] += step[:, 4:]
        rows.append(after)
    return np.stack(rows)


@functools.cache
def least_squares(most, substeps=1, reach=False):
    """The best controls within +-most, and their cost, found without dynamic programming."""
    moved = response(substeps)
    rows = np.concatenate([*moved[:LENGTH, :2], EFFORT * np.eye(2 * LENGTH), FINAL * moved[-1]])
    wanted = np.concatenate([np.tile(TARGET, LENGTH), np.zeros(2 * LENGTH), FINAL * np.r_[TARGET, 0, 0]])
    if reach:  # the equations of the least squares that end at the target
        H = np.block([[rows.T @ rows, moved[-1].T], [moved[-1], np.zeros((4, 4))]])
        ctrl = np.linalg.solve(H, np.r_[rows.T @ wanted, TARGET, 0, 0])[: 2 * LENGTH]
        assert np.abs(ctrl).max() < most
    else:
        ctrl = lsq_linear(rows, wanted, (-most, most), tol=1e-14).x
    return ctrl.reshape(LENGTH, 2), 0.5 * np.sum((rows @ ctrl - wanted) ** 2)


def limited(most):
    model = carts()
    return model.replace(actuator_ctrlrange=model.actuator_ctrlrange * most / 9)


def number(data, t):
    """The running cost as a number, whose Hessian is exact."""
    r = running(data, t)
    return 0.5 * jnp.vdot(r, r)


def test_ilqr_finds_the_best_controls():
    """Without limits, within limits, and with a goal: three problems at once."""
    carts()

    @jax.jit
    @jax.vmap
    def plan(most, reach):
        model = limited(most)
        goal = lambda data: reach * jnp.concatenate([data.qpos - TARGET, data.qvel])  # noqa: E731
        settings = Settings(goal_tolerance=1e-7)
        start = js.make_data(model), jnp.zeros((LENGTH, 2))
        return ilqr(model, *start, Cost(number, final, goal), substeps=2, settings=settings)

    cases = (99.0, False), (2.0, False), (99.0, True)
    plans = plan(*map(jnp.array, ([99.0, 2.0, 99.0], [0.0, 0.0, 1.0])))
    assert np.all(plans.converged) and np.all(plans.violation < 1e-7)
    for i, (most, reach) in enumerate(cases):
        ctrl, cost = least_squares(most, 2, reach)
        held = np.abs(ctrl) > most - 1e-6
        assert held.any() == (most == 2.0) and not held.all()
        np.testing.assert_allclose(plans.ctrl[i], ctrl, atol=1e-4)
        np.testing.assert_allclose(plans.cost[i], cost, rtol=1e-7)
    assert plans.iterations[0] <= 3  # one step solves a quadratic problem
    assert np.all(np.diff(np.asarray(plans.history[:2]), axis=1) <= 1e-12)


def test_gradients_and_samples_come_near_the_best_controls():
    best, least = least_squares(2.0)
    model, cost = limited(2.0), Cost(running, final)
    data, ctrl, key = js.make_data(model), jnp.zeros((LENGTH, 2)), jax.random.key(0)
    with jax.numpy_dtype_promotion("standard"):  # which optax needs
        shot = jax.jit(lambda: shoot(model, data, ctrl, cost, optax.adam(0.2), iterations=200))()
    np.testing.assert_allclose(shot.ctrl, best, atol=0.05)
    assert least <= shot.cost < 1.001 * least and shot.history[0] > 1.4 * least

    sampled = jax.jit(lambda: cem(model, data, ctrl, cost, key, samples=64, knots=6, iterations=40))()
    assert least <= sampled.cost < 1.1 * least
    assert sampled.history[-1] < 0.9 * sampled.history[0]

    @jax.jit
    def controlled():
        planner = lambda data, ctrl, key: mppi(model, data, ctrl, cost, key, samples=32, knots=4).ctrl  # noqa: E731
        return mpc(model, data, ctrl, planner, key, length=40, every=2)

    end, path = controlled()
    assert path["qpos"].shape == (80, 2)
    np.testing.assert_allclose(path["qpos"][-20:], np.broadcast_to(TARGET, (20, 2)), atol=0.1)
    np.testing.assert_array_equal(path["qpos"][-1], end.qpos)


BALL = """
<mujoco>
  <worldbody><body><joint name="swivel" type="ball"/><geom type="capsule" size=".05" fromto="0 0 0 .3 0 .1"/></body></worldbody>
  <actuator><motor joint="swivel" gear="1 0 0"/><general joint="swivel" gear="0 1 0" dyntype="filter" dynprm=".1"/></actuator>
</mujoco>
"""


def test_linearised_trajectories_predict(rng):
    """How the last state moves with the first and with the controls, through turning joints and activations."""
    model = js.load(BALL)
    data = displaced(model, js.make_data(model), jnp.asarray(0.5 * rng.standard_normal(7)))
    ctrl = jnp.asarray(rng.standard_normal((4, 2)))
    A, B, states = linearise_trajectory(model, data, ctrl, substeps=3)
    dx, du = 1e-4 * rng.standard_normal(7), 1e-4 * rng.standard_normal((4, 2))
    moved = functools.reduce(lambda x, t: A[t] @ x + B[t] @ du[t], range(4), dx)

    def end(sign):  # by the very program that is linearised
        begin = displaced(model, data, jnp.asarray(sign * dx))
        final, _ = js.rollout(model, begin, jnp.repeat(ctrl + sign * du, 3, axis=0), outputs=state_of)
        return difference(model, data.replace(**jax.tree.map(lambda x: x[-1], states)), final)

    assert np.abs(end(0.0)).max() < 1e-14
    np.testing.assert_allclose((end(1.0) - end(-1.0)) / 2, moved, atol=2e-11)


def test_box_qp(rng):
    """Against a bounded least-squares solver, with none, some and all components at their bounds."""
    roots = rng.standard_normal((30, 4, 4))
    H, g = np.einsum("bij,bik->bjk", roots, roots) + 0.1 * np.eye(4), 3 * rng.standard_normal((30, 4))
    low, high = -rng.uniform(0, 1, (30, 4)), rng.uniform(0, 1, (30, 4))
    found = jax.jit(jax.vmap(box_qp))(*map(jnp.asarray, (H, g, low, high)))
    counts = set()
    for b in range(30):
        root = np.linalg.cholesky(H[b]).T
        best = lsq_linear(root, -np.linalg.solve(root.T, g[b]), (low[b], high[b]), tol=1e-15, method="bvls").x
        np.testing.assert_allclose(found.x[b], best, atol=1e-9)
        counts.add(int(found.free[b].sum()))
    assert {0, 1, 2} <= counts
    assert oracle.error(found.x, np.clip(found.x, low, high)) == 0


def test_inverse_says_where_there_is_none():
    H = jnp.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])
    np.testing.assert_allclose(inverse(H) @ H, np.eye(3), atol=1e-14)
    assert not np.isfinite(inverse(H - 1.5 * jnp.eye(3))).all()


def test_a_first_guess_that_fails_is_not_taken_for_a_solution():
    """Beyond a wall the cost is no number: the search comes back from there or says that it has not converged."""
    model = js.load(
        """<mujoco><option timestep=".05"/><worldbody><body><joint name="s" type="slide" axis="1 0 0" damping=".5"/>
        <geom size=".1" mass="1"/></body></worldbody>
        <actuator><motor joint="s" ctrllimited="true" ctrlrange="-5 5"/></actuator></mujoco>"""
    )
    cost = Cost(
        lambda data, t: 0.05 * jnp.sum(data.ctrl**2) - 0.1 * jnp.log(1 - data.qpos[0]),
        lambda data: 20 * jnp.sum((data.qpos - 0.9) ** 2) + jnp.sum(data.qvel**2),
    )
    plan = jax.jit(jax.vmap(lambda guess: ilqr(model, js.make_data(model), guess, cost)))
    found = plan(jnp.full((4, 40, 1), np.array([0.0, 0.5, 2.0, 5.0])[:, None, None]))
    assert found.converged[:2].all()
    best = float(found.cost[0])
    for cost, converged in zip(found.cost[1:], found.converged[1:]):
        assert not converged or float(cost) == pytest.approx(best, rel=1e-3)


def test_samples_that_fail_are_no_elites():
    """Few of 16 are where the cost is a number: their mean is there too, or where it was if there are none."""
    model, guess = carts(), jnp.zeros((1, 2))

    @jax.jit
    def plan(most):
        cost = Cost(lambda data, t: jnp.where(data.ctrl[0] < most, jnp.sum(data.ctrl**2), jnp.nan), lambda data: 0.0)
        return cem(model, js.make_data(model), guess, cost, jax.random.key(0), samples=16, elites=8, iterations=1)

    assert np.isfinite(plan(-4.0).cost) and plan(-4.0).ctrl[0, 0] < -4
    np.testing.assert_array_equal(plan(-10.0).ctrl, guess)
    with pytest.raises(ValueError, match="every is 2, expected 1 to 1"):
        mpc(model, js.make_data(model), guess, lambda data, ctrl, key: ctrl, jax.random.key(0), length=1, every=2)
