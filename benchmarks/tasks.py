"""What a step of a task costs: one JSON line per task, processor time of one program of steps in many worlds.

python benchmarks/tasks.py hand_turn peg_insert [--worlds 256] [--steps 20]

Random actions, float32; microseconds of the processor for each world and step of the task or of its physics. The
program runs twice, and the second run counts.
"""

import argparse
import json
import time

import jax

from jaxsim import envs


def main() -> None:
    """Compile and measure each task."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="+", choices=envs.names())
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    for task in args.tasks:
        env = envs.make(task)
        state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), args.worlds))
        shape = (args.steps, args.worlds, env.action_size)
        actions = jax.random.uniform(jax.random.key(1), shape, minval=-1, maxval=1)
        begun = time.process_time()
        step = jax.vmap(env.step)
        run = jax.jit(
            lambda state, actions, step=step: jax.lax.scan(lambda s, u: (step(s, u), None), state, actions)[0]
        )
        program = run.lower(state, actions).compile()
        compiled = time.process_time()
        state = jax.block_until_ready(program(state, actions))
        second = time.process_time()
        state = jax.block_until_ready(program(state, actions))
        each = 1e6 * (time.process_time() - second) / args.steps / args.worlds
        result = {
            "compile_s": round(compiled - begun, 1),
            "us_per_step": round(each),
            "us_per_physics_step": round(each / env.n_substeps),
            "contacts": round(float(state.data.ncon.mean()), 2),
            "warnings": int(state.data.warning.sum()),
        }
        print(json.dumps({"task": task} | result), flush=True)


if __name__ == "__main__":
    main()
