"""The primitive of a world: what its rules promise."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.layout import batched


def _equations(jaxpr, name: str) -> list:
    """All equations of a primitive, in inner programs too."""
    found = [e for e in jaxpr.eqns if e.primitive.name == name]
    for e in jaxpr.eqns:
        for p in e.params.values():
            for inner in p if isinstance(p, (list, tuple)) else [p]:
                inner = getattr(inner, "jaxpr", inner)
                found += _equations(inner, name) if hasattr(inner, "eqns") else []
    return found


def _root(x):
    """The cube root by Newton's iteration, kept for the derivative; and how it is differentiated."""
    y = jax.lax.while_loop(lambda y: jnp.any(jnp.abs(y**3 - x) > 1e-13), lambda y: y - (y**3 - x) / (3 * y**2), x)
    return (y, y * x), y


def _root_again(y, x):
    @jax.custom_jvp
    def root(y, x):
        return y

    @root.defjvp
    def _(primals, tangents):
        y = root(*primals)
        return y, tangents[1] / (3 * y**2)

    y = root(y, x)
    return y, y * x


cube_root = batched(_root, _root_again)


def test_what_was_kept_serves_derivatives_of_every_order():
    x = jnp.asarray([1.2, 2.5, 8.0])
    f, exact = (lambda x: cube_root(x)[1].sum()), (lambda x: (x ** (4 / 3)).sum())
    for derive in (jax.grad, jax.hessian, lambda f: jax.jacrev(jax.jacrev(f)), lambda f: jax.jacfwd(jax.hessian(f))):
        np.testing.assert_allclose(derive(f)(x), derive(exact)(x), rtol=1e-10, atol=1e-12)
    # and the iteration is not among them
    derivative = jax.make_jaxpr(jax.grad(f))(x)
    programs = [e.params["program"].closed.jaxpr for e in _equations(derivative.jaxpr, "worlds")]
    assert [len(_equations(p, "while")) for p in programs] == [1, 0]


def test_a_scan_keeps_what_a_world_reads_and_found():
    def loss(x):
        return jax.lax.scan(lambda x, _: (cube_root(x)[1], None), x, None, length=5)[0].sum()

    x = jnp.asarray([1.2, 2.5])
    np.testing.assert_allclose(jax.grad(loss)(x), jax.grad(lambda x: (x ** ((4 / 3) ** 5)).sum())(x), rtol=1e-10)
    _, pull = jax.eval_shape(lambda x: jax.vjp(loss, x), x)
    assert sorted(leaf.shape for leaf in jax.tree.leaves(pull)) == [(5, 2), (5, 2)]


def test_columns_share_a_world():
    """Tangents of one world are columns of one program; the world itself is run once."""
    f = batched(lambda x: jnp.sin(x) @ jnp.cos(x)[:, None] * x)
    x = jnp.arange(3.0)
    program = jax.make_jaxpr(jax.vmap(jax.jacfwd(f)))(jnp.stack([x, x + 1]))
    (columns,) = [e for e in _equations(program.jaxpr, "worlds") if e.params["program"].linear]
    assert columns.params["size"] == 2
    assert columns.outvars[0].aval.shape == (2, 3, 3)
    np.testing.assert_allclose(jax.jacfwd(f)(x), jax.jacrev(f)(x), rtol=1e-12)


def test_nothing_is_computed_for_results_that_nothing_reads():
    f = batched(lambda x: (jnp.sin(x), jnp.cos(x)))
    program = jax.jit(lambda x: f(x)[0]).trace(jnp.ones(3)).lower().as_text()
    assert "sine" in program
    assert "cosine" not in program


def test_a_batch_of_batches_is_one_batch(rng):
    f = batched(lambda a, b: (a @ b, jnp.sin(a)))
    a, b = jnp.asarray(rng.standard_normal((2, 5, 3))), jnp.asarray(rng.standard_normal((5, 3)))
    nested = jax.vmap(jax.vmap(f), (0, None))
    (equation,) = _equations(jax.make_jaxpr(nested)(a, b).jaxpr, "worlds")
    assert equation.params["size"] == 10
    np.testing.assert_allclose(nested(a, b)[0], np.einsum("kni,ni->kn", a, b), rtol=1e-12)


@pytest.mark.parametrize("derive", [lambda f: f, jax.jacfwd, jax.jacrev])
def test_no_worlds(derive):
    f = batched(lambda x: jnp.sin(x) * x.sum())
    out = jax.vmap(derive(f))(jnp.zeros((0, 3)))
    assert out.shape[0] == 0
    assert out.shape[1:] == jax.eval_shape(derive(f), jnp.zeros(3)).shape


def test_what_all_worlds_share_gets_the_sum_of_what_they_pull(rng):
    f = batched(lambda a, x: jnp.sin(a * x))
    a, x = jnp.asarray(rng.standard_normal(3)), jnp.asarray(rng.standard_normal((20, 3)))

    def loss(f):
        return lambda a: jax.vmap(f, (None, 0))(a, x).sum()

    np.testing.assert_allclose(jax.grad(loss(f))(a), jax.grad(loss(lambda a, x: jnp.sin(a * x)))(a), rtol=1e-12)


def test_layout_can_be_switched_off():
    script = (
        "import jax, jax.numpy as jnp; from jaxsim.layout import batched;"
        "f = jax.jit(jax.vmap(batched(jnp.sin))); print('optimization_barrier' in f.lower(jnp.ones((20, 3))).as_text(), f(jnp.ones((2, 1))))"
    )
    texts = {}
    for layout in ("", "plain"):
        done = subprocess.run(
            [sys.executable, "-c", script], env=os.environ | {"JAXSIM_LAYOUT": layout}, capture_output=True, text=True,
            timeout=120, check=True,
        )  # fmt: skip
        texts[layout] = done.stdout.split(" ", 1)
    assert texts[""][1] == texts["plain"][1]
    assert (texts[""][0], texts["plain"][0]) == ("True", "False")


def test_the_primitive_runs_outside_of_jit():
    f = batched(lambda x: x * 2)
    np.testing.assert_array_equal(f(jnp.ones(2)), [2.0, 2.0])
