"""Plans of iLQR, one problem alone and many in parallel: one JSON line, processor time of each.

python benchmarks/ilqr.py [--problems 64] [--alone 8]

The problems are those of examples/swing_up.py. Alone, the first few are solved one after the other by one program;
together, all are solved by one program, which goes on until the last one has converged.
"""

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js
from jaxsim.optimize import Plan, Settings

sys.path.append(str(Path(__file__).parents[1] / "examples"))
from swing_up import planned, starts

SETTINGS = Settings(500)


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=64)
    parser.add_argument("--alone", type=int, default=8)
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    plan = partial(planned, js.load("cart_pole"), SETTINGS)
    qpos, guess = (jnp.asarray(x) for x in starts(args.problems))
    single = jax.jit(plan).lower(qpos[0], guess[0]).compile()
    parallel = jax.jit(jax.vmap(plan)).lower(qpos, guess).compile()
    alone = [timed(single, qpos[i], guess[i]) for i in range(args.alone)]
    together, seconds = timed(parallel, qpos, guess)
    iterations = np.array([int(p.iterations) for p, _ in alone])
    assert all(p.converged for p, _ in alone) and together.converged.all()
    each, shared = sum(s for _, s in alone) / args.alone, seconds / args.problems
    result = {
        "problems": args.problems,
        "cpu_s_alone": round(each, 3),
        "iterations_alone": round(float(iterations.mean()), 1),
        "cpu_s_together": round(shared, 3),
        "iterations_together": round(float(together.iterations.mean()), 1),
        "most_iterations": int(together.iterations.max()),
        "ratio": round(shared / each, 3),
    }
    print(json.dumps(result), flush=True)


def timed(program, qpos: jax.Array, guess: jax.Array) -> tuple[Plan, float]:
    """The plan or plans, and processor seconds of the faster of two runs."""
    seconds = []
    for _ in range(2):
        begun = time.process_time()
        plans = jax.block_until_ready(program(qpos, guess))
        seconds.append(time.process_time() - begun)
    return plans, min(seconds)


if __name__ == "__main__":
    main()
