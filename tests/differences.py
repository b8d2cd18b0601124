"""Derivatives by differences: central ones, extrapolated to a step of zero."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

FIRST, RATIO, STEPS = 4e-3, 4.0, 8  # steps of 4e-3 down to 2.4e-7
ENOUGH = 1e-12  # of 1 plus the derivative: far less than any comparison asks for


def derivative(value: Callable[[float], float]) -> float:
    """d(value)/dt at 0 by Ridders' method (Numerical Recipes, section 5.7).

    Column k of the table is free of the errors in h^2, ..., h^2k; of all entries the one counts that differs least
    from those it was made of, so that neither rounding nor a kink inside the larger steps spoils it.
    """
    best, least, last = np.nan, np.inf, []
    for i in range(STEPS):
        h = FIRST / RATIO**i
        row = [(value(h) - value(-h)) / (2 * h)]
        for k, before in enumerate(last):
            row.append(row[k] + (row[k] - before) / (RATIO ** (2 * k + 2) - 1))
            off = max(abs(row[k + 1] - row[k]), abs(row[k + 1] - before))
            if off < least:
                best, least = row[k + 1], off
        if least < ENOUGH * (1 + abs(best)):
            break
        last = row
    return float(best)


def compare(loss: Callable[[dict], jax.Array], point: dict, ways: dict, least: float) -> dict[str, float]:
    """Of every input the derivative of a loss along a way, in both modes, and how far off the modes and differences are.

    Args:
        loss: a number [] of a dict of arrays.
        point: where to differentiate it.
        ways: a direction for each input, of its shape.
        least: derivatives below it are compared as if they were as large.

    Returns:
        The derivative by each input; an AssertionError names every input whose differences are off by 1e-6 or more of
        it, or whose modes are by 1e-10.
    """
    gradient, value = jax.jit(jax.grad(loss))(point), jax.jit(loss)
    forward = jax.jit(lambda t: jax.jvp(loss, (point,), (t,))[1])
    found, wrong = {}, {}
    for name in point:
        way = {k: ways[k] if k == name else jnp.zeros_like(v) for k, v in point.items()}
        exact = found[name] = float(jnp.sum(gradient[name] * way[name]))
        by_steps = derivative(lambda h, way=way: float(value(jax.tree.map(lambda x, t: x + h * t, point, way))))
        size = max(abs(exact), least)
        off = abs(float(forward(way)) - exact) / size, abs(by_steps - exact) / size
        if not (off[0] < 1e-10 and off[1] < 1e-6):
            wrong[name] = exact, *off
    assert not wrong, f"derivative, error of forward mode, of differences: {wrong}"
    return found
