"""Iterations of iLQR, one problem alone and many in parallel: one JSON line, processor time of each.

python benchmarks/ilqr.py [--problems 64] [--alone 4] [--iterations 10]

The problems are those of examples/swing_up.py, stopped after as many iterations each, so that none waits for another.
Alone, the first few are solved one after the other by one program; together, all are solved by one program.
"""

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp

import jaxsim as js
from jaxsim.optimize import Plan, Settings

sys.path.append(str(Path(__file__).parents[1] / "examples"))
from swing_up import planned, starts


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=64)
    parser.add_argument("--alone", type=int, default=4)
    parser.add_argument("--iterations", type=int, default=10)
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    plan = partial(planned, js.load("cart_pole"), Settings(args.iterations, tolerance=0.0))
    qpos, guess = (jnp.asarray(x) for x in starts(args.problems))
    single = jax.jit(plan).lower(qpos[0], guess[0]).compile()
    parallel = jax.jit(jax.vmap(plan)).lower(qpos, guess).compile()
    print(f"compiled in {time.process_time():.0f} s of processors", file=sys.stderr, flush=True)
    alone = [timed(single, qpos[i], guess[i]) for i in range(args.alone)]
    together, seconds = timed(parallel, qpos, guess)
    assert all(p.iterations == args.iterations for p, _ in alone) and (together.iterations == args.iterations).all()
    each, shared = sum(s for _, s in alone) / args.alone, seconds / args.problems
    result = {
        "problems": args.problems,
        "iterations": args.iterations,
        "cpu_s_alone": round(each, 3),
        "cpu_s_together": round(shared, 3),
        "ratio": round(shared / each, 3),
    }
    print(json.dumps(result), flush=True)


def timed(program, qpos: jax.Array, guess: jax.Array) -> tuple[Plan, float]:
    """The plan or plans, and processor seconds."""
    begun = time.process_time()
    plans = jax.block_until_ready(program(qpos, guess))
    return plans, time.process_time() - begun


if __name__ == "__main__":
    main()
