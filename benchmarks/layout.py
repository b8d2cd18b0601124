"""How the layout of a batch changes speed: each stage and the whole step, by layout and by chunk.

python benchmarks/layout.py [MODEL] [--worlds 1024] [--chunks 32,128,512]

`worlds-first` is plain `jax.vmap` of the single-world program; the other columns run it worlds-last, in chunks
of so many worlds on a CPU. One Markdown table: microseconds per world (median of repeats), and XLA's
temporary bytes per world.
"""

import argparse
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from worlds import prepare, title

import jaxsim as js
from jaxsim.collision.driver import collide
from jaxsim.collision.slots import contact_buffer
from jaxsim.constraint.rows import make_constraint
from jaxsim.dynamics.com import com_pos, com_vel, crb, rne
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.layout import batch, batched
from jaxsim.stages import forward as stages
from jaxsim.stages.step import step


def _rows(m: js.Model, d: js.Data) -> object:
    return make_constraint(m, d, jnp.zeros((m.ntendon, m.nv), d.qpos.dtype), collide(m, d))


def _solve(m: js.Model, d: js.Data) -> js.Data:
    d, mid = stages.position_velocity(m, d)
    d, mid = stages.smooth_acceleration(m, d, mid)
    return stages.constrained_acceleration(m, d, mid)[0]


STAGES: dict[str, Callable] = {
    "kinematics": kinematics,
    "com_pos": com_pos,
    "crb": crb,
    "com_vel and rne": lambda m, d: (lambda out: rne(m, out[0], out[1]))(com_vel(m, d)),
    "collision": lambda m, d: contact_buffer(m, d, collide(m, d)),
    "constraint rows": _rows,
    "to the accelerations": _solve,
    "step": lambda model, data: step(model, data)[0],
}


def measure(fun: Callable, model: js.Model, data: js.Data, repeats: int) -> tuple[float, float]:
    """Microseconds and temporary bytes per world."""
    worlds = data.qpos.shape[0]
    compiled = jax.jit(jax.vmap(fun, in_axes=(None, 0))).lower(model, data).compile()
    jax.block_until_ready(compiled(model, data))
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        jax.block_until_ready(compiled(model, data))
        times.append(time.perf_counter() - begin)
    memory = compiled.memory_analysis()
    return 1e6 * float(np.median(times)) / worlds, memory.temp_size_in_bytes / worlds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="humanoid")
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--chunks", default="32,128,512")
    parser.add_argument("--repeats", type=int, default=20)
    args = parser.parse_args()
    model, _, _, data = prepare(args.model, args.worlds, steps=100)  # into contact
    chunks = [int(c) for c in args.chunks.split(",")]
    print(f"{title(args.model, args.worlds)}: us (temporary KB) per world\n")
    print("| stage | worlds-first | " + " | ".join(f"worlds-last, {c}" for c in chunks) + " |")
    print("|---|" + "---|" * (len(chunks) + 1))
    for name, fun in STAGES.items():
        cells = [measure(fun, model, data, args.repeats)]
        for chunk in chunks:
            batch.CHUNK = chunk
            cells.append(measure(batched(fun), model, data, args.repeats))
        print(f"| {name} | " + " | ".join(f"{us:.1f} ({kb / 1024:.1f})" for us, kb in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
