"""Contacts of flat faces against MuJoCo's own, from penetrations found by brute force on the host.

Which of two edges at a vertex is taken may depend on the order of a hull's polygons, which is MuJoCo's here.
"""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from scipy.spatial import ConvexHull, QhullError

import jaxsim as js
from jaxsim.collision.convex.collider import convex
from jaxsim.collision.convex.form import forms, library
from jaxsim.collision.convex.multicontact import multicontact
from jaxsim.collision.convex.penetration import Penetration
from jaxsim.collision.convex.polygons import BITS
from jaxsim.collision.convex.quadrilateral import largest_quadrilateral
from jaxsim.collision.shape import NO_CONTACT, Shape
from jaxsim.core.enums import GeomType as G

POINTS = np.random.default_rng(3).standard_normal((14, 3))
MESHES = {
    "block": BITS * [0.3, 0.4, 0.5] - [0.15, 0.2, 0.25],
    "wedge": np.array([[-2, -2, -1.5], [2.5, -2, -1.5], [0, 3, -1.5], [0, 0, 3], [1, 1, 2.5]]) / 10,
    "stone": 0.25 * POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True),
    # two edges of a cube are split by points a little outside: three polygons list one edge
    "chipped": np.concatenate(
        [
            0.4 * BITS - 0.2,
            [[-0.2006, -0.2044, -0.0445], [-0.2001, 0.2001, -0.0533], [-0.2, 0.2001, 0.0256]],
        ]
    ),
    "nut": np.array([[0.2 * np.cos(t), 0.2 * np.sin(t), z] for z in (-0.1, 0.1) for t in np.arange(6) * np.pi / 3]),
}
BOX = (0.15, 0.2, 0.1)
FLAT = (("box", "nut"), ("wedge", "stone"), ("box", "chipped"))
ROUND = (("cylinder", "box"), ("capsule", "nut"))
PRIMITIVES = {
    "box": f'type="box" size="{" ".join(map(str, BOX))}"',
    "cylinder": 'type="cylinder" size=".15 .2"',
    "capsule": 'type="capsule" size=".1 .25"',
}
POSES = 160
NONE = np.full(3, -1, np.int32)


ASSETS = "".join(f'<mesh name="{n}" vertex="{" ".join(map(str, np.ravel(v)))}"/>' for n, v in MESHES.items())
SHAPES = [*PRIMITIVES, *MESHES]


def geom(name):
    its = PRIMITIVES.get(name) or f'type="mesh" mesh="{name}"'
    return f"<geom {its}/>"


class Pair:
    """Two geoms that are posed at will, in MuJoCo and in jaxsim."""

    def __init__(self, one, two):
        self.xml = f"""<mujoco><asset>{ASSETS}</asset><worldbody>
            <body mocap="true">{geom(one)}</body><body><freejoint/>{geom(two)}</body>
            </worldbody></mujoco>"""
        self.mj = mujoco.MjModel.from_xml_string(self.xml)
        self.data = mujoco.MjData(self.mj)
        self.names = (one, two)
        self.kinds = tuple(int(t) for t in self.mj.geom_type)
        self.mesh = np.maximum(self.mj.geom_dataid, 0).astype(np.int32)

    def vertices(self, g):
        size = self.mj.geom_size[g]
        if self.kinds[g] == G.BOX:
            return (2 * BITS - 1) * size
        if self.kinds[g] != G.MESH:  # flat faces of the shape are among those of this hull
            angle = np.arange(8) * np.pi / 4
            ring = np.stack([size[0] * np.cos(angle), size[0] * np.sin(angle), np.zeros(8)], axis=1)
            up = size[1] * np.array([0, 0, 1])
            return np.concatenate([ring - up, ring + up])
        first, n = self.mj.mesh_vertadr[self.mesh[g]], self.mj.mesh_vertnum[self.mesh[g]]
        return self.mj.mesh_vert[first : first + n].astype(float)

    def faces(self, g):
        """Outward normals and one vertex of each face, in the geom's frame."""
        hull = ConvexHull(self.vertices(g))
        return hull.equations[:, :3], hull.points[hull.simplices].mean(1)

    def contacts(self, pose):
        """MuJoCo's dist, pos and normal of each contact; with geom poses."""
        d = self.data
        d.mocap_pos[0], d.mocap_quat[0] = 0, (1, 0, 0, 0)
        d.qpos[:3], d.qpos[3:] = pose
        mujoco.mj_kinematics(self.mj, d)
        mujoco.mj_collision(self.mj, d)
        c = d.contact
        return np.column_stack([c.dist, c.pos, c.frame[:, :3]])[::1]

    def shapes(self):
        d = self.data
        return [(d.geom_xpos[g].copy(), d.geom_xmat[g].reshape(3, 3).copy(), self.mj.geom_size[g]) for g in (0, 1)]


def penetration(pair, shapes):
    """The deepest overlap, from the hull of all differences of vertices; None if the shapes are apart."""
    one, two = (pair.vertices(g) @ mat.T + pos for g, (pos, mat, _) in enumerate(shapes))
    difference = (one[:, None] - two[None]).reshape(-1, 3)
    try:
        hull = ConvexHull(difference)
    except QhullError:
        return None
    depth = -hull.equations[:, 3]
    if depth.min() <= 0:
        return None
    best, weight = None, None
    for simplex, normal, away in zip(hull.simplices, hull.equations[:, :3], depth):
        if away > depth.min() * (1 + 1e-10):
            continue
        corners = difference[simplex]
        w = np.linalg.lstsq(np.vstack([corners.T, np.ones(3)]), [*(away * normal), 1], rcond=None)[0]
        if best is None or w.min() > weight.min():
            best, weight, n, dist = simplex, w, normal, -away
    ids1, ids2 = np.unravel_index(best, (len(one), len(two)))
    witness1, witness2 = (weight @ x[ids] - shapes[0][0] for x, ids in ((one, ids1), (two, ids2)))
    return Penetration(dist, witness1, witness2, n, ids1.astype(np.int32), ids2.astype(np.int32))


def rotation(axis, angle):
    quat, axis = np.zeros(4), np.asarray(axis, float)
    mujoco.mju_axisAngle2Quat(quat, axis / np.linalg.norm(axis), angle)
    return quat


def turned(quat, axis, angle):
    out = np.zeros(4)
    mujoco.mju_mulQuat(out, rotation(axis, angle), quat)
    return out


def between(a, b):
    """The rotation that takes unit vector a to b."""
    axis = np.cross(a, b)
    if np.linalg.norm(axis) < 1e-9:
        axis = np.cross(a, [0.3, 0.5, 0.8])
    return rotation(axis, np.arccos(np.clip(a @ b, -1, 1)))


def poses(pair, count, rng):
    """Poses of the second geom in contact: any, face on face, and those tilted a little."""
    faces = [pair.faces(g) for g in (0, 1)]
    mats = pair.shapes()
    for k in range(count):
        quat = rng.standard_normal(4)
        quat /= np.linalg.norm(quat)
        if k % 4 == 0:
            pos = rng.uniform(-1, 1, 3)
            yield pos * rng.uniform(0.15, 0.4) / np.linalg.norm(pos), quat
            continue
        (normals1, middles1), (normals2, middles2) = faces
        i, j = rng.integers(len(normals1)), rng.integers(len(normals2))
        normal = mats[0][1] @ normals1[i]
        own = pair.mj.geom_quat[1]
        local = np.zeros(3)
        mujoco.mju_rotVecQuat(local, normals2[j], own)
        quat = turned(between(local, -normal), normal, rng.uniform(-np.pi, np.pi))
        tilt = (0, 1e-3, 0.03, 0.085)[rng.integers(4)]
        quat = turned(quat, rng.standard_normal(3), tilt)
        turn, touch = np.zeros(4), np.zeros(3)
        mujoco.mju_mulQuat(turn, quat, own)
        mujoco.mju_rotVecQuat(touch, middles2[j], turn)
        touch += _rotated(pair.mj.geom_pos[1], quat)
        target = mats[0][1] @ middles1[i] + mats[0][0]
        across = np.cross(normal, rng.standard_normal(3)) * rng.uniform(0, 0.15)
        yield target - touch + across - normal * rng.uniform(0.0005, 0.02), quat


def _rotated(v, quat):
    out = np.zeros(3)
    mujoco.mju_rotVecQuat(out, v, quat)
    return out


def different(ours, theirs, tolerance):
    """Whether two sets of contacts are not the same, whatever their order."""
    if len(ours) != len(theirs):
        return True
    left = list(range(len(theirs)))
    for row in ours:
        errors = [np.abs(row - theirs[k]).max() for k in left]
        if not errors or min(errors) > tolerance:
            return True
        left.pop(int(np.argmin(errors)))
    return False


def same(theirs, pair, pose, tolerance):
    """Whether MuJoCo's own answer stays what it is when the pose is turned by 1e-9."""
    axes = np.concatenate([np.eye(3), -np.eye(3)])
    return not any(different(pair.contacts((pose[0], turned(pose[1], x, 1e-9))), theirs, tolerance) for x in axes)


class Routine:
    """Multi-contact of all shapes, one program."""

    def __init__(self):
        bodies = "".join(f"<body><freejoint/>{geom(name)}</body>" for name in SHAPES)
        self.model = js.load(f"<mujoco><asset>{ASSETS}</asset><worldbody>{bodies}</worldbody></mujoco>")
        self.served = library(self.model.topology, tuple(range(len(SHAPES))))
        self.batched = jax.jit(jax.vmap(self, in_axes=(0, 0, 0, None)))
        self.searched = jax.jit(jax.vmap(self.search, in_axes=(0, 0)))

    def __call__(self, a, b, found, margin):
        return multicontact(self.served, *self.formed(a, b), found, margin)

    def search(self, a, b):
        """By the whole collider, with several contacts and with one."""
        zero = jnp.zeros((), a.pos.dtype)
        return [convex(self.served, *self.formed(a, b), zero, several=x) for x in (True, False)]

    def formed(self, *shapes):
        """Shapes whose data are numbers of geoms, with the forms of these."""
        for x in shapes:
            sizes = jnp.asarray(self.model.geom_size, x.pos.dtype).at[x.data].set(x.size)
            form = forms(self.served, sizes, x.data[None])
            yield x._replace(data=jax.tree.map(lambda y: y[0], form))

    def points(self, name, vertices):
        """Vertices of a mesh as points of its core."""
        if name in PRIMITIVES:
            return vertices
        own = self.served.number[self.served.row[SHAPES.index(name)]]
        first = self.model.mesh_vertadr[self.model.geom_dataid[SHAPES.index(name)]]
        return np.array([-1 if v < 0 else np.flatnonzero(own == first + v)[0] for v in vertices], np.int32)


@functools.cache
def routine():
    return Routine()


def placed(*names):
    """A pair in MuJoCo, with known poses."""
    pair = Pair(*names)
    pair.contacts(((0, 0, 0), (1, 0, 0, 0)))
    return pair


def cases(pair, count, seed, search=penetration):
    """Pose, shapes, penetration and MuJoCo's contacts where there are any."""
    kept = []
    for pose in poses(pair, count, np.random.default_rng(seed)):
        theirs = pair.contacts(pose)
        shapes = pair.shapes()
        found = search(pair, shapes)
        if found is not None and len(theirs):
            kept.append((pose, shapes, found, theirs))
    return kept


def batch(pair, kept):
    """Shapes, whose data are the numbers of their geoms, and penetrations of all poses."""

    def stacked(*x):
        return jnp.asarray(np.stack(x), float if np.asarray(x[0]).dtype.kind == "f" else jnp.int32)

    shapes = []
    for g in (0, 1):
        number = jnp.full(len(kept), SHAPES.index(pair.names[g]), jnp.int32)
        shapes.append(Shape(*map(stacked, *[s[g] for _, s, _, _ in kept]), number))
    found = []
    for _, _, f, _ in kept:
        ends = [routine().points(name, v) for name, v in zip(pair.names, (f.vertices1, f.vertices2))]
        found.append(f._replace(vertices1=ends[0], vertices2=ends[1]))
    return *shapes, Penetration(*map(stacked, *found))


def rows(out, k):
    """Contacts of one pose as MuJoCo's are listed."""
    on = out.dist[k] < NO_CONTACT
    return np.column_stack([out.dist[k], out.pos[k], out.normal[k]])[on]


def outcome(pair, kept, out, tolerance, turn_tolerance):
    """How many poses differ, how many of these because MuJoCo's own answer is not stable, and all counts."""
    wrong = unstable = 0
    for k, (pose, _, _, theirs) in enumerate(kept):
        if different(rows(out, k), theirs, tolerance):
            stable = same(theirs, pair, pose, turn_tolerance)
            wrong, unstable = wrong + stable, unstable + (not stable)
    return wrong, unstable, {len(theirs) for *_, theirs in kept}


@pytest.mark.parametrize("names", FLAT, ids="-".join)
def test_flat_faces_have_mujocos_contacts(names):
    """Where three polygons list one edge, which of them hold a triangle beside it depends on the order of its corners
    in MuJoCo's polytope, which is not known: one of the chipped cube's poses."""
    pair = placed(*names)
    kept = cases(pair, POSES, 0)
    out = jax.tree.map(np.asarray, routine().batched(*batch(pair, kept), jnp.zeros(())))
    wrong, unstable, counts = outcome(pair, kept, out, 1e-7, 1e-6)
    assert len(kept) > 0.9 * POSES and counts == {1, 2, 3, 4}
    assert wrong <= (1 if "chipped" in names else 0) and unstable <= 2


@pytest.mark.parametrize("names", ROUND, ids="-".join)
def test_caps_and_sides_have_mujocos_contacts(names):
    """From MuJoCo's own single contact; its final simplex, and so the side's exact line, is not known.

    Of the corners of a clipped cap, some quadrilaterals have the same area: which stays is a matter of rounding.
    """
    pair = placed(*names)
    alone = Pair(*names)
    alone.mj.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MULTICCD
    pose = None

    def search(pair, shapes):
        single = alone.contacts(pose)
        if not len(single):
            return None
        dist, pos, normal = single[0, 0], single[0, 1:4] - shapes[0][0], single[0, 4:]
        ids = [nearest(pair, g, shapes, sign * normal) for g, sign in ((0, 1), (1, -1))]
        return Penetration(dist, pos - 0.5 * dist * normal, pos + 0.5 * dist * normal, normal, *ids)

    kept = []
    for pose in poses(pair, POSES, np.random.default_rng(1)):
        theirs = pair.contacts(pose)
        found = search(pair, pair.shapes())
        if found is not None:
            kept.append((pose, pair.shapes(), found, theirs))
    out = jax.tree.map(np.asarray, routine().batched(*batch(pair, kept), jnp.zeros(())))
    wrong, _, counts = outcome(pair, kept, out, 2e-3, 1e-3)
    assert {1, 2} <= counts and len(kept) > 0.8 * POSES
    assert wrong <= 0.05 * len(kept)


def nearest(pair, g, shapes, direction):
    """Up to three vertices of a polytope that are furthest along a direction."""
    if pair.kinds[g] not in (G.BOX, G.MESH):
        return NONE
    reach = pair.vertices(g) @ shapes[g][1].T @ direction
    return np.resize(np.flatnonzero(reach > reach.max() - 1e-5)[:3], 3).astype(np.int32)


def test_derivatives_are_those_of_the_features_and_finite_in_float32():
    pair, run, batched = placed("box", "nut"), routine(), routine().batched
    kept = cases(pair, POSES, 0)
    a, b, found = batch(pair, kept)
    margin = jnp.zeros(())
    rng = np.random.default_rng(4)
    push = jax.tree.map(lambda x: jnp.asarray(rng.standard_normal(x.shape)), (a, b))
    pull = tuple(jnp.asarray(rng.standard_normal((len(kept), 4, *s))) for s in ((), (3,), (3,)))

    def contacts(s):
        return seen(batched(*moved(s, (a, b), push), found, margin))

    def both_modes(a, b, found, push, pull):
        zero = jnp.zeros((), a.pos.dtype)
        _, tangent = jax.linearize(lambda s: seen(run(*moved(s, (a, b), push), found, zero)), zero)
        return tangent(zero + 1), jax.linear_transpose(tangent, zero)(pull)[0]

    each = jax.jit(jax.vmap(both_modes))
    forward, pulled = jax.tree.map(np.asarray, each(a, b, found, push, pull))
    ahead, behind = (jax.tree.map(np.asarray, contacts(s)) for s in (1e-6, -1e-6))
    smooth = ((ahead[0] != 0) == (behind[0] != 0)).all(1) & (np.abs(ahead[1] - behind[1]).max((1, 2)) < 1e-3)
    assert smooth.mean() > 0.95
    for x, y, z in zip(forward, ahead, behind):
        np.testing.assert_allclose(x[smooth], ((y - z) / 2e-6)[smooth], rtol=1e-6, atol=1e-6)
    inner = [(x * np.asarray(y)).reshape(len(kept), -1).sum(1) for x, y in zip(forward, pull)]
    np.testing.assert_allclose(pulled, sum(inner), rtol=1e-9, atol=1e-9)

    low = jax.tree.map(lambda x: x.astype(jnp.float32) if x.dtype == jnp.float64 else x, (a, b, found, push, pull))
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(each(*low)))


def moved(s, shapes, push):
    """Shapes at s along a push, which turns them as poses do; their geoms stay what they are."""
    turn = [x.mat @ (v.mat - jnp.swapaxes(v.mat, -1, -2)) for x, v in zip(shapes, push)]
    return [
        x._replace(pos=x.pos + s * v.pos, mat=x.mat + s * w, size=x.size + s * v.size)
        for x, v, w in zip(shapes, push, turn)
    ]


def seen(out):
    """Distances, zero where there is no contact, positions and normals."""
    return jnp.where(out.dist < NO_CONTACT, out.dist, 0), out.pos, out.normal


def test_degenerate_input_gives_no_nan_and_float32_the_same_faces():
    """Faces exactly on each other, vertices all the same, coincident centres, nothing found at all."""
    pair, batched = placed("box", "nut"), routine().batched
    kept = cases(pair, POSES, 0)
    a, b, found = batch(pair, kept)
    exact = jax.tree.map(np.asarray, batched(a, b, found, jnp.zeros(())))
    low = jax.tree.map(lambda x: x.astype(jnp.float32) if x.dtype == jnp.float64 else x, (a, b, found))
    single = jax.tree.map(lambda x: np.asarray(x, float), batched(*low, jnp.zeros((), jnp.float32)))
    off = [different(rows(single, k), rows(exact, k), 1e-3) for k in range(len(kept))]
    assert np.mean(off) < 0.03

    n = len(kept)
    zeros = jnp.zeros((n, 3))
    nothing = Penetration(jnp.full(n, NO_CONTACT), zeros, zeros, zeros, *[jnp.full((n, 3), -1, jnp.int32)] * 2)
    centred = (x._replace(pos=zeros, mat=jnp.broadcast_to(jnp.eye(3), (n, 3, 3))) for x in (a, b))
    for shapes in ((a, b), centred):
        out = batched(*shapes, nothing, jnp.zeros(()))
        assert all(np.isfinite(x).all() for x in jax.tree.leaves(out)) and (np.asarray(out.dist) == NO_CONTACT).all()


def test_the_collider_finds_them_and_one_where_the_flag_is_off():
    pair = placed("wedge", "nut")
    kept = cases(pair, 80, 6)
    several, one = jax.tree.map(np.asarray, routine().searched(*batch(pair, kept)[:2]))
    wrong, unstable, counts = outcome(pair, kept, several, 1e-6, 1e-6)
    assert counts == {1, 2, 3, 4} and wrong <= 1 and unstable <= 1  # one edge of two, in another hull's order
    pair.mj.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MULTICCD
    kept = [(pose, shapes, found, pair.contacts(pose)) for pose, shapes, found, _ in kept]
    depth = np.array([theirs[0, 0] for *_, theirs in kept])
    np.testing.assert_allclose(one.dist[:, 0], depth, atol=1e-9)
    assert (one.dist[:, 1:] == NO_CONTACT).all()


def test_areas_of_corners_that_are_not_quite_flat_are_those_in_space():
    """Seen along the normal, the fourth and the fifth corner span as much; in space the raised one spans more."""
    flat = np.array([[1.0, 0, 0], [0, 1, 0], [-1, 0, 0], [-0.25, -0.98, 0], [0.25, -0.98, 0]])
    for raised in (3, 4):
        corner = flat + 0.3 * np.eye(5)[raised][:, None] * [0, 0, 1]
        kept = largest_quadrilateral(functools.partial(jnp.take, corner, axis=0), jnp.int32(5), 50, jnp.float64)
        four = [sorted({0, 1, 2, 3, 4} - {i}) for i in range(5)]
        area = [np.linalg.norm(np.cross(x[2] - x[0], x[3] - x[1])) for x in corner[four]]
        assert sorted(kept.tolist()) == four[int(np.argmax(area))] == [0, 1, 2, raised]
