"""Nanoseconds per pair of geoms, by their types, beside MJX and MuJoCo C in one process: one Markdown table.

python benchmarks/pairs.py [--worlds 256] [--pairs 16] [--types sphere,box,mesh] [--vertices 12] [--against mjx,mujoco]

Each world has so many pairs of two types at random poses within reach of each other, about half of them touching,
and the collision stage alone runs: from poses of geoms to contacts. All pairs are tested, as explicit pairs without a
broadphase. Times are the best of several runs, the engines in turn. MuJoCo C runs on one thread.
"""

import argparse
import contextlib
import functools
import itertools
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

import jaxsim as js
from jaxsim.collision.driver import collide
from jaxsim.layout import batched

GEOMS = {
    "plane": 'type="plane" size="5 5 .1"',
    "hfield": 'type="hfield" hfield="field"',
    "sphere": 'type="sphere" size=".2"',
    "capsule": 'type="capsule" size=".1 .25"',
    "ellipsoid": 'type="ellipsoid" size=".15 .2 .3"',
    "cylinder": 'type="cylinder" size=".15 .2"',
    "box": 'type="box" size=".15 .2 .25"',
    "mesh": 'type="mesh" mesh="mesh"',
}
FLAT = ("plane", "hfield")
STEP = 3.0  # m between pairs


def assets(vertices: int) -> str:
    """MJCF of the mesh, with so many vertices, and the height field of `GEOMS`."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(vertices, 3))
    points *= [0.15, 0.2, 0.25] / np.linalg.norm(points, axis=1, keepdims=True)
    heights = " ".join(f"{x:.2f}" for x in rng.uniform(size=36))
    return f"""<asset><mesh name="mesh" vertex="{" ".join(f"{x:.4f}" for x in points.ravel())}"/>
      <hfield name="field" nrow="6" ncol="6" size="1 1 .3 .1" elevation="{heights}"/></asset>"""


def scene(first: str, second: str, pairs: int, vertices: int) -> str:
    """MJCF of pairs of free geoms, the first ones fixed where they have no centre."""
    bodies, table = [], []
    for i in range(pairs):
        for j, name in enumerate((first, second)):
            free = "" if name in FLAT else "<freejoint/>"
            geom = f'<geom name="{i}.{j}" {GEOMS[name]} contype="0" conaffinity="0"/>'
            bodies.append(f'<body pos="{STEP * i} 0 0">{free}{geom}</body>')
        table.append(f'<pair geom1="{i}.0" geom2="{i}.1"/>')
    return f"""<mujoco><option><flag multiccd="enable"/></option>{assets(vertices)}
      <worldbody>{"".join(bodies)}</worldbody><contact>{"".join(table)}</contact></mujoco>"""


def poses(mj: mujoco.MjModel, fixed: bool, worlds: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random qpos [worlds, nq], and geom_xpos [worlds, ngeom, 3] and geom_xmat [worlds, ngeom, 3, 3] there."""
    rng, d = np.random.default_rng(1), mujoco.MjData(mj)
    free = mj.nq // 7
    place = mj.qpos0.reshape(free, 7)[:, :3]
    qpos = np.zeros((worlds, free, 7))
    qpos[..., 3:] = rng.normal(size=(worlds, free, 4))
    away = rng.normal(size=(worlds, free, 3))
    away *= rng.uniform(0.25, 0.5, (worlds, free, 1)) / np.linalg.norm(away, axis=2, keepdims=True)
    if fixed:
        away = rng.uniform([-0.4, -0.4, 0.1], [0.4, 0.4, 0.4], (worlds, free, 3))
    else:
        away[:, ::2] = 0
    qpos[..., :3] = place + away
    qpos = qpos.reshape(worlds, -1)
    pos, mat = [], []
    for q in qpos:
        d.qpos[:] = q
        mujoco.mj_kinematics(mj, d)
        pos.append(d.geom_xpos.copy())
        mat.append(d.geom_xmat.reshape(-1, 3, 3).copy())
    return qpos, np.array(pos), np.array(mat)


def ours(xml: str) -> Callable:
    """The batched collision stage of jaxsim."""
    model = js.load(xml)
    data = js.make_data(model)

    def run(pos, mat):
        found = collide(model, data.replace(geom_xpos=pos, geom_xmat=mat.reshape(-1, 9)))
        return found.dist, found.pos, found.frame

    return jax.jit(jax.vmap(batched(run)))


def of_mjx(mj: mujoco.MjModel) -> Callable:
    """The batched collision stage of MJX."""
    from mujoco import mjx

    model = mjx.put_model(mj, impl="jax")
    data = mjx.make_data(mj, impl="jax")

    def run(pos, mat):
        contact = mjx.collision(model, data.replace(geom_xpos=pos, geom_xmat=mat))._impl.contact
        return contact.dist, contact.pos, contact.frame

    return jax.jit(jax.vmap(run))


def of_mujoco(mj: mujoco.MjModel, qpos: np.ndarray) -> float:
    """Seconds that MuJoCo C takes for all worlds, without kinematics."""
    d, total = mujoco.MjData(mj), 0.0
    for q in qpos:
        d.qpos[:] = q
        mujoco.mj_kinematics(mj, d)
        begin = time.perf_counter()
        mujoco.mj_collision(mj, d)
        total += time.perf_counter() - begin
    return total


def seconds(runs: dict[str, Callable], repeats: int) -> dict[str, float]:
    """The best time of each of some functions, which are run in turn; the first time compiles."""
    best = dict.fromkeys(runs, np.inf)
    for _ in range(repeats):
        for name, run in runs.items():
            begin = time.perf_counter()
            jax.block_until_ready(run())
            best[name] = min(best[name], time.perf_counter() - begin)
    return best


def row(first: str, second: str, args: argparse.Namespace, engines: list[str]) -> str:
    """A row of the table."""
    xml = scene(first, second, args.pairs, args.vertices)
    mj = mujoco.MjModel.from_xml_string(xml)
    qpos, *poses_of_geoms = poses(mj, first in FLAT, args.worlds)
    poses_of_geoms = [jnp.asarray(x, jnp.float32) for x in poses_of_geoms]
    programs = {"jaxsim": ours(xml)}
    if "mjx" in engines:
        with contextlib.suppress(NotImplementedError):  # a pair that it does not have
            programs["mjx"] = of_mjx(mj)
    touching = float(np.mean(np.any(np.asarray(programs["jaxsim"](*poses_of_geoms)[0]) < 0, axis=1)))
    best = seconds({name: functools.partial(f, *poses_of_geoms) for name, f in programs.items()}, args.repeats)
    if "mujoco" in engines:
        best["mujoco"] = of_mujoco(mj, qpos)
    ns = {name: 1e9 * t / (args.worlds * args.pairs) for name, t in best.items()}
    cells = [f"{ns[x]:,.0f}" if x in ns else "-" for x in ("jaxsim", "mjx", "mujoco")]
    ratio = f"{ns['mjx'] / ns['jaxsim']:.1f}" if "mjx" in ns else "-"
    return f"| {first} - {second} | {' | '.join(cells)} | {ratio} | {touching:.2f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--pairs", type=int, default=16, help="pairs in each world")
    parser.add_argument("--types", default=",".join(GEOMS))
    parser.add_argument("--vertices", type=int, default=12, help="of the mesh's hull")
    parser.add_argument("--against", default="mjx,mujoco")
    parser.add_argument("--repeats", type=int, default=10)
    args = parser.parse_args()
    print("| pair | jaxsim, ns | MJX, ns | MuJoCo C, ns | MJX / jaxsim | touching |\n|---|---|---|---|---|---|")
    for first, second in itertools.combinations_with_replacement(args.types.split(","), 2):
        if second not in FLAT:
            print(row(first, second, args, args.against.split(",")), flush=True)


if __name__ == "__main__":
    main()
