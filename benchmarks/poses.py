"""Contacts of random poses of each pair of geom types beside MuJoCo C's, in float64: one row of a table for each pair.

python benchmarks/poses.py [--poses 10000] [--types sphere,box,mesh] [--margins 0,0.02]

Two geoms near or in each other, each on a free body but for planes and height fields. Contacts are matched one by one,
the nearest first. Poses in which their numbers or distances differ are put into the first of these classes:

    threshold   a distance is within 1e-8 m of both margins together
    turned      C's own number or distance differs at least half as much after qpos moved by up to 1e-9, ten times
    finer       C's at a ccd_tolerance of 1e-12 and 1,000 steps has our number, and distances within 1e-6 m
    margin      so has C's at a margin larger by 1e-9 m (at none its search among prisms ends too soon)
    same force  the accelerations of both bodies are C's, within 1e-6 of 1 and the largest
    less deep   the least distance is more than that of C at 1e-12, as it cannot be of the direction of least overlap
    no depth    along C's normal at 1e-12 the two overlap by more than C's least distance says
    other       none of these; the largest difference of distances among them stands in the last column

Distances may differ by 1e-9 m where MuJoCo has a closed form for the pair, by 1e-6 where it searches.
"""

import argparse
import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from pairs import FLAT, GEOMS, assets

import jaxsim as js

SEARCHED = ("hfield", "ellipsoid", "cylinder", "mesh")
CLASSES = ("threshold", "turned", "finer", "margin", "same force", "less deep", "no depth", "other")
THRESHOLD, TURN, TURNS, FINER = 1e-8, 1e-9, 10, 1e-12


class Found(NamedTuple):
    """The contacts of a pose: distances [n] (m), positions [n, 3] (m) and normals [n, 3]."""

    dist: np.ndarray
    pos: np.ndarray
    normal: np.ndarray


def scene(first: str, second: str, margin: float) -> str:
    """MJCF of two geoms."""
    bodies = [
        f'<body>{"" if name in FLAT else "<freejoint/>"}<geom {GEOMS[name]} margin="{margin}"/></body>'
        for name in (first, second)
    ]
    return f"""<mujoco>{assets(12)}<worldbody>{"".join(bodies)}</worldbody></mujoco>"""


def poses(fixed: bool, count: int) -> np.ndarray:
    """Random qpos [count, nq]."""
    rng = np.random.default_rng(1)
    quat = rng.normal(size=(count, 2, 4))
    quat /= np.linalg.norm(quat, axis=2, keepdims=True)
    if fixed:
        return np.concatenate([rng.uniform([-0.5, -0.5, 0.05], [0.5, 0.5, 0.35], (count, 3)), quat[:, 1]], axis=1)
    away = rng.normal(size=(count, 3))
    away *= rng.uniform(0.2, 0.55, (count, 1)) / np.linalg.norm(away, axis=1, keepdims=True)
    return np.concatenate([np.zeros((count, 3)), quat[:, 0], away, quat[:, 1]], axis=1)


def in_c(mj: mujoco.MjModel, qpos: np.ndarray) -> tuple[Found, np.ndarray]:
    """The contacts that C finds, and its accelerations."""
    d = mujoco.MjData(mj)
    d.qpos[:] = qpos
    mujoco.mj_forward(mj, d)
    found = Found(d.contact.dist.copy(), d.contact.pos.copy(), d.contact.frame[:, :3].copy())
    return found, d.qacc.copy()


def differs(one: Found, other: Found) -> float:
    """The largest difference of distances (m) of contacts that are matched by place; infinite if there are more of
    one."""
    if len(one.dist) != len(other.dist):
        return np.inf
    worst, left = 0.0, list(range(len(other.dist)))
    for pos, dist in zip(one.pos, one.dist):
        near = min(left, key=lambda i: np.linalg.norm(pos - other.pos[i]) + abs(dist - other.dist[i]))
        worst = max(worst, abs(dist - other.dist[near]))
        left.remove(near)
    return worst


class Compared:
    """How the poses of a pair and margin compare."""

    def __init__(self, first: str, second: str, margin: float) -> None:
        self.pair, self.margin = f"{first} - {second}", margin
        self.within = 2 * margin  # m, as far apart as contacts are looked for
        names = {first, second}
        closed = not names & set(SEARCHED) or "plane" in names or names == {"sphere", "cylinder"}
        self.most = 1e-9 if closed else 1e-6
        xml = scene(first, second, margin)
        self.mj, self.m = mujoco.MjModel.from_xml_string(xml), js.load(xml)
        self.finer = mujoco.MjModel.from_xml_string(xml)
        self.finer.opt.ccd_tolerance, self.finer.opt.ccd_iterations = FINER, 1000
        self.wider = mujoco.MjModel.from_xml_string(scene(first, second, margin + 1e-9))
        self.wider.opt.ccd_tolerance, self.wider.opt.ccd_iterations = FINER, 1000
        self.touching, self.number, self.dist = 0, 0, 0.0
        self.classes = dict.fromkeys(CLASSES, 0)
        self.worst = 0.0

    def kind(self, qpos: np.ndarray, ours: Found, c: Found, forces: bool) -> str:
        """The class of a pose in which the two differ."""
        if np.any(np.abs(np.concatenate([ours.dist, c.dist]) - self.within) < THRESHOLD):
            return "threshold"
        apart, rng = differs(ours, c), np.random.default_rng(0)
        for _ in range(TURNS):
            moved = qpos.copy()
            mujoco.mj_integratePos(self.mj, moved, TURN * rng.uniform(-1, 1, self.mj.nv), 1.0)
            if differs(in_c(self.mj, moved)[0], c) >= min(apart, 1.0) * 0.5:
                return "turned"
        finer = in_c(self.finer, qpos)[0]
        if differs(ours, finer) <= 1e-6:
            return "finer"
        if differs(ours, in_c(self.wider, qpos)[0]) <= 1e-6:
            return "margin"
        if forces:
            return "same force"
        deepest = np.min(finer.dist, initial=self.within)
        if np.min(ours.dist, initial=self.within) > deepest + 1e-6:
            return "less deep"
        if len(finer.dist) and self.overlap(qpos, finer.normal[0]) > 1e-6 - deepest:
            return "no depth"
        return "other"

    def overlap(self, qpos: np.ndarray, normal: np.ndarray) -> float:
        """By how much (m) the two overlap along a normal [3] from the first to the second; nothing of height fields."""
        d = mujoco.MjData(self.mj)
        d.qpos[:] = qpos
        mujoco.mj_kinematics(self.mj, d)
        if self.mj.nhfield and self.mj.geom_type[0] == mujoco.mjtGeom.mjGEOM_HFIELD:
            return -np.inf
        apart = float(normal @ (d.geom_xpos[1] - d.geom_xpos[0]))
        ways = (d.geom_xmat[g].reshape(3, 3).T @ way for g, way in enumerate((normal, -normal)))
        return sum(self.reach(g, way) for g, way in enumerate(ways)) - apart

    def reach(self, geom: int, way: np.ndarray) -> float:
        """How far (m) a geom reaches from its centre along a unit vector [3] in its frame."""
        size, kinds = self.mj.geom_size[geom], mujoco.mjtGeom
        kind = self.mj.geom_type[geom]
        if kind == kinds.mjGEOM_MESH:
            return float(np.max(self.mj.mesh_vert @ way))
        if kind == kinds.mjGEOM_BOX:
            return float(size @ np.abs(way))
        if kind == kinds.mjGEOM_ELLIPSOID:
            return float(np.linalg.norm(size * way))
        if kind == kinds.mjGEOM_CYLINDER:
            return float(size[0] * np.hypot(way[0], way[1]) + size[1] * abs(way[2]))
        return float(size[0] + (size[1] * abs(way[2]) if kind == kinds.mjGEOM_CAPSULE else 0))

    def run(self, count: int) -> None:
        """Compare so many poses."""
        qpos = poses(self.pair.split(" - ")[0] in FLAT, count)
        start = js.make_data(self.m)

        def found(q):
            d = js.forward(self.m, start.replace(qpos=q))
            return d.ncon, d.contact.dist, d.contact.pos, d.contact.frame.reshape(-1, 9)[:, :3], d.qacc

        ncon, dist, pos, normal, qacc = map(np.asarray, jax.jit(jax.vmap(found))(jnp.asarray(qpos)))
        for i, q in enumerate(qpos):
            c, right = in_c(self.mj, q)
            ours = Found(dist[i, : ncon[i]], pos[i, : ncon[i]], normal[i, : ncon[i]])
            self.touching += len(c.dist) > 0
            apart = differs(ours, c)
            if apart <= self.most:
                self.dist = max(self.dist, apart)
                continue
            self.number += not np.isfinite(apart)
            forces = np.abs(qacc[i] - right).max() <= 1e-6 * (1 + np.abs(right).max())
            kind = self.kind(q, ours, c, forces)
            self.classes[kind] += 1
            if kind == "other" and np.isfinite(apart):
                self.worst = max(self.worst, apart)

    def row(self) -> str:
        """A row of the table."""
        others = sum(self.classes.values())
        cells = [self.pair, f"{self.margin:g}", self.touching, f"{self.dist:.0e}", others, self.number]
        return "| " + " | ".join(map(str, [*cells, *self.classes.values(), f"{self.worst:.0e}"])) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--poses", type=int, default=10_000)
    parser.add_argument("--types", default=",".join(GEOMS))
    parser.add_argument("--margins", default="0,0.02")
    args = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    heads = ["pair", "margin, m", "touching", "largest difference", "others", "of these in number", *CLASSES, "by"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for first, second in itertools.combinations_with_replacement(args.types.split(","), 2):
        if second in FLAT:
            continue
        for margin in map(float, args.margins.split(",")):
            compared = Compared(first, second, margin)
            compared.run(args.poses)
            print(compared.row(), flush=True)


if __name__ == "__main__":
    main()
