"""Choosing candidates into slots, against numpy's sort: every size, ties, none, all; alone and in batches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.collision.compact import chosen, deepest
from jaxsim.layout import batched

LIMIT = 1e10


@pytest.mark.parametrize("n, size", [(1, 3), (31, 40), (33, 8), (600, 70), (20_000, 90)])
def test_chosen(n, size):
    """Few and many words, more slots than candidates, and more active ones than slots."""
    rng = np.random.default_rng(n)
    share = np.array([0, 1, 0.5, 2 / n, size / n, 3 * size / n])
    active = rng.random((len(share), n)) < share[:, None]
    expected = np.full((len(share), size), n)
    for row, flags in zip(expected, active):
        found = np.flatnonzero(flags)[:size]
        row[: len(found)] = found
    many = jax.jit(jax.vmap(batched(lambda x: chosen(x, size))))(active)
    np.testing.assert_array_equal(many, expected)
    alone = jax.jit(lambda x: chosen(x, size))
    np.testing.assert_array_equal([alone(x) for x in active], expected)


def _worlds(n: int, size: int) -> np.ndarray:
    """Distances [worlds, n]: few contacts, just as many as slots, one more, all, many of them tied."""
    rng = np.random.default_rng(0)
    dist = rng.normal(size=(7, n)).astype(np.float32)
    for row, count in zip(dist, (0, size // 2, size, size + 1)):
        row[rng.permutation(n)[count:]] = LIMIT
    dist[5] = rng.integers(-3, 3, n) / 8
    dist[6] = 0
    return dist


@pytest.mark.parametrize("n, size", [(40, 12), (700, 64)])
def test_deepest(n, size):
    dist = _worlds(n, size)
    # by distance, ties in table order
    order = np.argsort(dist, axis=1, kind="stable")[:, :size]
    expected = np.zeros_like(dist, bool)
    np.put_along_axis(expected, order, True, axis=1)
    expected &= dist < LIMIT
    run = jax.jit(jax.vmap(batched(lambda x: deepest(x, LIMIT, size))))
    mask, count = run(dist)
    np.testing.assert_array_equal(mask, expected)
    np.testing.assert_array_equal(count, (dist < LIMIT).sum(1))
    swap = np.array([3, 6, 0, 2, 5, 1, 4])
    np.testing.assert_array_equal(run(dist[swap])[0], expected[swap])
    np.testing.assert_array_equal(jax.jit(lambda x: deepest(x, LIMIT, size))(dist[5])[0], expected[5])


def test_what_is_invalid_is_not_chosen():
    """A distance that is not a number ends no search and takes no slot."""
    dist = jnp.asarray([0.1, np.nan, -0.2, 0.3, np.nan, 0.0], jnp.float32)
    mask, count = jax.jit(lambda x: deepest(x, LIMIT, 2))(dist)
    assert int(count) == 4 and np.flatnonzero(mask).tolist() == [2, 5]
