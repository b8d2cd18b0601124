"""Time of batched exact Jacobians along rollouts, one problem and many in parallel: one JSON line per model.

python benchmarks/optimize.py [--models cart_pole,hopper] [--problems 1,64] [--steps 50]
"""

import argparse
import json
import time

import jax
import jax.numpy as jnp

import jaxsim as js
from jaxsim import models
from jaxsim.optimize import linearise_trajectory

REPEATS = 3


def main() -> None:
    """Measure every model with every number of problems."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="cart_pole,hopper")
    parser.add_argument("--problems", default="1,64")
    parser.add_argument("--steps", type=int, default=50)
    args = parser.parse_args()
    for name in args.models.split(","):
        model = js.load(models.path(name))
        result = {"model": name, "steps": args.steps}
        for count in map(int, args.problems.split(",")):
            result |= measure(model, count, args.steps)
        print(json.dumps(result), flush=True)


def measure(model: js.Model, count: int, steps: int) -> dict[str, float]:
    """Seconds to compile, and microseconds of each Jacobian in the best of several runs."""
    ctrl = 0.3 * jax.random.normal(jax.random.key(0), (count, steps, model.nu))
    many = jax.jit(jax.vmap(lambda u: linearise_trajectory(model, js.make_data(model), u)[:2]))
    begun = time.perf_counter()
    program = many.lower(ctrl).compile()
    compiled = time.perf_counter() - begun
    assert all(bool(jnp.all(jnp.isfinite(x))) for x in program(ctrl))
    seconds = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        jax.block_until_ready(program(ctrl))
        seconds.append(time.perf_counter() - begun)
    each = 1e6 * min(seconds) / (count * steps)
    return {f"compile_s_{count}": round(compiled, 1), f"us_per_step_{count}": round(each, 2)}


if __name__ == "__main__":
    main()
