"""Seconds to trace and compile a batched step and its gradient, each in a process of its own, one JSON line each.

python benchmarks/compiling.py MODEL... [--contact hard] [--worlds 64] [--limit 600]

The gradient is `jax.vmap(jax.grad)` of a sum of the next qpos and qvel, by qpos, qvel and ctrl. No compilation cache is
used; nothing else should run. Processor seconds are those of tracing and compiling, of all threads.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path


def compiled(path: str, what: str, worlds: int, contact: str | None) -> dict:
    """Times of one program of one model: `what` is "step" or "gradient"."""
    import jax
    import jax.numpy as jnp

    import jaxsim as js

    begin = time.perf_counter()
    model = js.load(Path(path) if path.endswith(".xml") else path, contact=contact)
    data = js.make_data(model)
    load = time.perf_counter() - begin

    def moved(qpos, qvel, ctrl, d):
        after = js.step(model, d.replace(qpos=qpos, qvel=qvel, ctrl=ctrl))
        return jnp.sum(after.qpos) + jnp.sum(after.qvel)

    if what == "gradient":
        program = lambda d: jax.grad(moved, argnums=(0, 1, 2))(d.qpos, d.qvel, d.ctrl, d)  # noqa: E731
    else:
        program = lambda d: js.step(model, d)  # noqa: E731
    if worlds:
        program, data = jax.vmap(program), jax.tree.map(lambda x: jnp.broadcast_to(x, (worlds, *x.shape)), data)
    begin, processor = time.perf_counter(), time.process_time()
    lowered = jax.jit(program).lower(data)
    trace = time.perf_counter() - begin
    begin = time.perf_counter()
    lowered.compile()
    seconds = {"load": load, "trace": trace, "compile": time.perf_counter() - begin}
    seconds["processor"] = time.process_time() - processor
    return {"model": "/".join(Path(path).parts[-2:]), "what": what, **{k: round(s, 1) for k, s in seconds.items()}}


def main() -> None:
    """Print two lines for each model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--worlds", type=int, default=64, help="0: one world, without a batch")
    parser.add_argument("--contact", choices=("soft", "hard"), help="law of the contacts, if not the model's")
    parser.add_argument("--limit", type=float, default=600, help="seconds that one program may take")
    parser.add_argument("--what", choices=("step", "gradient"), help="one of the two, in this process")
    args = parser.parse_args()
    if args.what:
        for path in args.models:
            print(json.dumps(compiled(path, args.what, args.worlds, args.contact)), flush=True)
        return
    alone = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}
    for path in args.models:
        for what in ("step", "gradient"):
            command = [sys.executable, __file__, path, "--worlds", str(args.worlds), "--what", what]
            command += ["--contact", args.contact] if args.contact else []
            try:
                subprocess.run(command, env=alone, timeout=args.limit, check=False)
            except subprocess.TimeoutExpired:
                print(json.dumps({"model": path, "what": what, "limit": args.limit}), flush=True)


if __name__ == "__main__":
    main()
