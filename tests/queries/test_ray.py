"""Rays against MuJoCo's, for every analytical shape, from outside and inside; filters; derivatives."""

import jax
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js
from jaxsim.collision.rays import meet, normals_of

XML = """
<mujoco>
  <asset><material name="clear" rgba="1 1 1 0"/></asset>
  <worldbody>
    <geom type="plane" size="3 2 .1" pos="0 0 -1" euler="5 10 0"/>
    <body name="a" pos="1 0 0" euler="20 30 40"><freejoint/>
      <geom type="sphere" size=".4"/><geom type="capsule" size=".2 .5" pos="0 1 0" group="2"/></body>
    <body name="b" pos="-1 0 0" euler="50 10 70"><joint/>
      <geom type="ellipsoid" size=".2 .5 .3"/><geom type="cylinder" size=".3 .4" pos="0 1 0" group="3"/></body>
    <body name="c" pos="0 -1 .2" euler="10 70 20"><freejoint/>
      <geom type="box" size=".3 .5 .2"/><geom type="sphere" size=".8" rgba="1 1 1 0"/>
      <geom type="sphere" size=".7" material="clear"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope="module")
def scene():
    mj = mujoco.MjModel.from_xml_string(XML)
    d = mujoco.MjData(mj)
    mujoco.mj_forward(mj, d)
    model = js.put_model(mj, compile_only=True)
    return mj, d, model, js.put_data(model, d)


def rays(n=1000):
    rng = np.random.default_rng(0)
    points = rng.uniform(-2, 2, (n, 3))
    return points, rng.uniform(-1, 1, (n, 3)) - 0.4 * points


@pytest.mark.parametrize(
    "options",
    [{}, {"geomgroup": (1, 0, 1, 0, 0, 0)}, {"static": False}, {"bodyexclude": "c"}],
    ids=["all", "groups", "moving", "without a body"],
)
def test_rays_meet_what_mujocos_meet(scene, options):
    mj, d, model, data = scene
    points, directions = rays()
    ours = jax.jit(jax.vmap(lambda p, v: js.ray(model, data, p, v, **options)))(points, directions)
    group = options.get("geomgroup")
    group = None if group is None else np.array(group, np.uint8)
    body = mj.body(options["bodyexclude"]).id if "bodyexclude" in options else -1
    hits = set()
    for i in range(len(points)):
        geom = np.zeros(1, np.int32)
        x = mujoco.mj_ray(mj, d, points[i], directions[i], group, options.get("static", True), body, geom)
        assert int(ours[1][i]) == geom[0], i
        assert oracle.error(ours[0][i], x) < 1e-9
        hits.add(int(geom[0]))
    assert options or hits == {-1, 0, 1, 2, 3, 4, 5}


def test_derivative(scene):
    _, _, model, data = scene
    points, directions = rays(100)

    def distance(p, v):
        return js.ray(model, data, p, v)[0]

    slopes = jax.vmap(jax.grad(distance, (0, 1)))(points, directions)
    along = np.random.default_rng(1).standard_normal((2, *points.shape))
    predicted = sum(np.sum(np.asarray(g) * a, axis=1) for g, a in zip(slopes, along))
    step = 1e-7
    ends = [jax.vmap(distance)(points + s * along[0], directions + s * along[1]) for s in (step, -step)]
    measured = np.asarray(ends[0] - ends[1]) / (2 * step)
    assert np.isfinite(predicted).all()
    assert np.abs(predicted - measured).max() < 1e-5 * (1 + np.abs(measured).max())


FACETED = """
<mujoco>
  <asset>
    <mesh name="cup" vertex="-.5 -.5 0  .5 -.5 0  .5 .5 0  -.5 .5 0  0 0 .2  -.5 -.5 .6  .5 -.5 .6  .5 .5 .6  -.5 .5 .6"
      face="0 1 4  1 2 4  2 3 4  3 0 4  0 5 6  0 6 1  1 6 7  1 7 2  2 7 8  2 8 3  3 8 5  3 5 0"/>
    <hfield name="hills" nrow="4" ncol="5" size="1 .8 .5 .2"
      elevation="0 .2 .9 .1 0  .3 .5 .4 1 .2  .8 0 .3 .6 .7  .1 .9 .5 .2 .4"/>
  </asset>
  <worldbody>
    <geom type="hfield" hfield="hills" pos=".3 0 -.5" euler="10 20 30"/>
    <body pos="-.5 0 .5" euler="50 10 70"><joint/><geom type="mesh" mesh="cup"/></body>
    <body pos="1 1 .5"><joint/><geom type="mesh" mesh="cup" euler="10 0 0"/><geom size=".5"/></body>
  </worldbody>
</mujoco>
"""


def test_rays_meet_meshes_and_height_fields():
    mj = mujoco.MjModel.from_xml_string(FACETED)
    d = mujoco.MjData(mj)
    mujoco.mj_forward(mj, d)
    model = js.put_model(mj, compile_only=True)
    data = js.put_data(model, d)
    points, directions = rays(2000)

    def both(p, v):
        (x, geom), slope = jax.value_and_grad(lambda p: js.ray(model, data, p, v), has_aux=True)(p)
        met = meet(model, data, p[None], v[None], np.ones((1, mj.ngeom), bool))
        return x, geom, slope, normals_of(model, data, p[None], v[None], met)[0]

    distances, geoms, slopes, normals = jax.jit(jax.vmap(both))(points, directions)
    assert np.isfinite(slopes).all()
    hits, moved = np.zeros(mj.ngeom + 1, int), np.random.default_rng(3).standard_normal(points.shape)
    for i in range(len(points)):
        geom, normal, ends = np.zeros(1, np.int32), np.zeros(3), []
        x = mujoco.mj_ray(mj, d, points[i], directions[i], None, True, -1, geom, normal)
        assert int(geoms[i]) == geom[0], i
        assert oracle.error(distances[i], x) < 1e-9
        assert oracle.error(normals[i], normal) < 1e-9
        hits[geom[0]] += 1
        for step in (1e-6, -1e-6):
            other = np.zeros(1, np.int32)
            ends.append(mujoco.mj_ray(mj, d, points[i] + step * moved[i], directions[i], None, True, -1, other))
        slope = (ends[0] - ends[1]) / 2e-6
        bent = abs(ends[0] + ends[1] - 2 * x) > 1e-9  # another surface, or another triangle, on one of the sides
        assert geom[0] < 0 or bent or abs(slope - slopes[i] @ moved[i]) < 1e-5 * (1 + abs(slope))
    assert (hits[:-1] > 50).all(), hits


FIELDS = """<mujoco>
  <extension><plugin plugin="mujoco.sdf.torus"><instance name="t"/></plugin></extension>
  <asset><mesh name="t"><plugin instance="t"/></mesh><mesh name="m" vertex="-1 -1 -1  2 0 0  0 2 0  0 0 3"/></asset>
  <worldbody>
    <geom type="sdf" mesh="t" euler="20 30 0" pos="0 .5 0"><plugin instance="t"/></geom>
    <geom type="sdf" mesh="m" pos="4 0 1"/>
    <body><freejoint/><geom name="ball" size=".2"/></body>
  </worldbody></mujoco>"""


def test_signed_distance_fields(rng):
    """Rays meet them where MuJoCo's do, in units of the direction's length; distances are the deepest of contacts."""
    mj = mujoco.MjModel.from_xml_string(FIELDS)
    model, d = js.load(FIELDS), mujoco.MjData(mj)
    d.qpos[:3] = 0.3, 0.6, 0.1
    mujoco.mj_forward(mj, d)
    data = js.make_data(model).replace(geom_xpos=d.geom_xpos.copy(), geom_xmat=d.geom_xmat.copy())
    points = rng.uniform(-1, 1, (60, 3)) * [6, 4, 3]
    directions = np.where(np.arange(60)[:, None] % 2, [4, 0, 1], [0, 0.5, 0]) + 0.3 * rng.normal(size=(60, 3)) - points

    def first(point, direction):
        return js.ray(model, data, point, direction, bodyexclude=1)

    def both(point, direction):
        slope = jax.grad(lambda p: first(p, direction)[0])(point)
        return *first(point, direction), slope

    x, geom, slope = jax.tree.map(np.asarray, jax.jit(jax.vmap(both))(points, directions))
    hit, length = np.zeros(1, np.int32), np.linalg.norm(directions, axis=1)
    for i, (point, direction) in enumerate(zip(points, directions / length[:, None])):
        expected = mujoco.mj_ray(mj, d, point, direction, None, True, 1, hit)
        assert geom[i] == hit[0]
        # where a ray starts within 1e-7 of a surface or grazes one, both end up to 1e-7 away from it
        assert abs(x[i] * (length[i] if hit[0] >= 0 else 1) - expected) < 1e-6
        if hit[0] >= 0:  # along the ray, as long as the steps are
            assert abs(slope[i] @ directions[i] + 1) < 1e-6
    assert np.bincount(geom + 1, minlength=3).min() > 5
    for other in (0, 1):
        fromto = np.zeros(6)
        expected = mujoco.mj_geomDistance(mj, d, 2, other, 0.5, fromto)
        dist, points = js.geom_distance(model, data, "ball", other, 0.5)
        np.testing.assert_allclose(dist, expected, 1e-9, 1e-9)
        np.testing.assert_allclose(points, fromto, 1e-7, 1e-7)
    assert dist == 0.5 and js.geom_distance(model, data, 0, "ball")[0] < 0
