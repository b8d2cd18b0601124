"""The convex routine beside MuJoCo's, its derivatives, its independence of batches; and planes with meshes."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from precision import AFAR, FAR, assert_within_table, rounded
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import jaxsim as js
from jaxsim.collision.convex.collider import convex
from jaxsim.collision.convex.form import forms, library
from jaxsim.collision.convex.penetration import penetration
from jaxsim.collision.driver import collide
from jaxsim.collision.hulls import hulls
from jaxsim.collision.shape import NO_CONTACT, Shape
from jaxsim.collision.table import COLLIDERS
from jaxsim.core.enums import GeomType as G
from jaxsim.dynamics.kinematics import kinematics
from jaxsim.interop import put_model
from jaxsim.layout import batched

GEOMS = {
    G.PLANE: 'type="plane" size="5 5 .1"',
    G.SPHERE: 'type="sphere" size=".2"',
    G.CAPSULE: 'type="capsule" size=".1 .25"',
    G.ELLIPSOID: 'type="ellipsoid" size=".15 .2 .3"',
    G.CYLINDER: 'type="cylinder" size=".15 .2"',
    G.BOX: 'type="box" size=".15 .2 .25"',
    G.MESH: 'type="mesh" mesh="m"',
}
TIP = "-.2 -.2 -.15  .25 -.2 -.15  0 .3 -.15  0 0 .3  .1 .1 .25"
DRUM = " ".join(f"{0.2 * np.cos(t):.4f} {0.2 * np.sin(t):.4f} {z}" for t in np.arange(6) for z in (-0.1, 0.1))
PAIRS = sorted(k for k, (collider, _) in COLLIDERS.items() if collider is convex and G.HFIELD not in k)
IDS = [f"{G(a).name.lower()}-{G(b).name.lower()}" for a, b in PAIRS]
POSES = 160


class Scene:
    """Two geoms; MuJoCo's contacts of them, at most one by the convex routine, searched to the end."""

    def __init__(self, kinds, margin=0.0, vertices=TIP):
        first, second = (GEOMS[k] for k in kinds)
        self.model = mujoco.MjModel.from_xml_string(
            f"""<mujoco><option ccd_iterations="500" ccd_tolerance="1e-10"><flag multiccd="disable"/></option>
              <asset><mesh name="m" vertex="{vertices}"/></asset>
              <worldbody><body mocap="true"><geom {first} margin="{margin}"/></body>
              <body><freejoint/><geom {second}/></body></worldbody></mujoco>"""
        )
        self.kinds, self.margin = kinds, margin

    def poses(self, rng, n=POSES, apart=(0.15, 0.55)):
        """Positions [n, 2, 3], orientations [n, 2, 3, 3], and MuJoCo's rows of dist, pos and normal of each pose."""
        d, xpos, xmat, contacts = mujoco.MjData(self.model), [], [], []
        for _ in range(n):
            away, quats = rng.normal(size=3), rng.normal(size=(2, 4))
            d.mocap_quat[0] = quats[0] / np.linalg.norm(quats[0])
            d.qpos[:3] = away / np.linalg.norm(away) * rng.uniform(*apart)
            d.qpos[3:] = quats[1] / np.linalg.norm(quats[1])
            mujoco.mj_kinematics(self.model, d)
            mujoco.mj_collision(self.model, d)
            xpos.append(d.geom_xpos.copy())
            xmat.append(d.geom_xmat.reshape(2, 3, 3).copy())
            contacts.append(np.column_stack([d.contact.dist, d.contact.pos, d.contact.frame[:, :3]]))
        return np.array(xpos), np.array(xmat), contacts


class Routine:
    """The convex routine, one program for all types of geoms."""

    def __init__(self):
        self.types = [g for g in GEOMS if g != G.PLANE]
        bodies = "".join(f"<body><freejoint/><geom {GEOMS[g]}/></body>" for g in self.types)
        self.model = put_model(
            mujoco.MjModel.from_xml_string(
                f'<mujoco><asset><mesh name="m" vertex="{TIP}"/></asset><worldbody>{bodies}</worldbody></mujoco>'
            )
        )
        self.served = library(self.model.topology, tuple(range(len(self.types))))
        self.sizes = np.asarray(self.model.geom_size)

    def shapes(self, geoms, xpos, xmat, sizes):
        """Both geoms [2], in the precision of the positions."""
        of_geoms = forms(self.served, sizes, geoms)
        size = sizes.at[geoms].get(mode="promise_in_bounds")
        return [Shape(xpos[i], xmat[i], size[i], jax.tree.map(lambda x, i=i: x[i], of_geoms)) for i in (0, 1)]

    def rows(self, geoms, xpos, xmat, sizes):
        """Distance, position and normal [7] of one pose."""
        a, b = self.shapes(geoms, xpos, xmat, sizes)
        p = penetration(a, b, jnp.asarray(1, xpos.dtype))
        return jnp.concatenate([p.dist[None], a.pos + 0.5 * (p.witness1 + p.witness2), p.normal])

    @functools.cached_property
    def run(self):
        """Compiled over poses: the rows, and their change along changes of positions, orientations and sizes."""

        def one(geoms, x, dx):
            return jax.jvp(functools.partial(self.rows, geoms), x, dx)

        return jax.jit(jax.vmap(one, in_axes=(None, 0, 0)))

    def geoms(self, kinds):
        return np.array([self.types.index(k) for k in kinds], np.int32)

    def at(self, kinds, xpos, xmat, dtype=np.float64):
        """The rows [n, 7] of all poses."""
        x = [np.asarray(a, dtype) for a in (xpos, xmat, np.broadcast_to(self.sizes, (len(xpos), *self.sizes.shape)))]
        return np.asarray(self.run(self.geoms(kinds), tuple(x), tuple(map(np.zeros_like, x)))[0])


@functools.cache
def routine():
    return Routine()


@functools.cache
def scene(kinds):
    return Scene(kinds, 0.1)


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_random_poses(pair, rng):
    """Apart within the margin, shallow and deep."""
    s = scene(pair)
    xpos, xmat, theirs = s.poses(rng)
    ours = routine().at(pair, xpos, xmat)
    touching, expected = ours[:, 0] < s.margin, np.array([len(c) > 0 for c in theirs])
    np.testing.assert_array_equal(touching, expected)
    assert 0.4 < expected.mean() < 1
    error = np.abs(ours[expected] - np.concatenate(theirs))
    # smooth shapes deep in each other have several depths that nearly agree, of which the search may miss the least
    wrong = error[:, 0] > 1e-6
    assert not wrong[ours[expected, 0] > -0.05].any() and wrong.mean() < 0.02
    assert np.quantile(error[~wrong], 0.95) < 1e-4  # MuJoCo's positions and normals are no more exact than that


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_single_precision(pair, rng):
    """Errors of poses that are not deep are those of the table; and the same far from the origin."""
    xpos, xmat, _ = scene(pair).poses(rng)
    xpos = rounded(xpos)
    double = routine().at(pair, xpos, xmat)
    single, far = (routine().at(pair, x, xmat, np.float32) for x in (xpos, xpos + FAR))
    assert single.dtype == np.float32 and np.isfinite(single).all() and np.isfinite(far).all()
    near = (double[:, 0] < 0.1) & (double[:, 0] > -0.05)
    assert near.sum() > 30
    assert_within_table(pair, double[near], single[near])
    np.testing.assert_allclose(far[:, 0], single[:, 0], atol=1e-6)
    assert np.quantile(np.abs(far[near, 1:4] - FAR - single[near, 1:4]).max(axis=1), 0.98) < AFAR


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_derivatives_match_differences(pair, rng):
    """Of distance, position and normal, as both shapes move, turn and change their sizes."""
    s = scene(pair)
    xpos, xmat, _ = s.poses(rng, POSES, (0.2, 0.5))
    r = routine()
    move, spin = (rng.normal(size=xpos.shape) for _ in range(2))
    grow = rng.normal(size=(len(xpos), *r.sizes.shape))
    turn = np.cross(spin[..., None, :], xmat.swapaxes(2, 3)).swapaxes(2, 3)

    def at(t):
        turned = Rotation.from_rotvec(t * spin.reshape(-1, 3)).as_matrix().reshape(xmat.shape) @ xmat
        return r.run(r.geoms(pair), (xpos + t * move, turned, r.sizes[None] + t * grow), (move, turn, grow))

    (low, _), (mid, exact), (high, _) = (jax.tree.map(np.asarray, at(t)) for t in (-1e-5, 0.0, 1e-5))
    steady = np.abs(low - 2 * mid + high).max(axis=1) < 1e-7  # the feature is the same within the step
    assert steady.mean() > 0.5 and np.isfinite(exact).all()
    error = np.abs(exact - (high - low) / 2e-5)[steady] / (1 + np.abs(exact[steady]).max(axis=1, keepdims=True))
    assert np.quantile(error[:, 0], 0.97) < 1e-6 and np.quantile(error.max(axis=1), 0.97) < 1e-4


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_degenerate_poses_in_single_precision(pair):
    """Coincident centres, exact touch, parallel faces and edges: values and derivatives are finite."""
    r = routine()
    offsets = [
        (0, 0, 0),
        (0, 0, 1e-20),
        (1e-9, 0, 0),
        (0.3, 0, 0),
        (0, 0.4, 0),
        (0, 0, 0.45),
        (0.3, 0.35, 0),
        (9, 9, 9),
    ]
    turns = [np.eye(3), np.eye(3)[[1, 2, 0]], np.diag([-1.0, -1, 1]), Rotation.from_euler("z", 1e-6).as_matrix()]
    xpos = np.array([[np.zeros(3), o] for o in offsets for _ in turns])
    xmat = np.array([[np.eye(3), t] for _ in offsets for t in turns])
    sizes = np.broadcast_to(r.sizes, (len(xpos), *r.sizes.shape))
    x = [np.asarray(a, np.float32) for a in (xpos, xmat, sizes)]
    rows, change = r.run(r.geoms(pair), tuple(x), tuple(map(np.ones_like, x)))
    assert np.isfinite(rows).all() and np.isfinite(change).all()
    assert (rows[-len(turns) :, 0] == np.float32(NO_CONTACT)).all() and (rows[: 3 * len(turns), 0] < 0).all()
    np.testing.assert_allclose(np.linalg.norm(rows[:, 4:], axis=1), 1, atol=1e-5)


def test_deep_hulls_take_as_many_steps_as_the_option_allows(rng):
    """Depths of hulls with many faces are those of the hulls of their differences."""
    points = rng.normal(size=(2, 60, 3))
    points *= [0.15, 0.2, 0.25] / np.linalg.norm(points, axis=2, keepdims=True)
    mesh = "".join(f'<mesh name="m{i}" vertex="{" ".join(map(str, p.ravel()))}"/>' for i, p in enumerate(points))
    body = "".join(f'<body><freejoint/><geom type="mesh" mesh="m{i}"/></body>' for i in range(2))
    mj = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option ccd_iterations="90"><flag multiccd="disable"/></option>
          <asset>{mesh}</asset><worldbody>{body}</worldbody></mujoco>"""
    )
    model, d = put_model(mj), mujoco.MjData(mj)
    data = js.make_data(model)
    qpos = rng.normal(size=(20, 2, 7))
    qpos[:, :, :3] *= np.array([0, 0.05])[:, None]
    qpos[:, :, 3:] /= np.linalg.norm(qpos[:, :, 3:], axis=2, keepdims=True)
    qpos = qpos.reshape(20, 14)
    ours = jax.jit(jax.vmap(lambda q: collide(model, kinematics(model, data.replace(qpos=q))).dist[0]))(qpos)
    for q, dist in zip(qpos, np.asarray(ours)):
        d.qpos[:] = q
        mujoco.mj_kinematics(mj, d)
        one, two = (mj.mesh_vert[60 * i :][:60] @ d.geom_xmat[i].reshape(3, 3).T + d.geom_xpos[i] for i in (0, 1))
        depth = ConvexHull((one[:, None] - two[None]).reshape(-1, 3)).equations[:, 3].max()
        assert abs(dist - depth) < 1e-12


def test_a_smooth_shape_on_a_mesh_of_many_small_faces(rng):
    """Depths are within ccd_tolerance of those that MuJoCo finds if it is let search on; each face has one of its own."""
    points = rng.normal(size=(500, 3)) * [0.4, 0.4, 0.05]
    points[:, 2] = np.sqrt(16 - points[:, 0] ** 2 - points[:, 1] ** 2) - 4
    mj = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option><flag multiccd="disable"/></option><asset>
          <mesh name="dome" vertex="{" ".join(map(str, points.ravel()))} 0 0 -1"/></asset>
          <worldbody><body><freejoint/><geom type="cylinder" size=".06 .3"/></body>
          <geom type="mesh" mesh="dome"/></worldbody></mujoco>"""
    )
    model, d = put_model(mj), mujoco.MjData(mj)
    data = js.make_data(model)
    turned = rng.uniform(-np.pi, np.pi, 20)
    lying = Rotation.from_euler("yz", np.stack([np.full(20, np.pi / 2), turned], axis=1)).as_quat(scalar_first=True)
    qpos = np.concatenate([rng.uniform(-0.1, 0.1, (20, 2)), np.full((20, 1), 0.058), lying], axis=1)
    ours = jax.jit(jax.vmap(lambda q: collide(model, kinematics(model, data.replace(qpos=q))).dist[0]))(qpos)
    mj.opt.ccd_tolerance, mj.opt.ccd_iterations = 1e-12, 500
    theirs = []
    for q in qpos:
        d.qpos[:] = q
        mujoco.mj_fwdPosition(mj, d)
        theirs.append(d.contact.dist[0])
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("margin", [0.0, 0.05])
@pytest.mark.parametrize("vertices", [TIP, DRUM])
def test_plane_with_mesh(vertices, margin, rng):
    """The corners that MuJoCo takes, in any order."""
    s = Scene((G.PLANE, G.MESH), margin, vertices)
    xpos, xmat, theirs = s.poses(rng, 300, (0.0, 0.3))
    hull = jax.tree.map(lambda x: x[0], hulls(put_model(s.model), np.array([1])))
    size = jnp.asarray(s.model.geom_size)

    @jax.jit
    @jax.vmap
    def run(xpos, xmat):
        plane, mesh = Shape(xpos[0], xmat[0], size[0]), Shape(xpos[1], xmat[1], size[1], hull)
        found = COLLIDERS[s.kinds][0](plane, mesh, jnp.asarray(margin))
        return jnp.concatenate([found.dist[:, None], found.pos, found.normal], axis=1)

    for mine, reference in zip(np.asarray(run(xpos, xmat)), theirs):
        mine = mine[mine[:, 0] < NO_CONTACT]
        assert len(mine) == len(reference)
        order, expected = (np.lexsort(x[:, :4].round(9).T) for x in (mine, reference))
        np.testing.assert_allclose(mine[order], reference[expected], atol=1e-9)


def test_a_world_alone_and_in_a_batch(rng, optimized):
    """Contacts of convex pairs are the same bit by bit; loops go on for the other worlds of a batch."""
    shapes = (G.CYLINDER, G.MESH, G.ELLIPSOID)
    bodies = [f'<body pos="0 0 {0.25 * i}"><freejoint/><geom {GEOMS[g]}/></body>' for i, g in enumerate(shapes)]
    model = js.load(
        f'<mujoco><asset><mesh name="m" vertex="{TIP}"/></asset><worldbody>{"".join(bodies)}</worldbody></mujoco>'
    )
    data = js.make_data(model)
    qpos = jnp.asarray(np.asarray(data.qpos) + 0.1 * rng.normal(size=(20, model.nq)))

    def contacts(qpos):
        found = collide(model, kinematics(model, data.replace(qpos=qpos)))
        return found.dist, found.pos, found.frame

    run = jax.jit(jax.vmap(batched(contacts)))
    batch = run(qpos)
    assert int(jnp.sum(batch[0] < NO_CONTACT)) > 30
    for i in (0, 7, 19):
        for mine, expected in zip(run(qpos[i : i + 1]), batch):
            np.testing.assert_array_equal(mine[0], expected[i])


def test_edges_that_nearly_touch_in_float32(float32, rng):
    """Cubes edge to edge, up to 1e-5 of their size apart or inside: of the points between them rounding leaves a normal
    that is hundredths wrong, but not a depth of hundredths of the cubes."""
    cube = " ".join(f"{x} {y} {z}" for x in (-1, 1) for y in (-1, 1) for z in (-1, 1))
    geom = '<body><freejoint/><geom type="mesh" mesh="c" condim="1"/></body>'
    model = js.load(f"""<mujoco><asset><mesh name="c" vertex="{cube}" scale=".01 .01 .01"/></asset>
        <worldbody>{geom}{geom}</worldbody></mujoco>""")
    data = js.make_data(model)
    away = Rotation.random(300, rng=rng)
    turned = away * Rotation.from_rotvec(rng.normal(size=(300, 3)) * 10 ** rng.uniform(-8, -5, (300, 1)))
    gap = rng.choice([-1, 1], 300) * 10 ** rng.uniform(-9, -6.5, 300)
    place = away.apply([[0.02, 0.02, 0]]) + gap[:, None] * away.apply([[0.5**0.5, 0.5**0.5, 0]])
    pos = jnp.asarray(np.stack([np.zeros_like(place), place], axis=1), np.float32)
    mat = jnp.asarray(np.stack([away.as_matrix(), turned.as_matrix()], axis=1).reshape(300, 2, 9), np.float32)

    @jax.jit
    @jax.vmap
    @batched
    def depth(pos, mat):
        return jnp.min(collide(model, data.replace(geom_xpos=pos, geom_xmat=mat)).dist)

    assert depth(pos, mat).min() > -1e-6  # m; gaps and turns are worth 3e-7
