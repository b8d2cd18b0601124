"""Distances of geoms, as sensors and as queries, beside MuJoCo's; their derivatives beside differences."""

import jax
import mujoco
import numpy as np
import oracle
import pytest

import jaxsim as js

XML = """
<mujoco>
  <asset><mesh name="m" vertex="-.2 -.2 -.15  .25 -.2 -.15  0 .3 -.15  0 0 .3  .1 .1 .25"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 .1" contype="0" conaffinity="0"/>
    <body name="a"><freejoint/><geom name="box a" type="box" size=".15 .2 .25" pos=".1 0 0" contype="0" conaffinity="0"/>
      <geom name="capsule a" type="capsule" size=".1 .2" pos="-.2 0 0" contype="0" conaffinity="0"/></body>
    <body name="b"><freejoint/><geom name="mesh b" type="mesh" mesh="m" contype="0" conaffinity="0"/>
      <geom name="box b" type="box" size=".1 .2 .1" pos=".3 .1 0" contype="0" conaffinity="0"/></body>
  </worldbody>
  <sensor>
    <distance geom1="mesh b" geom2="box a" cutoff=".6"/><normal geom1="mesh b" geom2="box a" cutoff=".6"/>
    <fromto geom1="mesh b" geom2="box a" cutoff=".6"/><fromto geom1="box a" geom2="box b" cutoff="2"/>
    <distance geom1="box a" geom2="box b" cutoff="2"/><distance body1="a" body2="b" cutoff="1"/>
    <fromto geom1="box b" geom2="floor" cutoff="1"/><fromto body1="b" body2="a" cutoff="1"/>
  </sensor>
</mujoco>
"""
PAIRS = (("box a", "mesh b"), ("capsule a", "floor"), ("box b", "box a"))


@pytest.fixture(scope="module")
def scene():
    """Both models, and 60 poses near contact."""
    mj, model = oracle.pair_of_xml(XML)
    rng = np.random.default_rng(0)
    quats = rng.standard_normal((60, 2, 4))
    offsets = rng.standard_normal((60, 3))
    offsets *= rng.uniform(0.2, 0.8, (60, 1)) / np.linalg.norm(offsets, axis=1, keepdims=True)
    poses = np.concatenate(
        [np.tile([0, 0, 0.4], (60, 1)), quats[:, 0], offsets + np.array([0, 0, 0.4]), quats[:, 1]], axis=1
    )
    poses[:, 3:7] /= np.linalg.norm(poses[:, 3:7], axis=1, keepdims=True)
    poses[:, 10:] /= np.linalg.norm(poses[:, 10:], axis=1, keepdims=True)
    return mj, model, poses


def test_sensors_and_queries_are_mujocos_and_derivatives_those_of_differences(scene):
    """One program for values and derivatives of sensors and queries."""
    mj, model, poses = scene
    base = js.make_data(model)

    def read(qpos):
        d = js.forward(model, base.replace(qpos=qpos))
        return d.sensordata, [js.geom_distance(model, d, *pair, 0.5) for pair in PAIRS]

    both = jax.jit(jax.vmap(lambda q, v: jax.jvp(read, (q,), (v,))))
    along = np.random.default_rng(1).standard_normal(poses.shape)
    (sensed, asked), (_, changes) = both(poses, along)
    d, overlaps = mujoco.MjData(mj), 0
    for i, pose in enumerate(poses):
        d.qpos[:] = pose
        mujoco.mj_forward(mj, d)
        overlaps += d.sensordata[0] < 0
        for s in range(mj.nsensor):
            here = slice(mj.sensor_adr[s], mj.sensor_adr[s] + mj.sensor_dim[s])
            _same(sensed[i][here], d.sensordata[here], (i, s))
        for (dist, fromto), pair in zip(asked, PAIRS):
            expected = np.zeros(6)
            x = mujoco.mj_geomDistance(mj, d, *(mj.geom(g).id for g in pair), 0.5, expected)
            assert abs(dist[i] - x) < 1e-6, (i, pair)
            _same(fromto[i], expected, (i, pair))
    assert 10 < overlaps < 50

    def differences(h):
        ahead, behind = (both(poses + x * along, along)[0][1] for x in (h, -h))
        return np.stack([(np.asarray(x) - np.asarray(y)) / (2 * h) for (x, _), (y, _) in zip(ahead, behind)])

    found, wide, narrow = np.stack([dist for dist, _ in changes]), differences(2e-5), differences(1e-5)
    # where the features that are nearest change within the step, the two differences do not agree
    same = np.abs(wide - narrow) < 1e-5
    assert same.mean() > 0.9 and np.isfinite(found).all()
    assert np.abs(found - narrow)[same].max() < 1e-4


def _same(ours, theirs, where):
    """Distances and directions to 1e-6; points as well, or others as far apart along the same direction."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if len(ours) == 6:
        ours, theirs = (x[3:] - x[:3] for x in (ours, theirs))
    assert np.abs(ours - theirs).max() < 2e-6, where


def test_what_has_no_distance_is_refused(scene):
    _, model, _ = scene
    with pytest.raises(ValueError, match="plane and a plane"):
        js.geom_distance(model, js.make_data(model), "floor", "floor")
    with pytest.raises(KeyError):
        js.geom_distance(model, js.make_data(model), "floor", "no such geom")


def test_height_fields_are_refused_by_name():
    """Neither a number from their centre nor a cutoff that says nothing is near."""
    field = '<asset><hfield name="h" nrow="2" ncol="2" size="1 1 .1 .1"/></asset>'
    bodies = '<body name="f"><geom name="h" type="hfield" hfield="h"/></body><body name="b"><freejoint/><geom name="g" size=".1"/></body>'
    scene = f"<mujoco>{field}<worldbody>{bodies}</worldbody>%s</mujoco>"
    model = js.load(scene % "")
    with pytest.raises(ValueError, match="hfield"):
        js.geom_distance(model, js.make_data(model), "h", "g")
    with pytest.raises(js.MjcfError, match="distance of a geom of type hfield"):
        js.load(scene % '<sensor><distance body1="f" geom2="g" cutoff="1"/></sensor>')
