"""Loops through a queue: every world ends as it does alone, however many rounds the others take."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxsim.layout import batched, queued
from jaxsim.layout.queue import LANES, is_queued
from jaxsim.layout.unstable import jaxpr_as_fun


def _halved(mass, rounds, start):
    """A loop of `rounds` rounds, with numbers, flags and nothing at all in its carry."""

    def going(s):
        return (s[1] < rounds) & ~s[2]

    def body(s):
        x, k, _, empty = s
        x = 0.5 * x + jnp.sin(x @ mass) / (k + 1).astype(x.dtype)
        return x, k + 1, jnp.any(jnp.isnan(x)), empty

    zero = jnp.zeros((), jnp.int32)
    return lax.while_loop(going, queued(body), (start, zero, jnp.zeros((), bool), jnp.zeros((0, 3))))[:3]


@pytest.mark.parametrize("size", [1, LANES, LANES + 1, 3 * LANES, 150])
def test_every_world_goes_its_own_number_of_rounds(size, rng):
    rounds = jnp.asarray(np.where(np.arange(size) % 17 == 3, 40, rng.integers(0, 6, size)), jnp.int32)
    mass, start = jnp.asarray(rng.standard_normal((3, 3))), jnp.asarray(rng.standard_normal((size, 3)))
    start = start.at[size // 2].set(jnp.nan)  # a fault ends the loop of its own world only
    ends, count, failed = jax.jit(jax.vmap(batched(_halved), (None, 0, 0)))(mass, rounds, start)
    alone = [_halved(mass, r, x) for r, x in zip(rounds, start)]
    np.testing.assert_array_equal(count, [k for _, k, _ in alone])
    np.testing.assert_array_equal(failed, [f for _, _, f in alone])
    np.testing.assert_allclose(ends, np.stack([x for x, _, _ in alone]), rtol=1e-12)


def test_marked_loops_are_found_and_side_by_side_ones_left_to_themselves():
    args = jnp.eye(3), jnp.asarray(2, jnp.int32), jnp.ones(3)
    one = jax.make_jaxpr(_halved)(*args)
    assert [is_queued(e) for e in one.eqns if e.primitive.name == "while"] == [True]
    both = jax.make_jaxpr(jax.vmap(_halved, (None, 0, None)))(args[0], jnp.arange(2, dtype=jnp.int32), args[2])
    assert [is_queued(e) for e in both.eqns if e.primitive.name == "while"] == [False]
    assert jaxpr_as_fun(one)(*args)[1] == 2
