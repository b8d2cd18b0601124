"""Whether scenes come to rest as they do in MuJoCo C, in both precisions: one Markdown table.

python benchmarks/settling.py [--scenes stack,nut] [--seconds 5] [--bits 64,32]

Each scene runs for so many seconds from its start. Where bodies that are dropped end depends on the last digit, so that
piles are compared body by body from where they lie in MuJoCo C after that time, for another second. `height` is the
largest difference of a body's height there, relative to MuJoCo C's; centre and top (m), the mean and the highest of
the bodies', and what follows are after the drop.
"""

import argparse
import functools
import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from settling_scenes import SCENES

import jaxsim as js

EVERY = 10  # steps between records
COLUMNS = "scene | engine | centre | top | fastest, m/s | drift, m | deepest, m | height | warnings | CPU ms a step"


class Rest(NamedTuple):
    """What is left to see after a run."""

    height: np.ndarray  # [n] m, of the bodies
    speed: float  # m/s, the fastest body in the last second
    drift: float  # m, the furthest from the start to the end of the last second
    depth: float  # m, the deepest contact of the records of the last second
    warnings: str
    ms: float  # of all threads, a step
    qpos: np.ndarray


def frames(mj: mujoco.MjModel) -> int:
    """Records of one second."""
    return round(1 / (EVERY * mj.opt.timestep))


def theirs(mj: mujoco.MjModel, seconds: int, qpos: np.ndarray | None = None) -> Rest:
    """The rest in MuJoCo C, from the start or from bodies at rest."""
    d, record = mujoco.MjData(mj), []
    if qpos is not None:
        d.qpos[:] = qpos
    begin, count = time.process_time(), seconds * frames(mj)
    for _ in range(count):
        mujoco.mj_step(mj, d, EVERY)
        record.append((d.qpos.copy(), d.qvel.copy(), d.contact.dist.min(initial=0)))
    names = ",".join(mujoco.mjtWarning(i).name for i, w in enumerate(d.warning) if w.number)
    return rest(mj, [np.array(x) for x in zip(*record)], names, time.process_time() - begin)


@functools.partial(jax.jit, static_argnums=2)
def second(model: js.Model, data: js.Data, count: int) -> tuple[js.Data, Any]:
    """Positions, speeds and the deepest contact while a second passes."""

    def seen(d: js.Data) -> tuple[jax.Array, ...]:
        return d.qpos, d.qvel, jnp.minimum(jnp.min(d.contact.dist), 0)

    return js.rollout(model, data, length=count, substeps=EVERY, outputs=seen)


def ours(mj: mujoco.MjModel, model: js.Model, seconds: int, qpos: np.ndarray | None = None) -> Rest:
    """The rest in jaxsim."""
    data, record = js.make_data(model), []
    if qpos is not None:
        data = data.replace(qpos=jnp.asarray(qpos, data.qpos.dtype))
    program = second.lower(model, data, frames(mj)).compile()
    begin = time.process_time()
    for _ in range(seconds):
        data, seen = program(model, data)
        record.append([np.asarray(x, float) for x in seen])
    names = ",".join(f"{k} {v}" for k, v in js.warnings_of(data).items() if v)
    return rest(mj, [np.concatenate(x) for x in zip(*record)], names, time.process_time() - begin)


def rest(mj: mujoco.MjModel, record: list[np.ndarray], warnings: str, seconds: float) -> Rest:
    """What is left to see of positions [t, nq], speeds [t, nv] and depths [t]."""
    last = frames(mj)
    pos = record[0].reshape(len(record[0]), -1, 7)[:, :, :3]
    speed = np.linalg.norm(record[1].reshape(len(pos), -1, 6)[-last:, :, :3], axis=2).max()
    moved = pos[-1] - pos[-last - 1] if len(pos) > last else pos[-1] - pos[0]
    drift = np.linalg.norm(moved, axis=1).max()
    ms = 1e3 * seconds / (EVERY * len(pos))
    return Rest(pos[-1, :, 2], speed, drift, -record[2][-last:].min(), warnings, ms, record[0][-1])


def row(name: str, engine: str, r: Rest, difference: str) -> str:
    """A row of the table."""
    cells = [f"{r.height.mean():.4f}", f"{r.height.max():.4f}", *(f"{x:.1e}" for x in (r.speed, r.drift, r.depth))]
    return f"| {name} | {engine} | {' | '.join(cells)} | {difference} | {r.warnings or 'none'} | {r.ms:.2f} |"


def compare(name: str, seconds: int, precisions: list[int]) -> None:
    """Print the rows of a scene."""
    mj = mujoco.MjModel.from_xml_string(SCENES[name]())
    drop, pile = theirs(mj, seconds), name.startswith("20")
    still = theirs(mj, 1, drop.qpos) if pile else drop
    print(row(name, "MuJoCo C", drop, "-"), flush=True)
    for bits in precisions:
        with jax.enable_x64(bits == 64):
            model = js.load(SCENES[name]())
            here = ours(mj, model, seconds)
            from_rest = ours(mj, model, 1, drop.qpos) if pile else here
        off = np.abs(from_rest.height / still.height - 1).max()
        print(row("", f"jaxsim, float{bits}", here, f"{100 * off:.2f} %"), flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenes", default="", help="words of their names; all by default")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--bits", default="64,32", help="the precisions")
    args = parser.parse_args()
    print(f"| {COLUMNS} |\n{'|---' * len(COLUMNS.split(' | '))}|")
    for name in SCENES:
        if any(word in name for word in args.scenes.split(",")):
            compare(name, args.seconds, [int(x) for x in args.bits.split(",")])


if __name__ == "__main__":
    main()
