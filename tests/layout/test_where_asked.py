"""Functions of lanes for those that are asked for: the same as each lane alone, and zero for others."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.layout import batched, where_asked, worlds
from jaxsim.layout.batch import TURNS
from jaxsim.layout.program import Program

LANES, WORLDS = 7, 40  # more than a chunk in all


def _root(shared, x, start):
    """A square root by Newton's method, which takes some lanes longer than others, and a tangent-carrying product."""
    still = jax.lax.stop_gradient((x, start))

    def step(state):
        y, count = state
        return 0.5 * (y + still[0] / y), count + 1

    y, count = jax.lax.while_loop(
        lambda s: (jnp.abs(s[0] ** 2 - still[0]) > 1e-12 * still[0]) & (s[1] < 60), step, (still[1], jnp.int32(0))
    )
    return {"product": y * x * shared, "place": jnp.stack([x, x**2]), "count": count}


def _expected(asked, shared, x):
    zero = lambda y: np.where(asked.reshape(*asked.shape, *[1] * (y.ndim - asked.ndim)), y, 0)  # noqa: E731
    return {"product": zero(np.sqrt(x) * x * shared), "place": zero(np.stack([x, x**2], axis=-1))}


@pytest.fixture
def lanes(rng):
    x = rng.uniform(0.1, 100, (WORLDS, LANES))
    return rng.random(x.shape) < 0.6, jnp.asarray(x), jnp.asarray(rng.uniform(0.5, 5, x.shape))


@pytest.mark.parametrize("share", [0.0, 0.6, 1.0])
def test_lanes_of_a_batch_and_of_one_world(lanes, rng, share):
    _, x, start = lanes
    asked = rng.random(x.shape) < share
    run = where_asked(_root)
    every = jax.jit(jax.vmap(batched(run), (0, None, 0, 0)))(asked, jnp.asarray(2.0), x, start)
    expected = _expected(asked, 2.0, np.asarray(x))
    for name, value in expected.items():
        np.testing.assert_allclose(every[name], value, rtol=1e-9)
    assert (np.asarray(every["count"]) > 0).tolist() == asked.tolist()
    for one in (run, jax.jit(run), batched(run)):
        alone = one(jnp.asarray(asked[3]), jnp.asarray(2.0), x[3], start[3])
        jax.tree.map(lambda a, b: np.testing.assert_array_equal(a, b[3]), alone, every)
    twice = jax.vmap(jax.vmap(batched(run), (0, None, 0, 0)), (0, None, 0, 0))
    shaped = [y.reshape(4, WORLDS // 4, LANES) for y in (jnp.asarray(asked), x, start)]
    found = twice(shaped[0], jnp.asarray(2.0), *shaped[1:])
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a.reshape(b.shape), b), found, every)


def test_turns(lanes):
    """Which lanes run side by side changes nothing, and those of turn 0 are not asked for."""
    asked, x, start = lanes
    turn = jnp.asarray(np.where(asked, 1 + (np.arange(LANES) * 3) % TURNS, 0), jnp.int32)
    shared = jnp.asarray(2.0)
    for wrap in (lambda f: f, batched):
        run = jax.jit(jax.vmap(wrap(where_asked(_root)), (0, None, 0, 0)))
        found, expected = (run(y, shared, x, start) for y in (turn, jnp.asarray(asked)))
        jax.tree.map(np.testing.assert_array_equal, found, expected)
    alone = where_asked(_root)(turn[3], shared, x[3], start[3])
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a, b[3]), alone, expected)
    slope = jax.vmap(jax.grad(lambda x, t, y: jnp.sum(where_asked(_root)(t, shared, x, y)["place"])))(x, turn, start)
    np.testing.assert_allclose(slope, np.where(asked, 1 + 2 * x, 0), rtol=1e-12)


def test_on_other_platforms(lanes, monkeypatch):
    """What a GPU runs: `jax.vmap` of so many at a time."""
    monkeypatch.setattr(worlds, "MANY", 100)
    asked, x, start = (jnp.asarray(y).reshape(-1) for y in lanes)
    shared = jnp.asarray(2.0)
    program = Program(jax.make_jaxpr(lambda *xs: jax.tree.leaves(_root(*xs)))(shared, x[0], start[0]))
    flags = (True, False, True, True)
    run = functools.partial(worlds._run_elsewhere, program=program, mapped=flags, size=len(x), asked=True)
    found = jax.jit(run)(asked, shared, x, start)
    expected = jax.tree.leaves(where_asked(_root)(asked, shared, x, start))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), found, expected)
    turned = jax.jit(run)(jnp.where(asked, 1 + jnp.arange(len(x), dtype=jnp.int32) % TURNS, 0), shared, x, start)
    jax.tree.map(np.testing.assert_array_equal, turned, found)
    none = jax.jit(run)(jnp.zeros_like(asked), shared, x, start)
    assert not any(np.asarray(y).any() for y in none)


def test_derivatives_of_lanes(lanes):
    asked, x, start = lanes
    asked = jnp.asarray(asked)

    def total(shared, x, start, asked):
        found = where_asked(_root)(asked, shared, x, start)
        return jnp.sum(found["product"] * jnp.arange(1.0, LANES + 1)) + jnp.sum(found["place"][:, 1])

    weight = jnp.arange(1.0, LANES + 1)[None]
    # the root is a constant of the derivative
    by_x = jnp.where(asked, weight * jnp.sqrt(x) * 2.0 + 2 * x, 0)
    by_shared = jnp.sum(jnp.where(asked, weight * jnp.sqrt(x) * x, 0), axis=1)
    for wrap in (lambda f: f, batched):
        slopes = jax.jit(jax.vmap(jax.grad(wrap(total), (0, 1)), (None, 0, 0, 0)))(jnp.asarray(2.0), x, start, asked)
        np.testing.assert_allclose(slopes[0], by_shared, rtol=1e-9)
        np.testing.assert_allclose(slopes[1], by_x, rtol=1e-9)
        forward = jax.jit(jax.vmap(jax.jacfwd(wrap(total), 1), (None, 0, 0, 0)))(jnp.asarray(2.0), x, start, asked)
        np.testing.assert_allclose(forward, by_x, rtol=1e-9)
    second = jax.jacfwd(jax.grad(total, 1), 1)(jnp.asarray(2.0), x[0], start[0], asked[0])
    np.testing.assert_allclose(second, jnp.diag(jnp.where(asked[0], 2.0, 0)), atol=1e-12)
    _, tangent = jax.jvp(
        lambda x: where_asked(_root)(asked[0], jnp.asarray(2.0), x, start[0])["place"], (x[0],), (x[0],)
    )
    np.testing.assert_allclose(tangent[:, 1], jnp.where(asked[0], 2 * x[0] ** 2, 0), rtol=1e-12)
