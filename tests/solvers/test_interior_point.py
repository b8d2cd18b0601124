"""The interior-point solver against closed forms, alone, in batches, and in float32."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize

from jaxsim.layout import batched
from jaxsim.solvers.interior_point.cones import Cones, depth, product, quotient, step_length, unit
from jaxsim.solvers.interior_point.predictor_corrector import Settings, neutral, solve, violation
from jaxsim.solvers.interior_point.problem import Point, dense
from jaxsim.solvers.linear.inverse import inverse

MIXED = Cones(2, ((3, 4), (2, 2)))


def _inside(rng) -> np.ndarray:
    x = rng.normal(size=MIXED.size)
    return x + (0.1 - min(float(depth(MIXED, jnp.asarray(x))), 0)) * unit(MIXED)


def test_algebra_of_cones():
    rng = np.random.default_rng(0)
    for _ in range(20):
        b, c = _inside(rng), _inside(rng)
        e = unit(MIXED)
        np.testing.assert_allclose(product(MIXED, b, e), b)
        np.testing.assert_allclose(product(MIXED, c, quotient(MIXED, jnp.asarray(c), jnp.asarray(b))), b, atol=1e-9)
        assert MIXED.degree == e.sum() == 7
        # the boundary is where the step length says, and e is as far from it as its length
        direction = rng.normal(size=MIXED.size)
        alpha = float(step_length(MIXED, jnp.asarray(b), jnp.asarray(direction)))
        assert abs(float(depth(MIXED, jnp.asarray(b + alpha * direction)))) < 1e-9 * max(1, alpha)
        assert step_length(MIXED, jnp.asarray(b), jnp.asarray(b)) == 1e6
        np.testing.assert_allclose(step_length(MIXED, jnp.asarray(e), jnp.asarray(-2 * e)), 0.5)


def test_inverse_pivots():
    A = np.random.default_rng(1).normal(size=(6, 6))
    A[0, 0] = A[1, 1] = A[1, 0] = A[0, 1] = 0
    np.testing.assert_allclose(jax.jit(inverse)(A) @ A, np.eye(6), atol=1e-12)


def _settings(kappa, tolerance=1e-8, dtype=np.float64, **bounds):
    return Settings(*(jnp.asarray(x, dtype) for x in (kappa, tolerance, 1e-6)), **bounds)


def _lcp(theta, w: Point):
    M, q = theta
    return w.c - jnp.dot(M, w.b, precision="highest") - q


def _solve_lcp(M, q):
    n = q.shape[0]
    return solve(dense(Cones(n), _lcp), (M, q), neutral(Cones(n), jnp.zeros(0), q.dtype), _settings(1e-11))


def _enumerated(M, q):
    """b of b >= 0, M b + q >= 0, b . (M b + q) = 0, by trying which entries are positive."""
    for chosen in itertools.product([False, True], repeat=len(q)):
        at, b = np.flatnonzero(chosen), np.zeros(len(q))
        b[at] = np.linalg.solve(M[np.ix_(at, at)], -q[at])
        if (b > -1e-12).all() and (M @ b + q > -1e-12).all():
            return b
    raise AssertionError("no solution")


def test_linear_complementarity_in_batches():
    """The QP min 1/2 b'Mb + q'b over b >= 0; one world has no solution, and touches no other."""
    rng = np.random.default_rng(2)
    G, q = rng.normal(size=(20, 5, 5)), rng.normal(size=(20, 5))
    M = G @ np.swapaxes(G, 1, 2) + 0.1 * np.eye(5)
    M[7], q[7] = -np.eye(5), -1
    one = jax.jit(_solve_lcp)
    w, end = jax.jit(jax.vmap(_solve_lcp))(M, q)
    laid, laid_end = jax.jit(jax.vmap(batched(_solve_lcp)))(M, q)  # worlds last, in chunks
    assert end.converged.tolist() == laid_end.converged.tolist() == [i != 7 for i in range(20)]
    good = np.arange(20) != 7
    assert end.iterations[good].max() <= 15 and end.iterations.tolist() == laid_end.iterations.tolist()
    for i in np.flatnonzero(good):
        np.testing.assert_allclose(w.b[i], _enumerated(M[i], q[i]), atol=2e-5)  # nothing but sqrt(kappa) is left
        np.testing.assert_allclose(w.b[i] * w.c[i], 1e-11, rtol=1e-6)
        np.testing.assert_allclose(laid.b[i], w.b[i], rtol=1e-9, atol=1e-16)
    np.testing.assert_allclose(one(M[3], q[3])[0].b, w.b[3], rtol=1e-9)
    assert np.isfinite(jax.flatten_util.ravel_pytree(w)[0]).all()


# a point of 1 kg on a plane: velocity a, normal impulse and the distance, friction cone and velocity
SLIDER, H = Cones(1, ((1, 3),)), 0.1


def _slider(theta, w: Point):
    velocity, mu = theta
    ((impulse,), (((_, *push),),)), ((gap,), ((slip,),)) = SLIDER.split(w.b), SLIDER.split(w.c)
    gravity = jnp.asarray([0, 0, -9.81 * H], mu.dtype)
    momentum = w.a - velocity - gravity - jnp.stack([mu * push[0], mu * push[1], impulse])
    return momentum, gap - H * w.a[2], SLIDER.split(w.b)[1][0][0, 0] - impulse, slip[1:] - mu * w.a[:2]


def _slide(kappa, speed, dtype):
    theta = jnp.asarray([0.6, 0.8, 0.0], dtype) * speed, jnp.asarray(0.5, dtype)
    tolerance = 1e-8 if dtype == np.float64 else 1e-6
    accuracy = 1e-6 if dtype == np.float64 else 1e-3
    settings = Settings(kappa, jnp.asarray(tolerance, dtype), jnp.asarray(accuracy, dtype))
    return solve(dense(SLIDER, _slider), theta, neutral(SLIDER, theta[0], dtype), settings)


def _slid(kappa, speed):
    """Speed, gap and impulse on the central path: gamma s = kappa, beta = -mu gamma u / (eps + sqrt(eps^2 + u^2))."""
    b = -9.81 * H * H
    gap = (b + np.sqrt(b * b + 4 * kappa * H)) / 2
    push = 0.5 * kappa / gap
    eps = kappa / (2 * push)
    after = scipy.optimize.brentq(lambda u: u - speed + push * u / (eps + np.hypot(eps, u)), 0, speed, xtol=1e-15)
    return after, gap


def test_friction_has_its_closed_form_on_the_central_path():
    kappas, speeds = np.meshgrid([1e-4, 1e-6, 1e-8], [1e-3, 0.4, 0.6, 5.0])
    w, end = jax.jit(jax.vmap(lambda k, s: _slide(k, s, np.float64)))(kappas.ravel(), speeds.ravel())
    assert end.converged.all() and end.iterations.max() <= 15
    for i, (kappa, speed) in enumerate(zip(kappas.ravel(), speeds.ravel())):
        after, gap = _slid(kappa, speed)
        np.testing.assert_allclose(w.a[i], [0.6 * after, 0.8 * after, gap / H], rtol=1e-5, atol=1e-10)
    np.testing.assert_allclose(w.a[-1] @ np.array([0.6, 0.8, 0]), 5 - 0.5 * 9.81 * H, atol=1e-6)


def test_float32_reaches_a_kappa_of_1e_6():
    kappas, speeds = (x.ravel().astype(np.float32) for x in np.meshgrid([1e-4, 1e-5, 1e-6], [1e-3, 0.4, 5.0]))
    w, end = jax.jit(jax.vmap(lambda k, s: _slide(k, s, np.float32)))(kappas, speeds)
    assert end.converged.all() and end.iterations.max() <= 15 and w.b.dtype == np.float32
    for i, (kappa, speed) in enumerate(zip(kappas, speeds)):
        np.testing.assert_allclose(np.hypot(w.a[i, 0], w.a[i, 1]), _slid(float(kappa), float(speed))[0], atol=2e-6)


def test_a_search_that_does_not_converge_ends_where_it_was_nearest():
    """With digits only for some tolerances; more iterations never make it worse."""
    theta = jnp.asarray([0.6, 0.8, 0.0], np.float32) * 5, jnp.asarray(0.5, np.float32)
    start = neutral(SLIDER, theta[0], np.float32)
    settings = Settings(*(jnp.asarray(x, np.float32) for x in (1e-6, 0.0, 0.0)))

    def after(iterations):
        return solve(dense(SLIDER, _slider), theta, start, settings._replace(iterations=iterations))[1]

    end = jax.jit(jax.vmap(after))(jnp.arange(40, dtype=np.int32))
    worst = np.asarray(violation(end))
    assert not end.converged.any() and worst[-1] < 1e-6 < worst[5]
    assert np.all(np.diff(worst) <= 0)


def test_variables_on_a_circle():
    """A rod's tip, a unit vector that steps turn, rests on a wall: the gap is not linear, nor its torque."""

    def turn(a, angle, alpha):
        c, s = jnp.cos(alpha * angle[0]), jnp.sin(alpha * angle[0])
        return jnp.stack([c * a[0] - s * a[1], s * a[0] + c * a[1]])

    def rod(weight, w: Point):  # on a torsion spring of 1 N m/rad that is at rest lying
        angle = jnp.arctan2(w.a[1], w.a[0])
        return (weight - w.b[0]) * w.a[0] + angle, w.c[0] - (w.a[1] - 0.5)

    problem = dense(Cones(1), rod, turn, lambda a: jnp.zeros(1))
    start = neutral(Cones(1), jnp.array([0.8, 0.6]), np.float64)
    w, end = jax.jit(lambda weight: solve(problem, weight, start, _settings(1e-6, halvings=10)))(jnp.asarray(2.0))
    assert end.converged and end.iterations <= 15
    np.testing.assert_allclose(w.a @ w.a, 1, rtol=1e-14)
    np.testing.assert_allclose(w.a[1] - 0.5, w.c[0], atol=1e-8)
    np.testing.assert_allclose(w.b[0] * w.c[0], 1e-6, rtol=1e-6)
    np.testing.assert_allclose(w.b[0], 2 + np.pi / 6 / np.sqrt(0.75), rtol=1e-5)
