"""Whether the default room for collisions holds: random rollouts of models, one JSON line each.

python benchmarks/budgets.py MODEL... [--worlds 256] [--steps 2000] [--every 50]

Controls are uniform in their ranges, or normal where there is none, and new at every so many steps. Of each budget that
was used it prints the size and the peak over all worlds, those first that did not suffice. What was needed so far goes
to the standard error every tenth of the way.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js


def rollout(path: str, worlds: int, steps: int, every: int) -> dict:
    """What a model needed, how often a contact was left out or a world was reset, and how long it took."""
    model = js.load(Path(path) if path.endswith(".xml") else path)
    data = js.make_data(model)
    low, high = (jnp.where(model.actuator_ctrllimited, model.actuator_ctrlrange[:, i], x) for i, x in ((0, -1), (1, 1)))

    def advance(worlds_data, key):
        random = jax.random.uniform(key, (worlds, model.nu), minval=low[None], maxval=high[None])
        start = worlds_data.replace(ctrl=random.astype(data.ctrl.dtype))

        def once(d, _):
            return jax.vmap(js.step, in_axes=(None, 0))(model, d), None

        return jax.lax.scan(once, start, length=every)[0]

    run = jax.jit(advance)
    batch = jax.tree.map(lambda x: jnp.broadcast_to(x, (worlds, *x.shape)), data)
    begin = time.process_time()
    turns = -(-steps // every)
    for turn, key in enumerate(jax.random.split(jax.random.key(0), turns)):
        batch = run(batch, key)
        if (turn + 1) % max(1, turns // 10) == 0:
            print(f"{(turn + 1) * every} of {steps} steps: {peaks_of(model, batch)}", file=sys.stderr, flush=True)
    peaks = peaks_of(model, batch)
    return {
        "model": "/".join(Path(path).parts[-2:]),
        "finite": bool(np.isfinite(batch.qpos).all()),
        "short": {name: x for name, x in peaks.items() if x[1] > x[0]},
        "used": {name: x for name, x in peaks.items() if 0 < x[1] <= x[0]},
        "warnings": js.warnings_of(batch),
        "cpu_s": round(time.process_time() - begin),
    }


def peaks_of(model: js.Model, batch: js.Data) -> dict[str, tuple[int, int]]:
    """Size of each room and the most that a world needed so far."""
    return {name: (int(room.size), int(np.max(room.peak))) for name, room in js.budgets(model, batch).items()}


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--every", type=int, default=50)
    args = parser.parse_args()
    for path in args.models:
        print(json.dumps(rollout(path, args.worlds, args.steps, args.every)), flush=True)


if __name__ == "__main__":
    main()
