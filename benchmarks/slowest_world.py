"""What the slowest world costs the others.

python benchmarks/slowest_world.py [MODEL] [--worlds 1024]

The solver of a batch runs until its last world has converged. The table shows the iterations that worlds need,
what a step costs when no world needs any (all are at rest in the air), when every world needs its usual number,
and when one world among them, or one in each chunk, is thrown into deep penetration.
"""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np
from worlds import prepare, title

import jaxsim as js
from jaxsim.layout import batch


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="humanoid")
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=20)
    args = parser.parse_args()
    model, advance, start, usual = prepare(args.model, args.worlds, steps=200)

    def thrown(worlds: np.ndarray) -> js.Data:
        noise = jax.random.normal(jax.random.key(1), usual.qpos.shape)
        chosen = jnp.asarray(np.isin(np.arange(args.worlds), worlds))[:, None]
        deep = (usual.qpos + 0.3 * noise).at[:, 2].add(-0.5)
        return usual.replace(
            qpos=jnp.where(chosen, deep, usual.qpos), qacc_warmstart=jnp.where(chosen, 0, usual.qacc_warmstart)
        )

    cases = {
        "no contact": start.replace(qpos=start.qpos.at[:, 2].add(5.0), qvel=jnp.zeros_like(start.qvel)),
        "usual": usual,
        "one world thrown": thrown(np.array([0])),
        "one in each chunk thrown": thrown(np.arange(0, args.worlds, batch.CHUNK)),
    }
    print(f"{title(args.model, args.worlds)}\n")
    print("| batch | iterations, mean | largest | us per world and step | to usual |\n|---|---|---|---|---|")
    seconds = {}
    for name, data in cases.items():
        times = []
        for _ in range(args.repeats):
            begin = time.perf_counter()
            out = jax.block_until_ready(advance(model, data))
            times.append(time.perf_counter() - begin)
        seconds[name] = float(np.median(times[1:]))
        cases[name] = out.solver_niter
    for name, niter in cases.items():
        us, share = 1e6 * seconds[name] / args.worlds, seconds[name] / seconds["usual"]
        print(f"| {name} | {float(niter.mean()):.1f} | {int(niter.max())} | {us:.1f} | {share:.2f} |")


if __name__ == "__main__":
    main()
