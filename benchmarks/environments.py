"""What an environment costs beside bare steps: one JSON line per task, ratios of times taken in turn in one run.

python benchmarks/environments.py [--tasks half_cheetah_run,ant_run] [--worlds 256] [--length 1000]

`ratio` is the time of a step of `envs.wrap(env)` with its episodes, over the time of the same number of `js.step`s in
the same worlds with the same actions; `cpu_ratio` is that of the processor's time, which other work on the machine
disturbs less. Both are scans of `--steps` steps, and the fastest of some rounds.
"""

import argparse
import functools
import json
import time

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js
from jaxsim import envs


def bare(env, data, actions):
    """Physics alone: data [worlds] after actions [steps, worlds, nu]."""
    step = jax.vmap(js.step, (None, 0))

    def act(data, action):
        data = data.replace(ctrl=jax.vmap(envs.scaled, (None, 0))(env.model, action))
        return jax.lax.scan(lambda d, _: (step(env.model, d), None), data, length=env.n_substeps)[0], None

    return jax.lax.scan(act, data, actions)[0]


def whole(worlds, state, actions):
    """The environment: the State [worlds] after actions [steps, worlds, nu], and the rewards [steps, worlds]."""

    def act(state, action):
        state = worlds.step(state, action)
        return state, (state.reward, state.done)

    return jax.lax.scan(act, state, actions)


def measure(task: str, count: int, length: int, steps: int, rounds: int) -> dict:
    """Times of both, in seconds for each step of all worlds, and how many episodes ended."""
    env = envs.make(task)
    worlds = envs.wrap(env, length)
    state = jax.jit(worlds.reset)(jax.random.split(jax.random.key(0), count))
    # worlds are at different places of their episodes, as in training after a while
    state = state.replace(info={**state.info, "steps": jnp.floor(jnp.linspace(0, length, count, False))})
    actions = jax.random.uniform(jax.random.key(1), (steps, count, env.action_size), minval=-1, maxval=1)
    run = {"bare": jax.jit(functools.partial(bare, env)), "whole": jax.jit(functools.partial(whole, worlds))}
    compiled = {"bare": run["bare"].lower(state.data, actions), "whole": run["whole"].lower(state, actions)}
    began = time.perf_counter()
    programs = {name: lowered.compile() for name, lowered in compiled.items()}
    result: dict = {"compile": round(time.perf_counter() - began, 1)}
    times: dict = {name: [] for name in programs}
    for _ in range(rounds):
        for name, start in (("bare", state.data), ("whole", state)):
            began = np.array([time.perf_counter(), time.process_time()])
            out = jax.block_until_ready(programs[name](start, actions))
            times[name].append((np.array([time.perf_counter(), time.process_time()]) - began) / steps)
    done = out[1][1]
    fastest = {name: np.min(found, axis=0) for name, found in times.items()}
    ratio, cpu_ratio = (fastest["whole"] / fastest["bare"]).round(3).tolist()
    result |= {name: float(found[0]) for name, found in fastest.items()}
    return result | {"ratio": ratio, "cpu_ratio": cpu_ratio, "ended": int(done.sum())}


def main() -> None:
    """Measure every task."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", default="half_cheetah_run")
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--length", type=int, default=1000, help="steps of an episode")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    for task in args.tasks.split(","):
        found = measure(task, args.worlds, args.length, args.steps, args.rounds)
        print(json.dumps({"task": task, "worlds": args.worlds, "length": args.length, **found}), flush=True)


if __name__ == "__main__":
    main()
