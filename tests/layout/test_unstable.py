"""What JAX's undocumented interfaces must do, where this project relies on them; see jaxsim/layout/unstable.py."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxsim.layout.evaluate import INLINE, RULES
from jaxsim.layout.unstable import jaxpr_as_fun, without_dead
from jaxsim.layout.world import one_kernel, settled


def _compiled(fun, *args) -> str:
    return jax.jit(fun).lower(*args).compile().as_text()


def test_dead_equations_and_inputs_leave_a_jaxpr():
    closed = jax.make_jaxpr(lambda x, y: (jnp.sin(x) * np.arange(3.0), jnp.cos(y), jax.jit(jnp.exp)(x) + y))(
        jnp.ones(3), jnp.ones(3)
    )
    part, used = without_dead(closed, [True, False, False])
    assert used == (True, False)
    np.testing.assert_allclose(jaxpr_as_fun(part)(jnp.ones(3))[0], np.sin(1) * np.arange(3.0))
    whole, used = without_dead(closed, [False, True, False], True)
    assert used == (True, True)
    assert [e.primitive.name for e in whole.jaxpr.eqns] == ["cos"]


def test_a_settled_call_is_not_inlined_on_a_cpu(optimized):
    """If XLA ignored the attribute, batches would only become slow."""
    text = _compiled(
        lambda x: settled(lambda x: jnp.sin(x) * 2)(x) + settled(lambda x: jnp.cos(x) * 3)(x), jnp.ones(64)
    )
    assert len(re.findall(r" call\(", text)) == 2
    assert "inlineable" in text


def test_one_kernel_is_one_kernel(optimized):
    def many(x):
        for k in range(20):
            x = jnp.concatenate([x[1:], x[:1]]) * jnp.sin(x) + k
        return x

    text = _compiled(lambda x: one_kernel(many)(x), jnp.linspace(0.0, 1.0, 64).reshape(4, 16))
    assert "xla_cpu_small_call" in text
    entry = text[text.index("ENTRY") :]
    assert len(re.findall(r" (fusion|call)\(", entry)) <= 2


WRAPPERS = {
    "jit": lambda x: jax.jit(jnp.sin)(x),
    "checkpoint": lambda x: jax.checkpoint(jnp.sin)(x),
    "custom_jvp_call": lambda x: jax.nn.relu(x),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_wrapped_programs_are_found_by_their_parameter(name):
    (eqn,) = [e for e in jax.make_jaxpr(WRAPPERS[name])(1.0).jaxpr.eqns if e.primitive.name in INLINE]
    inner = eqn.params[INLINE[eqn.primitive.name]]
    assert getattr(inner, "jaxpr", inner).eqns, "the parameter holds the program"


def test_loops_have_the_parameters_that_their_rules_read():
    def loops(x):
        x = lax.while_loop(lambda x: x.sum() < 10, lambda x: x * 2, x)
        x = lax.cond(x[0] > 1, jnp.sin, jnp.cos, x)
        return lax.scan(lambda c, y: (c + y, c), x[0], x)

    eqns = {e.primitive.name: e for e in jax.make_jaxpr(loops)(jnp.ones(3)).jaxpr.eqns}
    assert {"cond_jaxpr", "body_jaxpr", "cond_nconsts", "body_nconsts"} <= set(eqns["while"].params)
    assert {"jaxpr", "length", "reverse", "unroll"} <= set(eqns["scan"].params)
    assert "branches" in eqns["cond"].params
    assert {"while", "scan", "cond"} <= set(RULES)


def test_a_linear_solve_holds_its_solver():
    def solve(b):
        return lax.custom_linear_solve(lambda x: 2 * x, b, lambda _, b: b / 2, symmetric=True)

    (eqn,) = [e for e in jax.make_jaxpr(solve)(jnp.ones(2)).jaxpr.eqns if e.primitive.name == "custom_linear_solve"]
    assert eqn.params["jaxprs"].solve.jaxpr.eqns
    assert {"matvec", "vecmat", "solve"} <= set(eqn.params["const_lengths"]._fields)
