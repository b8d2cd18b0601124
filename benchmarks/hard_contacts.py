"""A robot under hard contacts with random controls, many worlds: does every solve end, does anything enter the ground?

python benchmarks/hard_contacts.py [--model quadruped] [--worlds 64] [--steps 1000] [--timestep 0.01] [--contact hard]
                                   [--kappa K] [--float64] [--seed S] [--report R] [--mujoco] [--keep FILE]

A JSON line after every thousand steps, of all so far: iterations of a step (both solves), steps that have not converged
and those whose world was held, the deepest penetration (m, of where steps begin), how many begin deeper than 1 mm, the
worst |friction| / (mu normal) - 1 of the contact forces at every hundredth step, processor time, and whether all is
finite. Controls are uniform in their ranges and new at every step. With --keep all of it is kept in a file at every
line, and a run that was stopped goes on from there.
"""

import argparse
import json
import os
import pickle
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim as js

EVERY = 100
STILL = 1e-4  # m/s, rad/s: what is left of velocities where they are taken away
# Dojo's paper, table V: 1,000 steps of 0.01 s with gradients, random actions, one thread of an i9-10885H
PUBLISHED = {
    "published, quadruped A1, step and gradient, steps per s": {
        "MuJoCo, differences": round(1000 / 1.114), "Drake": round(1000 / 3.870), "Brax": round(1000 / 11.064),
        "Dojo": round(1000 / 5.235),
    }
}  # fmt: skip


def excess(model: js.Model, data: js.Data) -> jax.Array:
    """[] how far the worst contact force is outside its cone, relative to mu times the normal force."""
    slots = jnp.arange(data.contact.dist.shape[0])
    force = jax.vmap(lambda slot: js.contact_force(model, data, slot))(slots)
    slip = jnp.linalg.norm(force[:, 1:3] / jnp.maximum(data.contact.friction[:, :2], 1e-12), axis=1)
    pressed = force[:, 0] > 1e-3 * jnp.max(force[:, 0])
    return jnp.max(jnp.where(pressed, slip / jnp.where(pressed, force[:, 0], 1) - 1, -1))


def rollout(model: js.Model, data: js.Data, key: jax.Array):
    """EVERY steps of one world: the end, what was seen at each step, and the excess at the end."""
    low, high = model.actuator_ctrlrange.T

    def step(data: js.Data, key: jax.Array):
        data = js.step(model, data.replace(ctrl=jax.random.uniform(key, (model.nu,), low.dtype, low, high)))
        held = ~data.solver_converged & (jnp.max(jnp.abs(data.qvel)) < STILL)
        seen = (data.solver_niter, data.solver_converged, held, jnp.min(data.contact.dist))
        return data, (*seen, jnp.max(jnp.abs(data.qvel)))

    data, seen = jax.lax.scan(step, data, jax.random.split(key, EVERY))
    return data, seen, excess(model, js.forward(model, data))


class Seen:
    """What was seen of all steps so far."""

    def __init__(self) -> None:
        self.niter = np.zeros(1, np.int64)  # how many steps took so many iterations
        self.failed = self.held = self.deep = 0
        self.least, self.fastest, self.cone, self.finite = np.inf, 0.0, -np.inf, True

    def add(self, seen: list[np.ndarray], cone: np.ndarray) -> None:
        """Another block of steps: arrays [worlds, steps], and the cones' excess [worlds]."""
        niter, converged, held, least, fastest = seen
        more = np.bincount(niter.ravel(), minlength=len(self.niter))
        more[: len(self.niter)] += self.niter
        self.niter = more
        self.failed += int((~converged).sum())
        self.held += int(held.sum())
        self.deep += int((least < -1e-3).sum())
        self.least, self.fastest = min(self.least, float(least.min())), max(self.fastest, float(fastest.max()))
        self.cone, self.finite = max(self.cone, float(cone.max())), self.finite and bool(np.isfinite(fastest).all())

    def summary(self) -> dict:
        """As one line shows it."""
        count, below = self.niter.sum(), np.cumsum(self.niter)
        return {
            "iterations mean": round(float(self.niter @ np.arange(len(self.niter)) / count), 2),
            "iterations 50, 90, 99 %, most": [int(np.searchsorted(below, p * count)) for p in (0.5, 0.9, 0.99, 1)],
            "not converged": self.failed, "held": self.held, "of": int(count), "least gap m": self.least,
            "starts deeper than 1 mm": self.deep, "fastest": round(self.fastest, 1), "cone excess": self.cone,
            "finite": self.finite,
        }  # fmt: skip


def in_mujoco(name: str, steps: int = 2000) -> dict:
    """MuJoCo C on one thread: the same model and controls as here, with its own timestep."""
    import mujoco

    m = mujoco.MjModel.from_xml_path(str(js.models.path(name)))
    d, rng = mujoco.MjData(m), np.random.default_rng(0)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    begun, deepest = time.process_time(), 0.0
    for _ in range(steps):
        d.ctrl[:] = rng.uniform(*m.actuator_ctrlrange.T)
        mujoco.mj_step(m, d)
        deepest = min([deepest, *d.contact.dist])
    per_second = steps / (time.process_time() - begun)
    return {"MuJoCo C": m.opt.timestep, "steps per cpu s": round(per_second), "least gap m": deepest} | PUBLISHED


def keep(file: str, run: list, *state) -> None:
    """Write where a run of these arguments is; a stop while it is written leaves what was there."""
    beside = Path(file + ".new")
    beside.write_bytes(pickle.dumps((run, jax.device_get(state))))
    os.replace(beside, file)


def kept(file: str, run: list):
    """What `keep` wrote of a run of the same arguments, or nothing."""
    if not file or not Path(file).exists():
        return None
    of, state = pickle.loads(Path(file).read_bytes())
    if of != run:
        raise SystemExit(f"{file} is of another run: {of}, not {run}")
    return state


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="quadruped")
    parser.add_argument("--worlds", type=int, default=64)
    parser.add_argument("--steps", type=int, default=1000, help=f"rounded up to hundreds ({EVERY} in one call)")
    parser.add_argument("--timestep", type=float, default=0.01)
    parser.add_argument("--contact", default="hard")
    parser.add_argument("--kappa", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=int, default=10, help="a line after so many hundreds of steps")
    parser.add_argument("--keep", help="a file: go on from there, and keep there how far it is")
    parser.add_argument("--float64", action="store_true")
    parser.add_argument("--mujoco", action="store_true", help="only measure MuJoCo C, with what Dojo published")
    args = parser.parse_args()
    if args.mujoco:
        return print(json.dumps(in_mujoco(args.model)))
    jax.config.update("jax_enable_x64", args.float64)

    model = js.load(args.model, contact=args.contact)
    options = {"timestep": args.timestep} | ({"kappa": args.kappa} if args.kappa else {})
    model = model.replace(opt=model.opt.replace(**options))
    data = js.forward(model, js.make_data(model, 0 if model.nkey else None))
    worlds = jax.tree.map(lambda x: jnp.broadcast_to(x, (args.worlds, *x.shape)), data)
    begun = time.process_time()
    run = jax.jit(jax.vmap(rollout, (None, 0, 0)))
    blocks = -(-args.steps // EVERY)
    keys = jax.random.split(jax.random.key(args.seed), (blocks, args.worlds))
    run = run.lower(model, worlds, keys[0]).compile()
    compiled, seen, done, before = time.process_time(), Seen(), 0, 0.0
    arguments = [args.model, args.contact, args.worlds, blocks, args.seed, args.float64, *sorted(options.items())]
    if state := kept(args.keep, arguments):
        done, before, seen, worlds = state
    for block, key in enumerate(keys[done:], done + 1):
        worlds, new, cone = run(model, worlds, key)
        seen.add([np.asarray(x) for x in new], np.asarray(cone))
        took = before + time.process_time() - compiled
        result = {
            "model": args.model, "contact": args.contact, "worlds": args.worlds, "steps": block * EVERY,
            "timestep": args.timestep, "kappa": float(model.opt.kappa), "dtype": str(data.qpos.dtype),
            **seen.summary(), "compile cpu s": round(compiled - begun, 1), "cpu s": round(took, 1),
            "us cpu per world and step": round(1e6 * took / (args.worlds * block * EVERY), 1),
        }  # fmt: skip
        if block % args.report == 0 or block == blocks:
            print(json.dumps(result), flush=True)
            if args.keep:
                keep(args.keep, arguments, block, took, seen, worlds)


if __name__ == "__main__":
    main()
