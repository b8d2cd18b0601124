"""Running a traced single-world program on a batch: one rule per primitive."""

from collections.abc import Callable
from typing import Any

import jax
from jax.extend import core

from jaxsim.layout.world import Value, World

Rule = Callable[[Any, list[Value], int], list[Value]]

RULES: dict[str, Rule] = {}  # by name of the primitive
NAMED: dict[str, Rule] = {}  # by name of a function under jax.jit, for functions with a rule of their own


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Decorator: the rule of the primitives of these names."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def evaluate(jaxpr, consts, args: list[Value], n: int) -> list[Value]:
    """Run a jaxpr on values of which some are worlds-last."""
    env: dict[Any, Value] = {}

    def read(v):
        return v.val if isinstance(v, core.Literal) else env[v]

    env.update(zip(jaxpr.constvars, consts))
    env.update(zip(jaxpr.invars, args))
    for eqn in jaxpr.eqns:
        values = [read(v) for v in eqn.invars]
        inner = INLINE.get(eqn.primitive.name)
        named = NAMED.get(eqn.params.get("name", ""))
        if inner is not None and named is not None:
            outs = named(eqn, values, n)
        elif inner is not None:
            closed = eqn.params[inner]
            outs = evaluate(closed.jaxpr, closed.consts, values, n)
        elif not any(isinstance(v, World) for v in values):
            outs = eqn.primitive.bind(*values, **eqn.params)
            outs = outs if eqn.primitive.multiple_results else [outs]
        else:
            rule = RULES.get(eqn.primitive.name, fallback)
            outs = rule(eqn, values, n)
        env.update(zip(eqn.outvars, outs))
    return [read(v) for v in jaxpr.outvars]


# primitives that only wrap another program
INLINE = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vmap_call": "call",
    "remat": "jaxpr",
    "checkpoint": "jaxpr",
}


def fallback(eqn, values: list[Value], n: int) -> list[Value]:
    """World-first, through the primitive's own batching rule; results moved back to worlds-last."""
    moved = [v.first if isinstance(v, World) else v for v in values]
    axes = [0 if isinstance(v, World) else None for v in values]

    def call(*xs):
        out = eqn.primitive.bind(*xs, **eqn.params)
        return out if eqn.primitive.multiple_results else [out]

    outs = jax.vmap(call, in_axes=axes, axis_size=n)(*moved)
    return [World(first=x) for x in outs]
