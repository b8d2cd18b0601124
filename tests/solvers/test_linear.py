"""Linear systems: in pieces, side by side, and their derivatives where the solution is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.solvers.linear import lanes, spd_solve, tiles
from jaxsim.solvers.linear.general import solve_general
from jaxsim.solvers.linear.inverse import inverse
from jaxsim.solvers.linear.small import solve_small
from jaxsim.solvers.linear.solve import Known, solve
from jaxsim.solvers.linear.triangles import factored, solved, triangles_p


@pytest.mark.parametrize("count", [1, 7, 200])
@pytest.mark.parametrize("columns", [1, 3])
def test_positive_definite_systems_in_pieces(count, columns, rng, monkeypatch):
    monkeypatch.setattr(spd_solve, "PIECE_WORK", 5000)
    A = rng.standard_normal((count, 9, 9))
    H, d, b = A @ np.swapaxes(A, 1, 2), rng.uniform(1, 2, (count, 9)), rng.standard_normal((count, 9, columns))
    x = jax.jit(lambda *a: spd_solve.spd_solve(*a))(H, d, b)
    np.testing.assert_allclose(x, np.linalg.solve(H + d[:, None] * np.eye(9), b), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("size, columns", [(1, 1), (5, 3), (14, 1), (15, 3), (30, 1)])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_positive_definite_systems_side_by_side(size, columns, precision, rng):
    A = rng.standard_normal((20, size, size))
    H, d, b = (
        A @ np.swapaxes(A, 1, 2) + np.eye(size),
        rng.uniform(1, 2, (20, size)),
        rng.standard_normal((20, size, columns)),
    )
    last = [jnp.asarray(np.moveaxis(x, 0, -1), precision) for x in (H, d, b)]
    x = np.moveaxis(np.asarray(jax.jit(lanes.solve, static_argnums=3)(*last, 0.0)), -1, 0)
    # the condition number reaches a few hundred
    np.testing.assert_allclose(x, np.linalg.solve(H + d[:, None] * np.eye(size), b), atol=1e3 * np.finfo(precision).eps)


def test_one_positive_definite_matrix_for_many_right_hand_sides(rng):
    A, b = rng.standard_normal((5, 5)), rng.standard_normal((7, 5))
    H = A @ A.T + np.eye(5)
    x = jax.vmap(lambda v: solve(jnp.asarray(H), v))(jnp.asarray(b))
    np.testing.assert_allclose(x, np.linalg.solve(H, b.T).T, rtol=1e-9)


def test_a_known_solution_has_the_derivatives_of_the_system(rng):
    """Of first and second order, with respect to the matrix, the diagonal and the right-hand side."""
    A, b, d = rng.standard_normal((4, 4)), rng.standard_normal(4), rng.uniform(1, 2, 4)
    dA = rng.standard_normal((4, 4))

    def at(s):
        return (jnp.asarray(A @ A.T) + s * (dA + dA.T), jnp.asarray(b) * jnp.cos(s), jnp.asarray(d) * (1 + s))

    def known(s):
        H, b, d = at(s)
        return solve(H, b, d, Known(jnp.linalg.solve(A @ A.T + np.diag(d0), b0), jnp.dot, H))

    b0, d0 = b, d

    def exact(s):
        return jnp.linalg.solve(at(s)[0] + jnp.diag(at(s)[2]), at(s)[1])

    for derive in (jax.jacfwd, jax.jacrev, lambda f: jax.jacfwd(jax.jacrev(f))):
        np.testing.assert_allclose(derive(known)(0.0), derive(exact)(0.0), rtol=1e-9, atol=1e-11)


def test_small_systems(rng):
    A, b = rng.standard_normal((3, 6, 6)) + 8 * np.eye(6), rng.standard_normal((3, 6))
    np.testing.assert_allclose(solve_small(A, b), np.linalg.solve(A, b[..., None])[..., 0], rtol=1e-12)


def test_systems_that_are_not_symmetric(rng):
    """Solutions, alone and in a batch, and derivatives, also of a solution that is known."""
    n = 9
    A, b = rng.standard_normal((3, n, n)) + 8 * np.eye(n), rng.standard_normal((3, n))
    x = np.linalg.solve(A, b[..., None])[..., 0]
    np.testing.assert_allclose(jax.jit(jax.vmap(solve_general))(A, b), x, rtol=1e-11)
    way = rng.standard_normal((n, n))

    def at(s):
        return jnp.asarray(A[0]) + s * way, jnp.asarray(b[0]) * (1 + s)

    for solution in (None, jnp.asarray(x[0])):
        for derive in (jax.jacfwd, jax.jacrev, lambda f: jax.jacfwd(jax.jacrev(f))):
            found = jax.jit(derive(lambda s, known=solution: solve_general(*at(s), known)))(0.0)
            np.testing.assert_allclose(found, derive(lambda s: jnp.linalg.solve(*at(s)))(0.0), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("size, columns", [(1, 1), (6, 1), (14, 3), (27, 1)])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_systems_in_tiles_of_a_gpu(size, columns, precision, rng):
    """The kernels' programs, interpreted; their inverses have pivots that are not on the diagonal."""
    A, b = rng.standard_normal((5, size, size)), rng.standard_normal((5, size, columns))
    H, way = A @ np.swapaxes(A, 1, 2) + np.eye(size), np.roll(A + 8 * np.eye(size), 1, axis=1)
    x = tiles.solve(jnp.asarray(H, precision), jnp.asarray(b, precision), interpret=True)
    np.testing.assert_allclose(x, np.linalg.solve(H, b), atol=1e3 * np.finfo(precision).eps)
    back = tiles.inverse(jnp.asarray(way, precision), interpret=True)
    np.testing.assert_allclose(back, np.linalg.inv(way), atol=1e3 * np.finfo(precision).eps)
    lean = jnp.asarray(H + np.triu(A), precision)
    table = tiles.triangles(lean, interpret=True)
    np.testing.assert_allclose(table, triangles_p.bind(lean), atol=1e3 * np.finfo(precision).eps)


def test_factors_of_stiff_systems_lose_no_digits(rng):
    """Where what is stiff are a few directions, as of contacts; the inverse leaves hundredths of the right-hand side."""
    n, eps = 12, np.finfo(np.float32).eps
    A, J, x = rng.standard_normal((n, n)), rng.standard_normal((3, n)), rng.standard_normal(n)
    stiff = np.float32(A @ A.T + np.eye(n) + 1e6 * J.T @ J)
    b = np.float32(np.float64(stiff) @ x)
    found = solved(factored(jnp.asarray(stiff)), jnp.asarray(b)), inverse(jnp.asarray(stiff)) @ b
    left, lost = (np.abs(np.float64(stiff) @ np.float64(y) - b).max() / np.abs(b).max() for y in found)
    assert left < 30 * eps
    assert lost > 1e4 * eps


def test_factors_have_derivatives_of_both_modes_and_orders(rng):
    A, dA = rng.standard_normal((2, 5, 5))
    A, b = A + 5 * np.eye(5), rng.standard_normal(5)

    def ours(s):
        return solved(factored(jnp.asarray(A) + s * dA), jnp.asarray(b) * jnp.cos(s))

    def right(s):
        return jnp.linalg.solve(jnp.asarray(A) + s * dA, jnp.asarray(b) * jnp.cos(s))

    for derive in (jax.jacfwd, jax.jacrev, lambda f: jax.jacfwd(jax.jacrev(f))):
        np.testing.assert_allclose(derive(ours)(0.3), derive(right)(0.3), rtol=1e-9, atol=1e-11)
    batch = jnp.asarray(A + 0.1 * rng.standard_normal((4, 5, 5)))
    x = jax.vmap(lambda A: solved(factored(A), jnp.asarray(b)))(batch)
    np.testing.assert_allclose(x, np.linalg.solve(batch, np.broadcast_to(b, (4, 5))[..., None])[..., 0], rtol=1e-9)


def test_an_inverse_has_derivatives_of_both_modes_and_orders(rng):
    A, dA = rng.standard_normal((2, 5, 5))
    for derive in (jax.jacfwd, jax.jacrev, lambda f: jax.jacfwd(jax.jacrev(f))):
        ours, right = (derive(lambda s, f=f: f(jnp.asarray(A) + s * dA))(0.0) for f in (inverse, jnp.linalg.inv))
        np.testing.assert_allclose(ours, right, rtol=1e-9, atol=1e-11)
    batch = jnp.asarray(rng.standard_normal((5, 4, 5)))
    np.testing.assert_allclose(jax.vmap(inverse, in_axes=1)(batch), np.linalg.inv(np.moveaxis(batch, 1, 0)), rtol=1e-9)
