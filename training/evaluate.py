"""Evaluate the policy of a run: `python -m training.evaluate runs/cp`.

Worlds start anew and follow the policy's mean action for one episode each; training goes on untouched. Where models
differ in training they do so here as well, in as many more episodes, whose numbers have names of their own. Writes
evaluation.json, policy.zip (for `jaxsim simulate --policy`) and a self-contained player, policy.html, into the folder
of the run.
"""

import argparse
import functools
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim import envs
from jaxsim.viewer import Trajectory, write_player
from training import hosts, loop, run, variants
from training.config import ConfigError
from training.experiment import Experiment, Task
from training.sharing import SHARED

Array = jax.Array

SHOWN = 4  # worlds in the player


def evaluate(
    learner: Any,
    state: Any,
    length: int,
    worlds: int,
    seed: int,
    changes: Mapping[str, variants.Change] | None = None,
    reward_limit: float = 0.0,
) -> tuple[dict[str, Any], Trajectory]:
    """How a policy does.

    Args:
        learner: of an algorithm.
        state: of its training.
        length: of an episode, in steps.
        worlds: how many, one episode each.
        seed: of their starts.
        changes: in which their models differ; by default all have the environment's own.
        reward_limit: where rewards are cut off whose sum is an episode's score; 0 means that there is no score.

    Returns:
        Statistics of the returns, scores and lengths, and the motion of the first few worlds.
    """
    # another seed than that of the starts: both would be the same numbers
    env, models = variants.wrapped(learner.env.unwrapped, changes or {}, worlds, seed + 1)
    env = envs.Episode(env, length)

    def step(carry, _):
        world, alive, total, score, lasted = carry
        world = env.step(world, learner.act(state, world.obs), models)
        total, lasted = total + alive * world.reward, lasted + alive
        score = score + alive * jnp.clip(world.reward, -reward_limit, reward_limit)
        seen = (world.data.xpos[:SHOWN], world.data.xquat[:SHOWN], world.reward[:SHOWN])
        return (world, alive * (1 - world.done), total, score, lasted), seen

    @jax.jit
    def episode(keys):
        world = env.reset(keys, models)
        one = jnp.ones_like(world.reward)
        return lax.scan(step, (world, one, 0 * one, 0 * one, 0 * one), length=length)

    keys = jax.random.split(jax.random.key(seed), worlds)
    (_, _, total, score, lasted), (xpos, xquat, reward) = jax.device_get(episode(keys))
    found = {
        "worlds": worlds,
        "return_mean": float(total.mean()),
        "return_std": float(total.std()),
        "return_min": float(total.min()),
        "return_max": float(total.max()),
        "length_mean": float(lasted.mean()),
    }
    if reward_limit:
        found |= {"score_mean": float(score.mean()), "score_std": float(score.std())}
    return found, Trajectory(env.dt * np.arange(length), xpos, xquat, {"reward": reward})


def write(folder: Path, learner: Any, state: Any, found: dict[str, Any], motion: Trajectory, task: Task) -> None:
    """Keep a policy and its evaluation in a run's folder."""
    act = functools.partial(learner.act, state)
    envs.save_policy(folder / "policy.zip", act, learner.env.observation_size, task.name, task.changes)
    (folder / "evaluation.json").write_text(json.dumps(found, indent=1) + "\n")
    model = learner.env.model
    bodies = model.topology.names.get("body", [])
    text = f"return {found['return_mean']:.4g} ± {found['return_std']:.2g} of {found['worlds']} episodes"
    write_player(folder / "policy.html", model, motion, title=task.name, subtitle=text, body_names=bodies)


def finish(
    learner: Any,
    state: Any,
    config: Experiment,
    folder: Path,
    worlds: int = 64,
    seed: int = 1000,
    reward_limit: float | None = None,
) -> None:
    """Evaluate, write and print what was found; rewards are cut off where they are in training, unless told where."""
    if not hosts.first():
        return
    # what a policy is made of; the worlds are shared between hosts
    state = state._replace(**{name: None for name in SHARED if name in state._fields})
    state = jax.device_put(jax.device_get(state), jax.local_devices()[0])
    limit = getattr(config, "reward_limit", 0.0) if reward_limit is None else reward_limit
    found, motion = evaluate(learner, state, learner.length, worlds, seed, reward_limit=limit)
    if config.randomise:
        varied, _ = evaluate(learner, state, learner.length, worlds, seed, config.randomise, limit)
        found |= {f"randomised_{name}": x for name, x in varied.items()}
    write(folder, learner, state, found, motion, config.env)
    print(json.dumps(found))


def main(argv: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m training.evaluate", description=__doc__)
    parser.add_argument("run", type=Path, help="folder of a run")
    parser.add_argument("--worlds", type=int, default=64, help="episodes (64)")
    parser.add_argument("--seed", type=int, default=1000, help="of their starts (1000)")
    parser.add_argument("--reward-limit", type=float, help="score episodes by rewards cut off there (as in training)")
    args = parser.parse_args(argv)
    if args.reward_limit is not None and not args.reward_limit >= 0:  # nor NaN
        parser.error(f"--reward-limit is {args.reward_limit:g}; it must be at least 0")
    try:
        learner, config = run.opened(args.run)
        state = loop.restore(learner, config, args.run)
    except (ConfigError, FileNotFoundError) as error:
        print(f"evaluate: error: {error}", file=sys.stderr)
        return 2
    finish(learner, state, config, args.run, args.worlds, args.seed, args.reward_limit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
